"""How a loop gets its attempts: one answer each that a judge scores, or whole episodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

from proofgym.engines.engine import Engine
from proofgym.environments.judge import Judge
from proofgym.tasks.tasks import Tasks
from proofgym.types import Completion, Request, Rollout, Sampling, Task


class Attempts(Protocol):
    """Makes attempts with an engine, and has them scored."""

    def prepare(self, tasks: Tasks) -> None:
        """Refuse tasks that cannot be scored, before any work. Raises TaskError."""
        ...

    def make(
        self,
        engine: Engine,
        requests: Sequence[Request],
        tasks: Sequence[Task],
        sampling: Sampling,
        population: Any = None,
        iteration: int = 0,
    ) -> Iterator[Future[Rollout]]:
        """Yield each attempt once the engine has nothing left to do for it; its verdict may take
        longer. `requests` begin the attempts: their keys, prompts and members.

        When this ends the engine is free, and its weights may change. Closing it early stops the
        work.
        """
        ...

    def describe(self) -> str:
        """One line for the run's environment record."""
        ...

    def close(self) -> None: ...


class SingleTurn:
    """One completion an attempt, judged in threads while the engine samples the others."""

    def __init__(self, judge: Judge, workers: int) -> None:
        self.judge = judge
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="verify")

    def prepare(self, tasks: Tasks) -> None:
        self.judge.prepare(tasks)

    def make(
        self,
        engine: Engine,
        requests: Sequence[Request],
        tasks: Sequence[Task],
        sampling: Sampling,
        population: Any = None,
        iteration: int = 0,
    ) -> Iterator[Future[Rollout]]:
        owner = {(it.key, it.member): task for it, task in zip(requests, tasks, strict=True)}
        for request, completion in engine.generate(requests, sampling, population):
            task = owner[request.key, request.member]
            yield self._pool.submit(self._judged, iteration, task, request, completion)

    def _judged(
        self, iteration: int, task: Task, request: Request, completion: Completion
    ) -> Rollout:
        verdict = self.judge.judge(task, completion.text)
        return Rollout(iteration, task, request, (completion,), verdict)

    def describe(self) -> str:
        return self.judge.describe()

    def close(self) -> None:
        """Wait for what is being judged; the rest is given up."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self.judge.close()
