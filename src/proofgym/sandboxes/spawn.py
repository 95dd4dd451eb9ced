"""Runs one sandbox from start to outcome; what every backend shares.

Every backend starts an outer process that speaks one small protocol: it reports the process
whose death ends the tree as `{"child-pid": N}` on a status pipe, waits for a byte on a go pipe,
starts the program, and at last reports how the program ended. Between the first two steps that
process is placed in its control group and given its limits, so the program never runs without.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from io import FileIO

from proofgym.sandboxes import processes, supervisor
from proofgym.sandboxes.cgroups import Cgroup, own_cgroups
from proofgym.sandboxes.limits import Limits
from proofgym.sandboxes.sandbox import EndedBy, Job, Outcome, infrastructure

_START_S = 10.0  # an outer process that has not reported by then has failed
_SIGKILL, _SIGXCPU = 9, 24
_RESERVED = 8 << 30


class StartError(Exception):
    """The sandbox could not be started: our fault, never the attempt's."""


@dataclass(slots=True)
class Plumbing:
    """The outer process's ends of the pipes, and a descriptor for each file's content."""

    status: int
    go: int
    files: Mapping[str, int]


class Root:
    """The process whose death ends the tree. May be killed from any thread, at any time."""

    def __init__(self, pid: int, kill_below: bool) -> None:
        self.pid, self._kill_below = pid, kill_below
        self._pidfd = os.pidfd_open(pid)
        self._lock = threading.Lock()

    def ended(self, seconds: float) -> bool:
        """Wait for its end. A namespace's init is gone only after all else in it."""
        return supervisor.wait_end(self._pidfd, seconds)

    def kill(self) -> None:
        with self._lock:  # a closed descriptor could by now be another sandbox's
            if self._pidfd >= 0 and not self.ended(0):
                if self._kill_below:
                    processes.kill_descendants(self.pid)
                    self.ended(2.0)  # it collects its dead children, then ends by itself
                supervisor.send_kill(self._pidfd)

    def end(self) -> bool:
        """Kill it if it still lives; False if that does not work."""
        self.kill()
        return self.ended(10.0)

    def close(self) -> None:
        with self._lock:
            os.close(self._pidfd)
            self._pidfd = -1
        # Where we are a container's first process, its remains fall to us.
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, os.WNOHANG)


def execute(
    build: Callable[[Plumbing], list[str]],
    job: Job,
    *,
    more: Mapping[str, bytes] | None = None,
    kill_below: bool = False,
) -> Outcome:
    """Start the command that `build` returns and follow it to the end.

    `more` are contents for the outer process itself, given to it like the job's files.
    `kill_below` says that the root is a subreaper of ours without a namespace: its descendants
    are killed one by one, then itself.
    """
    began = time.monotonic()
    with ExitStack() as stack:
        try:
            outcome = _run(build, job, more or {}, kill_below, stack)
        except (StartError, OSError, subprocess.SubprocessError) as error:
            outcome = infrastructure(f"the sandbox could not be started: {error}")
    return replace(outcome, wall_s=time.monotonic() - began)


def _run(
    build: Callable[[Plumbing], list[str]],
    job: Job,
    more: Mapping[str, bytes],
    kill_below: bool,
    stack: ExitStack,
) -> Outcome:
    status, status_in = pipe(stack)
    go_out, go = pipe(stack)
    out, out_in = pipe(stack)
    err, err_in = pipe(stack)
    contents = {name: memory_file(data, stack) for name, data in {**job.files, **more}.items()}
    process = subprocess.Popen(
        build(Plumbing(status_in.fileno(), go_out.fileno(), contents)),
        stdin=memory_file(job.stdin, stack),
        stdout=out_in,
        stderr=err_in,
        pass_fds=(status_in.fileno(), go_out.fileno(), *contents.values(), *job.inherited),
        env={},  # shown in the sandbox as the environment of its first process
        cwd="/",
        start_new_session=True,
    )
    stack.callback(_reap, process)
    for end in (status_in, go_out, out_in, err_in):
        end.close()
    root = _await_root(process, status.fileno(), err.fileno(), kill_below)
    stack.callback(root.close)
    group = own_cgroups().new(job.limits)
    if group:
        stack.callback(group.close)
    stack.callback(root.end)
    try:
        _restrict(root.pid, group, job.limits)
    except OSError as error:  # it has ended meanwhile, and may have said why
        raise StartError(_last_words(err.fileno()) or f"{error}") from error
    with contextlib.suppress(BrokenPipeError):
        go.write(b"g")
    job.on_start(root.kill, group.memory_kills if group else lambda: 0)
    ends = status.fileno(), out.fileno(), err.fileno()
    return _follow(process, root, group, *ends, job)


def _follow(
    process: subprocess.Popen[bytes],
    root: Root,
    group: Cgroup | None,
    status: int,
    out: int,
    err: int,
    job: Job,
) -> Outcome:
    """Watch the started tree, then make sure that nothing of it is left, then say what it was."""
    limited = group is not None and "memory" in own_cgroups().covers
    watched = not limited and not job.counts_itself
    sample = (lambda: processes.resident_bytes(root.pid)) if watched else None
    limits = job.limits
    end = os.pidfd_open(process.pid)
    try:
        seen = supervisor.watch(end, out, err, root.kill, limits, sample, job.on_output)
    finally:
        os.close(end)
    if not root.end():
        return infrastructure("the process tree could not be killed")
    supervisor.drain(seen, out, err, limits, job.on_output)
    usage = _reap(process)
    report = _report(status)
    cpu_s = usage.ru_utime + usage.ru_stime if usage else 0.0
    peak = max(seen.peak_memory_bytes, usage.ru_maxrss * 1024 if usage else 0)
    if group:  # counts the whole tree, daemons too
        cpu_s, peak = max(cpu_s, group.cpu_s()), group.peak_memory_bytes() or peak
    ended_by, code, number = _classify(seen.killed, report, group, cpu_s, limits)
    return Outcome(
        ended_by=ended_by,
        status=code,
        signal=number,
        stdout=bytes(seen.stdout),
        stderr=bytes(seen.stderr),
        cpu_s=cpu_s,
        peak_memory_bytes=peak,
        reason=_text(seen.stderr) if ended_by == "infrastructure" else "",
    )


