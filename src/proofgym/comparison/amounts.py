"""How amounts are written in a report's sentences and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proofgym.comparison.intervals import Estimate

if TYPE_CHECKING:
    from proofgym.comparison.results import ProbeResult

NO_CHANGE = "nothing changed"
NO_DIFFERENCE = "the same on every task"


def points(value: float, sign: bool = False) -> str:
    """A share in percentage points: `1.6`, `+1.6`."""
    return f"{100 * value:{'+' if sign else ''}.1f}".replace("-0.0", "0.0")


def interval(estimate: Estimate, nothing: str = NO_CHANGE) -> str:
    """`+0.4 points [-1.1, 1.9]`, or what is said where no task's value is other than 0."""
    if estimate.all_zero:
        return nothing
    return f"{points(estimate.mean, True)} points [{points(estimate.low)}, {points(estimate.high)}]"


def nats(value: float, sign: bool = False) -> str:
    """Nats per token: `2.1345`, `+0.0021`."""
    return f"{value:{'+' if sign else ''}.4f}".replace("-0.0000", "0.0000")


def moved(probe: ProbeResult) -> str:
    """`+0.4 points [-1.1, 1.9]`, or `+0.0021 nats per token [0.0011, 0.0031]`."""
    it = probe.difference
    if probe.measures == "success" or it.all_zero:
        return interval(it)
    return f"{nats(it.mean, True)} nats per token [{nats(it.low)}, {nats(it.high)}]"
