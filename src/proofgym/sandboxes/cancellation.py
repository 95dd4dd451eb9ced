"""The cancellation that a thread works under: ends what runs because nobody waits for it any more.

A caller that may lose interest runs its checks inside `Cancellation.active()`. What this thread
runs then ends when `cancel()` is called from any other, unless it was given a `Cancel` of its own:
its whole process tree is killed, and no one may score or remember the outcome.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from proofgym.sandboxes.cancel import Cancel

CANCELLED = "cancelled by its caller"
"""What the verdict of a cancelled check says."""

# Not a context variable: a sandbox that stays has a thread of its own, which must not inherit it.
_here = threading.local()


class Cancellation(Cancel):
    """One caller's wish to stop; `cancel` may be called at any time, from any thread."""

    @contextmanager
    def active(self) -> Iterator[None]:
        """What this thread runs inside ends when this is cancelled."""
        _here.current = self
        try:
            yield
        finally:
            _here.current = None


def current() -> Cancel | None:
    """The cancellation that this thread runs under."""
    return getattr(_here, "current", None)


def cancelled() -> bool:
    """Whether this thread's caller has lost interest."""
    here = current()
    return here is not None and here.cancelled
