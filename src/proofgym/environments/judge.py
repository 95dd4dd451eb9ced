"""What judges a completion. The loop knows only this interface."""

from __future__ import annotations

from typing import Protocol

from proofgym.tasks.tasks import Tasks
from proofgym.types import Task, Verdict


class Judge(Protocol):
    """Turns one completion into a verdict. Called from many threads at once.

    Never raises for anything the completion did; a fault of the machinery is a verdict with
    status `infrastructure` and no reward, after the judge's own bounded retries.
    """

    def prepare(self, tasks: Tasks) -> None:
        """Refuse tasks that cannot be judged, before any work. Raises TaskError."""
        ...

    def judge(self, task: Task, text: str) -> Verdict: ...

    def describe(self) -> str:
        """One line for the run's environment record."""
        ...

    def close(self) -> None: ...


class Environment(Protocol):
    """Configuration of a judge: what a job's `reward` field holds."""

    def open(self, workers: int) -> Judge:
        """Start the judge with up to `workers` verifications at once."""
        ...
