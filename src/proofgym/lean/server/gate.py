"""What a request must pass before anything looks at it: key, rate, size."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable

from fastapi import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from proofgym.lean.server.metrics import Metrics
from proofgym.lean.server.settings import Serving

OPEN = ("/health", "/openapi.json", "/docs")
"""Paths that need no key."""
ENDING = "the server is ending and this was not done in time; ask again when it is back"
_ADDRESSES = 10_000  # remembered for the rate


class Gate:
    """ASGI middleware; counts every answer that leaves through it."""

    def __init__(self, app: ASGIApp, settings: Serving, metrics: Metrics, paths: Iterable[str]):
        self._app, self._settings, self._metrics = app, settings, metrics
        self._paths = frozenset(paths)
        self._largest = int(settings.request_mb * (1 << 20))
        self._rate = Rate(settings.rate, settings.burst) if settings.rate else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        send, started = self._counted(scope, send)
        if refusal := self._refuse(scope):
            return await refusal(scope, receive, send)
        try:
            await self._app(scope, self._bounded(receive), send)
        except asyncio.CancelledError:  # the server ends, and the time to finish work is over
            if not started():
                await _refusal(503, ENDING)(scope, receive, send)

    def _refuse(self, scope: Scope) -> JSONResponse | None:
        headers = dict(scope["headers"])
        if scope["path"] not in OPEN and not self._is_known(headers.get(b"authorization", b"")):
            return _refusal(401, "wrong or missing key", {"WWW-Authenticate": "Bearer"})
        address = scope["client"][0] if scope["client"] else ""
        if self._rate and scope["path"] not in OPEN and (wait := self._rate.wait(address)):
            return _refusal(429, "too many requests", {"Retry-After": f"{wait:.0f}"})
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self._largest:
            return _refusal(413, self._too_large())
        return None

    def _is_known(self, authorization: bytes) -> bool:
        if self._settings.key is None:
            return True
        scheme, _, key = authorization.partition(b" ")
        wanted = self._settings.key.get_secret_value().encode()
        return scheme.lower() == b"bearer" and hmac.compare_digest(key.strip(), wanted)

    def _bounded(self, receive: Receive) -> Receive:
        """Bodies without a length, or with a false one, are counted as they come."""
        seen = 0

        async def bounded() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self._largest:
                raise HTTPException(413, self._too_large())
            return message

        return bounded

    def _too_large(self) -> str:
        return f"a request may have {self._settings.request_mb:g} MiB"

    def _counted(self, scope: Scope, send: Send) -> tuple[Send, Callable[[], bool]]:
        """`send`, and whether an answer has been begun."""
        path = scope["path"] if scope["path"] in self._paths else "other"
        begun = False

        async def counted(message: Message) -> None:
            nonlocal begun
            begun = True
            if message["type"] == "http.response.start":
                self._metrics.requests.labels(path, str(message["status"])).inc()
            await send(message)

        return counted, lambda: begun


class Rate:
    """A token bucket for each address."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate, self._burst = rate, burst
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, when

    def wait(self, address: str) -> float:
        """0 and one token less, or the whole seconds to wait for one."""
        now = time.monotonic()
        tokens, when = self._buckets.pop(address, (float(self._burst), now))
        tokens = min(self._burst, tokens + (now - when) * self._rate)
        allowed = tokens >= 1
        self._buckets[address] = (tokens - allowed, now)
        if len(self._buckets) > _ADDRESSES:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else max(1.0, -(-(1 - tokens) // self._rate))


def _refusal(status: int, detail: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"detail": detail}, status, headers)
