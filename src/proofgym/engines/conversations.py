"""Conversations over the processes of a fleet.

All turns of one are answered by the process that answered the first, and a new one goes to whoever
has the fewest. A process has the conversations of one set of weights at a time: where members are
written out, of one member. Those of a process that dies go on in others.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from proofgym.engines.engine import Feed
from proofgym.engines.portions import Portion, Shared
from proofgym.engines.remote import Remote
from proofgym.engines.work import Room
from proofgym.types import Completion, Request, Sampling

if TYPE_CHECKING:
    from proofgym.engines.fleet import Fleet

#: `Request.conversation`.
Name = tuple[tuple[int, ...], int]


@dataclass(eq=False)
class Seat:
    """A process, and its conversations that are not over."""

    worker: Remote
    weights: Any
    names: set[Name] = field(default_factory=set)
    asked: dict[int, Request] = field(default_factory=dict)
    """Turns under way, by number."""
    count: int = 0
    """Turns so far."""
    leaving: bool = False
    """Whether it gets no more."""

    def ask(self, turns: Sequence[Request]) -> None:
        self.asked |= zip(range(self.count, self.count + len(turns)), turns, strict=True)
        self.count += len(turns)
        self.worker.ask(turns)

    def answered(self, number: int) -> Request:
        self.worker.lost, self.worker.waited_for = 0, len(self.asked) > 1 or self.leaving
        return self.asked.pop(number)

    def leave(self) -> None:
        self.leaving = True
        self.worker.dismiss()


class Bell:
    """Wakes who waits for it to be readable; rung by any thread."""

    def __init__(self) -> None:
        self._ours, self._theirs = socket.socketpair()
        self._ours.setblocking(False)
        self._theirs.setblocking(False)
        self._lock, self._open = threading.Lock(), True

    def fileno(self) -> int:
        return self._theirs.fileno()

    def ring(self) -> None:
        with self._lock:
            if self._open:
                with contextlib.suppress(BlockingIOError):  # it has been rung often enough
                    self._ours.send(b".")

    def hush(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._theirs.recv(1 << 16)

    def close(self) -> None:
        with self._lock:
            self._open = False
            self._ours.close()
            self._theirs.close()


class Conversations:
    """Those of one call of `Fleet.generate`."""

    def __init__(
        self, fleet: Fleet, sampling: Sampling, population: Shared | None, feed: Feed
    ) -> None:
        self._fleet, self._sampling, self._population = fleet, sampling, population
        self._feed = feed
        engines = len(fleet.workers)
        parts = engines if population is None else population.parts(engines)
        rows = min(-(-feed.conversations // parts), -(-feed.rows // min(parts, engines)))
        self._room = Room(feed.context, max(1, rows))
        self._seats: dict[int, Seat] = {}
        """By the place of the process."""
        self._waiting: dict[Any, list[Request]] = {}
        """Turns without a process, by the weights that they need."""
        self._over: set[Name] = set()
        self._lost: Counter[Hashable] = Counter()

    def answers(self, requests: Sequence[Request]) -> Iterator[tuple[Request, Completion]]:
        """All requests, the feed's too, with their completions."""
        bell, more = Bell(), True
        try:
            self._feed.ring(bell.ring)
            self._add(requests)
            while not all(worker.ready for worker in self._fleet.workers):
                self._fleet.start()
                yield from self._hear()  # or the first to be ready would get them all
            while more or self._waiting or self._seats:
                self._fleet.start()
                bell.hush()
                if more:
                    taken = self._feed.take(wait=False)
                    more = taken is not None
                    self._add(taken or ())
                    self._forget(self._feed.ended())
                self._place()
                self._leave(more)
                yield from self._hear(bell)
        finally:
            self._feed.ring(lambda: None)
            bell.close()

    def _add(self, turns: Iterable[Request]) -> None:
        for turn in turns:
            weights = self._population and self._population.weights(turn.member)
            self._waiting.setdefault(weights, []).append(turn)

    def _forget(self, names: Sequence[Name]) -> None:
        self._over.update(names)
        for seat in self._seats.values():
            seat.names.difference_update(names)

    def _place(self) -> None:
        """Give processes what waits, as far as there are any with the weights or without any."""
        for weights, turns in list(self._waiting.items()):
            given: dict[Seat, list[Request]] = {}
            owner = {name: seat for seat in self._seats.values() for name in seat.names}
            for turn in turns:
                seat = owner.get(turn.conversation) or self._fewest(weights)
                if seat is None:
                    break
                owner[turn.conversation] = seat
                if turn.conversation not in self._over:  # a branch that nobody waits for any more
                    seat.names.add(turn.conversation)
                given.setdefault(seat, []).append(turn)
            for seat, asked in given.items():
                seat.ask(asked)
            if given:
                del self._waiting[weights]

    def _fewest(self, weights: Any) -> Seat | None:
        """Where a new conversation goes: a free process, or the one with the fewest. Where others
        wait for other weights one process is enough for each; None: it must wait, too."""
        seats = [it for it in self._seats.values() if it.weights == weights and not it.leaving]
        free = [worker for worker in self._fleet.workers if worker.free]
        seat = min(seats, key=lambda it: len(it.names), default=None)
        if seat and (not seat.names or not free or len(self._waiting) > 1):
            return seat
        return self._seat(free[0], weights) if free else None

    def _seat(self, worker: Remote, weights: Any) -> Seat:
        portion = Portion(weights, (), "turns of conversations")
        self._fleet.give(worker, portion, [], self._sampling, self._room)
        seat = self._seats[worker.place] = Seat(worker, weights)
        return seat

    def _leave(self, more: bool) -> None:
        """Processes without a turn or a conversation are free for others, and in the end all."""
        for seat in self._seats.values():
            over = not more or (self._waiting and not seat.names)
            if over and not seat.asked and not seat.leaving:
                seat.leave()

    def _hear(self, *others: Any) -> Iterator[tuple[Request, Completion]]:
        for worker, (kind, *rest) in self._fleet.hear(*others):
            seat = self._seats.get(worker.place)
            if kind == "completion" and seat is not None:
                yield seat.answered(rest[0]), rest[1]
            elif kind == "done":
                worker.finish()
                del self._seats[worker.place]
            elif kind in ("ended", "astray"):
                turns = list(seat.asked.values()) if seat else []
                if kind == "ended":
                    self._fleet.lose(worker, self._lost, [it.conversation for it in turns])
                worker.drop()
                self._seats.pop(worker.place, None)
                self._add(turns)
