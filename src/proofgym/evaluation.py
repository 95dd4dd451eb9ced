"""Held-out success: attempt every task some times, verify, estimate pass@k."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np

from proofgym.engines.engine import Engine
from proofgym.environments.attempts import Attempts
from proofgym.errors import VerifierError
from proofgym.estimate import Interval, bootstrap_mean, pass_at_k
from proofgym.progress import Progress
from proofgym.types import Request, Rollout, Sampling, Status, Task

#: First part of every evaluation request's key; training keys begin with the iteration (>= 0).
EVALUATION_STREAM = 2**62


@dataclass(frozen=True)
class Evaluation:
    """All attempts on a set of tasks, task by task in the order given."""

    tasks: tuple[Task, ...]
    attempts: tuple[tuple[Rollout, ...], ...]
    seconds: float = 0.0

    def passed_T(self) -> np.ndarray:
        """Completions that passed, per task: [T]."""
        return np.array(
            [sum(a.verdict.status is Status.PASSED for a in row) for row in self.attempts]
        )

    def scored_T(self) -> np.ndarray:
        """Completions that were scored, per task: [T]."""
        return np.array([sum(a.verdict.reward is not None for a in row) for row in self.attempts])

    def rates_T(self, k: int = 1) -> np.ndarray:
        """pass@k per task, shape [T]. Raises VerifierError where a task has too few scores."""
        try:
            return pass_at_k(self.passed_T(), self.scored_T(), k)
        except ValueError as error:
            raise VerifierError(f"{error}; {self.unscored()} attempts had no score") from None

    def interval(self, k: int = 1) -> Interval:
        return bootstrap_mean(self.rates_T(k))

    def unscored(self) -> int:
        return sum(len(row) for row in self.attempts) - int(self.scored_T().sum())

    def reward(self) -> float | None:
        """Mean reward of the scored attempts; None without any."""
        found = [it.verdict.reward for row in self.attempts for it in row]
        scores = [reward for reward in found if reward is not None]
        return round(float(np.mean(scores)), 6) if scores else None

    def solved(self) -> set[str]:
        """Names of the tasks with at least one proof that passed."""
        return {t.name for t, n in zip(self.tasks, self.passed_T(), strict=True) if n}


def evaluate(
    engine: Engine,
    attempts: Attempts,
    tasks: Sequence[Task],
    sampling: Sampling,
    *,
    samples: int = 1,
    what: str = "evaluating",
) -> Evaluation:
    """Attempt each task `samples` times, and score each attempt as soon as it exists.

    Requests depend only on the task's place and the sample's number, so two models evaluated on
    the same tasks face the same random draws (a paired comparison).
    """
    start = time.monotonic()
    places = [(place, sample) for place in range(len(tasks)) for sample in range(samples)]
    requests = [Request((EVALUATION_STREAM, *it), tasks[it[0]].prompt) for it in places]
    chosen = [tasks[place] for place, _ in places]
    pending: list[Future[Rollout]] = []
    with Progress(what, total=len(requests), unit="attempts") as progress:
        for attempt in attempts.make(engine, requests, chosen, sampling):
            pending.append(attempt)
            progress.advance()
        done = sorted((it.result() for it in pending), key=lambda it: it.request.key)
    rows = [tuple(done[first : first + samples]) for first in range(0, len(done), samples)]
    return Evaluation(tuple(tasks), tuple(rows), time.monotonic() - start)


def paired_difference(after: Evaluation, before: Evaluation, k: int = 1) -> Interval:
    """Mean per-task difference in pass@k with its paired 95 % interval (bootstrap over tasks)."""
    if [t.name for t in after.tasks] != [t.name for t in before.tasks]:
        raise ValueError("a paired difference needs the same tasks in the same order")
    return bootstrap_mean(after.rates_T(k) - before.rates_T(k))
