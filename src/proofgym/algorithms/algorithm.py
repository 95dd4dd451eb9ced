"""What an update rule is to the loop. A new rule is one new file beside this one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from pydantic import Field

from proofgym.config import Config
from proofgym.engines.engine import Engine
from proofgym.types import Request, Rollout, Sampling, Task

if TYPE_CHECKING:
    from proofgym.engines.portions import Source

#: Names one attempt: (request key, member).
AttemptKey = tuple[tuple[int, ...], int]


@dataclass
class Batch:
    """Requests that one state of the weights answers.

    `population` is handed to the engine as it is: None, or per-row corrections of the weights.
    """

    requests: list[Request]
    tasks: list[Task] = field(default_factory=list)
    """The task of each request, in the same order."""
    population: Any = None


class AlgorithmRun(Protocol):
    """A running update rule. After `update` returns, its iteration is durable on disk."""

    iteration: int
    """The next iteration to do; after a resume, the first one that is not durable."""
    new: bool
    """Whether its directory held nothing of it: a run that has done iterations has lost them."""

    def source(self, engines: int) -> Source:
        """What processes that generate side by side are told of the weights; asked for at most
        once, before the first batch. Only where `Algorithm.several_engines`."""
        ...

    def check(self, engine: Engine, prompt: str) -> None:
        """Before the first iteration of a start or resume: what is trained and what the engine
        computes belong together. Raises RunError."""
        ...

    def batches(self, tasks: Sequence[Task], first: int = 0) -> Iterator[Batch]:
        """Yield what to generate; the weights are in place when a batch is yielded.

        `first` is the number of tasks that this iteration has tried before these.
        """
        ...

    def wanting(self, rollouts: Sequence[Rollout]) -> int:
        """How many more tasks to try before the update, given all attempts of the iteration."""
        ...

    def update(self, rollouts: Sequence[Rollout]) -> dict[str, float]:
        """Turn the iteration's attempts (reward None = no score) into the next weights; returns
        metrics."""
        ...

    def keep(self) -> None:
        """The run has done all it should: everything is durable when this returns."""
        ...

    def close(self) -> None: ...


def rewards_of(rollouts: Sequence[Rollout]) -> dict[AttemptKey, float | None]:
    """The reward of each attempt."""
    return {(item.request.key, item.request.member): item.verdict.reward for item in rollouts}


class Algorithm(Config):
    """Configuration of an update rule, as written in a job."""

    may_change: ClassVar[frozenset[str]] = frozenset()
    """Fields that may be others when a run is resumed: they change no result."""
    several_ranks: ClassVar[bool] = False
    """Whether several processes can train its gradients."""
    several_engines: ClassVar[bool] = False
    """Whether its runs have a `source` for the engines of several processes."""

    prompts: int = Field(16, ge=1)
    """Tasks an iteration; all of them where there are fewer."""

    def check(self, sampling: Sampling) -> None:
        """Refuse, before any work, what does not go with it. Raises ConfigError."""

    def build(
        self,
        model: Any,
        *,
        seed: int,
        directory: Path,
        base_digest: str,
        adapter_digest: str | None = None,
        control: str | None = None,
        sampling: Sampling | None = None,
        ranks: int = 1,
    ) -> AlgorithmRun:
        """Start, or continue from what `directory` holds. Gradients are trained by `ranks`
        processes, one a device."""
        raise TypeError(f"{type(self).__name__} does not say how it is built")
