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
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Literal

from proofgym.errors import SandboxError
from proofgym.sandboxes.asked import (
    check_bytes,
    check_cancel,
    check_environment,
    check_files,
    check_words,
)
from proofgym.sandboxes.cancel import Cancel
from proofgym.sandboxes.cancellation import current
from proofgym.sandboxes.limits import Limits

EndedBy = Literal[
    "exit", "signal", "wall", "cpu", "memory", "output", "cancelled", "infrastructure"
]

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
    pointless: bool = False
    """For "infrastructure": trying again at once would fail as well."""


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
    on_start: Callable[[Callable[[], None], Callable[[], int]], None] = field(
        default=lambda kill, killed: None
    )
    """Called once the program runs, with two functions: one kills the tree, the other says how
    many of its processes the kernel has killed for memory so far."""
    on_output: Callable[[str, bytes], None] | None = None
    """Called with ("stdout" or "stderr", bytes) as they come; from the thread that runs the job."""
    counts_itself: bool = False
    """A service that watches the memory of its own children, where no control group does."""

    def environment(self, scratch: str) -> dict[str, str]:
        """The program's whole environment."""
        basic = {"HOME": scratch, "TMPDIR": scratch, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
        return {**basic, **self.env}


class Sandbox(ABC):
    """One way to run a program apart from this machine."""

    name: ClassVar[str]
    own_processes: ClassVar[bool] = True
    """Whether a program sees no process outside its sandbox, not even by a signal to all."""

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
        cancel: Cancel | None = None,
        on_output: Callable[[str, bytes], None] | None = None,
    ) -> Outcome:
        """Run `argv` (an absolute program) to its end.

        Args:
            files: relative name to content, placed in the scratch folder, which is the working
                directory; the program should name them relatively.
            env: the environment, besides HOME, TMPDIR, PATH and LANG; nothing is inherited.
            read_only: paths the program may read, besides `SYSTEM_PATHS`, under their own names.
            limits: what ends it.
            stdin: its standard input.
            cancel: its `cancel()` ends the run, which then ended by "cancelled".
            on_output: called with ("stdout" or "stderr", bytes) as they come, in this thread.

        Raises:
            SandboxError: what is asked for makes no sense anywhere: an empty `argv`, a NUL in a
                word or name, a file's name that leads out.
        """
        check_words(argv)
        check_environment(env or {})
        check_cancel(cancel)
        check_files(files or {})
        check_bytes("stdin", stdin)
        if missing := _missing([argv[0], *map(str, read_only)]):
            return infrastructure(f"no such absolute path: {missing}")
        job = Job(
            tuple(argv),
            files or {},
            env or {},
            tuple(map(str, read_only)),
            limits or Limits(),
            stdin,
            on_output=on_output,
        )
        cancel = cancel or current()
        return self._run(job) if cancel is None else self._run_until(job, cancel)

    def _run_until(self, job: Job, cancel: Cancel) -> Outcome:
        with ExitStack() as stack:

            def on_start(kill: Callable[[], None], _: Callable[[], int]) -> None:
                stack.enter_context(cancel.calls(kill))

            if cancel.cancelled:
                return Outcome("cancelled")
            outcome = self._run(replace(job, on_start=on_start))
        unsaid = outcome.ended_by in ("infrastructure", "signal")
        return replace(outcome, ended_by="cancelled") if cancel.cancelled and unsaid else outcome

    def serve(
        self,
        argv: Sequence[str],
        *,
        channel: int,
        env: Mapping[str, str] | None = None,
        read_only: Sequence[Path] = (),
        limits: Limits,
        counts_itself: bool = True,
        on_output: Callable[[str, bytes], None] | None = None,
    ) -> Service:
        """Start a program that stays, and talks through the inherited descriptor `channel`.

        `counts_itself`: it watches the memory of its own children where no control group does.

        Raises:
            SandboxError: it could not be started.
        """
        if missing := _missing([argv[0], *map(str, read_only)]):
            raise SandboxError(f"no such absolute path: {missing}")
        job = Job(
            tuple(argv),
            {},
            env or {},
            tuple(map(str, read_only)),
            limits,
            b"",
            (channel,),
            on_output=on_output,
            counts_itself=counts_itself,
        )
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
        self._memory_kills: Callable[[], int] = lambda: 0
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

    def _on_start(self, kill: Callable[[], None], memory_kills: Callable[[], int]) -> None:
        self._kill, self._memory_kills = kill, memory_kills
        self._started.set()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    @property
    def outcome(self) -> Outcome | None:
        """How it ended; None while it runs."""
        return self._outcome

    def memory_kills(self) -> int:
        """How many of its processes the kernel has killed for memory; 0 where nothing counts."""
        return self._memory_kills()

    def kill(self) -> None:
        """End it, without waiting."""
        if self._kill is not None:
            self._kill()

    def ended(self, seconds: float) -> bool:
        """Wait until nothing of it is left; False if that takes longer."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

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


def infrastructure(reason: str, stderr: bytes = b"", pointless: bool = False) -> Outcome:
    """The outcome of a run that could not be made; `pointless`: nor could it be at once again."""
    return Outcome("infrastructure", stderr=stderr, reason=reason, pointless=pointless)
