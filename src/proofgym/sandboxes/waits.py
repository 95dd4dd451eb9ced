"""The last few thousand durations, for percentiles."""

from __future__ import annotations

from collections import deque


class Waits:
    """Keeps the newest `kept` durations. The caller locks."""

    def __init__(self, kept: int = 4096) -> None:
        self._seconds: deque[float] = deque(maxlen=kept)

    def add(self, seconds: float) -> None:
        self._seconds.append(seconds)

    def percentile(self, share: float) -> float:
        """The smallest duration that at least this share of them do not exceed; 0 for none."""
        if not self._seconds:
            return 0.0
        ordered = sorted(self._seconds)
        return ordered[min(len(ordered) - 1, max(0, -int(-share * len(ordered) // 1) - 1))]
