"""A number that changes over a run: factors at iterations, straight lines between them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from pydantic import RootModel, model_validator

#: A factor below this loses what exact arithmetic keeps of a number of the usual size.
LEAST = 2.0**-10


class Schedule(RootModel[tuple[tuple[int, float], ...]]):
    """`[(0, 1.0), (100, 0.1)]`: from all of it down to a tenth at iteration 100, and so on from
    there. Before the first point its factor holds, after the last that one's; without points it
    is 1. It does not depend on how long the run is, so a longer run begins as the shorter did."""

    root: tuple[tuple[int, float], ...] = ()

    @model_validator(mode="after")
    def _in_order(self) -> Schedule:
        iterations = [iteration for iteration, _ in self.root]
        if iterations != sorted(set(iterations)) or any(it < 0 for it in iterations):
            raise ValueError(f"iterations must be 0 or more and rise, not {iterations}")
        for _, factor in self.root:
            if not LEAST <= factor <= 1:
                raise ValueError(f"factors must be from {LEAST:g} to 1, not {factor:g}")
        return self

    def __iter__(self) -> Iterator[tuple[int, float]]:  # type: ignore[override]
        return iter(self.root)

    @property
    def least(self) -> float:
        """The smallest factor."""
        return min((factor for _, factor in self.root), default=1.0)

    def at(self, iteration: int) -> float:
        """The factor of an iteration."""
        if not self.root:
            return 1.0
        if iteration <= self.root[0][0]:
            return self.root[0][1]
        for (before, low), (after, high) in itertools.pairwise(self.root):
            if iteration <= after:
                return low + (high - low) * (iteration - before) / (after - before)
        return self.root[-1][1]
