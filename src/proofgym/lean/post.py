"""Sends JSON to a server with bounded retries, and says what became of it."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import httpx

_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
_LONGEST_PAUSE_S = 30.0
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
        wait_s: seconds to wait for an answer, the server's own queue included.
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
        self._retries, self._pause_s = retries, pause_s
        self._closed = threading.Event()
        self._client = httpx.Client(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=httpx.Timeout(wait_s, connect=min(10.0, wait_s)),
            limits=httpx.Limits(max_connections=connections),
            trust_env=False,  # a proxy of the surroundings would be given the key
        )

    def ask(self, method: str, path: str, body: Any = None) -> Reply:
        """The answer, unless it says that the server is at fault or busy.

        Raises:
            RemoteFault: there was none in all the tries; says what happened last.
        """
        why = ""
        for attempt in range(self._retries + 1):
            pause = min(self._pause_s * 2**attempt, _LONGEST_PAUSE_S)
            try:
                reply, pause = self._once(method, path, body, pause)
                if reply is not None:
                    return reply
                why = "it is at fault or busy"
            except _Unreadable as error:
                why = str(error)
            except httpx.HTTPError as error:
                why = f"{type(error).__name__}: {error}"
            if attempt < self._retries and self._closed.wait(pause):
                break
        raise RemoteFault(f"{self.url}{path}: {why}, {self._retries + 1} times")

    def _once(self, method: str, path: str, body: Any, pause: float) -> tuple[Reply | None, float]:
        """(answer, -), or (None, seconds to wait before asking again)."""
        response = self._client.request(method, self.url + path, json=body)
        if response.status_code in _AGAIN:
            return None, _retry_after(response, pause)
        if len(response.content) > _LARGEST:
            raise _Unreadable("its answer is too large")
        try:
            return Reply(response.status_code, response.json()), pause
        except ValueError:
            if response.status_code >= 400:
                return Reply(response.status_code, response.text[:500]), pause
            raise _Unreadable(f"its answer is no JSON: {response.text[:100]!r}") from None

    def close(self) -> None:
        """Also ends the pauses of threads that are about to ask again."""
        self._closed.set()
        self._client.close()


class _Unreadable(Exception):
    pass


def _retry_after(response: httpx.Response, pause: float) -> float:
    try:
        return min(max(float(response.headers["Retry-After"]), 0.0), _LONGEST_PAUSE_S)
    except (KeyError, ValueError):
        return pause
