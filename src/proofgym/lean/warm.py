"""Checks with a Lean that is started once: a fork server in one sandbox, a child for each file.

See `forkserver.py` for what keeps the children apart. The deadline of a check is kept here, by
ending its child; if the server does not answer to that, the whole sandbox is ended, and the
checks that were under way in it are faults of the machinery, to be made again.
"""

from __future__ import annotations

import array
import json
import marshal
import os
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from proofgym.errors import SandboxError
from proofgym.lean.runner import ColdRunner, ToolchainLike, lean_options, preloaded
from proofgym.sandboxes import Limits, Outcome, Sandbox, seccomp, supervisor
from proofgym.sandboxes.limits import MIB
from proofgym.sandboxes.sandbox import EndedBy, Service, infrastructure
from proofgym.sandboxes.spawn import memory_file, pipe

SERVER = Path(__file__).parent / "forkserver.py"
NEEDED = frozenset({"process_tree", "orphans", "network", "filesystem"})
"""What the sandbox around the server must give."""

_START_S = 30.0
_GRACE_S = 5.0
_FAILED = 125  # the child's status where it could not even become Lean
_SERVER_BYTES = 512 * MIB  # the server itself, and what the checks share with it


def can_be_warm(toolchain: ToolchainLike, sandbox: Sandbox) -> bool:
    """Whether this Lean can be kept warm in this sandbox without one check reaching another."""
    return toolchain.kind == "embedded" and seccomp.supported() and sandbox.protections >= NEEDED


class WarmRunner:
    """Runs files in a fork server, `workers` at once; the server is started when first needed."""

    def __init__(
        self,
        toolchain: ToolchainLike,
        sandbox: Sandbox,
        limits: Limits,
        workers: int | None = None,
        options: Sequence[str] = (),
    ) -> None:
        self._toolchain, self._sandbox = toolchain, sandbox
        self._workers = workers or os.cpu_count() or 1
        self._turn = threading.BoundedSemaphore(self._workers)
        self._lock = threading.Lock()
        self._server: Server | None = None
        self._possible: bool | None = None  # whether a server ever started; None: not tried
        self._cold = ColdRunner(toolchain, sandbox, options)
        self._preloaded = preloaded(toolchain, options)
        self._filter, self._pid_at = seccomp.compute_only_bytes()
        self._whole = Limits(
            wall_s=1e9,
            cpu_s=1e9,
            memory_bytes=_SERVER_BYTES + self._workers * limits.memory_bytes,
            processes=16 + self._workers * limits.processes,
        )

    def run(self, source: bytes, limits: Limits) -> Outcome:
        with self._turn:
            began = time.monotonic()
            try:
                server = self._ready()
                if server is None:
                    return self._cold.run(source, limits)
                outcome = self._ask(server, source, limits)
            except (OSError, SandboxError) as error:
                outcome = infrastructure(f"the warm Lean: {error}")
            return replace(outcome, wall_s=time.monotonic() - began)

    def _ready(self) -> Server | None:
        """The server, started if need be; None if none can be had on this machine."""
        with self._lock:
            if self._server is not None and not self._server.alive:
                self._server.close()
                self._server = None
            if self._server is None and self._possible is not False:
                self._server = self._start()
            return self._server

    def _start(self) -> Server | None:
        try:
            server = Server(self._toolchain, self._sandbox, self._whole)
        except SandboxError as error:
            if self._possible:  # it worked before, so this is a passing fault
                raise
            self._possible = False
            warnings.warn(f"each check starts a Lean of its own: {error}", stacklevel=2)
            return None
        self._possible = True
        return server

    def _ask(self, server: Server, source: bytes, limits: Limits) -> Outcome:
        request = {
            "arguments": [*self._preloaded, *lean_options(limits), "--stdin"],
            "memory": limits.memory_bytes,
            "threads": limits.processes,
            "cpu": max(1, round(limits.cpu_s)),
            "wall": limits.wall_s + _GRACE_S,  # a second line; the first is here
            "filter": self._filter,
            "pid_at": self._pid_at,
        }
        with ExitStack() as stack:
            ours, theirs = (stack.enter_context(end) for end in socket.socketpair())
            out, out_in = pipe(stack)
            err, err_in = pipe(stack)
            file = memory_file(source, stack)
            server.send(request, (file, out_in.fileno(), err_in.fileno(), theirs.fileno()))
            for end in (theirs, out_in, err_in):
                end.close()
            seen = supervisor.watch(
                ours.fileno(),
                out.fileno(),
                err.fileno(),
                lambda: _kill(ours, server),
                limits,
            )
            supervisor.drain(seen, out.fileno(), err.fileno(), limits)
            return _outcome(seen, _report(ours), server)

    def close(self) -> None:
        """End the server and everything in it."""
        with self._lock:
            if self._server is not None:
                self._server.close()
                self._server = None


