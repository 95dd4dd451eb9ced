"""Problems to train and to be measured on."""

from proofgym.tasks.lean_core import lean_core, named
from proofgym.tasks.tasks import Tasks, check_statements, from_jsonl

__all__ = ["Tasks", "check_statements", "from_jsonl", "lean_core", "named"]
