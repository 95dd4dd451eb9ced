"""The sandbox pool as the simulation knows it: `proofgym.sandboxes.Pool` with a buffer."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from proofgym.config import Config
from proofgym.sandboxes.pool_settings import PoolSettings

_NO_LIMIT = 10**9  # as the settings say it
Count = Annotated[int, Field(ge=1)]


class Pool(Config):
    """How many sandboxes exist, and how they come and go.

    A sandbox is starting, idle or busy. Whenever fewer are starting or idle than completions wait
    plus `buffer`, and fewer than `size` exist, another is started. One that ends its action serves
    the next completion in line, or stays idle; the oldest idle one serves first, and is closed
    when more than `buffer` are idle. Each is closed after `uses` actions, after a fault, and when
    its action ran into its cap. A step begins with `buffer` idle ones.
    """

    size: Count | None = None
    """Most sandboxes at once, starting ones too; `None` for no limit."""
    buffer: Annotated[int, Field(ge=0)] = 0
    """Idle ones kept ready; `buffer == size` with `uses=None` is a pool of fixed size."""
    uses: Count | None = 1
    """Actions before a sandbox is replaced; `None` for no limit."""
    starting: Count | None = None
    """Most sandboxes starting at once; `None` for no limit."""

    @model_validator(mode="after")
    def _fits(self) -> Pool:
        if self.size is not None and self.buffer > self.size:
            raise ValueError(f"buffer = {self.buffer} must be at most size = {self.size}")
        return self

    def settings(self, **others: Any) -> PoolSettings:
        """What makes a real pool behave so; `others` are passed on."""
        return PoolSettings(
            smallest=self.buffer,
            largest=self.size or _NO_LIMIT,
            buffer=self.buffer,
            uses=self.uses or _NO_LIMIT,
            starting=self.starting or _NO_LIMIT,
            **others,
        )
