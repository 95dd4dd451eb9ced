"""How much of the variance of a score goes with each factor of a full grid of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Part:
    """One source of variance."""

    name: str
    squares: float
    """Sum of squares of its main effect."""
    freedom: int
    share: float
    """Of the total sum of squares."""
    by_chance: float
    """The share that it would have on average if nothing but chance were at work."""
    omega: float | None
    """ω² (Hays 1963): the share with chance taken off; None where nothing is left to tell it by."""


REST = "rest"


def decompose(scores_N: NDArray[np.float64], factors: Mapping[str, Sequence[str]]) -> list[Part]:
    """Main effects of the factors and the rest (interactions and chance), of N runs.

    `factors` gives each run's level of each factor. Where the runs form a full grid, each cell
    equally often, the parts are orthogonal and their shares sum to 1.

    Raises:
        ValueError: they do not.
    """
    scores = np.asarray(scores_N, np.float64)
    count, deviations = len(scores), scores - scores.mean()
    if not is_full_grid(factors):
        raise ValueError("the runs are not a full grid: effects of factors cannot be told apart")
    total = float((deviations**2).sum())
    found = {name: _squares(deviations, levels) for name, levels in factors.items()}
    freedom = {name: len(set(levels)) - 1 for name, levels in factors.items()}
    found[REST] = max(0.0, total - sum(found.values()))
    freedom[REST] = count - 1 - sum(freedom.values())
    noise = found[REST] / freedom[REST] if freedom[REST] else None
    return [
        Part(
            name,
            squares,
            freedom[name],
            squares / total if total else 0.0,
            freedom[name] / (count - 1),
            _omega(squares, freedom[name], noise, total) if name != REST else None,
        )
        for name, squares in found.items()
    ]


def is_full_grid(factors: Mapping[str, Sequence[str]]) -> bool:
    """Whether every combination of levels is there, all equally often."""
    cells = list(zip(*factors.values(), strict=True))
    wanted = list(product(*(sorted(set(levels)) for levels in factors.values())))
    counts = {cells.count(cell) for cell in wanted}
    return len(cells) > 1 and len(counts) == 1 and 0 not in counts


def _squares(deviations: NDArray[np.float64], levels: Sequence[str]) -> float:
    total = 0.0
    for level in set(levels):
        chosen = deviations[[here == level for here in levels]]
        total += len(chosen) * float(chosen.mean()) ** 2
    return total


def _omega(squares: float, freedom: int, noise: float | None, total: float) -> float | None:
    if noise is None or total + noise == 0:
        return None
    return max(0.0, (squares - freedom * noise) / (total + noise))
