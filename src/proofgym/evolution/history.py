"""The history of a run: an append-only file from which its weights can be rebuilt.

A header (JSON), then one entry an iteration, each chained to the one before by digest and synced to
disk before `append` returns. A kill leaves at most a cut-off last entry, which opening removes;
anything else that does not fit is damage and refused. docs/noise.md lists the bytes.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self

from proofgym.durable import whole_file
from proofgym.errors import HistoryError, RunError

MAGIC = b"PGES"
VERSION = 1
_PREFIX = struct.Struct("<4sHHI32s")  # magic, version, 0, length of the JSON, its SHA-256
_HEAD = struct.Struct("<BBHIII")  # kind, bytes a value, 0, iteration, kept, number of values
_CRC = struct.Struct("<I")
_DIGEST = 32
_UPDATE, _DECAY = 1, 2


@dataclass(frozen=True)
class Update:
    """Δ += Σ_i c_i·ε_i of one iteration; it completes the iteration.

    `coefficients` has one value a member, 0 for members that were dropped; `kept` counts the rest.
    """

    iteration: int
    coefficients: tuple[int, ...]
    kept: int


@dataclass(frozen=True)
class Decay:
    """Δ ← Δ − rne(Δ·m / 2^16), before the update of the same iteration."""

    iteration: int
    m: int


Entry = Update | Decay


@dataclass(frozen=True)
class Record:
    """What a history file holds: `digests[n]` is the chain's digest after n iterations."""

    header: dict[str, Any]
    entries: tuple[Entry, ...]
    digests: tuple[bytes, ...]
    length: int
    """Bytes that hold whole iterations; a file may have a cut-off entry after them."""

    @property
    def iterations(self) -> int:
        return len(self.digests) - 1

    def between(self, start: int, stop: int) -> list[Entry]:
        """The entries of iterations start..stop-1, in order."""
        return [entry for entry in self.entries if start <= entry.iteration < stop]


