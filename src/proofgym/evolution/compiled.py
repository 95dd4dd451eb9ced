"""Numba forms of `kernels`; importing this imports Numba. No fast-math: bits must not move.

Numba adds two int32 as int64; `delta.dtype.type` brings sums back, which loses nothing (the caller
has made sure that they fit) and keeps the loops in vector registers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = np.uint32(0x9E3779B9), np.uint32(0xBB67AE85)
_U32 = np.uint64(32)
_BYTE, _ONE = np.uint32(255), np.uint32(1)


def _jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on first use, keeping the result on disk where there is a place for it."""
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # no writable cache directory
        return numba.njit(nogil=True)(function)


@numba.njit(inline="always")
def _round(c0, c1, c2, c3, k0, k1):
    left = np.uint64(c0) * _M0
    right = np.uint64(c2) * _M1
    return (
        np.uint32(right >> _U32) ^ c1 ^ k0,
        np.uint32(right),
        np.uint32(left >> _U32) ^ c3 ^ k1,
        np.uint32(left),
    )


@_jit
def words(out, first, iteration, block, low, high):
    """Words of the counter groups first, first+1, …; out [4·groups] uint32."""
    for group in range(out.size // 4):
        index = first + np.uint64(group)
        c0, c1 = np.uint32(index), np.uint32(index >> _U32)
        c2, c3 = np.uint32(iteration), np.uint32(block)
        k0, k1 = np.uint32(low), np.uint32(high)
        for _ in range(10):
            c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0, k1)
            k0, k1 = np.uint32(k0 + _W0), np.uint32(k1 + _W1)
        out[4 * group], out[4 * group + 1] = c0, c1
        out[4 * group + 2], out[4 * group + 3] = c2, c3


@_jit
def draw(out, iteration, per_word, table, low, high):
    """out [P, N] int8; a word serves 4 directions by `table`, or else 32 signs."""
    count, size = out.shape
    drawn = np.empty((size + 3) // 4 * 4, np.uint32)
    for first in range(0, count, per_word):
        words(drawn, np.uint64(0), iteration, np.uint32(first // per_word), low, high)
        for place in range(min(per_word, count - first)):
            row = out[first + place]
            if per_word == 4:
                shift = np.uint32(8 * place)
                for j in range(size):
                    row[j] = table[(drawn[j] >> shift) & _BYTE]
            else:
                shift = np.uint32(place)
                for j in range(size):
                    row[j] = np.int8(1) - np.int8(((drawn[j] >> shift) & _ONE) << _ONE)


@_jit
def member(base, delta, term, step, out):
    for j in range(out.size):
        out[j] = base[j] + step * np.float32(delta.dtype.type(delta[j] + term[j]))


@_jit
def lookup_member(base, delta, words, shift, table, step, out):
    for j in range(out.size):
        value = delta.dtype.type(delta[j] + table[(words[j] >> shift) & _BYTE])
        out[j] = base[j] + step * np.float32(value)


@_jit
def lookup_add(delta, words, tables):
    for j in range(delta.size):
        word = words[j]
        delta[j] += (
            tables[0, word & _BYTE]
            + tables[1, (word >> np.uint32(8)) & _BYTE]
            + tables[2, (word >> np.uint32(16)) & _BYTE]
            + tables[3, word >> np.uint32(24)]
        )


@_jit
def outer_member(base, delta, left, right, step, out):
    rows, columns = out.shape
    if left.shape[1] == 1:
        for i in range(rows):
            scale = left[i, 0]
            for j in range(columns):
                value = delta.dtype.type(delta[i, j] + scale * right[0, j])
                out[i, j] = base[i, j] + step * np.float32(value)
        return
    term = np.empty(columns, delta.dtype)
    for i in range(rows):
        term[:] = 0
        for r in range(left.shape[1]):
            scale = left[i, r]
            for j in range(columns):
                term[j] += delta.dtype.type(scale * right[r, j])
        for j in range(columns):
            value = delta.dtype.type(delta[i, j] + term[j])
            out[i, j] = base[i, j] + step * np.float32(value)


@_jit
def outer_add(delta, left, right):
    """Eight factors a pass over a row of sums; right must have a multiple of eight rows."""
    rows, columns = delta.shape
    sums = np.empty(columns, left.dtype)
    for i in range(rows):
        row = delta[i]
        for c in range(0, left.shape[1], 8):
            l0, l1, l2, l3 = left[i, c], left[i, c + 1], left[i, c + 2], left[i, c + 3]
            l4, l5, l6, l7 = left[i, c + 4], left[i, c + 5], left[i, c + 6], left[i, c + 7]
            r0, r1, r2, r3 = right[c], right[c + 1], right[c + 2], right[c + 3]
            r4, r5, r6, r7 = right[c + 4], right[c + 5], right[c + 6], right[c + 7]
            for j in range(columns):
                value = (l0 * r0[j] + l1 * r1[j]) + (l2 * r2[j] + l3 * r3[j])
                value += (l4 * r4[j] + l5 * r5[j]) + (l6 * r6[j] + l7 * r7[j])
                sums[j] = value if c == 0 else sums[j] + value
        for j in range(columns):
            row[j] += delta.dtype.type(sums[j])


@_jit
def decode_bfloat16(bits, out):
    """out [N] uint32: the float32 bits."""
    for j in range(out.size):
        out[j] = np.uint32(bits[j]) << np.uint32(16)


@_jit
def encode_bfloat16(bits, out):
    """Round float32 bits half to even; out [N] uint16."""
    for j in range(out.size):
        value = np.uint32(bits[j])
        rounded = value + np.uint32(0x7FFF) + ((value >> np.uint32(16)) & np.uint32(1))
        nan = (value & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
        out[j] = np.uint16(0x7FC0) if nan else np.uint16(np.uint32(rounded) >> np.uint32(16))


@_jit
def current(base, delta, step, out):
    for j in range(out.size):
        out[j] = base[j] + step * np.float32(delta[j])


@_jit
def decay(delta, m):
    for j in range(delta.size):
        product = np.int64(delta[j]) * m
        odd = (product >> np.int64(16)) & np.int64(1)
        delta[j] -= (product + np.int64(0x7FFF) + odd) >> np.int64(16)
