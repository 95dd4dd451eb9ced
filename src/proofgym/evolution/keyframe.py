"""Keyframes: Δ stored exactly, so that a resume need not replay a run from its start.

A keyframe is a shortcut, never the truth: it names the history's digest at its iteration, is
ignored where that or its own digest does not fit, and appears under its name only when complete.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import zstandard
from numpy.typing import NDArray

from proofgym.durable import LEFTOVERS, whole_file
from proofgym.errors import HistoryError
from proofgym.evolution import threads
from proofgym.evolution.history import Record
from proofgym.evolution.state import State

MAGIC = b"PGKF0001"
SUFFIX = ".pgkf"
#: Older ones are removed; the second newest stays for the case that the newest is damaged.
KEPT = 2
_TAIL = struct.Struct("<Q32s")  # length of the JSON before it, SHA-256 of all before the digest
_CHUNK = 1 << 20


def save(directory: Path, state: State, chain: bytes) -> Path:
    """Write Δ of `state`, whose history's digest is `chain`; atomic and durable on return."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{state.iteration:08d}{SUFFIX}"
    digest = hashlib.sha256(MAGIC)
    tensors = []
    pieces = {
        tensor.name: np.split(values, range(_CHUNK, values.size, _CHUNK))
        for tensor in state.manifest
        for values in [state.delta[tensor.name].values]
    }
    chunks = threads.each(_compress, itertools.chain.from_iterable(pieces.values()))
    lengths = iter([len(chunk) for chunk in chunks])
    for name, parts in pieces.items():
        sizes = list(itertools.islice(lengths, len(parts)))
        tensors.append({"name": name, "dtype": str(parts[0].dtype), "chunks": sizes})
    with whole_file(path) as file:
        file.write(MAGIC)
        for chunk in chunks:
            file.write(chunk)
            digest.update(chunk)
        index = {"iteration": state.iteration, "chain": chain.hex(), "tensors": tensors}
        text = json.dumps(index).encode()
        tail = text + struct.pack("<Q", len(text))
        digest.update(tail)
        file.write(tail + digest.digest())
    return path


def load_newest(directory: Path, state: State, record: Record, at: int) -> int:
    """Load the newest keyframe that belongs to `record` and is not after iteration `at`.

    Returns its iteration, 0 where none fits (`state` is then untouched).
    """
    for iteration, path in sorted(_listed(directory), reverse=True):
        if 0 < iteration <= min(at, record.iterations):
            try:
                load(path, state, record.digests[iteration])
            except HistoryError:
                continue
            return iteration
    return 0


def load(path: Path, state: State, chain: bytes) -> None:
    """Set Δ and the iteration of `state` from a keyframe. Raises HistoryError, changing nothing."""
    data = memoryview(path.read_bytes())
    index, position = _parse(data, path), len(MAGIC)
    if index["chain"] != chain.hex():
        raise HistoryError(f"{path} belongs to another history")
    if [item["name"] for item in index["tensors"]] != [tensor.name for tensor in state.manifest]:
        raise HistoryError(f"{path} lists other tensors")
    spans = []
    for item in index["tensors"]:
        ends = itertools.accumulate(item["chunks"], initial=position)
        spans += [(item["dtype"], data[a:b]) for a, b in itertools.pairwise(ends)]
        position += sum(item["chunks"])
    parts = iter(threads.each(_expand, spans))
    for item in index["tensors"]:
        accumulator = state.delta[item["name"]]
        accumulator.values = np.concatenate(list(itertools.islice(parts, len(item["chunks"]))))
        accumulator.bound = accumulator.largest()
    state.iteration = index["iteration"]


def prune(directory: Path) -> None:
    """Remove what a kill left half-written, and all but the newest keyframes."""
    for leftover in directory.glob(LEFTOVERS):
        leftover.unlink()
    for _, path in sorted(_listed(directory))[:-KEPT]:
        path.unlink()


def _listed(directory: Path) -> Iterator[tuple[int, Path]]:
    for path in directory.glob(f"*{SUFFIX}"):
        if path.stem.isdigit():
            yield int(path.stem), path


def _parse(data: memoryview, path: Path) -> dict[str, Any]:
    if len(data) < len(MAGIC) + _TAIL.size or data[: len(MAGIC)] != MAGIC:
        raise HistoryError(f"{path} is not a keyframe")
    length, digest = _TAIL.unpack(data[-_TAIL.size :])
    if hashlib.sha256(data[:-32]).digest() != digest:
        raise HistoryError(f"{path} is damaged (digest mismatch)")
    found: dict[str, Any] = json.loads(bytes(data[-_TAIL.size - length : -_TAIL.size]))
    return found


def _compress(values: NDArray[Any]) -> bytes:
    """Byte planes first: the high bytes of small integers then compress to almost nothing."""
    planes = values.astype(values.dtype.newbyteorder("<"), copy=False).view(np.uint8)
    planes = planes.reshape(-1, values.itemsize).T
    return zstandard.ZstdCompressor(level=1).compress(np.ascontiguousarray(planes).data)


def _expand(item: tuple[str, memoryview]) -> NDArray[Any]:
    dtype, data = item
    planes = np.frombuffer(zstandard.ZstdDecompressor().decompress(data), np.uint8)
    width = np.dtype(dtype).itemsize
    return np.ascontiguousarray(planes.reshape(width, -1).T).reshape(-1).view(dtype)