class History:
    """A history open for appending, locked against other processes."""

    def __init__(self, file: BinaryIO, record: Record, path: Path) -> None:
        self._file, self.path = file, path
        self.header = record.header
        self.entries = list(record.entries)
        self.digests = list(record.digests)
        self._length = record.length

    @classmethod
    def create(cls, path: Path, header: dict[str, Any]) -> Self:
        """Start a history. The file appears whole or not at all."""
        if path.exists():
            raise HistoryError(f"{path} already exists")
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            file.write(encode_header(header))
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Continue a history; removes what a kill cut off. Raises HistoryError, RunError."""
        file = open(path, "r+b", buffering=0)  # noqa: SIM115 (kept open, closed by `close`)
        try:
            _lock(file, path)
            record = parse(file.read(), str(path))
            file.truncate(record.length)
            os.fsync(file.fileno())
        except BaseException:
            file.close()
            raise
        return cls(file, record, path)

    @property
    def iterations(self) -> int:
        return len(self.digests) - 1

    def append(self, *entries: Entry) -> None:
        """Write the entries of one iteration; durable on return, not there at all on an error."""
        iterations = [entry.iteration for entry in entries]
        closes = [isinstance(entry, Update) for entry in entries]
        if set(iterations) != {self.iterations} or closes != [False] * (len(entries) - 1) + [True]:
            raise HistoryError(f"iteration {self.iterations} is next and must end with its update")
        data, digest = b"", self.digests[-1]
        for entry in entries:
            record = encode(entry, digest)
            data, digest = data + record, record[-_DIGEST:]
        try:
            self._file.seek(self._length)
            written = self._file.write(data)
            if written != len(data):
                raise OSError(f"wrote {written} of {len(data)} bytes")
            os.fsync(self._file.fileno())
        except OSError as error:
            self._file.truncate(self._length)
            raise RunError(f"cannot write {self.path}: {error}; iteration not kept") from error
        self._length += len(data)
        self.entries.extend(entries)
        self.digests.append(digest)

    def record(self) -> Record:
        return Record(self.header, tuple(self.entries), tuple(self.digests), self._length)

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read(path: Path) -> Record:
    """Read a history, or one made compact, without locking or repairing it.

    A cut-off last entry is left out.
    """
    from proofgym.evolution import compact

    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise HistoryError(f"there is no history at {path}") from None
    if data.startswith(compact.MAGIC):
        data = compact.unpack(data, str(path))
    return parse(data, str(path))


def header_text(header: dict[str, Any]) -> bytes:
    """The header as a history holds it."""
    return json.dumps(header, sort_keys=True, separators=(",", ":")).encode()


def encode_header(header: dict[str, Any]) -> bytes:
    """The bytes with which a history begins."""
    text = header_text(header)
    return _PREFIX.pack(MAGIC, VERSION, 0, len(text), hashlib.sha256(text).digest()) + text


def encode(entry: Entry, previous: bytes) -> bytes:
    """The bytes of an entry that follows the digest `previous`; the last 32 are its own digest."""
    kind, kept, values = (
        (_UPDATE, entry.kept, entry.coefficients)
        if isinstance(entry, Update)
        else (_DECAY, 0, (entry.m,))
    )
    width = 4 if all(-(2**31) <= value < 2**31 for value in values) else 8
    head = _HEAD.pack(kind, width, 0, entry.iteration, kept, len(values))
    body = struct.pack(f"<{len(values)}{'i' if width == 4 else 'q'}", *values)
    data = head + _CRC.pack(zlib.crc32(head)) + previous + body
    return data + hashlib.sha256(data).digest()


def parse(data: bytes, name: str) -> Record:
    """Check a whole file. Raises HistoryError for anything but a cut-off end."""
    header, position = _parse_header(data, name)
    digest = hashlib.sha256(data[:position]).digest()
    entries: list[Entry] = []
    pending: list[Entry] = []
    digests, length = [digest], position
    while position < len(data):
        found = _parse_entry(data, position, digest, f"{name}, iteration {len(digests)}")
        if found is None:
            break
        entry, position = found
        digest = data[position - _DIGEST : position]
        if entry.iteration != len(digests) - 1:
            raise HistoryError(
                f"{name}: iteration {entry.iteration + 1} comes where {len(digests)} should"
            )
        pending.append(entry)
        if isinstance(entry, Update):  # an iteration counts once its update is there
            entries.extend(pending)
            pending, length = [], position
            digests.append(digest)
    return Record(header, tuple(entries), tuple(digests), length)


def _parse_header(data: bytes, name: str) -> tuple[dict[str, Any], int]:
    if len(data) < _PREFIX.size or data[:4] != MAGIC:
        raise HistoryError(f"{name} is not a proofgym history")
    _, version, unused, length, digest = _PREFIX.unpack_from(data)
    if unused or version != VERSION:
        raise HistoryError(f"{name} has format {version}; this version of proofgym reads {VERSION}")
    text = data[_PREFIX.size : _PREFIX.size + length]
    if hashlib.sha256(text).digest() != digest:
        raise HistoryError(f"{name}: the header is damaged (digest mismatch)")
    header = json.loads(text)
    if not isinstance(header, dict):
        raise HistoryError(f"{name}: the header is not that of a history")
    return header, _PREFIX.size + length


def _parse_entry(data: bytes, at: int, previous: bytes, where: str) -> tuple[Entry, int] | None:
    """The entry at `at` and the position after it; None where the file was cut off in it.

    The checksum of the head tells a cut-off entry from a damaged length, which could otherwise
    pass for one and take every later entry with it. A file system that lost power may also bring
    a file back with zeros for what was not written yet; no digest is all zeros.
    """
    rest = memoryview(data)[at:]
    body = _HEAD.size + _CRC.size + _DIGEST
    if not any(rest[body - _DIGEST :]):
        return None
    head = rest[: _HEAD.size]
    if _CRC.unpack_from(rest, _HEAD.size)[0] != zlib.crc32(head):
        raise HistoryError(f"{where}: the entry is damaged (checksum mismatch)")
    kind, width, _, iteration, kept, count = _HEAD.unpack(head)
    end = body + count * width
    if len(rest) < end + _DIGEST or not any(rest[end:]):
        return None
    own = hashlib.sha256(rest[:end]).digest()
    if rest[end : end + _DIGEST] != own:
        if own.startswith(bytes(rest[end:]).rstrip(b"\0")):
            return None
        raise HistoryError(f"{where}: the entry is damaged (digest mismatch)")
    if rest[body - _DIGEST : body] != previous:
        raise HistoryError(f"{where}: the entry does not follow the last one (digest mismatch)")
    values = struct.unpack_from(f"<{count}{'i' if width == 4 else 'q'}", rest, body)
    entry = _entry(kind, iteration, kept, values, where)
    return entry, at + end + _DIGEST


def _entry(kind: int, iteration: int, kept: int, values: Sequence[int], where: str) -> Entry:
    if kind == _UPDATE:
        return Update(iteration, tuple(values), kept)
    if kind == _DECAY and len(values) == 1:
        return Decay(iteration, values[0])
    raise HistoryError(f"{where}: unknown kind of entry {kind}; a newer proofgym wrote it")


def _lock(file: BinaryIO, path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RunError(f"{path} is in use by another process") from None
