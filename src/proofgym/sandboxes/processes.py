"""A look at process trees through /proc, for what control groups and namespaces do not cover."""

from __future__ import annotations

import contextlib
import os
import signal
import time

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
    faster than it dies. `root` must be a subreaper, so that orphans stay below it.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        stopped: set[int] = set()
        while new := set(descendants(root)) - stopped:
            for pid in new:
                _signal(root, pid, signal.SIGSTOP)
            stopped |= new
        if not stopped:
            return True
        for pid in stopped:
            _signal(root, pid, signal.SIGKILL)
        time.sleep(0.002)
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


def _signal(root: int, pid: int, number: int) -> None:
    """Signal `pid` if it is (still) below `root`: the number may have passed to a stranger."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        if _is_below(root, pid):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(fd, number)
    finally:
        os.close(fd)


def _is_below(root: int, pid: int) -> bool:
    while pid > 1 and (fields := _stat(pid)):
        pid = int(fields[1])
        if pid == root:
            return True
    return False


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