class Server:
    """One fork server and the control socket to it."""

    def __init__(self, toolchain: ToolchainLike, sandbox: Sandbox, limits: Limits) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        python, library = os.path.realpath(sys.executable), toolchain.argv[-1]
        with theirs:
            try:
                self._service: Service = sandbox.serve(
                    [python, "-I", "-S", str(SERVER), library, str(theirs.fileno())],
                    channel=theirs.fileno(),
                    env=toolchain.env,
                    read_only=[*toolchain.read_only_paths, SERVER, Path(sys.base_prefix)],
                    limits=limits,
                )
            except BaseException:
                self._control.close()
                raise
        self._control.settimeout(_START_S)
        try:
            ready = self._control.recv(16)
        except OSError:
            ready = b""
        if ready != b"ready":
            self.close()
            raise SandboxError(f"it did not start: {self._service.why()}")

    @property
    def alive(self) -> bool:
        return self._service.alive

    def why(self) -> str:
        """How it ended, for people."""
        return self._service.why()

    def send(self, request: Mapping[str, object], descriptors: tuple[int, ...]) -> None:
        """One packet; packets of many threads never mix."""
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))
        self._control.sendmsg([marshal.dumps(dict(request))], [rights])

    def close(self) -> None:
        self._service.close()
        self._control.close()


def _kill(connection: socket.socket, server: Server) -> None:
    """Ask for the child's end; if the server is deaf, end it with everything in it."""
    try:
        connection.send(b"k")
    except OSError:  # it has ended already, or the server has
        return
    if not supervisor.wait_end(connection.fileno(), _GRACE_S):
        server.close()


def _report(connection: socket.socket) -> Mapping[str, Any]:
    connection.setblocking(False)
    try:
        return json.loads(connection.recv(4096))
    except (OSError, ValueError):
        return {}


def _outcome(seen: supervisor.Watched, report: Mapping[str, Any], server: Server) -> Outcome:
    texts: dict[str, Any] = {"stdout": bytes(seen.stdout), "stderr": bytes(seen.stderr)}
    if seen.killed is not None:
        return Outcome(seen.killed, **texts, **_used(report))
    if not report:
        return infrastructure(f"the warm Lean ended: {server.why()}", stderr=texts["stderr"])
    code = int(report["code"])
    if code == _FAILED:
        return infrastructure(texts["stderr"].decode(errors="replace"), stderr=texts["stderr"])
    number = -code if code < 0 else None
    ended_by: EndedBy = "exit" if number is None else report["killed"] or "signal"
    if number == signal.SIGXCPU:
        ended_by = "cpu"
    elif number == signal.SIGKILL and not report["killed"]:  # the kernel, for the whole group
        ended_by = "memory"
    status = code if ended_by == "exit" else None
    return Outcome(ended_by, status, number, **texts, **_used(report))


def _used(report: Mapping[str, Any]) -> dict[str, Any]:
    return {"cpu_s": report.get("cpu", 0.0), "peak_memory_bytes": report.get("peak", 0)}
