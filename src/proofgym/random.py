"""Every random choice as a pure function of (seed, purpose, key, position).

There is no generator to carry around and no state to save: a *stream* is 64 bits of a hash of
(seed, purpose, key), and the draw at a position is Philox4x32-10 (Salmon et al., 2011) keyed by
the stream with the position as its counter. So a draw does not depend on what was drawn before,
on the batch it was drawn in, or on the process that drew it.

The noise of Evolution Strategies has its own specification and kernels in `proofgym.evolution`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (np.uint64(0x9E3779B9), np.uint64(0xBB67AE85))
_MASK = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)


def stream(seed: int, purpose: str, *key: int) -> int:
    """The 64-bit name of one stream of draws. Different arguments give unrelated streams."""
    # Lengths and separators are part of what is hashed, so (1, 23) and (12, 3) differ.
    text = "\x00".join([str(int(seed)), purpose, *(str(int(part)) for part in key)])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def uniform(seed: int, purpose: str, *key: int) -> float:
    """One uniform draw in [0, 1): the draw at position 0 of `stream(seed, purpose, *key)`."""
    return float(uniforms([stream(seed, purpose, *key)], [0])[0])


def uniforms(streams: Sequence[int] | NDArray[np.uint64], positions: ArrayLike) -> NDArray:
    """Uniform draws in [0, 1) with 53 bits each, as float64.

    `streams` (N,) and `positions` (N,) broadcast against each other.
    """
    streams_N = np.asarray(streams, dtype=np.uint64)
    positions_N = np.asarray(positions, dtype=np.uint64)
    high, low, _, _ = philox(streams_N, positions_N)
    bits = ((high << _SHIFT) | low) >> np.uint64(11)
    return bits.astype(np.float64) * 2.0**-53


def permutation(length: int, seed: int, purpose: str, *key: int) -> list[int]:
    """A seeded order of range(length)."""
    draws = uniforms(np.full(length, stream(seed, purpose, *key), np.uint64), np.arange(length))
    return np.argsort(draws, kind="stable").tolist()


def shuffled(items: Iterable, seed: int, purpose: str, *key: int) -> list:
    """The items in a seeded order."""
    listed = list(items)
    return [listed[index] for index in permutation(len(listed), seed, purpose, *key)]


def philox(keys: NDArray[np.uint64], counters: NDArray[np.uint64]) -> tuple[NDArray, ...]:
    """Philox4x32-10: four arrays of 32-bit words (held as uint64), broadcast over the inputs.

    The counter is (low, high, 0, 0) of `counters`, the key (low, high) of `keys`.
    """
    keys, counters = np.broadcast_arrays(keys, counters)
    c0, c1 = counters & _MASK, counters >> _SHIFT
    c2 = c3 = np.zeros_like(c0)
    k0, k1 = keys & _MASK, keys >> _SHIFT
    for _ in range(10):
        product0, product1 = c0 * _MULTIPLIERS[0], c2 * _MULTIPLIERS[1]
        c0, c1, c2, c3 = (
            (product1 >> _SHIFT) ^ c1 ^ k0,
            product1 & _MASK,
            (product0 >> _SHIFT) ^ c3 ^ k1,
            product0 & _MASK,
        )
        k0, k1 = (k0 + _WEYL[0]) & _MASK, (k1 + _WEYL[1]) & _MASK
    return c0, c1, c2, c3
