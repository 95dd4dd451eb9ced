"""Simulates one step with one pool."""

from __future__ import annotations

import importlib.util
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from proofgym.errors import ConfigError
from proofgym.planning.pool import Pool
from proofgym.planning.step import Draws, Step

_P99 = 0.99


@dataclass(frozen=True, slots=True)
class Result:
    """What one simulated step came to."""

    step_s: float
    """From the step's start to its last verdict."""
    generation_s: float
    """From the step's start to the last completion."""
    waits_N: NDArray[np.float64]
    """Seconds each completion waited for sandboxes, over all its attempts."""
    busy_s: float
    """Sandbox seconds with an action."""
    idle_s: float
    """Sandbox seconds ready without an action, the pause after the step included."""
    starting_s: float
    """Sandbox seconds spent starting."""
    started: int
    """Sandboxes started during the step."""
    retried: int
    """Attempts that the machinery failed and that were made again."""
    lost: int
    """Rollouts given up after their last retry; they have no score."""
    peak: int
    """Most sandboxes at once."""

    @property
    def blocked_s(self) -> float:
        """Seconds for which all is generated and the update waits for verdicts."""
        return self.step_s - self.generation_s

    @property
    def wait_p99_s(self) -> float:
        """99 of 100 completions waited no longer."""
        return float(np.quantile(self.waits_N, _P99))


def simulate(step: Step, pool: Pool, draws: Draws | None = None) -> Result:
    """Simulate one step.

    Args:
        draws: the step's random part, if it is drawn already (`step.draw()`).

    Raises:
        ConfigError: Numba is not installed.
    """
    result = simulate_unless_late(step, pool, draws or step.draw(), math.inf)
    assert result is not None
    return result


def simulate_unless_late(step: Step, pool: Pool, draws: Draws, wait_s: float) -> Result | None:
    """Simulate one step; None as soon as its `wait_p99_s` is certain to be above `wait_s`."""
    if not importlib.util.find_spec("numba"):
        raise ConfigError("the simulation needs Numba: pip install -e '.[plan]'")
    from proofgym.planning.events import NEVER, run_step

    most = step.rollouts + pool.buffer  # more are never wanted at once
    size = most if pool.size is None else min(pool.size, most)
    ended, waits_N, totals = run_step(
        draws.arrivals_N,
        draws.services_N,
        draws.capped_N,
        draws.failures_AN,
        np.ascontiguousarray(draws.until_failure_AN),
        draws.starts_S,
        size,
        min(pool.buffer, size),
        pool.uses or NEVER,
        pool.starting or NEVER,
        float(step.cores or math.inf),
        wait_s,
        step.rollouts - math.floor(_P99 * (step.rollouts - 1)),
    )
    if not ended:
        return None
    end, busy, idle, starting, started, retried, lost, peak = totals
    return Result(
        step_s=end,
        generation_s=float(draws.arrivals_N[-1]),
        waits_N=waits_N,
        busy_s=busy,
        idle_s=idle + pool.buffer * step.update_s,
        starting_s=starting,
        started=started,
        retried=retried,
        lost=lost,
        peak=peak,
    )
