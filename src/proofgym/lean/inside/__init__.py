"""Programs that run inside a sandbox, with the standard library alone."""
