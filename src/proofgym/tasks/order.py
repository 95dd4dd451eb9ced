"""In which order a run meets its tasks: seeded, and the same again after a resume.

A run walks through shuffled epochs of its tasks and passes over some places: tasks that are still
too hard, and, by a seeded chance, tasks that it has little to learn from. Whether a place is passed
over is a function of the seed, the place and the outcomes of the iterations before.
"""

from __future__ import annotations

import math
import warnings
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pydantic import Field

from proofgym.config import Config
from proofgym.errors import ConfigError
from proofgym.random import shuffled, stream, uniforms
from proofgym.types import Rollout, Status, Task


class Order(Config):
    """The order of a run's tasks, and which of them are passed over."""

    by: Literal["shuffled", "difficulty", "success"] = "shuffled"
    """`shuffled`: every task once an epoch, each epoch in an order of its own. `difficulty`: the
    same among the easiest tasks, of which more are opened with each iteration. `success`: a task
    that is solved with probability p is met with chance 4p(1-p), so those near 1/2 most often."""
    start: float = Field(0.25, gt=0, le=1)
    """`difficulty`: share of the tasks, easiest first, that the first iteration may meet."""
    widen: int = Field(20, ge=1)
    """`difficulty`: iterations until all tasks are open."""
    skip: Literal["solved", "unsolved", "both"] | None = None
    """Pass over tasks that are always solved, never solved, or either."""
    attempts: int = Field(16, ge=1)
    """`skip`: scored attempts of a task before it can be passed over."""
    memory: int = Field(64, ge=1)
    """`skip` and `success`: how many of a task's last scored attempts count."""
    again: float = Field(0.05, ge=0, le=1)
    """Least chance to meet a task, passed over or not, so that it can come back."""

    @property
    def learns(self) -> bool:
        """Whether the order depends on how attempts went."""
        return self.skip is not None or self.by == "success"

    def open(self, tasks: Sequence[Task], seed: int) -> TaskOrder:
        """The order from its beginning.

        Raises:
            ConfigError: this kind of order needs what the tasks do not have, or cannot skip.
        """
        if self.by == "difficulty" and not any(task.difficulty for task in tasks):
            raise ConfigError("Order.by = 'difficulty': no task says how difficult it is")
        if self.skip is not None and self.memory < self.attempts:
            raise ConfigError(
                f"Order.memory = {self.memory}: must be at least Order.attempts = {self.attempts}"
            )
        return TaskOrder(self, tasks, seed)


@dataclass(frozen=True, slots=True)
class Past:
    """What an order must know of one iteration that is done."""

    tried: int
    """How many tasks it tried."""
    outcomes: tuple[tuple[str, bool], ...] = ()
    """(task, whether it was solved) of every scored attempt."""


def past_of(tried: int, lines: Iterable[dict[str, Any]]) -> Past:
    """The same from the lines of an iteration's rollouts (see `run_directory.py`)."""
    return Past(
        tried,
        tuple(
            (line["task"], line["status"] == Status.PASSED)
            for line in lines
            if line["reward"] is not None
        ),
    )


class OrderWarning(UserWarning):
    """There is no task left that the order would choose."""