def _classify(
    killed: EndedBy | None,
    report: Mapping[str, int],
    group: Cgroup | None,
    cpu_s: float,
    limits: Limits,
) -> tuple[EndedBy, int | None, int | None]:
    """(ended by, exit status, signal). What we did ourselves comes first."""
    if killed is not None:
        return killed, None, None
    code = report.get("exit-code")
    # The shell's convention, and bubblewrap's: 128 + n is death by signal n.
    number = code - 128 if code is not None and 128 < code <= 192 else None
    if group is not None and code != 0 and group.memory_kills():
        return "memory", None, number
    if code is None:
        return "infrastructure", None, None
    if number == _SIGXCPU or (number == _SIGKILL and cpu_s >= limits.cpu_s * 0.95):
        return "cpu", None, number
    if number is not None:
        return "signal", None, number
    return "exit", code, None


def _await_root(process: subprocess.Popen[bytes], status: int, err: int, kill_below: bool) -> Root:
    line = _read_line(status, _START_S)
    try:
        return Root(int(json.loads(line)["child-pid"]), kill_below)
    except (ValueError, KeyError, OSError) as error:
        process.kill()
        process.wait()
        line += _last_words(err)
        raise StartError(line.strip() or "it ended at once without a word") from error


def _last_words(err: int) -> str:
    os.set_blocking(err, False)
    with contextlib.suppress(BlockingIOError):
        return _text(os.read(err, 4096))
    return ""


def _restrict(pid: int, group: Cgroup | None, limits: Limits) -> None:
    """Everything the program will inherit from its first process."""
    if group:
        group.add(pid)
    for name, pair in _rlimits(limits, own_cgroups().covers).items():
        resource.prlimit(pid, name, pair)


def _rlimits(limits: Limits, whole_tree: frozenset[str]) -> dict[int, tuple[int, int]]:
    """The per-process limits, as far as a control group does not already do better."""
    cpu = max(1, round(limits.cpu_s))
    values = {
        resource.RLIMIT_CPU: (cpu, cpu + 1),
        resource.RLIMIT_FSIZE: (limits.scratch_bytes, limits.scratch_bytes),
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_NOFILE: (256, 256),
    }
    if "memory" not in whole_tree:
        # Only a backstop for the supervisor, which samples what is resident: both this and
        # RLIMIT_AS count memory that is reserved and never used, of which Lean takes gigabytes.
        bound = limits.memory_bytes + _RESERVED
        values[resource.RLIMIT_DATA] = (bound, bound)
    if "pids" not in whole_tree and os.geteuid() != 0:
        # It counts every process of the user (and never binds root), hence the allowance.
        count = processes.count_of_user(os.getuid()) + limits.processes
        values[resource.RLIMIT_NPROC] = (count, count)
    return {name: _lowered(name, pair) for name, pair in values.items()}


def _lowered(name: int, pair: tuple[int, int]) -> tuple[int, int]:
    hard = resource.getrlimit(name)[1]
    if hard == resource.RLIM_INFINITY:
        return pair
    return min(pair[0], hard), min(pair[1], hard)


def _reap(process: subprocess.Popen[bytes]) -> resource.struct_rusage | None:
    """Collect the outer process (once), and what it and its children used."""
    if process.returncode is not None:
        return None
    try:
        pid, state, usage = os.wait4(process.pid, os.WNOHANG)
        if pid == 0:
            process.kill()
            pid, state, usage = os.wait4(process.pid, 0)
    except ChildProcessError:  # it was the root as well, and is collected
        process.returncode = 0
        return None
    process.returncode = os.waitstatus_to_exitcode(state)
    return usage


def _report(status: int) -> Mapping[str, int]:
    """The last words of the outer process; empty if it had none."""
    os.set_blocking(status, False)
    words: dict[str, int] = {}
    with contextlib.suppress(BlockingIOError, ValueError):
        for line in os.read(status, 4096).splitlines():
            words |= json.loads(line)
    return words


def _read_line(fd: int, seconds: float) -> str:
    deadline = time.monotonic() + seconds
    line = b""
    while not line.endswith(b"\n"):
        if not _readable(fd, deadline - time.monotonic()):
            break
        if not (byte := os.read(fd, 1)):
            break
        line += byte
    return line.decode(errors="replace")


def _readable(fd: int, seconds: float) -> bool:
    poller = select.poll()  # unlike select, has no limit on descriptor numbers
    poller.register(fd, select.POLLIN)
    return bool(poller.poll(max(seconds, 0) * 1000))


def _text(data: bytes | bytearray) -> str:
    return bytes(data[-2000:]).decode(errors="replace").strip()


def pipe(stack: ExitStack) -> tuple[FileIO, FileIO]:
    """(read end, write end), as files because those may safely be closed twice."""
    out, into = os.pipe()
    return (
        stack.enter_context(FileIO(out, "r")),
        stack.enter_context(FileIO(into, "w")),
    )


def memory_file(data: bytes, stack: ExitStack) -> int:
    """An anonymous file holding `data`, at its start: never touches a disk, never blocks."""
    fd = os.memfd_create("proofgym", os.MFD_CLOEXEC)
    stack.callback(os.close, fd)
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
