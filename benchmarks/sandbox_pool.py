"""One step of rollouts in the project's own pool of sandboxes, each start and action timed.

Sandboxes used once are those of `command_pool`: prepared ahead, each runs one command. Those used
more often hold a shell that sleeps or spins when told to.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

from proofgym.sandboxes import Limits, Sandbox
from proofgym.sandboxes.pool import Pool
from proofgym.sandboxes.pool_settings import PoolSettings
from proofgym.sandboxes.prepared import Command, Prepared
from proofgym.sandboxes.roster import Worker

_SHELL = """
exec 2>/dev/null
echo r >&$1
while read -r -u $1 what seconds; do
  case $what in
    sleep) sleep $seconds ;;
    spin) end=$(( ${EPOCHREALTIME/[.,]/} + $seconds ))
      while (( ${EPOCHREALTIME/[.,]/} < end )); do :; done ;;
  esac
  echo d >&$1
done
"""
_FOREVER_S = 10_000.0
_LIMITS = Limits(wall_s=1e6, cpu_s=1e6)


class Actor(Worker, Protocol):
    """A worker that can do what a rollout does."""

    def act(self, seconds: float) -> bool:
        """Whether it is done within the cap, and nothing went wrong."""
        ...


class Once(Prepared):
    """A prepared sandbox that runs one command, `sleep`."""

    def act(self, seconds: float) -> bool:
        outcome, _ = self.run(Command(("/bin/sleep", f"{seconds:.6f}"), {}), {})
        return outcome.ended_by == "exit" and outcome.status == 0


class Shell:
    """A sandboxed shell for many actions, ready when constructed."""

    def __init__(self, sandbox: Sandbox, what: str, cap_s: float, budget_s: float) -> None:
        self._what, self._cap_s = what, cap_s
        self._ours, theirs = socket.socketpair()
        with theirs:
            number = theirs.fileno()
            argv = ["/bin/bash", "-c", _SHELL, "bash", str(number)]
            self._service = sandbox.serve(argv, channel=number, limits=_LIMITS)
        self._ours.settimeout(budget_s)
        if self._ours.recv(2) != b"r\n":
            raise RuntimeError(f"a sandboxed shell did not start: {self._service.why()}")

    def act(self, seconds: float) -> bool:
        shown = f"{seconds * 1e6:.0f}" if self._what == "spin" else f"{seconds:.6f}"
        self._ours.settimeout(self._cap_s)
        try:
            self._ours.sendall(f"{self._what} {shown}\n".encode())
            return self._ours.recv(2) == b"d\n"
        except OSError:  # the cap, or somebody ended it
            return False

    def healthy(self) -> bool:
        return self._service.alive

    def memory_bytes(self) -> int:
        return 0

    def close(self) -> None:
        self._service.close()
        self._ours.close()


@dataclass
class Work:
    """One rollout: when it comes, what it does, and when the machinery fails it first."""

    arrival_s: float
    seconds: float
    capped: bool
    faults_s: list[float]
    """Seconds into the action, of each attempt that is to fail."""
    lost: bool
    """It fails to the last attempt."""


@dataclass
class Timings:
    """What one step of the real pool took."""

    step_s: float = 0.0
    starts_s: list[float] = field(default_factory=list)
    overheads_s: list[float] = field(default_factory=list)
    """Of each action, beyond its own time."""


def starter(
    sandbox: Sandbox, settings: PoolSettings, what: str, cap_s: float
) -> Callable[[float], Actor]:
    """How a pool with these settings starts a sandbox."""
    if settings.uses == 1:
        return lambda budget_s: Once(sandbox, Limits(wall_s=cap_s), (), budget_s)
    return lambda budget_s: Shell(sandbox, what, cap_s, budget_s)


class StepRun:
    """Runs one step in a new pool, which it closes."""

    def __init__(self, start: Callable[[float], Actor], settings: PoolSettings) -> None:
        self._start = start
        self._pool = Pool[Actor](self._timed, settings)
        self._timings = Timings()
        self._broken: list[BaseException] = []

    def run(self, works: list[Work]) -> Timings:
        """Warm up, then let the rollouts come, and wait for the last."""
        try:
            if self._pool.settings.buffer:
                self._pool.prepare(wait_s=120)
            self._timings = timings = Timings()
            began = time.monotonic()
            with ThreadPoolExecutor(len(works)) as threads:
                for work in works:
                    time.sleep(max(0.0, began + work.arrival_s - time.monotonic()))
                    threads.submit(self._rollout, work)
            timings.step_s = time.monotonic() - began
            self._timings = Timings()  # for what still starts
        finally:
            self._pool.close()
        if self._broken:
            raise self._broken[0]
        return timings

    def _timed(self, budget_s: float) -> Actor:
        began = time.monotonic()
        worker = self._start(budget_s)
        self._timings.starts_s.append(time.monotonic() - began)
        return worker

    def _rollout(self, work: Work) -> None:
        try:
            for seconds in work.faults_s:
                self._attempt(seconds, fault=True)
            if not work.lost:
                self._attempt(work.seconds, capped=work.capped)
        except BaseException as error:  # must reach the one who waits
            self._broken.append(error)

    def _attempt(self, seconds: float, fault: bool = False, capped: bool = False) -> None:
        """A fault ends the sandbox under the action; an action that is capped never ends."""
        with self._pool.lease() as lease:
            began = time.monotonic()
            if fault:
                threading.Timer(seconds, lease.worker.close).start()
            done = lease.worker.act(_FOREVER_S if fault or capped else seconds)
            self._timings.overheads_s.append(time.monotonic() - began - seconds)
            if done == (fault or capped):
                raise RuntimeError(f"an action ended otherwise than it was to: {done}")
            if not done and self._pool.settings.uses > 1:
                lease.spoil("it is of no use any more")
