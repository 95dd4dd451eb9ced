"""How much work a run may do, whatever its number of iterations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

from pydantic import Field, model_validator

from proofgym.config import Config

UNITS = {"tokens": "tokens", "verifier_seconds": "verifier seconds", "seconds": "s"}


class Budget(Config):
    """A run ends after the first iteration that reaches it. One of the three; none: no bound."""

    tokens: int | None = Field(None, ge=1)
    """Tokens that the model writes in training (a supervised control: reads)."""
    verifier_seconds: float | None = Field(None, gt=0, allow_inf_nan=False)
    """Seconds that verdicts take, summed over all attempts."""
    seconds: float | None = Field(None, gt=0, allow_inf_nan=False)
    """Wall time of the iterations; measurements and start-up do not count."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        given = [name for name in UNITS if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"only one of {', '.join(given)} can say when a run ends")
        return self

    @property
    def kind(self) -> str | None:
        """`tokens`, `verifier_seconds` or `seconds`; None without a bound."""
        return next((name for name in UNITS if getattr(self, name) is not None), None)

    @property
    def amount(self) -> float:
        """What may be spent, in the kind's unit."""
        return float(getattr(self, self.kind)) if self.kind else float("inf")

    def spent(self, events: Iterable[Mapping[str, Any]]) -> float:
        """What the iterations recorded in a run's events have used."""
        return spent(events)[self.kind] if self.kind else 0.0

    def share(self, events: Iterable[Mapping[str, Any]]) -> float:
        """The same as a share of the budget: 1 or more when it is reached."""
        return self.spent(events) / self.amount

    def __str__(self) -> str:
        return f"{self.amount:,.10g} {UNITS[self.kind]}" if self.kind else "no budget"


def spent(events: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Everything that the iterations among a run's events have used, by kind."""
    totals = dict.fromkeys(UNITS, 0.0)
    for event in events:
        if event["event"] == "iteration":
            for name in UNITS:
                totals[name] += event.get(name) or 0
    return totals
