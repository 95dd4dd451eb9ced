"""A pool of real sandboxed processes that follows the rules of `proofgym.planning.Pool`.

Each sandbox holds a shell that does what it is told: sleep, spin, or die, for a given time. The
pool runs one step: rollouts arrive on a schedule, and every start and action is timed.
"""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from proofgym.planning.pool import Pool
from proofgym.sandboxes import Limits, Sandbox

_SHELL = """
exec 2>/dev/null
echo r >&$1
while read -r -u $1 what seconds; do
  case $what in
    sleep) sleep $seconds ;;
    spin) end=$(( ${EPOCHREALTIME/[.,]/} + $seconds ))
      while (( ${EPOCHREALTIME/[.,]/} < end )); do :; done ;;
    die) sleep $seconds; exit 1 ;;
  esac
  echo d >&$1
done
"""
_FOREVER_S = 10_000.0
_LIMITS = Limits(wall_s=1e6, cpu_s=1e6)


class Shell:
    """One sandboxed shell, ready when constructed."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._ours, theirs = socket.socketpair()
        self.used = 0
        with theirs:
            number = theirs.fileno()
            argv = ["/bin/bash", "-c", _SHELL, "bash", str(number)]
            self._service = sandbox.serve(argv, channel=number, limits=_LIMITS)
        self._ours.settimeout(60)
        if self._ours.recv(2) != b"r\n":
            raise RuntimeError(f"a sandboxed shell did not start: {self._service.why()}")

    def act(self, what: str, seconds: float, cap_s: float) -> bool:
        """Whether it answered within the cap; after that it is of no use any more."""
        shown = f"{seconds * 1e6:.0f}" if what == "spin" else f"{seconds:.6f}"
        self._ours.settimeout(cap_s)
        self.used += 1
        try:
            self._ours.sendall(f"{what} {shown}\n".encode())
            return self._ours.recv(2) == b"d\n"
        except OSError:  # the cap
            return False

    def close(self) -> None:
        self._service.close()
        self._ours.close()


@dataclass
class Work:
    """One rollout: when it comes, what it does, and how often the machinery fails it first."""

    arrival_s: float
    seconds: float
    capped: bool
    faults: int
    tried: int = 0


@dataclass
class Timings:
    """What one step of the real pool took."""

    step_s: float = 0.0
    starts_s: list[float] = field(default_factory=list)
    overheads_s: list[float] = field(default_factory=list)
    """Of each action, beyond its own time."""


class RealPool:
    """Runs one step; `close` leaves nothing behind."""

    def __init__(self, sandbox: Sandbox, pool: Pool, what: str, cap_s: float) -> None:
        self._sandbox, self._pool, self._what, self._cap_s = sandbox, pool, what, cap_s
        self._lock = threading.Condition()
        self._idle: list[Shell] = []
        self._closing: list[Shell] = []  # closed by the start of what replaces them
        self._line: deque[tuple[Work, float]] = deque()
        self._starting = self._busy = self._left = 0
        self._timings = Timings()
        self._threads = ThreadPoolExecutor(256)
        self._broken: BaseException | None = None

    def run(self, works: list[Work]) -> Timings:
        """Warm up, then let the rollouts come, and wait for the last."""
        with self._lock:
            self._advance()
            self._lock.wait_for(lambda: self._broken or len(self._idle) == self._pool.buffer)
            self._timings, self._left = Timings(), len(works)
        began = time.monotonic()
        for work in works:
            time.sleep(max(0.0, began + work.arrival_s - time.monotonic()))
            with self._lock:
                self._line.append((work, time.monotonic()))
                self._advance()
        with self._lock:
            self._lock.wait_for(lambda: self._broken or self._left == 0)
            if self._broken:
                raise self._broken
        self._timings.step_s = time.monotonic() - began
        return self._timings

    def close(self) -> None:
        with self._lock:
            self._lock.wait_for(lambda: self._broken or self._starting + self._busy == 0)
        self._threads.shutdown()
        for shell in [*self._idle, *self._closing]:
            shell.close()

    def _advance(self) -> None:
        """Serve the line, drop what is too many, start what is missing. The lock is held."""
        while self._line and self._idle:
            work, _ = self._line.popleft()
            self._busy += 1
            self._threads.submit(self._guard, self._act, self._idle.pop(), work, time.monotonic())
        while len(self._idle) > self._pool.buffer:
            self._closing.append(self._idle.pop())
        while self._may_start():
            self._starting += 1
            self._threads.submit(self._guard, self._start, time.monotonic())

    def _may_start(self) -> bool:
        ahead, pool = len(self._idle) + self._starting, self._pool
        room = pool.size is None or ahead + self._busy < pool.size
        turn = pool.starting is None or self._starting < pool.starting
        return room and turn and ahead < len(self._line) + pool.buffer

    def _guard(self, function, *arguments) -> None:
        """A fault in a thread must reach the one who waits."""
        try:
            function(*arguments)
        except BaseException as error:
            with self._lock:
                self._broken = error
                self._lock.notify_all()

    def _start(self, decided: float) -> None:
        with self._lock:
            old = self._closing.pop() if self._closing else None
        if old is not None:
            old.close()
        shell = Shell(self._sandbox)
        with self._lock:
            self._timings.starts_s.append(time.monotonic() - decided)
            self._starting -= 1
            self._idle.append(shell)
            self._advance()
            self._lock.notify_all()

    def _act(self, shell: Shell, work: Work, decided: float) -> None:
        fails = work.tried < work.faults
        seconds = _FOREVER_S if work.capped and not fails else work.seconds
        answered = shell.act("die" if fails else self._what, seconds, self._cap_s)
        with self._lock:
            self._busy -= 1
            self._timings.overheads_s.append(time.monotonic() - decided - work.seconds)
            work.tried += 1
            if fails:
                self._line.append((work, time.monotonic()))
            else:
                self._left -= 1
            spent = self._pool.uses is not None and shell.used >= self._pool.uses
            (self._idle if answered and not spent else self._closing).append(shell)
            self._advance()
            self._lock.notify_all()
