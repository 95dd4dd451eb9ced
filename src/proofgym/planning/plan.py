"""The plan: a range of pool sizes, each with the buffer it needs, and the one to take.

The goal is that no completion waits for a sandbox (99 of 100 wait at most `wait_s`), at the least
cost. A buffer is the smallest that reaches the goal at that pool size. The pool is the smallest
whose cost and step time are within 1 % of the best among those that reach it. Where reaching it
costs more than `premium` above the cheapest pool, it is given up and the cheapest is taken.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from proofgym.errors import FieldError, Problem
from proofgym.planning.goal import Goal
from proofgym.planning.pool import Pool
from proofgym.planning.prices import Prices
from proofgym.planning.reason import explain
from proofgym.planning.step import Step
from proofgym.planning.trial import Row, Trial

T = TypeVar("T")

_MANY = 100_000
_FINE = 0.04  # a size or buffer is searched to this share of itself


@dataclass(frozen=True, slots=True)
class Plan:
    """The rows by size, the recommended one of them, and why, in a sentence."""

    rows: list[Row]
    recommended: Row
    reason: str
    goal: Goal
    pool: Pool
    """The recommended one; `pool.settings()` is what `proofgym.sandboxes` takes."""

    def settings(self) -> dict[str, int | None]:
        """What to give `PoolSettings`; what is left to its default is left out."""
        names = ("smallest", "largest", "buffer", "uses", "starting")
        made = self.pool.settings()
        return {name: getattr(made, name) for name in names}

    def to_json(self) -> dict[str, Any]:
        return {
            "recommended": self.recommended.to_json(),
            "settings": self.settings(),
            "reason": self.reason,
            "wait_s": self.goal.wait_s,
            "rows": [row.to_json() for row in self.rows],
        }


def make_plan(
    step: Step,
    prices: Prices | None = None,
    *,
    goal: Goal | None = None,
    sizes: Sequence[int | None] | None = None,
    uses: int | None = 1,
    starting: int | None = None,
    steps: int | None = None,
) -> Plan:
    """Simulate a range of pools and recommend one.

    Args:
        goal: the wait to reach, and what that may cost.
        sizes: the pool sizes to look at (`None` in it: unlimited); by default from 1 to as many
            as would ever run at once, and unlimited. Only the default range is refined.
        uses: actions before a sandbox is replaced.
        starting: most sandboxes starting at once.
        steps: simulated steps to average over; by default 3, and 1 from 100,000 rollouts on,
            where luck evens out within a step.

    Raises:
        ConfigError: a value is out of range, every rollout is lost, or Numba is missing.
    """
    steps = (3 if step.rollouts < _MANY else 1) if steps is None else steps
    _check(sizes, steps)
    goal = goal or Goal()
    trial = Trial(step, prices or Prices(), Pool(uses=uses, starting=starting), steps)
    best = trial.row(None, 0)
    if best.lost >= step.rollouts:
        raise FieldError(Problem("Step", "failure", _hopeless(step), repr(step.failure)))
    most = best.peak
    looked_at = _range(most) if sizes is None else sorted(set(sizes), key=_limit)
    enough = _first(looked_at, lambda size: _reaches(trial, size, _whole(size, most), goal))

    def row(size: int | None) -> Row:
        hopeless = enough is None or _limit(size) < _limit(enough[0])
        return trial.row(size, 0) if hopeless else _best_buffer(trial, size, most, goal)

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        rows = list(threads.map(row, looked_at[::-1]))[::-1]  # the longest first
    chosen = goal.choose(rows)
    if sizes is None:
        chosen = _finer(trial, rows, chosen, most, goal)
    if not goal.reached(chosen):
        warm = trial.row(chosen.size, _whole(chosen.size, most))
        chosen = min(chosen, warm, key=lambda it: it.cost)
    rows = sorted({row.size: row for row in [*rows, chosen]}.values(), key=lambda it: it.limit)
    pool = trial.pool(chosen.size, chosen.buffer)
    return Plan(rows, chosen, explain(trial, rows, chosen, goal), goal, pool)


def _hopeless(step: Step) -> str:
    attempts = f"{step.retries + 1} attempt{'s' if step.retries else ''}"
    return f"each of the {step.rollouts} rollouts is lost after {attempts}, whatever the pool"


def _check(sizes: Sequence[int | None] | None, steps: int) -> None:
    if steps < 1:
        raise FieldError(Problem("make_plan", "steps", "must be at least 1", repr(steps)))
    for size in sizes or ():
        if size is not None and size < 1:
            message = f"{size} must be at least 1, or None for unlimited"
            raise FieldError(Problem("make_plan", "sizes", message))
    if sizes is not None and not sizes:
        raise FieldError(Problem("make_plan", "sizes", "is empty: give at least one pool size"))


def _limit(size: int | None) -> float:
    return float("inf") if size is None else size


def _range(most: int) -> list[int | None]:
    """From 1 to `most`, closer together near the top, and unlimited."""
    sizes, size = [most], most
    while size > 1:
        size = int(size * (0.8 if size > most / 4 else 0.5 if size > most / 32 else 0.25))
        sizes.append(max(size, 1))
    return [*sorted(set(sizes)), None]


def _best_buffer(trial: Trial, size: int | None, most: int, goal: Goal) -> Row:
    """The row of the smallest buffer that reaches the goal, else of none."""
    largest = _whole(size, most)
    ladder = [0, *(2**power for power in range(largest.bit_length()))]
    ladder = [*(buffer for buffer in ladder if buffer < largest), largest]
    found = _first(ladder, lambda buffer: _reaches(trial, size, buffer, goal))
    return trial.row(size, found[0] if found else 0)


def _whole(size: int | None, most: int) -> int:
    """The largest buffer worth a look at."""
    return int(min(most, _limit(size)))


def _reaches(trial: Trial, size: int | None, buffer: int, goal: Goal) -> bool:
    return trial.waits_at_most(goal.wait_s, size, buffer)


def _first(ascending: Sequence[T], good: Callable[[T], bool]) -> tuple[T] | None:
    """The first good one, if those after a good one are good too; None if the last is not.

    In a tuple, as it may itself be None, which is an unlimited size.
    """
    if not good(ascending[-1]):
        return None
    low, high = 0, len(ascending) - 1
    while low < high:
        middle = (low + high) // 2
        if good(ascending[middle]):
            high = middle
        else:
            low = middle + 1
    return (ascending[high],)


def _between(low: int, high: int, good: Callable[[int], bool]) -> int:
    """The smallest good number above `low`, which is bad, up to `high`, which is good, nearly."""
    while high - low > max(1, _FINE * high):
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return high


def _finer(trial: Trial, rows: list[Row], chosen: Row, most: int, goal: Goal) -> Row:
    """Search between the chosen size and the next smaller, then between buffers."""
    smaller = [row.size for row in rows if row.size is not None and row.limit < chosen.limit]

    def as_good(size: int) -> bool:
        row = _best_buffer(trial, size, most, goal)
        return goal.choose([row, chosen]) is row

    if chosen.size is not None and smaller:
        size = _between(max(smaller), chosen.size, as_good)
        chosen = _best_buffer(trial, size, most, goal)
    if goal.reached(chosen) and chosen.buffer > 1:
        here = chosen.size
        buffer = _between(
            chosen.buffer // 2,
            chosen.buffer,
            lambda buffer: _reaches(trial, here, buffer, goal),
        )
        chosen = trial.row(here, buffer)
    return chosen
