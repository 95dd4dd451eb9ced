"""Messages between a process that runs user code and its parent.

What goes to the child is pickled; what comes back is JSON only, since user code may run what a
model wrote: nothing from there is ever unpickled.
"""

from __future__ import annotations

import json
import pickle
import struct
from collections.abc import Iterator
from typing import Any

LARGEST = 16 << 20
"""Bytes of a message from a child."""
_HEAD = struct.Struct("<Q")


class FrameError(Exception):
    """What came is no message."""


def pack(value: Any) -> bytes:
    """For the child."""
    return frame(pickle.dumps(value))


def pack_plain(value: Any) -> bytes:
    """For the parent. Raises FrameError where it is too large."""
    data = json.dumps(value).encode()
    if len(data) > LARGEST:
        raise FrameError(f"{len(data):,} bytes in one message; at most {LARGEST:,} are taken")
    return frame(data)


def frame(data: bytes) -> bytes:
    return _HEAD.pack(len(data)) + data


def read_plain(data: bytes) -> Any:
    """What `pack_plain` packed. Raises FrameError."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FrameError(f"the process answered nonsense: {error}") from None


class Frames:
    """Cuts a stream into messages, as it comes."""

    def __init__(self, largest: int | None = LARGEST) -> None:
        self._held, self._largest = bytearray(), largest

    def add(self, data: bytes) -> Iterator[bytes]:
        """Messages that are whole now. Raises FrameError for one that is too large."""
        self._held += data
        while len(self._held) >= _HEAD.size:
            (size,) = _HEAD.unpack_from(self._held)
            if self._largest is not None and size > self._largest:
                raise FrameError(f"the process sent {size:,} bytes in one message")
            if len(self._held) < _HEAD.size + size:
                return
            message = bytes(self._held[_HEAD.size : _HEAD.size + size])
            del self._held[: _HEAD.size + size]
            yield message
