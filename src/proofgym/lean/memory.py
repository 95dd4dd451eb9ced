"""Remembers results by key; two threads that ask for the same one share a single computation."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class Memory(Generic[T]):
    """A bounded, least-recently-used memory, safe for threads."""

    def __init__(self, entries: int = 20_000) -> None:
        self._entries = entries
        self._lock = threading.Lock()
        self._known: OrderedDict[str, Future[T]] = OrderedDict()

    def get_or_make(
        self, key: str, make: Callable[[], T], keep: Callable[[T], bool]
    ) -> tuple[T, bool]:
        """(result, whether it was known already). Results that `keep` refuses are forgotten."""
        with self._lock:
            future = self._known.get(key)
            mine = future is None
            if future is None:
                future = self._known[key] = Future()
                if len(self._known) > self._entries:
                    self._known.popitem(last=False)
            self._known.move_to_end(key)
        if not mine:
            return future.result(), True
        return self._make(key, future, make, keep), False

    def _make(
        self, key: str, future: Future[T], make: Callable[[], T], keep: Callable[[T], bool]
    ) -> T:
        kept = False
        try:
            result = make()
            kept = keep(result)
            future.set_result(result)
            return result
        except BaseException as error:
            future.set_exception(error)
            raise
        finally:
            if not kept:
                with self._lock:
                    self._known.pop(key, None)
