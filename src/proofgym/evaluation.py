"""Held-out success: sample completions of every task, verify them, estimate pass@k."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from proofgym.engines.engine import Engine
from proofgym.environments.judge import Judge
from proofgym.errors import VerifierError
from proofgym.estimate import Interval, bootstrap_mean, pass_at_k
from proofgym.progress import Progress
from proofgym.types import Completion, Request, Sampling, Task, Verdict

#: First part of every evaluation request's key; training keys begin with the iteration (>= 0).
EVALUATION_STREAM = 2**62


@dataclass(frozen=True)
class Attempt:
    """One evaluated completion."""

    task: Task
    completion: Completion
    verdict: Verdict


@dataclass(frozen=True)
class Evaluation:
    """All attempts on a set of tasks, task by task in the order given."""

    tasks: tuple[Task, ...]
    attempts: tuple[tuple[Attempt, ...], ...]
    seconds: float = 0.0

    def passed_T(self) -> np.ndarray:
        """Completions that passed, per task: [T]."""
        return np.array([sum(_reward(a) > 0 for a in row) for row in self.attempts])

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

    def solved(self) -> set[str]:
        """Names of the tasks with at least one proof that passed."""
        return {t.name for t, n in zip(self.tasks, self.passed_T(), strict=True) if n}


def _reward(attempt: Attempt) -> float:
    return attempt.verdict.reward or 0.0


def evaluate(
    engine: Engine,
    judge: Judge,
    tasks: Sequence[Task],
    sampling: Sampling,
    *,
    samples: int = 1,
    workers: int = 2,
    what: str = "evaluating",
) -> Evaluation:
    """Sample `samples` completions of each task and judge each as soon as it exists.

    Requests depend only on the task's place and the sample's number, so two models evaluated on
    the same tasks face the same random draws (a paired comparison).
    """
    start = time.monotonic()
    where: dict[tuple[int, ...], tuple[int, int]] = {
        (EVALUATION_STREAM, place, sample): (place, sample)
        for place in range(len(tasks))
        for sample in range(samples)
    }
    requests = [Request(key, tasks[place].prompt) for key, (place, _) in where.items()]
    pending: list[tuple[int, int, Completion, Future[Verdict]]] = []
    with (
        ThreadPoolExecutor(workers, thread_name_prefix="verify") as pool,
        Progress(what, total=len(requests), unit="proofs") as progress,
    ):
        for request, completion in engine.generate(requests, sampling):
            place, sample = where[request.key]
            future = pool.submit(judge.judge, tasks[place], completion.text)
            pending.append((place, sample, completion, future))
            progress.advance()
        rows: list[list[Attempt]] = [[] for _ in tasks]
        for place, _, completion, future in sorted(pending, key=lambda item: item[:2]):
            rows[place].append(Attempt(tasks[place], completion, future.result()))
    return Evaluation(tuple(tasks), tuple(map(tuple, rows)), time.monotonic() - start)


def paired_difference(after: Evaluation, before: Evaluation, k: int = 1) -> Interval:
    """Mean per-task difference in pass@k with its paired 95 % interval (bootstrap over tasks)."""
    if [t.name for t in after.tasks] != [t.name for t in before.tasks]:
        raise ValueError("a paired difference needs the same tasks in the same order")
    return bootstrap_mean(after.rates_T(k) - before.rates_T(k))
