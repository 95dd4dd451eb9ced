"""Cancellation: ends what somebody no longer wants, from any thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Cancel:
    """Give one to a run, and call `cancel()` to end its whole process tree.

    One object may be shared by many runs: all under way are ended, later ones never start.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._actions: dict[int, Callable[[], None]] = {}
        self._number = 0
        self._cancelled = False

    @property
    def cancelled(self) -> bool:
        return self._cancelled

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            actions = list(self._actions.values())
        for action in actions:
            action()

    @contextmanager
    def calls(self, action: Callable[[], None]) -> Iterator[None]:
        """Within the block, `cancel()` calls `action`; at once if it has been called already."""
        with self._lock:
            self._number += 1
            number = self._number
            self._actions[number] = action
            late = self._cancelled
        if late:
            action()
        try:
            yield
        finally:
            with self._lock:
                del self._actions[number]
