"""Student's t distribution for any degrees of freedom of at least 1, in NumPy alone.

With x = √ν·tan θ the density becomes cos(θ)^(ν−1), so the distribution function is an integral of
a smooth function over a bounded interval.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_STEPS = 20_000


def quantile(probability: float, freedom: float) -> float:
    """The value that a t variable stays below with this probability, from 1/2 up to below 1."""
    angles, area = _areas(freedom)
    angle = float(np.interp((probability - 0.5) * 2, area, angles))
    return math.sqrt(freedom) * math.tan(angle)


def two_sided(value: float, freedom: float) -> float:
    """The probability that a t variable is at least as far from 0 as `value`."""
    angles, area = _areas(freedom)
    angle = math.atan(abs(value) / math.sqrt(freedom))
    return float(max(0.0, 1.0 - np.interp(angle, angles, area)))


def _areas(freedom: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Angles from 0 to π/2, and the share of the positive half that lies below each."""
    if freedom < 1:
        raise ValueError(f"degrees of freedom must be at least 1, not {freedom}")
    # Almost all of the area is within a few standard deviations: put the points there.
    widest = min(math.pi / 2, math.atan(60 / math.sqrt(freedom)) if freedom > 30 else math.pi / 2)
    angles = np.linspace(0.0, widest, _STEPS + 1)
    density = np.cos(angles) ** (freedom - 1)
    area = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return angles, area / area[-1]
