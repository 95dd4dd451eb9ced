"""The inner loops: NumPy by definition, Numba for speed, the same bits from both.

Each class works on flat or 2-D NumPy arrays that its caller owns, on one thread and without
holding Python's lock where Numba runs, so that `state` can spread shards over a plain thread pool.
Weights come and go as float32; other dtypes are converted chunk by chunk by the caller.
"""

from __future__ import annotations

import functools
from typing import Any, Protocol

import numpy as np

from proofgym.evolution import noise, philox


class Kernels(Protocol):
    """`delta`, integer tables and factors share one integer dtype, wide enough for every sum."""

    def words(self, key: int, iteration: int, block: int, start: int, stop: int) -> philox.Words:
        """As `philox.words`."""
        ...

    def draw(self, kind: str, key: int, iteration: int, out: Any) -> None:
        """out [P, N] int8: elements 0..N-1 of directions 0..P-1 of this kind, as in `noise`."""
        ...

    def member(self, base: Any, delta: Any, term: Any, step: float, out: Any) -> None:
        """out = base + step·f32(delta + term); flat float32, integer, integer."""
        ...

    def lookup_member(
        self, base: Any, delta: Any, words: Any, shift: int, table: Any, step: float, out: Any
    ) -> None:
        """`member` with term = table[(word >> shift) & 255]: ε·k from one byte of each word."""
        ...

    def lookup_add(self, delta: Any, words: Any, tables: Any) -> None:
        """delta += Σ_b tables[b, byte b of word]; tables [4, 256]."""
        ...

    def outer_member(
        self, base: Any, delta: Any, left: Any, right: Any, step: float, out: Any
    ) -> None:
        """`member` with term = left·right; left [M, r], right [r, N], the rest [M, N]."""
        ...

    def outer_add(self, delta: Any, left: Any, right: Any) -> None:
        """delta += left·right, float factors [M, C], [C, N] whose every partial sum is exact."""
        ...

    def current(self, base: Any, delta: Any, step: float, out: Any) -> None:
        """out = base + step·f32(delta)."""
        ...

    def decay(self, delta: Any, m: int) -> None:
        """delta -= rne(delta·m / 2^16)."""
        ...

    def decode_bfloat16(self, bits: Any) -> Any:
        """Exact float32 of bfloat16 bits (uint16)."""
        ...

    def encode_bfloat16(self, values: Any, out: Any) -> None:
        """Round float32 half to even to bfloat16 bits; NaN becomes 0x7FC0, as in torch."""
        ...


class NumpyKernels:
    """The definition."""

    def words(self, key: int, iteration: int, block: int, start: int, stop: int) -> philox.Words:
        return philox.words(key, iteration, block, start, stop)

    def draw(self, kind: str, key: int, iteration: int, out: Any) -> None:
        count, size = out.shape
        per_word = noise.PER_WORD[kind]
        for first in range(0, count, per_word):
            words = philox.words(key, iteration, first // per_word, 0, size)
            index = np.arange(first, min(first + per_word, count))[:, None]
            out[index[:, 0]] = noise.OF_WORDS[kind](words, index)

    def member(self, base: Any, delta: Any, term: Any, step: float, out: Any) -> None:
        self.current(base, delta + term, step, out)

    def lookup_member(
        self, base: Any, delta: Any, words: Any, shift: int, table: Any, step: float, out: Any
    ) -> None:
        self.member(base, delta, table[(words >> np.uint32(shift)) & np.uint32(255)], step, out)

    def lookup_add(self, delta: Any, words: Any, tables: Any) -> None:
        for byte in range(4):
            delta += tables[byte][(words >> np.uint32(8 * byte)) & np.uint32(255)]

    def outer_member(
        self, base: Any, delta: Any, left: Any, right: Any, step: float, out: Any
    ) -> None:
        self.member(base, delta, left @ right, step, out)

    def outer_add(self, delta: Any, left: Any, right: Any) -> None:
        delta += (left @ right).astype(delta.dtype)

    def current(self, base: Any, delta: Any, step: float, out: Any) -> None:
        np.multiply(delta.astype(np.float32), np.float32(step), out=out)
        np.add(base, out, out=out)

    def decay(self, delta: Any, m: int) -> None:
        product = delta.astype(np.int64) * m
        delta -= ((product + 0x7FFF + ((product >> 16) & 1)) >> 16).astype(delta.dtype)

    def decode_bfloat16(self, bits: Any) -> Any:
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)

    def encode_bfloat16(self, values: Any, out: Any) -> None:
        bits = values.view(np.uint32)
        odd = (bits >> np.uint32(16)) & np.uint32(1)
        rounded = (bits + np.uint32(0x7FFF) + odd) >> np.uint32(16)
        out[...] = np.where(np.isnan(values), np.uint32(0x7FC0), rounded)


class NumbaKernels:
    """The same, compiled. Made by `load`, which falls back to NumPy where Numba is missing."""

    def __init__(self) -> None:
        from proofgym.evolution import compiled

        self._compiled = compiled

    def words(self, key: int, iteration: int, block: int, start: int, stop: int) -> philox.Words:
        first, last = start // 4, -(-stop // 4)
        out = np.empty(4 * (last - first), np.uint32)
        low, high = np.uint32(key & 0xFFFFFFFF), np.uint32(key >> 32)
        self._compiled.words(
            out, np.uint64(first), np.uint32(iteration), np.uint32(block), low, high
        )
        return out[start - 4 * first : stop - 4 * first]

    def draw(self, kind: str, key: int, iteration: int, out: Any) -> None:
        low, high = np.uint32(key & 0xFFFFFFFF), np.uint32(key >> 32)
        per_word = noise.PER_WORD[kind]
        self._compiled.draw(out, np.uint32(iteration), per_word, noise.GAUSSIAN8, low, high)

    def member(self, base: Any, delta: Any, term: Any, step: float, out: Any) -> None:
        self._compiled.member(base, delta, term, np.float32(step), out)

    def lookup_member(
        self, base: Any, delta: Any, words: Any, shift: int, table: Any, step: float, out: Any
    ) -> None:
        self._compiled.lookup_member(
            base, delta, words, np.uint32(shift), table, np.float32(step), out
        )

    def lookup_add(self, delta: Any, words: Any, tables: Any) -> None:
        self._compiled.lookup_add(delta, words, tables)

    def outer_member(
        self, base: Any, delta: Any, left: Any, right: Any, step: float, out: Any
    ) -> None:
        self._compiled.outer_member(base, delta, left, right, np.float32(step), out)

    def outer_add(self, delta: Any, left: Any, right: Any) -> None:
        count = left.shape[1]
        if count % 8:
            left = np.pad(left, ((0, 0), (0, -count % 8)))
            right = np.pad(right, ((0, -count % 8), (0, 0)))
        self._compiled.outer_add(delta, left, right)

    def current(self, base: Any, delta: Any, step: float, out: Any) -> None:
        self._compiled.current(base, delta, np.float32(step), out)

    def decay(self, delta: Any, m: int) -> None:
        self._compiled.decay(delta, np.int64(m))

    def decode_bfloat16(self, bits: Any) -> Any:
        out = np.empty(bits.shape, np.uint32)
        self._compiled.decode_bfloat16(bits, out)
        return out.view(np.float32)

    def encode_bfloat16(self, values: Any, out: Any) -> None:
        self._compiled.encode_bfloat16(values.view(np.uint32), out)


@functools.cache
def load() -> Kernels:
    """The fastest kernels that this installation has."""
    try:
        return NumbaKernels()
    except ImportError:
        return NumpyKernels()
