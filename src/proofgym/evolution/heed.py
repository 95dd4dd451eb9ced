"""Whether what scores members is computed with their weights.

`reach.py` has noise on one tensor at a time, and looks at the pass over a prompt. Training goes
other ways: steps, compiled and captured, or rows that members read. What these say of some tokens
is held against the pass over the same tokens, with the member's weights and with the policy's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from proofgym.evolution.state import State

LOUD = 16, 4, 1
"""How many times σ members have for this, the first that a model bears: noise that training needs
can be as small as rounding."""
_SAFE = 2**29
"""What members may add to Δ for this: more, and Δ would take twice the memory from then on."""
_SHARE = 0.25
_ABOVE_ROUNDING = 100.0


@dataclass(frozen=True)
class Heard:
    """Log-probabilities of the same tokens, in one order."""

    used: Sequence[float]
    """Of members, as training computes them."""
    own: Sequence[float]
    """Of the same members, by a pass over the tokens."""
    policy: Sequence[float]
    """Of the policy, by such a pass."""

    @property
    def finite(self) -> bool:
        return all(map(math.isfinite, (*self.used, *self.own, *self.policy)))

    @property
    def astray(self) -> float:
        """Mean square of what training is off by."""
        return apart(self.used, self.own)

    @property
    def noise(self) -> float:
        """Mean square of what noise changes."""
        return apart(self.own, self.policy)

    def heeded(self, rounding: float) -> bool:
        """Whether training goes by the members' weights, as far as can be told where one
        computation and another of the same differ by `rounding` (a mean square)."""
        visible = self.noise > _ABOVE_ROUNDING * rounding
        return not visible or self.astray <= _SHARE * self.noise


def apart(one: Sequence[float], other: Sequence[float]) -> float:
    """Mean square of the differences; 0 of none."""
    squares = [(a - b) ** 2 for a, b in zip(one, other, strict=True)]
    return math.fsum(squares) / max(1, len(squares))


def loud(state: State, k: int, times: int) -> int:
    """k, so many times, or as often as Δ has room for."""
    shift = max(tensor.shift for tensor in state.manifest)
    most = _SAFE // (state.specification.largest << shift)
    return max(k, min(times * k, most))
