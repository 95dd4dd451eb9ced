"""How many workers a pool should keep: enough that nobody waits, and no more.

Two things are added. The most slots that were asked for at once in the last `window_s` seconds;
and spare slots, a number that grows by one whenever somebody had to wait although the pool could
have been larger, and shrinks by one after each window in which nobody did.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

_SLICES = 20  # the window is kept as so many maxima


class Demand:
    """Not safe for threads by itself: the pool calls it under its own lock."""

    def __init__(self, window_s: float = 30.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._slice_s, self._window_s, self._clock = window_s / _SLICES, window_s, clock
        self._peaks: deque[tuple[int, int]] = deque()  # (number of the slice, most in it)
        self._spare = 0
        self._last_change = clock()

    def note(self, slots: int) -> None:
        """So many slots are in use or waited for now."""
        number = int(self._clock() / self._slice_s)
        if self._peaks and self._peaks[-1][0] == number:
            slots = max(slots, self._peaks.pop()[1])
        self._peaks.append((number, slots))

    def waited(self) -> None:
        """Somebody waited for a worker to start; a larger pool would have spared them that."""
        now = self._clock()
        if now - self._last_change >= self._slice_s or self._spare == 0:
            self._spare += 1
        self._last_change = now

    def slots(self) -> int:
        """How many slots to have ready."""
        now = self._clock()
        if self._spare and now - self._last_change >= self._window_s:
            self._spare -= 1
            self._last_change = now
        oldest = int(now / self._slice_s) - _SLICES
        while self._peaks and self._peaks[0][0] < oldest:
            self._peaks.popleft()
        return max((most for _, most in self._peaks), default=0) + self._spare
