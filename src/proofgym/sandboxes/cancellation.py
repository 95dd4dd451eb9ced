"""Ends what runs in a sandbox because nobody waits for it any more.

A caller that may lose interest runs its checks inside `Cancellation.active()`. Whatever is
watched from that thread then ends when `cancel()` is called from any other: its whole process
tree is killed, and the outcome is "infrastructure", which no one may score or remember.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

CANCELLED = "cancelled by its caller"
"""The reason in the outcome of a cancelled run."""

# Not a context variable: a sandbox that stays has a thread of its own, which must not inherit it.
_here = threading.local()


class Cancellation:
    """One caller's wish to stop; `cancel` may be called at any time, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self.cancelled = False

    def fileno(self) -> int:
        """Readable from the moment of cancellation on."""
        return self._fd

    def cancel(self) -> None:
        with self._lock:
            self.cancelled = True
            if self._fd >= 0:
                os.eventfd_write(self._fd, 1)

    @contextmanager
    def active(self) -> Iterator[None]:
        """What this thread runs inside ends when this is cancelled. Can be entered once."""
        _here.current = self
        try:
            yield
        finally:
            _here.current = None
            with self._lock:
                os.close(self._fd)
                self._fd = -1


def current() -> Cancellation | None:
    """The cancellation that this thread runs under."""
    return getattr(_here, "current", None)


def cancelled() -> bool:
    """Whether this thread's caller has lost interest."""
    here = current()
    return here is not None and here.cancelled
