"""Tasks beside those of a run, to see what training does to everything else."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from proofgym.config import Config
from proofgym.environments.attempts import Attempts
from proofgym.environments.choice import (
    AnyEnvironment,
    AnyReward,
    open_attempts,
    refuse_both,
    refuse_unjudgeable,
)
from proofgym.environments.lean import Lean
from proofgym.errors import ConfigError
from proofgym.likelihood import Likelihood
from proofgym.tasks.tasks import Tasks
from proofgym.types import Sampling


class Probe(Config):
    """Success on other tasks before and after training: what is forgotten, or carries over."""

    measures: ClassVar[Literal["success"]] = "success"

    tasks: Tasks
    """What to attempt."""
    reward: AnyReward = Lean()
    """How completions are judged, as in a job."""
    environment: AnyEnvironment = None
    """In place of `reward`, as in a job."""
    samples: int = Field(1, ge=1)
    """Attempts at each task."""
    sampling: Sampling | None = None
    """None: as the held-out tasks are."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        refuse_both("reward" in self.model_fields_set, self.environment)
        return self

    def check(self) -> None:
        """Load the tasks and refuse what cannot be judged. Raises ConfigError, TaskError."""
        tasks = self.tasks.load()
        if not tasks:
            raise ConfigError(f"Probe.tasks = {self.tasks!r}: holds no task")
        refuse_unjudgeable(self.reward, self.environment, tasks)

    def open(self, workers: int) -> Attempts:
        """What makes and scores the attempts; the caller closes it."""
        attempts = open_attempts(self.reward, self.environment, workers)
        try:
            attempts.prepare(self.tasks)
        except BaseException:
            attempts.close()
            raise
        return attempts


AnyProbe = Probe | Likelihood
"""What a mapping of probes may hold."""
