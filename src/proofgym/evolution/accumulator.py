"""Δ of one tensor: integers that are proven never to overflow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from proofgym.errors import HistoryError

_INT32 = 2**31 - 1
#: Beyond this, Δ·m of a weight decay (m < 2^16) would not fit an int64.
_LIMIT = 2**46


class Accumulator:
    """`values` [size], int32 until they could overflow, then int64. `bound` ≥ max|values|."""

    def __init__(self, size: int) -> None:
        self.values: NDArray[Any] = np.zeros(size, np.int32)
        self.bound = 0

    @property
    def wide(self) -> bool:
        """Whether the values have 64 bits."""
        return self.values.dtype == np.dtype(np.int64)

    def widen(self) -> None:
        """Give the values 64 bits."""
        self.values = self.values.astype(np.int64)

    def grow(self, amount: int) -> None:
        """Make room to add integers of magnitude up to `amount`, for good."""
        self.reserve(amount)
        self.bound += amount

    def reserve(self, amount: int) -> None:
        """Widen if Δ plus integers of magnitude up to `amount` might not fit an int32.

        The cheap bound only ever overestimates, so the true maximum is looked up before widening.
        """
        ceiling = _LIMIT if self.wide else _INT32
        if self.bound + amount <= ceiling:
            return
        self.bound = self.largest()
        if not self.wide and self.bound + amount > _INT32:
            self.widen()
        if self.bound + amount > _LIMIT:
            raise HistoryError("the update is beyond 2^46 steps of s: lower the learning rate")

    def largest(self) -> int:
        """max|Δ|, exactly."""
        if not self.values.size:
            return 0
        return max(abs(int(self.values.max())), abs(int(self.values.min())))
