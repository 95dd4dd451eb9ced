"""Messages between the run's process and those of a fleet, and the large bytes that go with them.

A message is pickled and framed. A `Parcel` in it is not copied into the stream: its bytes lie in
memory that has no name, is written once, and is read by every process that is handed its
descriptor. It is gone when the last of them has let go, however they end.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
import socket
import weakref
from collections import deque
from collections.abc import Iterable
from typing import Any

from proofgym.environments.frames import Frames, frame

#: Parcels that a message may hold; Linux takes 253 descriptors.
MOST = 64


class Parcel:
    """Bytes in shared memory, behind a descriptor that is closed with this object."""

    def __init__(self, descriptor: int, size: int) -> None:
        self.descriptor, self.size = descriptor, size
        weakref.finalize(self, os.close, descriptor)

    @classmethod
    def of(cls, pieces: Iterable[Any]) -> Parcel:
        """The bytes of these buffers, one after the other."""
        descriptor, size = os.memfd_create("proofgym"), 0
        with open(descriptor, "wb", buffering=0, closefd=False) as file:
            for piece in pieces:
                view = memoryview(piece)
                size += view.nbytes
                rest = view.cast("B") if view.nbytes else b""
                while rest:
                    rest = rest[file.write(rest) :]
        return cls(descriptor, size)

    def __reduce__(self) -> Any:
        raise TypeError("a parcel travels by `send` alone")

    def read(self) -> Any:
        """A buffer of the bytes; nobody else sees what is changed in it."""
        if not self.size:
            return bytearray()
        return mmap.mmap(self.descriptor, self.size, access=mmap.ACCESS_COPY)


def send(line: socket.socket, message: Any) -> None:
    """Raises OSError; of that TimeoutError where nobody listens."""
    into = io.BytesIO()
    packer = _Packer(into, pickle.HIGHEST_PROTOCOL)
    packer.dump(message)
    framed = frame(into.getvalue())
    sent = socket.send_fds(line, [framed], packer.descriptors) if packer.descriptors else 0
    line.sendall(memoryview(framed)[sent:])


class Mail:
    """What comes on `line`, message by message."""

    def __init__(self, line: socket.socket) -> None:
        self._line, self._frames = line, Frames(None)
        self._descriptors: deque[int] = deque()

    def receive(self) -> list[Any] | None:
        """Messages that are whole after one more read; None: the other end is closed. Raises
        OSError."""
        data, descriptors, _, _ = socket.recv_fds(self._line, 1 << 20, MOST)
        self._descriptors += descriptors
        if not data:
            return None
        return [
            _Unpacker(io.BytesIO(it), self._descriptors).load() for it in self._frames.add(data)
        ]


class _Packer(pickle.Pickler):
    def __init__(self, into: io.BytesIO, protocol: int) -> None:
        super().__init__(into, protocol)
        self.descriptors: list[int] = []

    def persistent_id(self, thing: Any) -> Any:
        if not isinstance(thing, Parcel):
            return None
        self.descriptors.append(thing.descriptor)
        return thing.size


class _Unpacker(pickle.Unpickler):
    def __init__(self, source: io.BytesIO, descriptors: deque[int]) -> None:
        super().__init__(source)
        self._descriptors = descriptors

    def persistent_load(self, size: Any) -> Parcel:
        return Parcel(self._descriptors.popleft(), size)  # they come in the order of packing
