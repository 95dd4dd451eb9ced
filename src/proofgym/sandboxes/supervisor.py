"""Watches one running process tree from outside: bounded output, deadlines, the kill.

Nothing here trusts the tree. Output beyond the bound ends it, so that a flood neither fills
memory nor blocks the reader; the deadline does not depend on the tree reading or writing.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from proofgym.sandboxes import cancellation
from proofgym.sandboxes.limits import Limits
from proofgym.sandboxes.sandbox import EndedBy

_CHUNK = 1 << 16
_SAMPLE_S = 0.05  # how often memory is looked at where no cgroup does it


@dataclass(slots=True)
class Watched:
    """What the supervisor saw: why it killed (None if it did not), and the bounded output."""

    killed: EndedBy | None = None
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    peak_memory_bytes: int = 0


def watch(
    end_fd: int,
    stdout_fd: int,
    stderr_fd: int,
    kill: Callable[[], None],
    limits: Limits,
    sample: Callable[[], int] | None = None,
) -> Watched:
    """Read until the pidfd `end_fd` says the main process ended; kill at the first excess.

    `kill` must end the whole tree and be safe to call twice. It is also called when this thread's
    caller cancels (see `cancellation.py`). `sample` returns the tree's memory
    in bytes, for backends without a memory cgroup. The pipes are left open for the caller.
    """
    seen = Watched()
    deadline = time.monotonic() + limits.wall_s
    sinks = {stdout_fd: seen.stdout, stderr_fd: seen.stderr}
    poller = select.poll()
    for fd in (end_fd, *sinks):
        poller.register(fd, select.POLLIN)
    cancel = cancellation.current()
    cancel_fd = cancel.fileno() if cancel else -1
    if cancel:
        poller.register(cancel_fd, select.POLLIN)
    ended = False
    while not ended:
        left = deadline - time.monotonic()
        if seen.killed is None and left <= 0:
            seen.killed = "wall"
            kill()
        if seen.killed is not None:
            left = 1.0
        elif sample is not None:
            left = min(left, _SAMPLE_S)
        for fd, _ in poller.poll(min(max(left, 0.001), 3600) * 1000):
            if fd == end_fd:
                ended = True
            elif fd == cancel_fd:
                poller.unregister(fd)
                if seen.killed is None:
                    seen.killed = "infrastructure"
                    kill()
            elif not _read(fd, sinks[fd], seen, limits.output_bytes, kill):
                poller.unregister(fd)
        if sample is not None and not ended:
            _look(sample, seen, limits, kill)
    return seen


def drain(seen: Watched, stdout_fd: int, stderr_fd: int, limits: Limits) -> None:
    """Take what is left in the pipes once every writer is dead; never waits for more."""
    for fd, sink in ((stdout_fd, seen.stdout), (stderr_fd, seen.stderr)):
        os.set_blocking(fd, False)
        try:
            while _read(fd, sink, seen, limits.output_bytes, lambda: None):
                pass
        except BlockingIOError:
            pass


def _read(fd: int, sink: bytearray, seen: Watched, bound: int, kill: Callable[[], None]) -> bool:
    """Read once. False at the end of the pipe, or once the bound is passed."""
    data = os.read(fd, _CHUNK)
    room = bound - len(seen.stdout) - len(seen.stderr)
    sink += data[: max(room, 0)]
    if len(data) > room:
        if seen.killed is None:
            seen.killed = "output"
            kill()
        return False
    return bool(data)


def _look(
    sample: Callable[[], int], seen: Watched, limits: Limits, kill: Callable[[], None]
) -> None:
    seen.peak_memory_bytes = max(seen.peak_memory_bytes, sample())
    if seen.killed is None and seen.peak_memory_bytes > limits.memory_bytes:
        seen.killed = "memory"
        kill()


def send_kill(pidfd: int) -> None:
    """SIGKILL by pidfd: never hits a process that took over a used process id."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)


def wait_end(pidfd: int, seconds: float) -> bool:
    """Wait for a process (a namespace's init: its whole namespace) to be gone."""
    poller = select.poll()
    poller.register(pidfd, select.POLLIN)
    return bool(poller.poll(seconds * 1000))
