"""Learning curves of a variant: the mean over its seeds, and from the lowest to the highest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from proofgym.comparison.record import Record

Line = NDArray[np.float64]
_STEPS = 80  # of a curve over iterations
_WINDOWS = 20  # a curve's moving average spans about one in so many of its iterations


@dataclass(frozen=True)
class Curve:
    """A named line with its band; all of the same length."""

    name: str
    x: Line
    mean: Line
    low: Line
    high: Line
    marked: bool = False
    """Whether every point is a measurement."""


def heldout(name: str, records: Sequence[Record], over: str) -> Curve | None:
    """Held-out success over `tokens` or `seconds` spent on training."""
    lines = [
        (
            np.array([point[over] for point in record.points], float),
            np.array([point["success"] for point in record.points], float),
        )
        for record in records
        if record.points
    ]
    if not lines:
        return None
    end = min(x[-1] for x, _ in lines)
    same = len({len(x) for x, _ in lines}) == 1
    grid = np.mean([x for x, _ in lines], axis=0) if same else None
    if grid is not None:  # the same measurements: their own values, at their mean place
        return _band(name, grid, [y for _, y in lines], True)
    grid = np.unique(np.concatenate([x[x <= end] for x, _ in lines]))
    return _band(name, grid, [np.interp(grid, x, y) for x, y in lines], False)


def reward(name: str, records: Sequence[Record], over: str) -> Curve | None:
    """Mean training reward over the same, smoothed over a twentieth of the iterations."""
    lines = []
    for record in records:
        spent = np.cumsum([event.get(over) or 0.0 for event in record.iterations])
        values = [event["reward"] for event in record.iterations]
        known = [place for place, value in enumerate(values) if value is not None]
        if known:
            lines.append((spent[known], _smooth(np.array([values[it] for it in known], float))))
    if not lines:
        return None
    grid = np.linspace(max(x[0] for x, _ in lines), min(x[-1] for x, _ in lines), _STEPS)
    return _band(name, grid, [np.interp(grid, x, y) for x, y in lines], False)


def _smooth(values: Line) -> Line:
    """Mean of each value and those around it, fewer at the ends."""
    half = len(values) // (2 * _WINDOWS)
    total = np.concatenate([[0.0], np.cumsum(values)])
    places = np.arange(len(values))
    low, high = np.maximum(0, places - half), np.minimum(len(values), places + half + 1)
    return (total[high] - total[low]) / (high - low)


def _band(name: str, x: Line, lines: Sequence[Line], marked: bool) -> Curve:
    stacked = np.array(lines)
    return Curve(name, x, stacked.mean(axis=0), stacked.min(axis=0), stacked.max(axis=0), marked)
