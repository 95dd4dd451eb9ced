"""The training loop: generate, verify, update. It knows none of its parts by name.

Each attempt is scored the moment it exists, while the engine samples the rest; the loop waits for
verdicts only once, before the update.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import numpy as np

from proofgym.algorithms.algorithm import AlgorithmRun
from proofgym.engines.engine import Engine
from proofgym.environments.attempts import Attempts
from proofgym.errors import VerifierError
from proofgym.progress import Progress
from proofgym.rollout_lines import SECONDS_DECIMALS
from proofgym.run_directory import RunDirectory
from proofgym.tasks.order import TaskOrder
from proofgym.types import Rollout, Sampling, Status, Task

#: Called after each iteration with its metrics.
Report = Callable[[dict[str, Any]], None]


@dataclass
class Loop:
    """One run's parts. `train` goes on from the first iteration that is not durable."""

    engine: Engine
    attempts: Attempts
    algorithm: AlgorithmRun
    order: TaskOrder
    prompts: int
    sampling: Sampling
    run: RunDirectory
    iterations: int
    report: Report = lambda metrics: None
    done: Callable[[], bool] = lambda: False
    """Whether to stop before the iterations are done, asked before each."""
    of: str = ""
    """What progress says after an iteration's number: how many there will be, if that is known."""

    def train(self) -> None:
        while self.algorithm.iteration < self.iterations and not self.done():
            self.report(self.iterate())

    def iterate(self) -> dict[str, Any]:
        """One iteration; nothing of it counts until the algorithm has made it durable."""
        iteration, start = self.algorithm.iteration, time.monotonic()
        clock = Phases()
        rollouts: list[Rollout] = []
        tried, wanted = 0, self.prompts
        while wanted:
            tasks = self.order.take(wanted)
            rollouts += self._attempt(iteration, tasks, tried, clock)
            tried += len(tasks)
            self.run.write_rollouts(iteration, rollouts)
            _refuse_all_unscored(rollouts)
            wanted = self.algorithm.wanting(rollouts)
        with clock.measure("update"):
            update = self.algorithm.update(rollouts)
        self.order.see(rollouts)
        metrics = iteration_metrics(rollouts) | clock.seconds() | update
        metrics["seconds"] = round(time.monotonic() - start, 3)
        self.run.record("iteration", iteration=iteration, **metrics)
        return {"iteration": iteration, **metrics}

    def _attempt(
        self, iteration: int, tasks: Sequence[Task], first: int, clock: Phases
    ) -> list[Rollout]:
        pending: list[Future[Rollout]] = []
        with Progress(f"iteration {iteration + 1}{self.of}", unit="attempts") as progress:
            batches = self.algorithm.batches(tasks, first)
            while True:
                with clock.measure("perturb"):
                    batch = next(batches, None)
                if batch is None:
                    break
                progress.total = (progress.total or 0) + len(batch.requests)
                with clock.measure("generate"):
                    for attempt in self.attempts.make(
                        self.engine,
                        batch.requests,
                        batch.tasks,
                        self.sampling,
                        batch.population,
                        iteration,
                    ):
                        pending.append(attempt)
                        progress.advance()
            with clock.measure("wait_for_verdicts"):
                rollouts = [attempt.result() for attempt in pending]
        return sorted(rollouts, key=lambda item: (item.request.key, item.request.member))


class Phases:
    """Wall seconds per phase of an iteration."""

    def __init__(self) -> None:
        self._seconds: Counter[str] = Counter()

    def measure(self, phase: str) -> _Stopwatch:
        return _Stopwatch(self._seconds, phase)

    def seconds(self) -> dict[str, float]:
        return {f"{phase}_s": round(value, 3) for phase, value in self._seconds.items()}


class _Stopwatch:
    def __init__(self, into: Counter[str], phase: str) -> None:
        self._into, self._phase = into, phase

    def __enter__(self) -> None:
        self._start = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self._into[self._phase] += time.monotonic() - self._start  # type: ignore[assignment]


def iteration_metrics(rollouts: Sequence[Rollout]) -> dict[str, Any]:
    """What the rollouts alone say of an iteration (so that it can be rebuilt after a crash)."""
    scores = [item.verdict.reward for item in rollouts if item.verdict.reward is not None]
    statuses = Counter(str(item.verdict.status) for item in rollouts)
    seconds = sum(round(item.verdict.seconds, SECONDS_DECIMALS) for item in rollouts)
    metrics = {
        "tasks": len({item.request.key[1] for item in rollouts}),
        "attempts": len(rollouts),
        "reward": round(float(np.mean(scores)), 6) if scores else None,
        "unscored": len(rollouts) - len(scores),
        "tokens": sum(item.tokens for item in rollouts),
        "verifier_seconds": round(seconds, 3),
        "cut_off": sum(item.turns[-1].finish == "length" for item in rollouts if item.turns),
        "statuses": dict(sorted(statuses.items())),
    }
    if any(len(item.turns) != 1 for item in rollouts):
        metrics["turns"] = round(float(np.mean([len(item.turns) for item in rollouts])), 3)
    return metrics | _components(rollouts) | _faults(rollouts)


def _components(rollouts: Sequence[Rollout]) -> dict[str, Any]:
    """Means of the components that rewards are made of, where they have them."""
    found: dict[str, list[float]] = {}
    for item in rollouts:
        for name, value in item.verdict.detail.get("components", {}).items():
            found.setdefault(name, []).append(value)
    means = {name: round(float(np.mean(values)), 6) for name, values in sorted(found.items())}
    return {"components": means} if means else {}


def _faults(rollouts: Sequence[Rollout]) -> dict[str, Any]:
    """How many attempts have no score for which kind of reason, with an example of each."""
    lost = [item.verdict for item in rollouts if item.verdict.reward is None]
    kinds = Counter(verdict.detail.get("fault", "infrastructure") for verdict in lost)
    examples = {
        kind: next(
            verdict.message[-_EXAMPLE:]
            for verdict in lost
            if verdict.detail.get("fault", "infrastructure") == kind
        )
        for kind in kinds
    }
    return {"faults": dict(sorted(kinds.items())), "fault_examples": examples} if lost else {}


_EXAMPLE = 300  # characters: of a traceback the end says what it was


def _refuse_all_unscored(rollouts: Sequence[Rollout]) -> None:
    """A verifier that scores nothing is broken: stop now, quoting it, not hours later."""
    unscored = [item for item in rollouts if item.verdict.status is Status.INFRASTRUCTURE]
    if rollouts and len(unscored) == len(rollouts):
        raise VerifierError(
            f"none of {len(rollouts)} attempts could be scored; the first says: "
            f"{unscored[0].verdict.message}"
        )
