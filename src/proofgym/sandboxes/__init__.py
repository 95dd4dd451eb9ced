"""Sandboxes: programs run on hostile input, apart from this machine, with outside deadlines."""

from proofgym.sandboxes.choose import choose_sandbox
from proofgym.sandboxes.limits import Limits
from proofgym.sandboxes.sandbox import Outcome, Sandbox
from proofgym.sandboxes.workspace import Workspace

__all__ = ["Limits", "Outcome", "Sandbox", "Workspace", "choose_sandbox"]
