"""A look at process trees through /proc, for what control groups and namespaces do not cover."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Iterable

_PAGE = os.sysconf("SC_PAGE_SIZE")


def descendants(root: int) -> list[int]:
    """Every living process below `root`, without it."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (fields := _stat(int(name))) and fields[0] != "Z":
            parents[int(name)] = int(fields[1])
    found, layer = [], {root}
    while layer:
        layer = {pid for pid, parent in parents.items() if parent in layer}
        found += sorted(layer)
    return found


def resident_bytes(root: int) -> int:
    """Memory held by `root` and everything below it; shared pages count each time."""
    return sum(_resident(pid) for pid in (root, *descendants(root)))


def kill_descendants(root: int, seconds: float = 5.0) -> bool:
    """Stop, then kill, all below `root` until none is left; True if none is left.

    Stopping first matters: a process that is only killed while its siblings fork is replaced
    faster than it dies. `root` must be a subreaper, so that orphans stay below it. Every process
    is held by a pidfd from when it is first seen, so that a stranger with a used number is safe.
    """
    deadline = time.monotonic() + seconds
    quiet = 0
    while quiet < 2 and time.monotonic() < deadline:  # one look can miss a process whose parent
        held: dict[int, int] = {}  # ends during it; by the second it is a child of the root
        try:
            while new := _hold(root, held):
                _signal(new, signal.SIGSTOP)
            _signal(held.values(), signal.SIGKILL)
            for fd in held.values():
                _await_end(fd, deadline - time.monotonic())
        finally:
            for fd in held.values():
                os.close(fd)
        quiet = 0 if held else quiet + 1
    return quiet >= 2


def _hold(root: int, held: dict[int, int]) -> list[int]:
    """Take pidfds of all below `root` that are not held yet; the new ones."""
    new = []
    for pid in set(descendants(root)) - set(held):
        try:
            fd = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        if _is_below(root, pid):  # now that the number cannot pass to another
            held[pid] = fd
            new.append(fd)
        else:
            os.close(fd)
    return new


def _signal(pidfds: Iterable[int], number: int) -> None:
    for fd in pidfds:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            signal.pidfd_send_signal(fd, number)


def _await_end(pidfd: int, seconds: float) -> None:
    poller = select.poll()
    poller.register(pidfd, select.POLLIN)
    poller.poll(max(seconds, 0) * 1000)


def _is_below(root: int, pid: int) -> bool:
    while pid > 1 and (fields := _stat(pid)):
        pid = int(fields[1])
        if pid == root:
            return True
    return False


def count_of_user(user: int) -> int:
    """Threads of all processes of one user: what RLIMIT_NPROC counts."""
    count = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if os.stat(f"/proc/{name}").st_uid == user:
                    count += len(os.listdir(f"/proc/{name}/task"))
            except OSError:
                continue
    return count


def _stat(pid: int) -> list[str]:
    """Fields of /proc/pid/stat from the state on; the name before it may hold anything."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].decode().split()
    except OSError:
        return []


def _resident(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0
