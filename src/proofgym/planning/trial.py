"""Tries pools on the same few simulated steps and prices what comes out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

from proofgym.planning.pool import Pool
from proofgym.planning.prices import Prices
from proofgym.planning.simulation import Result, simulate, simulate_unless_late
from proofgym.planning.step import Draws, Step


@dataclass(frozen=True, slots=True)
class Row:
    """One pool and what it comes to: means over the simulated steps."""

    size: int | None
    buffer: int
    step_s: float
    blocked_s: float
    wait_p99_s: float
    idle_s: float
    peak: int
    lost: float
    blocked_cost: float
    """The GPUs while they wait for verdicts."""
    idle_cost: float
    """The sandboxes while they are ready and unused."""
    cost: float
    """Blocked GPUs and all sandbox seconds (starting, idle and busy)."""

    @property
    def limit(self) -> float:
        """The size as a number, infinite if unlimited."""
        return math.inf if self.size is None else self.size

    @property
    def label(self) -> str:
        return "unlimited" if self.size is None else str(self.size)

    def to_json(self) -> dict[str, Any]:
        """All figures, rounded, by name."""
        names = [name for name in self.__slots__ if name not in ("size", "buffer", "peak")]
        figures = {name: round(getattr(self, name), 4) for name in names}
        return {"size": self.size, "buffer": self.buffer, "peak": self.peak} | figures


class Trial:
    """`trial.row(size, buffer)` simulates that pool; asked again, it remembers.

    Every pool is tried on the same draws. May be called from many threads.
    """

    def __init__(self, step: Step, prices: Prices, pool: Pool, steps: int) -> None:
        self.step, self.prices = step, prices
        self._like = pool
        self._steps = steps
        self._lock = Lock()
        self._known: dict[tuple[int | None, int], Row] = {}
        self._late: dict[tuple[int | None, int], float] = {}

    @cached_property
    def _draws(self) -> list[Draws]:
        return [self.step.draw(index) for index in range(self._steps)]

    def row(self, size: int | None, buffer: int) -> Row:
        with self._lock:
            draws = self._draws
        if (size, buffer) not in self._known:
            pool = self.pool(size, buffer)
            results = [simulate(self.step, pool, each) for each in draws]
            self._known[size, buffer] = self._row(pool, results)
        return self._known[size, buffer]

    def waits_at_most(self, wait_s: float, size: int | None, buffer: int) -> bool:
        """Whether that row's `wait_p99_s` is; a pool for which it is not is soon done with."""
        key = (size, buffer)
        if key not in self._known and self._late.get(key, -1.0) < wait_s:
            with self._lock:
                draws = self._draws
            pool, results = self.pool(size, buffer), []
            for each in draws:  # one so late makes the mean too late
                result = simulate_unless_late(self.step, pool, each, wait_s * len(draws))
                if result is None:
                    self._late[key] = wait_s
                    return False
                results.append(result)
            self._known[key] = self._row(pool, results)
        return key in self._known and self._known[key].wait_p99_s <= wait_s

    def pool(self, size: int | None, buffer: int) -> Pool:
        """The pool that row is of."""
        uses, starting = self._like.uses, self._like.starting
        return Pool(size=size, buffer=buffer, uses=uses, starting=starting)

    def _row(self, pool: Pool, results: list[Result]) -> Row:
        def mean(name: str) -> float:
            return sum(getattr(result, name) for result in results) / len(results)

        blocked = self.prices.blocked(mean("blocked_s"))
        existing = mean("idle_s") + mean("busy_s") + mean("starting_s")
        return Row(
            size=pool.size,
            buffer=pool.buffer,
            step_s=mean("step_s"),
            blocked_s=mean("blocked_s"),
            wait_p99_s=mean("wait_p99_s"),
            idle_s=mean("idle_s"),
            peak=max(result.peak for result in results),
            lost=mean("lost"),
            blocked_cost=blocked,
            idle_cost=self.prices.sandboxes(mean("idle_s")),
            cost=blocked + self.prices.sandboxes(existing),
        )
