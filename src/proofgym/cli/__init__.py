"""The command line. Each command is one file; heavy imports happen inside the commands."""

from proofgym.cli.main import main

__all__ = ["main"]
