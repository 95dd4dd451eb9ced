"""One client's connection: closed when the client keeps the server waiting.

A connection holds a descriptor and memory before anyone has shown a key, so a client has `patience`
seconds for the next mebibyte of its request, or for the rest of it, and as long to take some
of an answer that waits for it. While its checks run nothing is asked of it.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

_STEP = 1 << 20


def connections(patience_s: float, most: int) -> type[asyncio.Protocol]:
    """The protocol for `uvicorn.Config(http=…)`, for at most so many connections at once."""

    class Made(Connection):
        patience, largest_number = patience_s, most

    return Made


class Connection(H11Protocol):
    """HTTP/1.1 by h11, which bounds the headers."""

    patience = 30.0
    largest_number = 1000

    _born = 0.0
    _received = 0
    _seen: tuple[Any, ...] = ()
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._born = time.monotonic()
        if len(self.connections) > self.largest_number:
            self._one_too_many()
        if not transport.is_closing():
            self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        super().data_received(data)

    def _look(self) -> None:
        """Every `patience`: has the client done what it owes since the last time?"""
        left = self.transport.get_write_buffer_size()
        owes = left == 0 and self._owes_request()  # first it has an answer to take
        before, self._seen = self._seen, (owes, self.cycle, self._received // _STEP, left)
        if before and before[1] is self.cycle:
            stuck = left > 0 and 0 < before[3] <= left
            if stuck or (owes and before[0] and before[2] == self._seen[2]):
                self.transport.abort()
                return
        self._timer = self.loop.call_later(self.patience, self._look)

    def _one_too_many(self) -> None:
        """The oldest goes that asks for nothing; else this one."""
        all_of_ours = (it for it in self.connections if isinstance(it, Connection))
        idle = [it for it in all_of_ours if it is not self and it._is_idle()]
        min(idle, key=lambda it: it._born, default=self).transport.abort()

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _owes_request(self) -> bool:
        return self._is_idle() or self.cycle.more_body
