"""What a pool should reach, and which of several to take for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pydantic import Field

from proofgym.config import Config
from proofgym.planning.trial import Row

_CLOSE = 1.01  # what a step's luck changes anyway


class Goal(Config):
    """What a pool should reach."""

    wait_s: Annotated[float, Field(ge=0)] = 0.1
    """99 of 100 completions wait at most this long."""
    premium: Annotated[float, Field(ge=0)] = 0.25
    """Reaching it may cost this share more than the cheapest pool."""

    def choose(self, rows: Iterable[Row]) -> Row:
        """The smallest pool among the cheapest, then quickest, of those that reach the goal."""
        rows = list(rows)
        bound = (1 + self.premium) * min(row.cost for row in rows)
        listed = [row for row in rows if self.reached(row) and row.cost <= bound] or rows
        cheapest = min(row.cost for row in listed)
        listed = [row for row in listed if row.cost <= _CLOSE * cheapest]
        quickest = min(row.step_s for row in listed)
        listed = [row for row in listed if row.step_s <= _CLOSE * quickest]
        return min(listed, key=lambda row: row.limit)

    def reached(self, row: Row) -> bool:
        return row.wait_p99_s <= self.wait_s
