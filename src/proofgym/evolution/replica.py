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
from proofgym.engines.portions import Portion
from proofgym.evolution import replay
from proofgym.evolution.history import Entry, Record
from proofgym.evolution.state import State
from proofgym.evolution.ways import Lent, Way, groups, make
from proofgym.types import Request


@dataclass(frozen=True)
class Laid:
    """Members of one iteration that are evaluated together."""

    iteration: int
    k: int
    """σ in steps of s·unit."""
    members: tuple[int, ...]


@dataclass(frozen=True)
class Members:
    """An iteration's population, in portions of at most `size` members, to be carried out by
    processes with replicas."""

    iteration: int
    k: int
    count: int
    size: int
    everyone: bool
    """Whether a process can evaluate all members at once."""

    def weights(self, member: int) -> Laid:
        """What a process needs for this member; for all of a portion the same."""
        group: Sequence[int] = range(self.count)
        if not self.everyone:
            (group,) = (it for it in groups(self.count, self.size) if member in it)
        return Laid(self.iteration, self.k, tuple(group))

    def parts(self, engines: int) -> int:
        return engines if self.everyone else len(groups(self.count, self.size))

    def portions(self, requests: Sequence[Request], engines: int) -> list[Portion]:
        """One for each group of members."""
        places: dict[int, list[int]] = {}
        for place, request in enumerate(requests):
            places.setdefault(request.member, []).append(place)
        found = []
        for group in groups(self.count, self.size):
            its = tuple(sorted(place for member in group for place in places.get(member, ())))
            several = f"members {group[0]} to {group[-1]}"
            name = several if len(group) > 1 else f"member {group[0]}"
            if its:
                found.append(Portion(self.weights(group[0]), its, name))
        return found


class StateSource:
    """What the processes of a run are told of its state. `record` gives the history as it is; they
    evaluate members in this way, at most `size` at once."""

    def __init__(
        self, state: State, record: Callable[[], Record], keyframes: Path, way: str, size: int
    ) -> None:
        self._state, self._record, self._keyframes = state, record, keyframes
        self._way, self._size = way, size
        self._marked: tuple[int, str] = (-1, "")

    @property
    def version(self) -> int:
        return self._state.iteration

    def opening(self) -> Replay:
        return Replay(self._record(), self._keyframes, self._way, self._size)

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
    way: str
    size: int

    def open(self, model: Any) -> StateReplica:
        """Raises HistoryError where the model does not hold the base weights."""
        state = replay.restore(self.record, model, self.keyframes)
        return StateReplica(Lent(model, state), self.way, self.size)


class StateReplica:
    """A state, and the model that it lends weights to."""

    def __init__(self, lent: Lent, way: str, size: int) -> None:
        self._lent, self._how = lent, (way, size)
        self._way: Way | None = None

    def follow(self, news: Sequence[Entry]) -> None:
        if news:
            self._lent.changed()
            self._lent.state.apply(*news)

    def mark(self) -> str:
        return self._lent.state.checksum()

    @contextmanager
    def lay(self, weights: Laid | None) -> Iterator[Population | None]:
        if weights is None:
            self._lent.policy()
            yield None
            return
        name, size = self._how
        if self._way is None:
            self._way = make(name, self._lent, size)
        self._lent.state.k = weights.k
        with self._way.lay(weights.iteration, weights.members) as population:
            yield population
