"""Problems to train and to be measured on."""

from proofgym.tasks.jsonl import from_jsonl
from proofgym.tasks.lean_core import lean_core
from proofgym.tasks.lean_sets import lean_jsonl
from proofgym.tasks.named import named
from proofgym.tasks.python_core import python_core
from proofgym.tasks.reasoning import countdown, reasoning_gym
from proofgym.tasks.tasks import Tasks, check_statements

__all__ = [
    "Tasks",
    "check_statements",
    "countdown",
    "from_jsonl",
    "lean_core",
    "lean_jsonl",
    "named",
    "python_core",
    "reasoning_gym",
]
