"""The sandbox interface: run a program on hostile input and say how it ended.

A sandbox is stateless between runs and may be called from many threads at once. `run` never
raises for what the program does, nor for a fault of the machinery: the latter comes back as an
`Outcome` that ended by "infrastructure", which no one may score.
"""

from __future__ import annotations

import atexit
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Literal

from proofgym.errors import SandboxError
from proofgym.sandboxes.limits import Limits

EndedBy = Literal["exit", "signal", "wall", "cpu", "memory", "output", "infrastructure"]

PROTECTIONS: Mapping[str, str] = {
    "process_tree": "every process ends with the run, daemons too",
    "orphans": "every process ends when the orchestrator is killed",
    "network": "no network",
    "filesystem": "sees only named paths, read-only; writes only to its scratch folder",
    "processes_hidden": "cannot see, signal or trace processes outside",
    "privileges": "no capabilities, no new privileges",
    "syscalls": "kernel interfaces a checker does not need are refused",
    "memory": "one memory limit for the whole tree",
    "pids": "one limit on processes for the whole tree",
    "scratch": "a limit on the bytes written",
}
"""Every protection a backend may claim, and what it means."""

SYSTEM_PATHS = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64"),
    *("/etc/ld.so.cache", "/nix/store"),
)
"""What a dynamically linked program needs, where it exists; shown read-only."""

DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one run ended. `status` is the exit status, or None if a signal or we ended it."""

    ended_by: EndedBy
    status: int | None = None
    signal: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    wall_s: float = 0.0
    cpu_s: float = 0.0
    peak_memory_bytes: int = 0
    reason: str = ""
    """For "infrastructure": what went wrong, and what to do."""


@dataclass(frozen=True, slots=True)
class Job:
    """One run as asked for; see `Sandbox.run`."""

    argv: tuple[str, ...]
    files: Mapping[str, bytes]
    env: Mapping[str, str]
    read_only: tuple[str, ...]
    limits: Limits
    stdin: bytes
    inherited: tuple[int, ...] = ()
    on_start: Callable[[Callable[[], None]], None] = field(default=lambda kill: None)
    """Called with the function that kills the tree, once the program runs."""

    def environment(self, scratch: str) -> dict[str, str]:
        """The program's whole environment."""
        basic = {"HOME": scratch, "TMPDIR": scratch, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
        return {**basic, **self.env}


class Sandbox(ABC):
    """One way to run a program apart from this machine."""

    name: ClassVar[str]

    @property
    @abstractmethod
    def protections(self) -> frozenset[str]:
        """The keys of `PROTECTIONS` that hold here, on this machine, now."""

    @property
    def missing(self) -> frozenset[str]:
        """The keys of `PROTECTIONS` that do not hold."""
        return frozenset(PROTECTIONS) - self.protections

    def run(
        self,
        argv: Sequence[str],
        *,
        files: Mapping[str, bytes] | None = None,
        env: Mapping[str, str] | None = None,
        read_only: Sequence[Path] = (),
        limits: Limits | None = None,
        stdin: bytes = b"",
    ) -> Outcome:
        """Run `argv` (an absolute program) to its end.

        Args:
            files: relative name to content, placed in the scratch folder, which is the working
                directory; the program should name them relatively.
            env: the environment, besides HOME, TMPDIR, PATH and LANG; nothing is inherited.
            read_only: paths the program may read, besides `SYSTEM_PATHS`, under their own names.
            limits: what ends it.
            stdin: its standard input.
        """
        if missing := _missing([argv[0], *map(str, read_only)]):
            return infrastructure(f"no such absolute path: {missing}")
        for name in files or {}:
            if os.path.isabs(name) or os.path.normpath(name) != name or name.startswith("."):
                raise SandboxError(f"{name!r} is no plain relative name of a file")
        job = Job(
            tuple(argv),
            files or {},
            env or {},
            tuple(map(str, read_only)),
            limits or Limits(),
            stdin,
        )
        return self._run(job)

    def serve(
        self,
        argv: Sequence[str],
        *,
        channel: int,
        env: Mapping[str, str] | None = None,
        read_only: Sequence[Path] = (),
        limits: Limits,
    ) -> Service:
        """Start a program that stays, and talks through the inherited descriptor `channel`.

        Raises:
            SandboxError: it could not be started.
        """
        if missing := _missing([argv[0], *map(str, read_only)]):
            raise SandboxError(f"no such absolute path: {missing}")
        job = Job(tuple(argv), {}, env or {}, tuple(map(str, read_only)), limits, b"", (channel,))
        return Service(self, job)

    @abstractmethod
    def _run(self, job: Job) -> Outcome:
        """Run a checked job."""

    def describe(self) -> str:
        """One line: the backend, and what it does not protect from."""
        gaps = ", ".join(sorted(self.missing)) or "nothing"
        return f"{self.name} (not covered: {gaps})"


class Service:
    """A program that stays in its sandbox until `close`, or until this process ends."""

    def __init__(self, sandbox: Sandbox, job: Job) -> None:
        self._kill: Callable[[], None] | None = None
        self._started = threading.Event()
        self._outcome: Outcome | None = None
        # A thread of its own: the kernel ends a sandbox when the *thread* that started it ends.
        self._thread = threading.Thread(
            target=self._follow, args=(sandbox, job), daemon=True, name=f"sandbox {sandbox.name}"
        )
        self._thread.start()
        self._started.wait()
        if self._kill is None:
            self._thread.join()
            raise SandboxError(f"no service could be started: {self.why()}")
        atexit.register(self.close)  # before its control group is removed

    def _follow(self, sandbox: Sandbox, job: Job) -> None:
        try:
            self._outcome = sandbox._run(replace(job, on_start=self._on_start))
        finally:
            self._started.set()

    def _on_start(self, kill: Callable[[], None]) -> None:
        self._kill = kill
        self._started.set()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def why(self) -> str:
        """How it ended, for people."""
        if self._outcome is None:
            return "it still runs" if self.alive else "it failed without an outcome"
        tail = self._outcome.stderr[-500:].decode(errors="replace").strip()
        return f"ended by {self._outcome.ended_by}: {self._outcome.reason or tail}"

    def close(self) -> None:
        """Kill it and wait until nothing of it is left."""
        if self._kill is not None and self.alive:
            self._kill()
        self._thread.join(15)
        atexit.unregister(self.close)


def _missing(paths: Sequence[str]) -> str | None:
    return next((it for it in paths if not os.path.isabs(it) or not os.path.exists(it)), None)


def infrastructure(reason: str, wall_s: float = 0.0, stderr: bytes = b"") -> Outcome:
    """The outcome of a run that could not be made."""
    return Outcome("infrastructure", wall_s=wall_s, stderr=stderr, reason=reason)
