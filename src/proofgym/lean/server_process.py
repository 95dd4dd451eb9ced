"""One fork server in its sandbox, seen from outside: the other end of `inside/forkserver.py`."""

from __future__ import annotations

import array
import json
import marshal
import os
import signal
import socket
import sys
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proofgym.errors import SandboxError
from proofgym.lean.header import Header, library_environment, shared_library
from proofgym.lean.runner import ToolchainLike
from proofgym.sandboxes import Limits, Outcome, Sandbox, supervisor
from proofgym.sandboxes.cancel import Cancel
from proofgym.sandboxes.sandbox import EndedBy, Service, infrastructure
from proofgym.sandboxes.spawn import memory_file, pipe

INSIDE = Path(__file__).parent / "inside"
NEEDED = frozenset({"process_tree", "orphans", "network", "filesystem"})
"""What the sandbox around the server must give."""

_GRACE_S = 5.0
_SMALL_ARENAS = {"MIMALLOC_ARENA_RESERVE": str(64 << 10)}
"""In KiB. Lean's allocator otherwise maps 1 GiB before it needs any, out of which a check could
take more than it may hold without asking the kernel."""
_FAILED = 125  # the child's status where it could not even become Lean


@dataclass(frozen=True, slots=True)
class Answer:
    """How a check ended, and how long its own process lived (None if that is unknown)."""

    outcome: Outcome
    service_s: float | None = None


class Server:
    """One fork server and the control socket to it; a `Worker` of a pool.

    Raises:
        SandboxError: it was not ready within `seconds`.
    """

    def __init__(
        self,
        toolchain: ToolchainLike,
        sandbox: Sandbox,
        limits: Limits,
        header: Header,
        seconds: float,
    ) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._lock = threading.Lock()
        self._memory_bytes = self._memory_kills = 0
        library = shared_library(toolchain)
        shown = [*toolchain.read_only_paths, *header.paths, INSIDE, Path(sys.base_prefix)]
        python = os.path.realpath(sys.executable)
        words = [str(library), str(theirs.fileno()), *header.in_memory(toolchain.version)]
        with theirs:
            try:
                self._service: Service = sandbox.serve(
                    [python, "-I", "-S", str(INSIDE / "forkserver.py"), *words],
                    channel=theirs.fileno(),
                    env={**library_environment(toolchain), **_SMALL_ARENAS},
                    read_only=shown,
                    limits=limits,
                )
            except BaseException:
                self._control.close()
                raise
        self._control.settimeout(seconds)
        try:
            ready = self._control.recv(64)
        except OSError:
            ready = b""
        if not ready.startswith(b"ready"):
            self.close()
            raise SandboxError(f"it did not start: {self._service.why()}")
        self.header_in_memory = b"in memory" in ready

    def healthy(self) -> bool:
        return self._service.alive

    def memory_bytes(self) -> int:
        return self._memory_bytes

    def check(
        self, request: Mapping[str, Any], source: bytes, limits: Limits, cancel: Cancel | None
    ) -> Answer:
        """Have a child run one file, and follow it to its end."""
        # A second line of defence; the first is the supervisor below.
        packet = {**request, "wall": limits.wall_s + _GRACE_S}
        with ExitStack() as stack:
            ours, theirs = (stack.enter_context(end) for end in socket.socketpair())
            out, out_in = pipe(stack)
            err, err_in = pipe(stack)
            file = memory_file(source, stack)
            self._send(packet, (file, out_in.fileno(), err_in.fileno(), theirs.fileno()))
            for end in (theirs, out_in, err_in):
                end.close()
            if cancel is not None:
                stack.enter_context(cancel.calls(lambda: self._kill(ours)))
            seen = supervisor.watch(
                ours.fileno(), out.fileno(), err.fileno(), lambda: self._kill(ours), limits
            )
            supervisor.drain(seen, out.fileno(), err.fileno(), limits)
            report = _report(ours)
        self._memory_bytes = report.get("server", self._memory_bytes)
        outcome = self._outcome(seen, report, limits.cpu_s)
        if cancel is not None and cancel.cancelled:
            outcome = Outcome("cancelled")
        return Answer(outcome, report.get("lived"))

    def _starved(self) -> bool:
        """Whether the kernel has killed for memory more often than was accounted for."""
        with self._lock:
            starved = self._service.memory_kills() > self._memory_kills
            self._memory_kills += starved
        return starved

    def close(self) -> None:
        self._service.close()
        self._control.close()

    def _send(self, request: Mapping[str, object], descriptors: tuple[int, ...]) -> None:
        """One packet; packets of many threads never mix."""
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))
        self._control.sendmsg([marshal.dumps(dict(request))], [rights])

    def _kill(self, connection: socket.socket) -> None:
        """Ask for the child's end; if the server is deaf, end it with everything in it."""
        try:
            connection.send(b"k")
        except OSError:  # it has ended already, or the server has
            return
        if not supervisor.wait_end(connection.fileno(), _GRACE_S):
            self.close()

    def _outcome(
        self, seen: supervisor.Watched, report: Mapping[str, Any], cpu_s: float
    ) -> Outcome:
        texts: dict[str, Any] = {"stdout": bytes(seen.stdout), "stderr": bytes(seen.stderr)}
        if seen.killed is not None:
            return Outcome(seen.killed, **texts, **_used(report))
        if not report:
            self._service.ended(1.0)  # its last words may be on their way
            why = self._service.why()
            return infrastructure(f"the warm Lean ended: {why}", stderr=texts["stderr"])
        code = int(report["code"])
        if code == _FAILED:
            words = texts["stderr"].decode(errors="replace")
            return infrastructure(words, stderr=texts["stderr"])
        number = -code if code < 0 else None
        if report["killed"] == "processes":  # by us, so there is no doubt whose doing it is
            reason = "more threads than are allowed"
            return Outcome(
                "signal", None, number, **texts, reason=reason, pointless=True, **_used(report)
            )
        ended_by: EndedBy = "exit" if number is None else report["killed"] or "signal"
        if number == signal.SIGXCPU:
            ended_by = "cpu"
        elif number == signal.SIGKILL and not report["killed"]:
            # It cannot have done that itself. The kernel did, for the whole group or for its
            # processor time; or somebody else on this machine, and then it is not its fault.
            spent = report["cpu"] >= 0.95 * cpu_s
            ended_by = "memory" if self._starved() else "cpu" if spent else "infrastructure"
        if ended_by == "infrastructure":
            return infrastructure("the check's process was killed from outside")
        status = code if ended_by == "exit" else None
        return Outcome(ended_by, status, number, **texts, **_used(report))


def _report(connection: socket.socket) -> Mapping[str, Any]:
    connection.setblocking(False)
    try:
        return json.loads(connection.recv(4096))
    except (OSError, ValueError):
        return {}


def _used(report: Mapping[str, Any]) -> dict[str, Any]:
    return {"cpu_s": report.get("cpu", 0.0), "peak_memory_bytes": report.get("peak", 0)}
