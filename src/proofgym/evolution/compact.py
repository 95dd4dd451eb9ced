"""A history for sending: about half the bytes, from which the file comes back byte for byte.

Left out is what can be computed: checksums and the chain of digests, of which the last stays and is
compared. The rest is compressed: `PGEC0001`, SHA-256 of the whole history file, and a zstd frame
of the header's length (4 bytes) and JSON, then for each entry kind, bytes a value, kept, number of
values (1, 1, 4, 4 bytes) and the values, byte planes first. docs/noise.md has the history itself.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator

import numpy as np
import zstandard

from proofgym.errors import HistoryError
from proofgym.evolution.history import (
    Decay,
    Entry,
    Record,
    Update,
    encode,
    encode_header,
    header_text,
)

MAGIC = b"PGEC0001"
_ENTRY = struct.Struct("<BBII")
_LARGEST = 1 << 32  # bytes of a history


def pack(record: Record) -> bytes:
    """The history in short."""
    text = header_text(record.header)
    parts = [struct.pack("<I", len(text)), text]
    parts += [_pack(entry) for entry in record.entries]
    digest = hashlib.sha256(_file(record.header, record.entries)).digest()
    return MAGIC + digest + zstandard.ZstdCompressor(level=19).compress(b"".join(parts))


def unpack(data: bytes, name: str) -> bytes:
    """The bytes of the history file. Raises HistoryError where they are not those packed."""
    head = len(MAGIC) + 32
    try:
        raw = zstandard.ZstdDecompressor().decompress(
            data[head:], max_output_size=_LARGEST, allow_extra_data=False
        )
        (length,) = struct.unpack_from("<I", raw)
        header = json.loads(raw[4 : 4 + length])
        whole = _file(header, tuple(_unpack(raw, 4 + length)))
    except (zstandard.ZstdError, struct.error, ValueError, MemoryError, RecursionError) as error:
        raise HistoryError(f"{name}: the compact history is damaged ({error})") from None
    if hashlib.sha256(whole).digest() != data[len(MAGIC) : head]:
        raise HistoryError(f"{name}: the compact history is damaged (digest mismatch)")
    return whole


def _file(header: dict[str, object], entries: tuple[Entry, ...]) -> bytes:
    parts = [encode_header(header)]
    digest = hashlib.sha256(parts[0]).digest()
    for entry in entries:
        parts.append(encode(entry, digest))
        digest = parts[-1][-32:]
    return b"".join(parts)


def _pack(entry: Entry) -> bytes:
    values = entry.coefficients if isinstance(entry, Update) else (entry.m,)
    wide = any(not -(2**31) <= value < 2**31 for value in values)
    planes = np.array(values, np.int64 if wide else np.int32).view(np.uint8)
    width = 8 if wide else 4
    kind, kept = (1, entry.kept) if isinstance(entry, Update) else (2, 0)
    head = _ENTRY.pack(kind, width, kept, len(values))
    return head + planes.reshape(len(values), width).T.tobytes()


def _unpack(raw: bytes, at: int) -> Iterator[Entry]:
    iteration = 0
    while at < len(raw):
        kind, width, kept, count = _ENTRY.unpack_from(raw, at)
        at += _ENTRY.size
        if kind not in (1, 2) or width not in (4, 8) or at + width * count > len(raw):
            raise ValueError("an entry is not whole")
        planes = np.frombuffer(raw, np.uint8, width * count, at).reshape(width, count)
        dtype = np.int64 if width == 8 else np.int32
        values = np.ascontiguousarray(planes.T).view(dtype).reshape(-1).tolist()
        at += width * count
        if kind == 1:
            yield Update(iteration, tuple(values), kept)
            iteration += 1
        elif count == 1:
            yield Decay(iteration, values[0])
        else:
            raise ValueError("a decay has one value")
