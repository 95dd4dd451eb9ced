"""One training step as the sandboxes see it: what arrives when, and how long it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from proofgym.config import Config
from proofgym.planning.distribution import (
    Distribution,
    Exponential,
    LogNormal,
    PositiveSeconds,
    Seconds,
)
from proofgym.random import stream

Share = Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True, slots=True)
class Draws:
    """Everything random in one step of N rollouts and A attempts each.

    The same for every pool, so that two pools differ by what they do and not by luck.
    """

    arrivals_N: NDArray[np.float64]
    """Seconds from the step's start, ascending."""
    services_N: NDArray[np.float64]
    """Seconds each action takes in a sandbox that works, capped."""
    capped_N: NDArray[np.bool_]
    """Whether it is ended by the cap, and its sandbox with it."""
    failures_AN: NDArray[np.bool_]
    """Whether the machinery fails this attempt at this rollout."""
    until_failure_AN: NDArray[np.float64]
    """Seconds until it does."""
    starts_S: NDArray[np.float64]
    """Seconds each start of a sandbox takes, in the order of starting; cyclic."""


class Step(Config):
    """The work of one step: each rollout is one action in one sandbox."""

    rollouts: Annotated[int, Field(ge=1)] = 10_000
    """Completions to verify."""
    gaps: Distribution = Exponential(mean_s=1 / 50)
    """Seconds between one completion and the next: the generator's rate and how even it is."""
    service: Distribution = LogNormal(median_s=1.0, p99_s=8.0)
    """Seconds of an action in a ready sandbox, before the cap."""
    cap_s: PositiveSeconds = 10.0
    """An action is ended after this, and its sandbox with it."""
    hanging: Share = 0.0
    """Share of the actions that never end by themselves and take the whole cap."""
    start: Distribution = LogNormal(median_s=0.3, p99_s=1.0)
    """Seconds from the decision to start a sandbox until it can take an action."""
    failure: Share = 0.0
    """Probability that the machinery fails an attempt; it is retried in a fresh sandbox."""
    failure_after: Distribution | None = None
    """Seconds into the action until the fault shows; `None` for the action's own time."""
    retries: Annotated[int, Field(ge=0)] = 2
    """Further attempts before a rollout is given up and recorded without a score."""
    cores: Annotated[float, Field(gt=0)] | None = None
    """Processors that busy sandboxes share equally, with `service`, `cap_s` and `failure_after` in
    processor seconds; `None` if each sandbox has its own."""
    update_s: Seconds = 0.0
    """Seconds between the last verdict and the next step, in which the warm ones idle."""
    seed: int = 0
    """Of all draws."""

    def draw(self, index: int = 0) -> Draws:
        """The random part of the step with this index: a pure function of (seed, index)."""
        count, attempts = self.rollouts, self.retries + 1

        def random(purpose: str) -> np.random.Generator:
            key = stream(self.seed, f"plan {purpose}", index)
            return np.random.Generator(np.random.Philox(key=key))

        services = self.service.draw(random("service"), count)
        services[random("hanging").random(count) < self.hanging] = self.cap_s
        capped = services >= self.cap_s
        services = np.minimum(services, self.cap_s)
        if self.failure == 0:
            failures = np.zeros((attempts, count), bool)
        else:
            failures = random("failure").random((attempts, count)) < self.failure
        after = np.broadcast_to(services, failures.shape)
        if self.failure > 0 and self.failure_after is not None:
            drawn = self.failure_after.draw(random("failure after"), failures.size)
            after = np.minimum(drawn.reshape(failures.shape), after)
        return Draws(
            arrivals_N=np.cumsum(self.gaps.draw(random("gaps"), count)),
            services_N=services,
            capped_N=capped,
            failures_AN=failures,
            until_failure_AN=after,
            starts_S=self.start.draw(random("start"), 2 * count),
        )
