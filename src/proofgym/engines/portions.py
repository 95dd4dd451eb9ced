"""What an engine of several processes and the weights it samples from must know of each other.

The engine knows nothing of the arithmetic behind the weights. A `Source`, in the run's process,
says how a process gets weights of its own (a `Replica`) and what a replica lacks that is behind. A
batch's population may be `Shared`: it says into which portions the batch falls, and which weights
each needs.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from proofgym.engines.engine import Population
from proofgym.types import Request


@dataclass(frozen=True)
class Portion:
    """Requests, by their places in the batch, that one process answers together."""

    weights: Any
    """What `Replica.lay` is told; None: the current weights."""
    places: tuple[int, ...]
    name: str
    """For messages: `member 3`."""


@runtime_checkable
class Shared(Protocol):
    """A population that processes with replicas carry out."""

    def portions(self, requests: Sequence[Request], engines: int) -> list[Portion]: ...


class Replica(Protocol):
    """The weights in another process."""

    def follow(self, news: Any) -> None:
        """Take in what `Source.news` gave."""
        ...

    def mark(self) -> str:
        """A checksum: equal for replicas that hold the same."""
        ...

    def lay(self, weights: Any) -> AbstractContextManager[Population | None]:
        """Have the model compute what `Portion.weights` asks for, meanwhile."""
        ...


class Opening(Protocol):
    """How a replica is made; it is pickled."""

    def open(self, model: Any) -> Replica:
        """From a model that holds the weights that the run was started with."""
        ...


class Source(Protocol):
    """The weights in the run's process."""

    @property
    def version(self) -> int:
        """Rises with every change."""
        ...

    def opening(self) -> Opening:
        """For a process that starts now: its replica will have the present version."""
        ...

    def news(self, since: int) -> Any:
        """What a replica of version `since` lacks."""
        ...

    def mark(self) -> str:
        """What `Replica.mark` must be."""
        ...


def equal_shares(requests: Sequence[Request], engines: int) -> list[Portion]:
    """Requests for the current weights: a contiguous share for each process."""
    return [
        Portion(None, tuple(share), f"requests {share[0] + 1} to {share[-1] + 1}")
        for share in cut(range(len(requests)), engines)
    ]


def cut(items: Sequence[int], count: int) -> list[Sequence[int]]:
    """At most `count` contiguous pieces, as equal as can be; none is empty."""
    ends = [len(items) * piece // count for piece in range(count + 1)]
    return [items[a:b] for a, b in itertools.pairwise(ends) if a < b]
