"""What a pool should reach, and which of several to take for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from proofgym.errors import ConfigError
from proofgym.planning.trial import Row

_CLOSE = 1.01  # what a step's luck changes anyway


@dataclass(frozen=True, slots=True)
class Goal:
    """What a pool should reach."""

    wait_s: float = 0.1
    """99 of 100 completions wait at most this long."""
    premium: float = 0.25
    """Reaching it may cost this share more than the cheapest pool."""

    def __post_init__(self) -> None:
        for name in ("wait_s", "premium"):
            if not getattr(self, name) >= 0:
                raise ConfigError(f"{name} = {getattr(self, name)}: must be at least 0")

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
