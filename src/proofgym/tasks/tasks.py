"""`Tasks`: which problems a job trains or is measured on.

A family of tasks says what its problems are (`problems`); choosing among them by topic, difficulty
and number is the same for all. Reference answers never become part of a `Task`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import Field, field_validator

from proofgym.config import Config
from proofgym.errors import ConfigError, TaskError, nearest
from proofgym.random import shuffled
from proofgym.types import Task

PROMPT_END = " := by\n"
"""Follows a statement in the prompt: the model goes on with the first line of the proof."""

EASIEST, HARDEST = 1, 10


class Checker(Protocol):
    """What `check_statements` needs of a `LeanChecker`."""

    def check_statement(self, statement: str) -> None:
        """Raise TaskError where Lean refuses the statement."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A task, where it comes from, and its reference answer."""

    task: Task
    place: str
    """For people, such as `mine.jsonl, line 3`."""
    proof: str | None = None
    """A proof or another right answer, for supervised training and for tests."""

    def error(self, what: str) -> TaskError:
        """An error that names the place and the task."""
        return TaskError(f"{self.place}: task {self.task.name!r} {what}")


class Tasks(Config):
    """A choice of problems; `lean_core(...)`, `from_jsonl(...)` and the other families make one."""

    topics: tuple[str, ...] | None = None
    """Only these topics; None is all."""
    difficulty: tuple[int, int] = (EASIEST, HARDEST)
    """Least and greatest difficulty."""
    limit: int | None = Field(None, ge=1)
    """At most so many, chosen at random by the seed."""
    seed: int = Field(0, ge=0)
    """Which ones the limit keeps; for generated tasks, which ones there are."""

    @field_validator("difficulty")
    @classmethod
    def _ordered(cls, value: tuple[int, int]) -> tuple[int, int]:
        if not EASIEST <= value[0] <= value[1] <= HARDEST:
            raise ValueError("must be (least, greatest) with 1 <= least <= greatest <= 10")
        return value

    def problems(self) -> list[Problem]:
        """All problems of the family, from which `topics`, `difficulty` and `limit` choose.

        Raises:
            TaskError: one is wrong; names it and its place.
        """
        raise ConfigError(f"{type(self).__name__} is no family of tasks; use from_jsonl(...)")

    def describe(self) -> str:
        """What the problems are, in a few words."""
        return type(self).__name__

    def files(self) -> list[Path]:
        """Files that hold reference answers or hidden tests; no candidate may read them."""
        return []

    def load(self) -> list[Task]:
        """The chosen tasks, in the order of the family.

        Raises:
            TaskError: a problem is wrong (names it and its place), or there is no such topic.
        """
        return [problem.task for problem in self.chosen()]

    def reference_proofs(self) -> dict[str, str]:
        """Proofs (or other right answers) of the chosen tasks by name, for supervised training
        and for tests.

        Raises:
            TaskError: as `load`, and where a chosen task has none.
        """
        proofs = {}
        for problem in self.chosen():
            if problem.proof is None:
                raise problem.error("has no reference 'proof'")
            proofs[problem.task.name] = problem.proof
        return proofs

    def chosen(self) -> list[Problem]:
        """The chosen problems."""
        problems = self.problems()
        known = sorted({problem.task.topic for problem in problems})
        for topic in self.topics or ():
            if topic not in known:
                hint = nearest(topic, known)
                raise TaskError(f"{self.describe()}: no task has topic {topic!r}; {hint}")
        problems = [problem for problem in problems if self._fits(problem.task)]
        if self.limit is None or self.limit >= len(problems):
            return problems
        kept = set(shuffled(range(len(problems)), self.seed, "task limit")[: self.limit])
        return [problem for index, problem in enumerate(problems) if index in kept]

    def _fits(self, task: Task) -> bool:
        """A task of unknown difficulty (0) fits only where every difficulty does."""
        least, greatest = self.difficulty
        everything = self.difficulty == (EASIEST, HARDEST)
        right = everything or least <= task.difficulty <= greatest
        return right and (self.topics is None or task.topic in self.topics)


def check_statements(tasks: Tasks, checker: Checker) -> None:
    """Have Lean elaborate every chosen statement.

    Raises:
        TaskError: names the place (file and line) of the first statement that Lean refuses.
    """
    for problem in tasks.chosen():
        if "statement" not in problem.task.data:
            continue
        try:
            checker.check_statement(problem.task.data["statement"])
        except TaskError as error:
            raise problem.error(f"has a statement that Lean refuses: {error}") from None


def refuse_shared(training: Sequence[Task], heldout: Sequence[Task], named: str, held: str) -> None:
    """Held-out tasks must differ from the others in name and in prompt. Raises ConfigError."""
    names, prompts = {task.name for task in training}, {task.prompt for task in training}
    shared = [task.name for task in heldout if task.name in names or task.prompt in prompts]
    if shared:
        raise ConfigError(
            f"{held} shares {len(shared)} of its {len(heldout)} tasks with {named}: "
            f"{sorted(shared)[:3]}"
        )
