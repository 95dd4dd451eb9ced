"""Intervals for means over seeds and tasks, and what several of them mean together.

A table d[s, t] holds, for seed s and held-out task t, a score or the difference of two variants'
scores. Seeds and tasks are both samples of what could have been; a mean over the table is meant for
other seeds and other tasks of the same kind.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from proofgym.comparison import student

Table = NDArray[np.float64]
DRAWS = 10_000
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float
    p: float
    """Of a mean at least as far from 0 if the true one were 0 (two-sided)."""
    freedom: float
    """Satterthwaite's degrees of freedom; infinity where only tasks were drawn."""
    seeds: int

    @property
    def shows_sign(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0

    @property
    def all_zero(self) -> bool:
        """Whether every value was 0: only then has an interval around 0 no width."""
        return self.mean == self.low == self.high == 0

    def within(self, least: float, most: float) -> Estimate:
        """The same with the interval cut to what is possible."""
        low, high = (min(max(value, least), most) for value in (self.low, self.high))
        return Estimate(self.mean, low, high, self.p, self.freedom, self.seeds)


def two_way(table_ST: Table, seed: int = 0, draws: int = DRAWS, level: float = LEVEL) -> Estimate:
    """The mean of a table with a two-way bootstrap interval over seeds and tasks.

    Rows and columns are drawn anew, with replacement; a draw's value is the mean plus the mean of
    the row effects and of the column effects drawn. The draws' spread is then set to the unbiased
    estimate of the mean's variance under crossed random effects (Cornfield and Tukey 1956), not
    less than that over tasks alone, and widened by Student's t at Satterthwaite's degrees of
    freedom, and never narrower than Student's interval: few rows are drawn without tails. A table
    of one row gives an ordinary percentile bootstrap over tasks.
    """
    table = np.asarray(table_ST, np.float64)
    seeds, tasks = table.shape
    mean = float(table.mean())
    if tasks < 2:
        return Estimate(mean, -math.inf, math.inf, 1.0, math.inf, seeds)
    rows, columns = table.mean(axis=1) - mean, table.mean(axis=0) - mean
    generator = np.random.Generator(np.random.Philox(key=seed))
    drawn = _drawn(columns, generator, draws)
    variance, freedom = _variance(table, rows, columns)
    if seeds > 1:
        drawn = drawn + _drawn(rows, generator, draws)
    spread = float(drawn.std())
    tail = (1 - level) / 2
    if variance < _NOTHING**2:
        return _all_alike(table, mean, freedom)
    p = student.two_sided(mean / math.sqrt(variance), freedom)
    quantile = student.quantile(1 - tail, freedom)
    low = high = 0.0
    if spread >= _NOTHING:  # else rows and columns are alike, and only their cells differ
        wide = quantile / student.quantile(1 - tail, _MANY)
        low, high = np.quantile(drawn * (math.sqrt(variance) / spread * wide), [tail, 1 - tail])
    if seeds > 1 or spread < _NOTHING:  # draws of two or three rows have no tails
        half = math.sqrt(variance) * quantile
        low, high = min(low, -half), max(high, half)
    return Estimate(mean, mean + float(low), mean + float(high), p, freedom, seeds)


def _all_alike(table: Table, mean: float, freedom: float) -> Estimate:
    """Where everything that is drawn is the same nothing says how far it would spread: the exact
    sign test over the tasks, and no interval where that shows nothing."""
    seeds, tasks = table.shape
    p = min(1.0, 2.0 ** (1 - tasks)) if mean else 1.0
    known = mean == 0 or p < 1 - LEVEL
    low, high = (mean, mean) if known else (-math.inf, math.inf)
    return Estimate(mean, low, high, p, freedom, seeds)


_NOTHING = 1e-12  # of scores from 0 to 1: what rounding leaves of equal ones
_MANY = 1e6  # degrees of freedom of what is as good as normal


def _drawn(effects: NDArray[np.float64], generator: np.random.Generator, draws: int) -> Table:
    """Means of as many of the effects drawn with replacement, [draws]."""
    picks = generator.integers(0, len(effects), size=(draws, len(effects)))
    return effects[picks].mean(axis=1)


def _variance(
    table: Table, rows: NDArray[np.float64], columns: NDArray[np.float64]
) -> tuple[float, float]:
    """Unbiased variance of a table's mean, and its degrees of freedom."""
    seeds, tasks = table.shape
    by_tasks = seeds * float((columns**2).sum()) / (tasks - 1)
    cells = seeds * tasks
    if seeds == 1:
        return by_tasks / cells, _MANY
    by_seeds = tasks * float((rows**2).sum()) / (seeds - 1)
    rest = table - table.mean() - rows[:, None] - columns[None, :]
    by_rest = float((rest**2).sum()) / ((seeds - 1) * (tasks - 1))
    parts = [(by_seeds, seeds - 1), (by_tasks, tasks - 1), (by_rest, (seeds - 1) * (tasks - 1))]
    total = by_seeds + by_tasks - by_rest
    least = max(by_tasks, by_rest)  # as tasks are expected to differ by more than the rest
    if total <= least:  # seeds differ by no more than chance makes them
        return least / cells, float(tasks - 1)
    freedom = total**2 / sum(square**2 / degrees for square, degrees in parts)
    return total / cells, max(1.0, freedom)


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values corrected for there being several (Holm 1979): comparing each with 0.05 wrongly
    finds any difference in at most 5 of 100 such families without one."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    corrected, worst = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        worst = max(worst, min(1.0, p_values[index] * (len(p_values) - rank)))
        corrected[index] = worst
    return corrected
