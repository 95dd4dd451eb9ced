"""What runs inside a sandbox: the standard library only, nothing of proofgym but this folder."""
