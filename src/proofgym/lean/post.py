"""Sends JSON to a server with bounded retries, and says what became of it."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any

import httpx

_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
_LONGEST_PAUSE_S = 30.0
_CONNECT_S = 10.0
_LARGEST = 256 << 20  # bytes of an answer


class RemoteFault(Exception):
    """The network or the server failed, after all retries: no one's attempt is to blame."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer in JSON, with its HTTP status."""

    status: int
    body: Any


class Poster:
    """One server; safe for threads.

    Args:
        url: where it is, without a path of the API.
        key: bearer key, or None.
        connections: requests under way at once.
        wait_s: seconds to wait for an answer, retries and the server's own queue included.
        retries: times to ask again when the network or the server fails.
        pause_s: before the first retry; doubled each time; a server's `Retry-After` comes first.
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        connections: int = 16,
        wait_s: float = 600.0,
        retries: int = 4,
        pause_s: float = 0.5,
    ) -> None:
        self.url = url.rstrip("/")
        self._retries, self._pause_s, self._wait_s = retries, pause_s, wait_s
        self._closed = threading.Event()
        self._client = httpx.Client(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            limits=httpx.Limits(max_connections=connections),
            trust_env=False,  # a proxy of the surroundings would be given the key
        )

    def ask(self, method: str, path: str, body: Any = None) -> Reply:
        """The answer, unless it says that the server is at fault or busy.

        Raises:
            RemoteFault: there was none in all the tries; says what happened last.
        """
        deadline = time.monotonic() + self._wait_s
        for attempt in range(self._retries + 1):
            pause = min(self._pause_s * 2**attempt, _LONGEST_PAUSE_S)
            try:
                response = self._once(method, path, body, deadline)
                if response.status_code not in _AGAIN:
                    return _reply(response)
                why = f"status {response.status_code}: {response.text[:200]}"
                pause = _retry_after(response, pause)
            except (_Unusable, httpx.HTTPError) as error:
                why = f"{type(error).__name__.strip('_')}: {error}"
            except RuntimeError as error:  # closed while asking
                raise RemoteFault(f"{self.url}{path}: {error}") from None
            last = attempt == self._retries or time.monotonic() + pause > deadline
            if last or self._closed.wait(pause):
                break
        raise RemoteFault(f"{self.url}{path}: {why} (tried {attempt + 1} times)")

    def _once(self, method: str, path: str, body: Any, deadline: float) -> httpx.Response:
        """The whole answer, before the deadline; a server that dribbles gains nothing by it."""
        left = max(deadline - time.monotonic(), 0.001)
        timeout = httpx.Timeout(left, connect=min(_CONNECT_S, left))
        url = self.url + path
        with self._client.stream(method, url, json=body, timeout=timeout) as response:
            content = bytearray()
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > _LARGEST:
                    raise _Unusable("its answer is too large")
                if time.monotonic() > deadline:
                    raise _Unusable("its answer does not end")
        return httpx.Response(
            response.status_code,
            headers={k: v for k, v in response.headers.items() if k.lower() == "retry-after"},
            content=bytes(content),
        )

    def close(self) -> None:
        """Also ends the pauses of threads that are about to ask again."""
        self._closed.set()
        self._client.close()


class _Unusable(Exception):
    """An answer that cannot be used, and may be better the next time."""


def _reply(response: httpx.Response) -> Reply:
    try:
        return Reply(response.status_code, response.json())
    except ValueError:
        if response.status_code >= 400:
            return Reply(response.status_code, response.text[:500])
        raise _Unusable(f"its answer is no JSON: {response.text[:100]!r}") from None


def _retry_after(response: httpx.Response, pause: float) -> float:
    try:
        return min(max(float(response.headers["Retry-After"]), 0.0), _LONGEST_PAUSE_S)
    except (KeyError, ValueError):
        return pause
