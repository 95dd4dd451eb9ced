"""Progress of a long wait: what, how many of how many, rate, time left.

On a terminal one line is rewritten in place; in a pipe or log file a plain line is printed every
few seconds, so nothing is lost and nothing floods.
"""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self, TextIO


class Progress:
    """`with Progress("verifying", total=200) as progress: progress.advance()`"""

    def __init__(
        self, what: str, total: int | None = None, unit: str = "", stream: TextIO | None = None
    ) -> None:
        self.what, self.total, self.unit = what, total, unit
        self.done = 0
        self.note = ""
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._interval = 0.2 if self._terminal else 10.0
        self._start = self._shown = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self._show(final=True)
        elif self._terminal:
            self._stream.write("\n")

    def advance(self, count: int = 1, note: str | None = None) -> None:
        self.done += count
        if note is not None:
            self.note = note
        over = not self._terminal and self.done == self.total  # the last line is about to come
        if not over and time.monotonic() - self._shown >= self._interval:
            self._show(final=False)

    def line(self) -> str:
        elapsed = max(time.monotonic() - self._start, 1e-9)
        rate = self.done / elapsed
        count = f"{self.done}" + (f"/{self.total}" if self.total is not None else "")
        parts = [f"{self.what} {count}{' ' + self.unit if self.unit else ''}", f"{rate:.1f}/s"]
        if self.total and self.done < self.total and rate > 0:
            parts.append(f"{duration((self.total - self.done) / rate)} left")
        else:
            parts.append(f"took {duration(elapsed)}")
        return "  ".join([*parts, self.note] if self.note else parts)

    def _show(self, final: bool) -> None:
        self._shown = time.monotonic()
        if self._terminal:
            self._stream.write("\r\x1b[2K" + self.line() + ("\n" if final else ""))
        else:
            self._stream.write(self.line() + "\n")
        self._stream.flush()


def duration(seconds: float) -> str:
    """`7 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s" if whole >= 10 else f"{seconds:.1f} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
