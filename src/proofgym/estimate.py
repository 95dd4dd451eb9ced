"""Estimates from verdicts: pass@k and its intervals. All functions are pure NumPy.

`successes_T` and `samples_T` hold, per task, how many of its completions passed and were scored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]


def pass_at_k(successes_T: Counts, samples_T: Counts, k: int) -> NDArray[np.float64]:
    """Unbiased pass@k per task, 1 - C(n-c, k) / C(n, k) (Chen et al., arXiv 2107.03374, eq. 1).

    Shapes: [T], [T] -> [T]. Raises ValueError where a task has fewer than k samples.
    """
    if k < 1 or bool((samples_T < k).any()):
        raise ValueError(f"pass@{k} needs at least {k} samples of every task")
    result = np.ones(len(samples_T))
    for task, (passed, total) in enumerate(zip(successes_T, samples_T, strict=True)):
        if total - passed >= k:
            steps = np.arange(total - passed + 1, total + 1)
            result[task] = 1.0 - np.prod(1.0 - k / steps)
    return result


@dataclass(frozen=True)
class Interval:
    """A mean with a 95 % percentile-bootstrap interval over tasks."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.mean:.1f} % [{100 * self.low:.1f}, {100 * self.high:.1f}]"


def bootstrap_mean(values_T: NDArray[np.float64], seed: int = 0, draws: int = 10_000) -> Interval:
    """Percentile bootstrap of the mean over tasks; of per-task differences: a paired interval."""
    values = np.asarray(values_T, dtype=np.float64)
    if len(values) == 0:
        raise ValueError("no tasks were scored")
    generator = np.random.Generator(np.random.Philox(key=seed))
    picks = generator.integers(0, len(values), size=(draws, len(values)))
    low, high = np.percentile(values[picks].mean(axis=1), [2.5, 97.5])
    return Interval(float(values.mean()), float(low), float(high))
