"""Philox4x32-10, a counter-based generator: random words as a pure function of (key, counter).

Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011). This is the plain NumPy
form that defines the noise; `kernels` holds the fast one.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]

_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL = 0x9E3779B9, 0xBB67AE85
_LOW = 0xFFFFFFFF


def key(seed: int, purpose: str, name: str = "") -> int:
    """64 bits of SHA-256 over (run seed, purpose, tensor name), so that streams never meet."""
    text = "\0".join(("proofgym noise 1", str(int(seed)), purpose, name))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def philox(counter: Words, key: int) -> Words:
    """Ten rounds on counters of shape [4, N] under one 64-bit key; returns words [4, N]."""
    c0, c1, c2, c3 = (np.asarray(word, np.uint32) for word in counter)
    low, high = key & _LOW, key >> 32
    shift = np.uint64(32)
    for _ in range(10):
        left = c0.astype(np.uint64) * _MULTIPLIERS[0]
        right = c2.astype(np.uint64) * _MULTIPLIERS[1]
        c0, c1, c2, c3 = (
            (right >> shift).astype(np.uint32) ^ c1 ^ np.uint32(low),
            right.astype(np.uint32),
            (left >> shift).astype(np.uint32) ^ c3 ^ np.uint32(high),
            left.astype(np.uint32),
        )
        low, high = (low + _WEYL[0]) & _LOW, (high + _WEYL[1]) & _LOW
    return np.stack([c0, c1, c2, c3])


def words(key: int, iteration: int, block: int, start: int, stop: int) -> Words:
    """The words of elements start..stop-1, shape [stop - start].

    Element j owns word j mod 4 of counter (⌊j/4⌋ low, ⌊j/4⌋ high, iteration, block), so any cut
    of a tensor gives the same words.
    """
    first, last = start // 4, -(-stop // 4)
    group = np.arange(first, last, dtype=np.uint64)
    counter = np.empty((4, last - first), np.uint32)
    counter[0] = group & np.uint64(_LOW)
    counter[1] = group >> np.uint64(32)
    counter[2] = iteration
    counter[3] = block
    return philox(counter, key).T.reshape(-1)[start - 4 * first : stop - 4 * first]


def permutation(key: int, iteration: int, size: int) -> NDArray[np.int64]:
    """A random order of 0..size-1, shape [size]: the stable order of one word each."""
    return np.argsort(words(key, iteration, 0, 0, size), kind="stable")
