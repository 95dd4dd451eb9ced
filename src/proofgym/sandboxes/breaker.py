"""A circuit breaker: stops hammering a backend that fails, and tries it again now and then.

Closed: everything may be tried. After `failures` in a row it opens: nothing may, for `pause_s`.
Then it is half open: exactly one trial may be made. If that works it closes; if not it opens
again for twice as long, up to `longest_s`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Literal

State = Literal["closed", "open", "half_open"]


class Breaker:
    """Safe to use from many threads. Every `allows()` that says yes must be followed by one
    `success()` or `failure()`."""

    def __init__(
        self,
        failures: int = 5,
        pause_s: float = 1.0,
        longest_s: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._allowed_failures, self._first_s, self._longest_s = failures, pause_s, longest_s
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0  # in a row
        self._pause_s = pause_s
        self._until = 0.0
        self._since: float | None = None  # when it opened first since it last was closed
        self._open = False
        self._probing = False
        self.opened = 0
        """How often it has opened."""
        self.why = ""
        """The failure that opened it last."""

    @property
    def state(self) -> State:
        with self._lock:
            return self._state()

    def _state(self) -> State:
        if not self._open:
            return "closed"
        return "half_open" if self._clock() >= self._until else "open"

    def allows(self) -> bool:
        """Whether to try now. Half open, the first to ask gets the one trial."""
        with self._lock:
            state = self._state()
            if state == "half_open" and not self._probing:
                self._probing = True
                return True
            return state == "closed"

    def success(self) -> None:
        with self._lock:
            self._failures, self._pause_s = 0, self._first_s
            self._open = self._probing = False
            self._since = None

    def failure(self, why: str) -> None:
        with self._lock:
            self._failures += 1
            if self._probing:
                self._pause_s = min(self._pause_s * 2, self._longest_s)
            elif self._open or self._failures < self._allowed_failures:
                return
            self._trip(why)

    def trip(self, why: str) -> None:
        """Open now, whatever was counted."""
        with self._lock:
            self._trip(why)

    def _trip(self, why: str) -> None:
        self._open, self._probing, self.why = True, False, why
        self._until = self._clock() + self._pause_s
        if self._since is None:
            self._since = self._clock()
        self.opened += 1

    def down_s(self) -> float:
        """Seconds since the backend was found to be down; 0 if it is not."""
        with self._lock:
            return 0.0 if self._since is None else self._clock() - self._since

    def opens_in(self) -> float:
        """Seconds until the next trial may be made; 0 where one may be made now."""
        with self._lock:
            return max(0.0, self._until - self._clock()) if self._open else 0.0
