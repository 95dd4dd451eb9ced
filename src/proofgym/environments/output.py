"""What user code prints: passed on up to a bound, so that a flood fills neither log nor memory."""

from __future__ import annotations

import os
import threading

_SHOWN = 1 << 18  # bytes of each process
_KEPT = 1 << 13


class Output:
    """Reads a process's output in a thread of its own, until it ends. Owns `fd`."""

    def __init__(self, fd: int, what: str) -> None:
        self._fd, self._what = fd, what
        self._tail = b""
        self._left = _SHOWN
        self._thread = threading.Thread(target=self._run, name="output", daemon=True)
        self._thread.start()

    def tail(self) -> str:
        """The last that was printed."""
        return self._tail.decode(errors="replace")

    def finish(self, seconds: float = 1.0) -> None:
        """Wait for the end of the output, once its writers are gone."""
        self._thread.join(seconds)

    def _run(self) -> None:
        with open(self._fd, "rb", buffering=0) as stream:
            while data := stream.read(1 << 16):
                self._tail = (self._tail + data)[-_KEPT:]
                self._show(data)

    def _show(self, data: bytes) -> None:
        if self._left <= 0:
            return
        shown, self._left = data[: self._left], self._left - len(data)
        if self._left <= 0:
            shown += f"\nproofgym: the {self._what} prints more; it is not shown\n".encode()
        try:
            os.write(2, shown)
        except OSError:  # standard error is closed
            self._left = 0
