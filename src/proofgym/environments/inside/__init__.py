"""Programs that run inside sandboxes. They import the standard library only."""
