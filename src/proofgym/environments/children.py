"""The processes of episodes: who plays where, what is said, and whose fault it is.

One thread does it all. A process that hangs or dies is replaced; whoever was running its code is
to blame, and everybody else who lived there begins again elsewhere, with the answers it had. Where
it is not certain who was to blame the suspects begin again alone.
"""

from __future__ import annotations

import pickle
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from proofgym.environments.actor import Actor, Stagecraft
from proofgym.environments.frames import FrameError, read_plain
from proofgym.environments.record import Record
from proofgym.environments.score import Fault, from_plain, unscored
from proofgym.environments.workshop import Bench, Workshop
from proofgym.types import Verdict

_TICK_S = 0.1
_START_S = 60.0
_STARTS = 3  # that may fail in a row
_IDLE_S = 5.0  # without a sign of life from a loop that runs nobody's code
_FEW = 4  # episodes in a process before another is started


Hear = Callable[[tuple[Any, ...]], None]
"""Told ("chat", record, life, call number, what), ("over", record, verdict) or ("broken", error),
from another thread."""


class Children:
    """All of them. `begin` and `answer` may be called from any thread."""

    def __init__(self, craft: Stagecraft, workshop: Workshop, hear: Hear) -> None:
        self._craft, self._workshop, self._hear = craft, workshop, hear
        self._actors: list[Actor] = []
        self._most = self._capacity = -(-craft.at_once // craft.processes)
        self._ready: deque[Record] = deque()
        self._suspects: deque[Record] = deque()
        self._benches: dict[int, Bench] = {}
        self._failed_starts = 0
        self._orders: deque[Callable[[], None]] = deque()
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        self._woken.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="episodes", daemon=True)
        self._thread.start()

    def begin(self, records: Sequence[Record]) -> None:
        self._order(lambda: self._ready.extend(records))

    def answer(self, record: Record, life: int, number: int, kind: str, value: Any) -> None:
        """Give an episode what it called for: a `value`, or an exception by its name."""
        self._order(lambda: self._tell(record, life, number, kind, value))

    def close(self) -> None:
        """End every process and what runs for it."""
        self._closing = True
        self._order(lambda: None)
        self._thread.join()

    def _order(self, do: Callable[[], None]) -> None:
        self._orders.append(do)
        try:
            self._wake.send(b".")
        except OSError:  # closed: nobody listens any more
            return

    def _run(self) -> None:
        try:
            while not self._closing:
                busy = self._ready or self._suspects or any(it.residents for it in self._actors)
                for key, _ in self._selector.select(_TICK_S if busy else None):
                    if key.data is None:
                        self._woken.recv(1 << 12)
                    elif key.data in self._actors:
                        self._listen(key.data)
                while self._orders:
                    self._orders.popleft()()
                self._place()
                self._watch()
                self._send()
        except BaseException as error:
            self._hear(("broken", error))
        finally:
            for bench in self._benches.values():
                bench.close()
            for actor in self._actors:
                actor.end(self._selector)
            self._selector.close()
            self._wake.close()
            self._woken.close()

    def _place(self) -> None:
        """Give every waiting episode a process, as far as there is room."""
        together = [it for it in self._actors if not it.alone]
        while self._ready:
            actor = min(together, key=lambda it: len(it.residents), default=None)
            load = len(actor.residents) if actor else _FEW
            if load >= min(_FEW, self._capacity) and len(together) < self._craft.processes:
                actor = self._start(alone=False)
                if actor is None:
                    return
                together.append(actor)
            elif load >= self._capacity:
                break
            assert actor is not None
            self._settle(self._ready.popleft(), actor)
        if self._suspects:
            actor = next((it for it in self._actors if it.alone), None) or self._start(alone=True)
            if actor is not None and not actor.residents:
                self._settle(self._suspects.popleft(), actor)

    def _start(self, alone: bool) -> Actor | None:
        try:
            actor = Actor(self._craft, alone)
        except OSError as error:
            self._failed_to_start(f"a process cannot be started: {error}")
            return None
        self._actors.append(actor)
        self._selector.register(actor.child.channel, selectors.EVENT_READ, actor)
        return actor

    def _settle(self, record: Record, actor: Actor) -> None:
        record.begin()
        self._benches[record.number] = self._workshop.open_bench()
        actor.residents[record.number] = record
        actor.say("begin", record.number, record.life, pickle.dumps(record.task))

    def _send(self) -> None:
        for actor in list(self._actors):
            try:
                actor.send()
            except OSError:
                self._lose(actor)

    def _tell(self, record: Record, life: int, number: int, kind: str, value: Any) -> None:
        for actor in self._actors:
            if record.number in actor.residents and record.life == life:
                actor.say("answer", record.number, life, number, kind, value)

    def _listen(self, actor: Actor) -> None:
        try:
            data = actor.child.channel.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lose(actor)
            return
        try:
            for message in actor.frames.add(data):
                self._understand(actor, read_plain(message))
        except (FrameError, ValueError, TypeError, KeyError, IndexError) as error:
            noted, _ = actor.pulse.read()
            actor.end(self._selector)
            self._replace(actor, noted, "bad value", f"its process said: {error}", sure=False)

    def _understand(self, actor: Actor, message: Any) -> None:
        kind, number, *rest = message
        if kind == "ready":
            if not actor.child.started(int(number)):
                raise ValueError(f"process {number} is none of ours")
            actor.pid, self._failed_starts = int(number), 0
            return
        record = actor.residents.get(number)
        if record is None or record.life != rest[0]:
            return
        if kind == "over":
            verdict = from_plain(rest[1], time.monotonic() - record.began)
            del actor.residents[number]
            self._capacity = min(self._capacity + 1, self._most)
            self._over(record, verdict)
            return
        life, call, name, arguments = rest
        if name == "chat":
            self._hear(("chat", record, life, call, arguments))
        else:

            def answer(kind: str, value: Any) -> None:
                self.answer(record, life, call, kind, value)

            self._benches[number].ask(name, arguments, answer)

    def _over(self, record: Record, verdict: Verdict) -> None:
        self._leave_bench(record)
        self._hear(("over", record, verdict))

    def _leave_bench(self, record: Record) -> None:
        if bench := self._benches.pop(record.number, None):
            bench.close()

    def _watch(self) -> None:
        """Find processes that hang: in a step of an episode, or before they are ready."""
        for actor in list(self._actors):
            if not actor.pid:
                if time.monotonic() - actor.started > _START_S:
                    actor.end(self._selector)
                    self._remove(actor)
                    self._failed_to_start(f"a process was not ready in {_START_S:g} s")
                continue
            episode, quiet = actor.pulse.read()
            bound = self._craft.stall if episode else max(self._craft.stall, _IDLE_S)
            if quiet < bound or not actor.residents:
                actor.seen_hung = -1
            elif actor.seen_hung != episode:  # a second look, since the two numbers may be torn
                actor.seen_hung = episode
            else:
                self._end_hung(actor, episode, quiet)

    def _end_hung(self, actor: Actor, episode: int, quiet: float) -> None:
        where = actor.stack()
        actor.end(self._selector)
        message = f"the episode blocked its event loop for {quiet:.1f} s and was ended{where}"
        self._replace(actor, episode, "timed out", message, sure=episode != 0)

    def _lose(self, actor: Actor) -> None:
        noted, _ = actor.pulse.read()
        how = actor.end(self._selector)
        message = f"the process of the episode died ({how}){actor.child.last_words()}"
        if actor.pid:
            self._replace(actor, noted, "died", message, sure=False)
        else:
            self._remove(actor)
            self._failed_to_start(message)

    def _replace(self, actor: Actor, noted: int, fault: Fault, message: str, *, sure: bool) -> None:
        """Blame one of a lost process's episodes, or suspect some; the others begin again."""
        residents = actor.residents
        # Where it was nobody's step, all; where it was that of one who is over already, nobody.
        suspects = [it for it in residents if noted in (0, it)]
        sure = sure or len(residents) == 1
        if sure and len(suspects) == 1:
            record = residents.pop(suspects[0])
            self._over(record, unscored(fault, message, time.monotonic() - record.began))
        else:
            for number in suspects:
                residents[number].suspect = True
        self._capacity = max(1, self._capacity // 2)
        self._remove(actor)

    def _remove(self, actor: Actor) -> None:
        self._actors.remove(actor)
        for record in actor.residents.values():
            record.life += 1  # what it asked for is no longer waited for
            self._leave_bench(record)
            (self._suspects if record.suspect else self._ready).append(record)

    def _failed_to_start(self, message: str) -> None:
        """After several, nothing that waits gets a score; the run then says why."""
        self._failed_starts += 1
        if self._failed_starts < _STARTS:
            return
        self._failed_starts = 0
        for record in [*self._ready, *self._suspects]:
            self._over(record, unscored("died", message))
        self._ready.clear()
        self._suspects.clear()
