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

_EACH = 4
"""Portions of a process, at most, where all have the same weights."""


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

    def weights(self, member: int) -> Any:
        """What answers a member's turns, for `Replica.lay`; hashable."""
        ...

    def parts(self, engines: int) -> int:
        """Into how many parts its conversations fall, of which a process has one at a time."""
        ...


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

    def news(self, since: int | None) -> Any:
        """What a replica of version `since` lacks; None: whatever it holds."""
        ...

    def astray(self) -> bool:
        """A replica made something else of what it was told: whether all are told from now on in
        a way that leaves them nothing to compute. If not, the process is at fault."""
        ...

    def mark(self) -> str:
        """What `Replica.mark` must be."""
        ...


def groups(requests: Sequence[Request], engines: int, rows: int) -> list[Portion]:
    """Requests for the current weights: contiguous shares that keep equal prompts, which an engine
    computes once, together.

    Where there are many requests there are more shares than processes, so that a slow one does not
    hold up all; but none of less than half of the `rows` that decode together, since fewer take
    nearly as long.
    """
    starts = [
        place
        for place, request in enumerate(requests)
        if place == 0 or _prompt(request) != _prompt(requests[place - 1])
    ]
    wanted = max(engines, min(_EACH * engines, 2 * len(requests) // rows))
    pieces = cut(range(len(starts)), wanted)
    ends = [*starts, len(requests)]
    shares = [range(starts[piece[0]], ends[piece[-1] + 1]) for piece in pieces]
    return [
        Portion(None, tuple(share), f"requests {share[0] + 1} to {share[-1] + 1}")
        for share in shares
    ]


def cut(items: Sequence[int], count: int) -> list[Sequence[int]]:
    """At most `count` contiguous pieces, as equal as can be; none is empty."""
    ends = [len(items) * piece // count for piece in range(count + 1)]
    return [items[a:b] for a, b in itertools.pairwise(ends) if a < b]


def _prompt(request: Request) -> Any:
    return request.prompt if request.prompt_ids is None else request.prompt_ids
