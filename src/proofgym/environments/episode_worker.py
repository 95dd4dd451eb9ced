"""The child process of `episodes.py`: many episodes on one event loop.

Every step of an episode's code, from one await to the next, is noted in shared memory before it
begins: when the loop hangs or the process dies the parent knows whose code it was.
"""

from __future__ import annotations

import asyncio
import contextvars
import faulthandler
import itertools
import os
import pickle
import socket
import sys
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from proofgym.environments.chat import Chat
from proofgym.environments.frames import FrameError, Frames, pack_plain
from proofgym.environments.pulse import Pulse
from proofgym.environments.remote_sandbox import RemoteSandbox
from proofgym.environments.reward_worker import last_lines, load, plain_of
from proofgym.environments.score import unscored, verdict_of
from proofgym.errors import BudgetExceeded
from proofgym.types import Status, Task, Verdict

_GRACE_S = 5.0  # for an episode that catches the end of its time
_BEAT_S = 0.5
_here: contextvars.ContextVar[Episode | None] = contextvars.ContextVar("episode", default=None)


def main(channel: socket.socket, pulse: int) -> None:
    faulthandler.enable()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    shared = Pulse(pulse)
    shared.answer()
    asyncio.run(Stage(channel, shared).serve())


class Stage:
    """The episodes of this process, and its channel to the parent."""

    def __init__(self, channel: socket.socket, pulse: Pulse) -> None:
        self.pulse = pulse
        self.busy = 0.0
        """Seconds that all episodes' steps took."""
        self.function: Callable[..., Any] | None = None
        self.timeout = 0.0
        self._channel = channel
        self._frames = Frames(largest=None)
        self._episodes: dict[int, Episode] = {}
        self._closed = asyncio.Event()

    async def serve(self) -> None:
        loop = asyncio.get_running_loop()
        loop.set_task_factory(self._task)
        loop.add_reader(self._channel, self._hear)
        while not self._closed.is_set():
            self.pulse.step(0)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closed.wait(), _BEAT_S)

    def say(self, *message: Any) -> None:
        """Raises FrameError for a message that is too large."""
        self._channel.sendall(pack_plain(message))

    def over(self, episode: Episode, verdict: Verdict) -> None:
        if self._episodes.pop(episode.number, None):
            self.say("over", episode.number, episode.life, plain_of(verdict, "the episode"))

    def _hear(self) -> None:
        try:
            data = self._channel.recv(1 << 16, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        if not data:
            self._closed.set()
            return
        for message in self._frames.add(data):
            kind, *rest = pickle.loads(message)
            if kind == "load":
                function, self.timeout = rest
                self.function = load(function, "episode")
                self.say("ready", os.getpid())
            elif kind == "begin":
                number, life, task = rest
                self._episodes[number] = Episode(self, number, life, task)
            elif (episode := self._episodes.get(rest[0])) and episode.life == rest[1]:
                episode.hear(*rest[2:])

    def _task(
        self, loop: asyncio.AbstractEventLoop, coroutine: Any, context: Any = None, **options: Any
    ) -> asyncio.Task[Any]:
        episode = context.get(_here) if context is not None else _here.get()
        if episode is not None:
            coroutine = Steps(coroutine, episode)
        task = asyncio.Task(coroutine, loop=loop, context=context, **options)
        if episode is not None:
            episode.tasks.add(task)
            task.add_done_callback(episode.tasks.discard)
        return task


class Episode:
    """One running episode: its task, its calls to the parent, and its time."""

    def __init__(self, stage: Stage, number: int, life: int, task: bytes) -> None:
        self.stage, self.number, self.life = stage, number, life
        self.tasks: set[asyncio.Task[Any]] = set()
        self.exceeded: BudgetExceeded | None = None
        self._calls: dict[int, asyncio.Future[Any]] = {}
        self._numbers = itertools.count()
        self._busy = self._spent = 0.0
        self._since: tuple[float, float] | None = self._now()
        self._loop = loop = asyncio.get_running_loop()
        self._timer = loop.call_later(stage.timeout, self._look)
        context = contextvars.copy_context()
        context.run(_here.set, self)
        self.main = loop.create_task(self._play(task), context=context)

    async def _play(self, packed: bytes) -> None:
        try:
            assert self.stage.function is not None
            task: Task = pickle.loads(packed)
            value = await self.stage.function(Chat(self), task, RemoteSandbox(self))
            verdict = verdict_of(value, "the episode")
        except BaseException as error:  # whatever user code raises is told, SystemExit included
            verdict = self._failed(error)
        self._end(verdict)

    def _failed(self, error: BaseException) -> Verdict:
        budget = _budget(error)
        if budget is None:
            return unscored("raised", "the episode raised " + last_lines(error))
        status = Status.TIMEOUT if budget.budget == "seconds" else Status.FAILED
        return Verdict(status, 0.0, f"budget exceeded: {budget}", detail={"budget": budget.budget})

    def _end(self, verdict: Verdict) -> None:
        self._timer.cancel()
        self.stage.over(self, verdict)
        for task in self.tasks:
            if task is not self.main:
                task.cancel()

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Have the parent do something; the episode's clock stands still meanwhile."""
        if self.exceeded:
            raise self.exceeded
        if asyncio.get_running_loop() is not self._loop:
            raise ValueError(
                f"{name}: must be awaited on the episode's own event loop, not on one that "
                "asyncio.run or a thread made"
            )
        number = next(self._numbers)
        try:
            self.stage.say("call", self.number, self.life, number, name, arguments)
        except FrameError as error:
            raise ValueError(f"{name}: {error}") from None
        answer = self._calls[number] = asyncio.get_running_loop().create_future()
        self._pause()
        try:
            return await answer
        finally:
            self._calls.pop(number, None)
            if not self._calls:
                self._since = self._now()

    def hear(self, number: int, kind: str, value: Any) -> None:
        answer = self._calls.get(number)
        if answer is None or answer.done():  # nobody waits any more
            return
        if kind == "value":
            answer.set_result(value)
        elif kind == "budget":
            answer.set_exception(BudgetExceeded(*value))
        else:
            answer.set_exception(_errors.get(kind, RuntimeError)(value))

    @contextmanager
    def step(self) -> Iterator[None]:
        """Its own code runs inside."""
        self.stage.pulse.step(self.number)
        began = time.monotonic()
        try:
            yield
        except (SystemExit, KeyboardInterrupt) as error:  # of a task: it would end the loop of all
            raise RuntimeError(f"{type(error).__name__}: {error}") from error
        finally:
            took = time.monotonic() - began
            self._busy += took
            self.stage.busy += took
            self.stage.pulse.step(0)

    def _now(self) -> tuple[float, float]:
        """The time, and what of it the other episodes of this process took."""
        return time.monotonic(), self.stage.busy - self._busy

    def _pause(self) -> None:
        self._spent, self._since = self.seconds(), None

    def seconds(self) -> float:
        """Its own time: waits for the model, for sandboxes and for other episodes do not count."""
        if self._since is None:
            return self._spent
        (now, others), (then, before) = self._now(), self._since
        return self._spent + (now - then) - (others - before)

    def _look(self) -> None:
        left = self.stage.timeout - self.seconds()
        loop = asyncio.get_running_loop()
        if left > 0:
            self._timer = loop.call_later(max(left, 0.02), self._look)
            return
        self.exceeded = BudgetExceeded(
            f"more than timeout = {self.stage.timeout:g} s of its own time", "seconds"
        )
        self.main.cancel()
        self._timer = loop.call_later(_GRACE_S, self._abandon)

    def _abandon(self) -> None:
        assert self.exceeded is not None
        self._end(self._failed(self.exceeded))
        self.main.cancel()


class Steps(Coroutine[Any, Any, Any]):
    """A coroutine of an episode's, whose steps are noted, and whose cancellation at the end of the
    episode's time is a `BudgetExceeded`."""

    def __init__(self, inner: Coroutine[Any, Any, Any], episode: Episode) -> None:
        self._inner, self._episode = inner, episode

    def send(self, value: Any) -> Any:
        with self._episode.step():
            return self._inner.send(value)

    def throw(self, *error: Any) -> Any:
        episode = self._episode
        with episode.step():
            cancelled = error[0] is asyncio.CancelledError or isinstance(
                error[0], asyncio.CancelledError
            )
            if cancelled and episode.exceeded and asyncio.current_task() is episode.main:
                episode.main.uncancel()
                return self._inner.throw(episode.exceeded)
            return self._inner.throw(*error)

    def close(self) -> None:
        self._inner.close()

    def __await__(self) -> Any:
        return self._inner.__await__()


def _budget(error: BaseException) -> BudgetExceeded | None:
    """A budget among what was raised: a task group wraps it."""
    if isinstance(error, BaseExceptionGroup):
        return next((found for it in error.exceptions if (found := _budget(it))), None)
    return error if isinstance(error, BudgetExceeded) else None


_errors: dict[str, type[Exception]] = {"ValueError": ValueError}
