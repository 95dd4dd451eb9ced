"""The exact state of a run in several processes: what they are told, and what they make of it.

A process that holds the base weights needs nothing but history entries to hold what the run holds:
applying them gives the same Δ, bit for bit, and with it the same members.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proofgym.engines.engine import Population
from proofgym.engines.portions import Portion, cut
from proofgym.evolution import replay
from proofgym.evolution.factored import Factored
from proofgym.evolution.history import Entry, Record
from proofgym.evolution.state import State, named
from proofgym.types import Request


@dataclass(frozen=True)
class Laid:
    """Members of one iteration: one, whose weights are written out, or all of them, factored."""

    iteration: int
    k: int
    """σ in steps of s·unit."""
    member: int | None


@dataclass(frozen=True)
class Members:
    """An iteration's population, to be carried out by processes with replicas."""

    iteration: int
    k: int
    count: int
    factored: bool

    def weights(self, member: int) -> Laid:
        return Laid(self.iteration, self.k, None if self.factored else member)

    def parts(self, engines: int) -> int:
        return engines if self.factored else self.count

    def portions(self, requests: Sequence[Request], engines: int) -> list[Portion]:
        """A member each; factored, a contiguous share of the members for each process."""
        places: dict[int, list[int]] = {}
        for place, request in enumerate(requests):
            places.setdefault(request.member, []).append(place)
        members = sorted(places)
        if not self.factored:
            return [Portion(self.weights(it), tuple(places[it]), f"member {it}") for it in members]
        return [
            Portion(
                self.weights(share[0]),
                tuple(sorted(place for member in share for place in places[member])),
                f"members {share[0]} to {share[-1]}",
            )
            for share in cut(members, engines)
        ]


class StateSource:
    """What the processes of a run are told of its state. `record` gives the history as it is."""

    def __init__(self, state: State, record: Callable[[], Record], keyframes: Path) -> None:
        self._state, self._record, self._keyframes = state, record, keyframes
        self._marked: tuple[int, str] = (-1, "")

    @property
    def version(self) -> int:
        return self._state.iteration

    def opening(self) -> Replay:
        return Replay(self._record(), self._keyframes)

    def news(self, since: int | None) -> list[Entry]:
        assert since is not None, "replicas of a state do not go astray"
        return self._record().between(since, self.version)

    def astray(self) -> bool:
        return False

    def mark(self) -> str:
        if self._marked[0] != self.version:
            self._marked = self.version, self._state.checksum()
        return self._marked[1]


@dataclass(frozen=True)
class Replay:
    """Makes a replica, from the history so far."""

    record: Record
    keyframes: Path

    def open(self, model: Any) -> StateReplica:
        """Raises HistoryError where the model does not hold the base weights."""
        return StateReplica(model, replay.restore(self.record, model, self.keyframes))


class StateReplica:
    """A state, and the model that it lends weights to."""

    def __init__(self, model: Any, state: State) -> None:
        self.state = state
        self._model, self._tensors = model, named(model, state.manifest)
        self._current = False
        self._factored: Factored | None = None

    def follow(self, news: Sequence[Entry]) -> None:
        if news:
            self._current = False
            self.state.apply(*news)

    def mark(self) -> str:
        return self.state.checksum()

    @contextmanager
    def lay(self, weights: Laid | None) -> Iterator[Population | None]:
        if weights is None:
            self._policy()
            yield None
            return
        self.state.k = weights.k
        if weights.member is not None:
            self._current = False
            self.state.write_member(weights.member, weights.iteration, self._tensors)
            yield None
            return
        self._policy()
        if self._factored is None:
            self._factored = Factored(self._model, self.state)
        self._factored.prepare(weights.iteration)
        with self._factored:
            yield self._factored

    def _policy(self) -> None:
        if not self._current:
            self.state.write_current(self._tensors)
            self._current = True
