"""What waiting and idling cost."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from proofgym.config import Config

Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Prices(Config):
    """Prices in one currency; the default figures are round numbers, not an offer."""

    gpu_hour: Price = 3.0
    """One GPU for one hour."""
    gpus: Annotated[int, Field(ge=0)] = 8
    """GPUs that wait when the step waits."""
    sandbox_hour: Price = 0.1
    """One sandbox for one hour, whether it is starting, idle or busy."""

    def blocked(self, seconds: float) -> float:
        """The GPUs, held for `seconds` without work."""
        return seconds / 3600 * self.gpus * self.gpu_hour

    def sandboxes(self, sandbox_seconds: float) -> float:
        """Sandboxes that existed for `sandbox_seconds` together."""
        return sandbox_seconds / 3600 * self.sandbox_hour
