"""Whether what scores members is computed with their weights.

`reach.py` has noise on one tensor at a time, and looks at the pass over a prompt. Training goes
other ways: steps, compiled and captured, or rows that members read. What these say of some tokens
is held against the pass over the same tokens, value by value: a single one that rounding or chaos
throws far off says nothing, while a fault is in most.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from proofgym.evolution.state import State

LOUD = 1, 4, 16
"""How many times σ members have for this, the least that shows: noise that training needs can be as
small as rounding."""
FEWEST = 6
"""Values in which noise must show."""
_LARGEST = 2**31 - 1
_SHARE = 1 / 3
_ABOVE_ROUNDING = 4.0


@dataclass(frozen=True)
class Heard:
    """Log-probabilities of the same tokens, or of as many together, in one order."""

    used: Sequence[float]
    """Of members, as training computes them."""
    own: Sequence[float]
    """Of the same members, by a pass over the tokens."""
    ground: Sequence[float]
    """What noise is measured from: the policy's, by such a pass, or the mean of the members'."""
    tokens: Sequence[int]
    """How many tokens each is of."""

    @property
    def finite(self) -> bool:
        return all(map(math.isfinite, (*self.used, *self.own, *self.ground)))

    def showing(self, rounding: float) -> list[tuple[float, float]]:
        """How far training is off, and what noise changes, of the values in which noise shows above
        a rounding of so much a token."""
        rows = zip(self.used, self.own, self.ground, self.tokens, strict=True)
        pairs = [(abs(used - own), abs(own - ground), count) for used, own, ground, count in rows]
        return [
            (off, noise)
            for off, noise, count in pairs
            if noise > _ABOVE_ROUNDING * rounding * count
        ]


def astray(showing: Sequence[tuple[float, float]]) -> bool:
    """Whether more than a third of these values are off by more than half of what noise changes."""
    return sum(off > noise / 2 for off, noise in showing) > _SHARE * len(showing)


def rounding(dtype: torch.dtype) -> float:
    """What one computation of a token's log-probability may differ by from another."""
    return max(1e-4, 4 * torch.finfo(dtype).eps)


def loud(state: State, k: int, times: int) -> int:
    """k, so many times, or as often as Δ has room for: it would take twice the memory from then
    on."""
    shift = max(tensor.shift for tensor in state.manifest)
    bound = max(it.bound for it in state.delta.values())
    most = max(0, _LARGEST - bound) // (state.specification.largest << shift)
    return max(k, min(times * k, most))
