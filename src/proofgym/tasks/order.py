"""In which order a run meets its tasks: seeded, and the same again after a resume."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from proofgym.config import Config
from proofgym.types import Rollout, Task


class Order(Config):
    """The order of a run's tasks, and which of them are passed over."""

    by: Literal["shuffled"] = "shuffled"
    """`shuffled`: every task once an epoch, each epoch in an order of its own."""

    def open(self, tasks: Sequence[Task], seed: int) -> TaskOrder:
        """The order from its beginning."""
        return TaskOrder(self, tasks, seed)


class TaskOrder:
    """A run's place in its tasks.

    What it gives is a function of the seed and of what was taken and seen before, so that
    `replay` with a run's record brings it back.
    """

    def __init__(self, config: Order, tasks: Sequence[Task], seed: int) -> None:
        self.config, self.tasks, self.seed = config, list(tasks), seed
        self.taken = 0
        """Tasks given out so far."""
        self._epoch: tuple[int, Any] = (-1, None)

    def take(self, count: int) -> list[Task]:
        """The next tasks, at most as many as there are."""
        count = min(count, len(self.tasks))
        start, self.taken = self.taken, self.taken + count
        return [self._at(place) for place in range(start, self.taken)]

    def see(self, rollouts: Sequence[Rollout]) -> None:
        """Learn how an iteration's attempts went."""

    def replay(self, counts: Sequence[int]) -> None:
        """Go to where a run was whose iterations tried so many tasks each."""
        self.taken = sum(counts)

    def _at(self, place: int) -> Task:
        epoch, index = divmod(place, len(self.tasks))
        if self._epoch[0] != epoch:
            self._epoch = epoch, _shuffle(len(self.tasks), self.seed, epoch)
        return self.tasks[int(self._epoch[1][index])]


def _shuffle(size: int, seed: int, epoch: int) -> np.ndarray:
    key = np.array([seed & (2**64 - 1), (0x7A5C << 32) + epoch], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key)).permutation(size)
