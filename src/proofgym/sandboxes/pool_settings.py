"""How a warm pool behaves."""

from __future__ import annotations

from pydantic import Field, model_validator

from proofgym.config import Config


class PoolSettings(Config):
    """Sizes, budgets and the circuit breaker of one pool of workers."""

    smallest: int = Field(1, ge=0)
    """Workers kept ready even when nobody asks."""
    largest: int = Field(4, ge=1)
    """Workers at most; between the two the pool follows the demand."""
    buffer: int | None = Field(None, ge=0)
    """Jobs that could begin at once, kept ready beyond those under way and waiting; `largest` then
    bounds all workers, those in use and worn out too. None: learned from the demand."""
    slots: int = Field(1, ge=1)
    """Jobs that one worker takes at once."""
    at_once: int | None = Field(None, ge=1)
    """Jobs at once in the whole pool, those of workers being retired too; None: largest x slots."""
    starting: int = Field(2, ge=1)
    """Workers that may be starting at the same time."""
    waiting: int = Field(100_000, ge=1)
    """Jobs that may wait; one more is refused at once, so that the caller slows down."""
    wait_s: float = Field(600.0, gt=0, allow_inf_nan=False)
    """Longest wait for a worker."""
    start_s: float = Field(30.0, gt=0, allow_inf_nan=False)
    """Budget of one start: a worker that is not ready by then is ended, and counts as a failure."""
    job_s: float = Field(600.0, gt=0, allow_inf_nan=False)
    """Budget of one job: a worker that holds one for longer is ended."""
    life_s: float = Field(3600.0, gt=0, allow_inf_nan=False)
    """A worker older than this gets no new job, and ends with its last one."""
    uses: int = Field(10_000, ge=1)
    """A worker that has had so many jobs gets no new one."""
    growth_mb: int = Field(256, ge=1)
    """A worker that holds so much more memory than after its first job gets no new one."""
    window_s: float = Field(30.0, gt=0, allow_inf_nan=False)
    """The demand of the last so many seconds sets the size."""
    failures: int = Field(5, ge=1)
    """Failures in a row that open the circuit breaker."""
    pause_s: float = Field(1.0, gt=0, allow_inf_nan=False)
    """How long it stays open at first; doubled after every trial that fails."""
    longest_pause_s: float = Field(60.0, gt=0, allow_inf_nan=False)
    """How long it stays open at most."""

    @model_validator(mode="after")
    def _ordered(self) -> PoolSettings:
        if self.smallest > self.largest:
            raise ValueError(
                f"PoolSettings.smallest = {self.smallest}: must not be more than "
                f"largest = {self.largest}"
            )
        return self

    @property
    def jobs(self) -> int:
        """Jobs at once in the whole pool."""
        return self.at_once or self.largest * self.slots
