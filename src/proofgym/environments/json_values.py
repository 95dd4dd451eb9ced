"""When two values, as JSON has them, are the same answer."""

from __future__ import annotations

import math
from typing import Any


def same(expected: Any, got: Any, tolerance: float) -> bool:
    """Whether a returned value is the expected one, both as JSON has them: true is not 1, and an
    expected fraction allows the tolerance."""
    if isinstance(expected, bool) or isinstance(got, bool) or expected is None or got is None:
        return type(expected) is type(got) and expected == got
    if isinstance(expected, float) and isinstance(got, int | float):
        try:
            both_nan = math.isnan(expected) and math.isnan(got)
            return both_nan or math.isclose(expected, got, rel_tol=tolerance, abs_tol=tolerance)
        except OverflowError:  # an int that is no float
            return False
    if isinstance(expected, list):
        return (
            isinstance(got, list)
            and len(got) == len(expected)
            and all(same(*pair, tolerance) for pair in zip(expected, got, strict=True))
        )
    if isinstance(expected, dict):
        return (
            isinstance(got, dict)
            and got.keys() == expected.keys()
            and all(same(expected[key], got[key], tolerance) for key in expected)
        )
    if isinstance(expected, int) and isinstance(got, float):
        return got == expected
    return type(expected) is type(got) and bool(expected == got)