class TaskOrder:
    """A run's place in its tasks.

    What it gives is a function of the seed and of what was taken and seen before, so that
    `replay` with a run's record brings it back.
    """

    def __init__(self, config: Order, tasks: Sequence[Task], seed: int) -> None:
        self.config, self.tasks, self.seed = config, list(tasks), seed
        self.iteration = 0
        """Iterations seen."""
        self.place = 0
        """Places of the epochs walked over so far."""
        self._epoch, self._shuffled, self._draws = -1, [0], [0.0]
        self._solved: dict[str, deque[bool]] = {}
        ranked = shuffled(range(len(self.tasks)), seed, "order of equal difficulty")
        ranked.sort(key=lambda index: self.tasks[index].difficulty)
        self._rank = {index: rank for rank, index in enumerate(ranked)}
        self._warned = False

    def take(self, count: int) -> list[Task]:
        """The next tasks, at most as many as there are. Where few are open they repeat."""
        return self._walk(min(count, len(self.tasks)))

    def see(self, rollouts: Sequence[Rollout]) -> None:
        """Learn how an iteration's attempts went; those without a score count for nothing."""
        self._learn(
            (item.task.name, item.verdict.status is Status.PASSED)
            for item in rollouts
            if item.verdict.reward is not None
        )

    def replay(self, iterations: Iterable[Past]) -> None:
        """From the beginning, go to where a run was after these iterations."""
        for past in iterations:
            self._walk(past.tried)
            self._learn(past.outcomes)

    def success(self, task: Task) -> float | None:
        """Share of the task's last scored attempts that solved it; None before the first."""
        known = self._solved.get(task.name)
        return sum(known) / len(known) if known else None

    def skipped(self, task: Task) -> bool:
        """Whether the task is now passed over for what its attempts gave."""
        known = self._solved.get(task.name, ())
        if self.config.skip is None or len(known) < self.config.attempts:
            return False
        always, never = all(known), not any(known)
        return {"solved": always, "unsolved": never, "both": always or never}[self.config.skip]

    def _learn(self, outcomes: Iterable[tuple[str, bool]]) -> None:
        self.iteration += 1
        if not self.config.learns:
            return
        for name, solved in outcomes:
            self._solved.setdefault(name, deque(maxlen=self.config.memory)).append(solved)

    def _walk(self, count: int) -> list[Task]:
        chances = [self._chance(index) for index in range(len(self.tasks))]
        return [self.tasks[self._next(chances)] for _ in range(count)]

    def _next(self, chances: Sequence[float]) -> int:
        """The next place that is not passed over; of a whole epoch without one, the first that is
        open at all."""
        first = None
        for _ in chances:
            index, draw = self._step()
            if draw < chances[index]:
                return index
            if first is None and self._is_open(index):
                first = index
        self._warn(chances)
        return 0 if first is None else first  # something is always open

    def _chance(self, index: int) -> float:
        task, least = self.tasks[index], self.config.again
        if not self._is_open(index):
            return 0.0
        if self.skipped(task):
            return least
        if self.config.by != "success":
            return 1.0
        known = self._solved.get(task.name, ())
        p = (sum(known) + 1) / (len(known) + 2)  # unknown tasks are as good as the best
        return max(least, 4 * p * (1 - p))

    def _is_open(self, index: int) -> bool:
        if self.config.by != "difficulty":
            return True
        done = min(1.0, self.iteration / self.config.widen)
        share = self.config.start + (1 - self.config.start) * done
        return self._rank[index] < math.ceil(share * len(self.tasks) - 1e-9)

    def _step(self) -> tuple[int, float]:
        """The task at the next place, and the place's own draw from [0, 1)."""
        size = len(self.tasks)
        epoch, offset = divmod(self.place, size)
        self.place += 1
        if self._epoch != epoch:
            self._epoch, self._shuffled = epoch, _shuffle(size, self.seed, epoch)
            key = stream(self.seed, "order", epoch)
            self._draws = uniforms(np.full(size, key, np.uint64), np.arange(size)).tolist()
        return self._shuffled[offset], self._draws[offset]

    def _warn(self, chances: Sequence[float]) -> None:
        if self._warned or max(chances) >= 1 or self.config.skip is None:
            return
        self._warned = True
        warnings.warn(
            f"after iteration {self.iteration} every task is always or never solved "
            f"(Order.skip = {self.config.skip!r}); they are taken as they come",
            OrderWarning,
            stacklevel=4,
        )


def _shuffle(size: int, seed: int, epoch: int) -> list[int]:
    key = np.array([seed & (2**64 - 1), (0x7A5C << 32) + epoch], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key)).permutation(size).tolist()
