"""The training loop: generate, verify, update. It knows no algorithm, engine or verifier by name.

Each completion goes to the verifier the moment it exists, while the engine samples the rest; the
loop waits for verdicts only once, before the update.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from proofgym.algorithms.algorithm import AlgorithmRun
from proofgym.engines.engine import Engine
from proofgym.environments.judge import Judge
from proofgym.errors import VerifierError
from proofgym.progress import Progress
from proofgym.run_directory import RunDirectory
from proofgym.tasks.order import TaskOrder
from proofgym.types import Completion, Request, Rollout, Sampling, Status, Task, Verdict

#: Called after each iteration with its metrics.
Report = Callable[[dict[str, Any]], None]


@dataclass
class Loop:
    """One run's parts. `train` goes on from the first iteration that is not durable."""

    engine: Engine
    judge: Judge
    algorithm: AlgorithmRun
    order: TaskOrder
    prompts: int
    sampling: Sampling
    run: RunDirectory
    iterations: int
    workers: int
    report: Report = lambda metrics: None

    def train(self) -> None:
        with ThreadPoolExecutor(self.workers, thread_name_prefix="verify") as pool:
            try:
                while self.algorithm.iteration < self.iterations:
                    self.report(self.iterate(pool))
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    def iterate(self, pool: ThreadPoolExecutor) -> dict[str, Any]:
        """One iteration; nothing of it counts until the algorithm has made it durable."""
        iteration = self.algorithm.iteration
        clock = Phases()
        rollouts: list[Rollout] = []
        tried, wanted = 0, self.prompts
        while wanted:
            tasks = self.order.take(wanted)
            rollouts += self._attempt(pool, iteration, tasks, tried, clock)
            tried += len(tasks)
            self.run.write_rollouts(iteration, rollouts)
            _refuse_all_unscored(rollouts)
            wanted = self.algorithm.wanting(rollouts)
        with clock.measure("update"):
            update = self.algorithm.update(rollouts)
        self.order.see(rollouts)
        metrics = iteration_metrics(rollouts) | clock.seconds() | update
        self.run.record("iteration", iteration=iteration, **metrics)
        return {"iteration": iteration, **metrics}

    def _attempt(
        self,
        pool: ThreadPoolExecutor,
        iteration: int,
        tasks: Sequence[Task],
        first: int,
        clock: Phases,
    ) -> list[Rollout]:
        pending: list[tuple[Task, Request, Completion, Future[Verdict]]] = []
        with Progress(f"iteration {iteration + 1}/{self.iterations}", unit="attempts") as progress:
            batches = self.algorithm.batches(tasks, first)
            while True:
                with clock.measure("perturb"):
                    batch = next(batches, None)
                if batch is None:
                    break
                progress.total = (progress.total or 0) + len(batch.requests)
                owner = {
                    (request.key, request.member): task
                    for request, task in zip(batch.requests, batch.tasks, strict=True)
                }
                with clock.measure("generate"):
                    for request, completion in self.engine.generate(
                        batch.requests, self.sampling, batch.population
                    ):
                        task = owner[request.key, request.member]
                        future = pool.submit(self.judge.judge, task, completion.text)
                        pending.append((task, request, completion, future))
                        progress.advance()
            with clock.measure("wait_for_verdicts"):
                rollouts = [
                    Rollout(iteration, task, request, (completion,), future.result())
                    for task, request, completion, future in pending
                ]
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
    return {
        "tasks": len({item.request.key[1] for item in rollouts}),
        "attempts": len(rollouts),
        "reward": round(float(np.mean(scores)), 6) if scores else None,
        "unscored": len(rollouts) - len(scores),
        "tokens": sum(item.tokens for item in rollouts),
        "cut_off": sum(item.turns[-1].finish == "length" for item in rollouts),
        "statuses": dict(sorted(statuses.items())),
    }


def _refuse_all_unscored(rollouts: Sequence[Rollout]) -> None:
    """A verifier that scores nothing is broken: stop now, quoting it, not hours later."""
    unscored = [item for item in rollouts if item.verdict.status is Status.INFRASTRUCTURE]
    if rollouts and len(unscored) == len(rollouts):
        raise VerifierError(
            f"none of {len(rollouts)} attempts could be scored; the first says: "
            f"{unscored[0].verdict.message}"
        )
