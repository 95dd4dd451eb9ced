"""Which judge a family of tasks is made for, where nobody names one."""

from __future__ import annotations

from proofgym.environments.judge import Environment
from proofgym.environments.lean import Lean
from proofgym.environments.python_tests import Python
from proofgym.environments.reasoning import Reasoning
from proofgym.tasks.python_core import PythonTasks
from proofgym.tasks.reasoning import ReasoningTasks
from proofgym.tasks.tasks import Tasks


def natural_reward(tasks: Tasks) -> Environment:
    """`Reasoning()`, `Python()`, or `Lean()` for everything else."""
    if isinstance(tasks, ReasoningTasks):
        return Reasoning()
    return Python() if isinstance(tasks, PythonTasks) else Lean()
