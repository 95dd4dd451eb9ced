"""What a process of a fleet is told to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from proofgym.types import Request, Sampling


@dataclass(frozen=True)
class Setup:
    """What a process needs to begin."""

    model: dict[str, Any]
    """Arguments of `load_model`; the digest among them is the run's."""
    device: str
    threads: int
    max_batch: int


@dataclass(frozen=True)
class Room:
    """For conversations."""

    context: int
    """Most tokens, prompt and completion, that a turn may need."""
    rows: int
    """About how many turns there may be at once."""


@dataclass(frozen=True)
class Work:
    """A portion, with all that it depends on."""

    news: Any
    """For the replica, before anything else; None: nothing is new."""
    mark: str
    """What the replica's must be then, or nothing is answered."""
    weights: Any
    requests: Sequence[Request]
    sampling: Sampling
    seed: int
    room: Room | None
    """Not None: more come as `Turns`."""


@dataclass(frozen=True)
class Turns:
    """More to answer in the portion that is worked on; None: no more will come."""

    requests: Sequence[Request] | None
