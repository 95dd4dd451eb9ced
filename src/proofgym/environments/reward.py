"""A user's reward function, run in child processes that may hang, crash or lie without harm.

The function takes `(task, text)` and returns a float, a bool, a dict of components (their sum is
the reward), a `Verdict`, or None for "no score". It travels by value (cloudpickle), so closures
and functions from files beside the job work; one that cannot travel is refused before any work.
What it raises, returns wrongly or fails to return in time is recorded as *no score*, never as 0.
"""

from __future__ import annotations

import math
import os
import pickle
import queue
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from typing import IO, Any

import cloudpickle
from pydantic import Field

from proofgym.config import Config
from proofgym.errors import EnvironmentError as RewardError
from proofgym.tasks.tasks import Tasks
from proofgym.types import Status, Task, Verdict

RewardFunction = Callable[[Task, str], Any]


class Reward(Config):
    """Score completions with a Python function."""

    function: Any
    """`(task, text) -> float | bool | dict[str, float] | Verdict | None`"""
    timeout: float = Field(10.0, gt=0)
    """Seconds one call may take before its process is killed; the attempt gets no score."""

    def open(self, workers: int) -> RewardJudge:
        return RewardJudge(portable(self.function), self.timeout, workers)


def portable(function: RewardFunction) -> bytes:
    """Serialise `function` by value, or refuse it saying why."""
    if not callable(function):
        raise RewardError(
            f"Reward.function = {function!r}: not callable; give (task, text) -> float"
        )
    module = sys.modules.get(getattr(function, "__module__", "") or "")
    by_value = module is not None and _is_user_code(module)
    try:
        if by_value:
            cloudpickle.register_pickle_by_value(module)
        data = cloudpickle.dumps(function)
    except Exception as error:  # any __reduce__ in the closure may raise anything
        raise RewardError(
            f"reward {function!r} cannot be sent to its process: {error}. "
            "Something it captures (a lock, a file, a model) cannot be copied; create it inside."
        ) from error
    finally:
        if by_value:
            cloudpickle.unregister_pickle_by_value(module)
    return data


def _is_user_code(module: Any) -> bool:
    """Code that a fresh interpreter may not find by name: job files and files beside them."""
    path = getattr(module, "__file__", None) or ""
    return (
        module.__name__ != "builtins"
        and "site-packages" not in path
        and (not module.__name__.startswith("proofgym.") and sys.prefix not in path)
    )


class RewardJudge:
    """A pool of reward processes; one call at a time each."""

    def __init__(self, function: bytes, timeout: float, workers: int) -> None:
        self._function, self._timeout = function, timeout
        self._idle: queue.SimpleQueue[_Worker | None] = queue.SimpleQueue()
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
            status, value = worker.call((task, text), self._timeout)
            if status == "lost":
                worker.kill()
                worker = None
        except OSError as error:
            status, value, worker = "lost", f"cannot start the reward process: {error}", None
        finally:
            self._idle.put(worker)
        return _verdict(status, value, time.monotonic() - start)

    def close(self) -> None:
        for worker in self._all:
            worker.kill()


def _verdict(status: str, value: Any, seconds: float) -> Verdict:
    def unscored(message: str) -> Verdict:
        return Verdict(Status.INFRASTRUCTURE, None, message, seconds)

    if status != "ok":
        return unscored(str(value))
    if isinstance(value, Verdict):
        return value if _sound(value) else unscored(f"the reward function returned {value!r}")
    if value is None:
        return unscored("the reward function returned None (no score)")
    detail: dict[str, Any] = {}
    if isinstance(value, dict):
        detail = {"components": value}
        try:
            value = math.fsum(float(part) for part in value.values())
        except (TypeError, ValueError, OverflowError):
            return unscored(
                f"the reward function returned components that are not numbers: {value!r}"
            )
    if isinstance(value, str | bytes):
        return unscored(f"the reward function returned {type(value).__name__}, not a number")
    try:
        reward = float(value)
    except (TypeError, ValueError, OverflowError):
        return unscored(f"the reward function returned {type(value).__name__}, not a number")
    if not _usable(reward):
        return unscored(f"the reward function returned {reward}")
    return Verdict(Status.PASSED if reward > 0 else Status.FAILED, reward, "", seconds, detail)


#: Means and deviations of larger rewards would overflow.
_LARGEST_REWARD = 1e100


def _usable(reward: float) -> bool:
    return math.isfinite(reward) and abs(reward) <= _LARGEST_REWARD


def _sound(verdict: Verdict) -> bool:
    """Whether a verdict that user code made has the types that it declares."""
    if not isinstance(verdict.status, Status):
        return False
    if verdict.reward is None:
        return verdict.status is Status.INFRASTRUCTURE
    number = isinstance(verdict.reward, int | float)
    return number and _usable(verdict.reward) and verdict.status is not Status.INFRASTRUCTURE


class _Worker:
    """One child process speaking length-prefixed pickles; its own prints go to standard error."""

    LARGEST_REPLY = 16 << 20
    START_TIMEOUT = 60.0  # importing what the function needs is not part of a call's time

    def __init__(self, function: bytes) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "proofgym.environments.reward_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env=_environment(),
        )
        self._send(function)
        self._ready = False

    def call(self, arguments: tuple[Task, str], timeout: float) -> tuple[str, Any]:
        """("ok", value), ("raised", text), or ("lost", why) when the process must be replaced."""
        try:
            if not self._ready:
                self._read(1, time.monotonic() + self.START_TIMEOUT)
                self._ready = True
            deadline = time.monotonic() + timeout
            self._send(pickle.dumps(arguments))
            head = self._read(4, deadline)
            size = struct.unpack("<I", head)[0]
            if size > self.LARGEST_REPLY:
                return "lost", f"the reward function returned {size:,} bytes"
            return _reply(self._read(size, deadline))
        except TimeoutError:
            if not self._ready:
                return "lost", f"the reward process was not ready in {self.START_TIMEOUT:g} s"
            return "lost", f"the reward function took longer than {timeout:g} s and was killed"
        except (EOFError, BrokenPipeError):
            code = self._process.wait()
            return "lost", f"the reward process died ({_exit(code)})"

    def _send(self, data: bytes) -> None:
        assert self._process.stdin
        self._process.stdin.write(struct.pack("<I", len(data)) + data)
        self._process.stdin.flush()

    def _read(self, size: int, deadline: float) -> bytes:
        stream: IO[bytes] | None = self._process.stdout
        assert stream
        data = b""
        while len(data) < size:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([stream], [], [], left)[0]:
                raise TimeoutError
            part = os.read(stream.fileno(), size - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def kill(self) -> None:
        """End the process and everything it started in its session."""
        if self._process.poll() is None:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except ProcessLookupError:
                self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue


def _reply(data: bytes) -> tuple[str, Any]:
    try:
        status, value = pickle.loads(data)
    except Exception as error:  # what user code sent may raise anything when unpacked
        return "lost", f"the reward process answered nonsense: {type(error).__name__}: {error}"
    return status, value


def _exit(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"


def _environment() -> dict[str, str]:
    """The parent's environment without secrets, and able to import what the parent imports."""
    secret = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")
    kept = {k: v for k, v in os.environ.items() if not any(word in k.upper() for word in secret)}
    kept["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    return kept
