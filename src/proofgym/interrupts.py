"""Ctrl-C that cannot get lost.

Python raises KeyboardInterrupt wherever the main thread happens to be, and some places cannot pass
it on: finalizers, callbacks from C. `Interrupts` remembers it, so that a loop can ask.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any, Self


class Interrupts:
    """Use as a context manager, in the main thread; in another it does nothing."""

    def __init__(self) -> None:
        self._seen = False
        self._before: Any = None

    def check(self) -> None:
        """Raise KeyboardInterrupt if there was one that nobody passed on."""
        if self._seen:
            raise KeyboardInterrupt

    def __enter__(self) -> Self:
        ours = threading.current_thread() is threading.main_thread()
        if ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self._seen = True
        raise KeyboardInterrupt
