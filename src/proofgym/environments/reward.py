"""A user's reward function, run in child processes that may hang, crash or lie without harm.

The function takes `(task, text)` and returns a float, a bool, a dict of components (their sum is
the reward), a `Verdict`, or None for "no score". It travels by value (cloudpickle), so closures
and functions from files beside the job work; one that cannot travel is refused before any work.
What it raises, returns wrongly or fails to return in time is recorded as *no score*, never as 0.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from typing import Any

from pydantic import Field

from proofgym.config import Config
from proofgym.environments.child import Child
from proofgym.environments.frames import FrameError, Frames, frame, pack, read_plain
from proofgym.environments.portable import portable
from proofgym.environments.score import Fault, from_plain, unscored
from proofgym.tasks.tasks import Tasks
from proofgym.types import Task, Verdict

RewardFunction = Callable[[Task, str], Any]


class Reward(Config):
    """Score completions with a Python function."""

    function: Any
    """`(task, text) -> float | bool | dict[str, float] | Verdict | None`"""
    timeout: float = Field(10.0, gt=0, allow_inf_nan=False)
    """Seconds one call may take before its process is killed; the attempt gets no score."""

    def open(self, workers: int) -> RewardJudge:
        return RewardJudge(portable(self.function), self.timeout, workers)


class RewardJudge:
    """A pool of reward processes; one call at a time each."""

    def __init__(self, function: bytes, timeout: float, workers: int) -> None:
        self._function, self._timeout = function, timeout
        self._idle: queue.LifoQueue[_Worker | None] = queue.LifoQueue()
        self._all: list[_Worker] = []
        for _ in range(max(1, workers)):
            self._idle.put(None)  # started on first use

    def describe(self) -> str:
        return f"reward function in child processes, {self._timeout:g} s each call"

    def prepare(self, tasks: Tasks) -> None:
        """Nothing to check ahead: the function alone knows what it can score."""

    def judge(self, task: Task, text: str) -> Verdict:
        start = time.monotonic()
        worker = self._idle.get()
        try:
            if worker is None:
                worker = _Worker(self._function)
                self._all.append(worker)
            plain = worker.call((task, text), self._timeout)
            return from_plain(plain, time.monotonic() - start)
        except (_Lost, FrameError, ValueError) as error:
            assert worker is not None
            fault: Fault = error.fault if isinstance(error, _Lost) else "bad value"
            worker.kill()
            self._all.remove(worker)
            worker = None
            return unscored(fault, str(error), time.monotonic() - start)
        except OSError as error:
            worker = None
            message = f"the reward process cannot be started: {error}"
            return unscored("died", message, time.monotonic() - start)
        finally:
            self._idle.put(worker)

    def close(self) -> None:
        for worker in self._all:
            worker.kill()


class _Lost(Exception):
    """There is no answer, and the process must be replaced."""

    def __init__(self, fault: Fault, message: str) -> None:
        super().__init__(message)
        self.fault: Fault = fault


class _Worker:
    """One child process, and the calls to it."""

    START_TIMEOUT = 60.0  # importing what the function needs is not part of a call's time

    def __init__(self, function: bytes) -> None:
        self._child = Child("proofgym.environments.reward_worker", "reward function")
        self._frames = Frames()
        self._first = frame(function)

    def call(self, arguments: tuple[Task, str], timeout: float) -> Any:
        """The verdict as JSON values."""
        channel = self._child.channel
        try:
            if self._first:
                channel.settimeout(self.START_TIMEOUT)
                channel.sendall(self._first)
                self._read(time.monotonic() + self.START_TIMEOUT)
                self._first = b""
            deadline = time.monotonic() + timeout
            channel.settimeout(timeout)
            channel.sendall(pack(arguments))
            return read_plain(self._read(deadline))
        except TimeoutError:
            if self._first:
                late = f"was not ready in {self.START_TIMEOUT:g} s"
                raise _Lost("timed out", f"the reward process {late}") from None
            late = f"took longer than {timeout:g} s and was killed"
            raise _Lost("timed out", f"the reward function {late}") from None
        except (EOFError, ConnectionError):
            how = self._child.kill()
            words = self._child.last_words()
            raise _Lost("died", f"the reward process died ({how}){words}") from None

    def _read(self, deadline: float) -> bytes:
        while True:
            self._child.channel.settimeout(max(deadline - time.monotonic(), 1e-3))
            data = self._child.channel.recv(1 << 16)
            if not data:
                raise EOFError
            for message in self._frames.add(data):
                return message

    def kill(self) -> None:
        self._child.kill()
