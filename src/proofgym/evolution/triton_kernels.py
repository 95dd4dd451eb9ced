"""The inner loops on a GPU: the same integers as `noise`, the same bits as `kernels`.

Importing this imports Triton. One launch serves all tensors of a model: a *tile* is a run of
elements of one tensor, and tables on the device say which. `Tables` in `device` makes them.
Element j of a tensor owns word j mod 4 of the counter group ⌊j/4⌋, as in `philox`.
"""

from __future__ import annotations

import triton
import triton.language as tl

FLOAT32, BFLOAT16, FLOAT16 = 0, 1, 2


@triton.jit
def _philox(low, high, iteration, block, key_low, key_high):  # type: ignore[no-untyped-def]
    """Ten rounds; counters uint32 tensors or scalars."""
    c0, c1 = low, high
    c2 = tl.zeros_like(low) + iteration
    c3 = tl.zeros_like(low) + block
    k0, k1 = key_low, key_high
    for _ in tl.static_range(10):
        left_high, left_low = tl.umulhi(c0, 0xD2511F53), c0 * 0xD2511F53
        right_high, right_low = tl.umulhi(c2, 0xCD9E8D57), c2 * 0xCD9E8D57
        c0, c1, c2, c3 = right_high ^ c1 ^ k0, right_low, left_high ^ c3 ^ k1, left_low
        k0, k1 = k0 + 0x9E3779B9, k1 + 0xBB67AE85
    return c0, c1, c2, c3


@triton.jit
def _words(first, iteration, block, key_low, key_high, GROUPS: tl.constexpr):  # type: ignore[no-untyped-def]
    """Words of the elements first..first+4·GROUPS-1; first is a multiple of four (int64)."""
    group = first // 4 + tl.arange(0, GROUPS).to(tl.int64)
    low, high = group.to(tl.uint32), (group >> 32).to(tl.uint32)
    w0, w1, w2, w3 = _philox(low, high, iteration, block, key_low, key_high)
    return tl.interleave(tl.interleave(w0, w2), tl.interleave(w1, w3))


@triton.jit
def _load(pointer, at, inside, DTYPE: tl.constexpr):  # type: ignore[no-untyped-def]
    """Weights as float32, exactly."""
    if DTYPE == 1:
        bits = tl.load(pointer.to(tl.pointer_type(tl.uint16)) + at, inside, 0)
        return (bits.to(tl.uint32) << 16).to(tl.float32, bitcast=True)
    elif DTYPE == 2:
        return tl.load(pointer.to(tl.pointer_type(tl.float16)) + at, inside, 0.0).to(tl.float32)
    else:
        return tl.load(pointer.to(tl.pointer_type(tl.float32)) + at, inside, 0.0)


@triton.jit
def _store(pointer, at, value, inside, DTYPE: tl.constexpr):  # type: ignore[no-untyped-def]
    """Weights rounded half to even; a NaN in bfloat16 becomes 0x7FC0, as on the CPU."""
    if DTYPE == 1:
        bits = value.to(tl.uint32, bitcast=True)
        rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        rounded = tl.where((bits & 0x7FFFFFFF) > 0x7F800000, 0x7FC0, rounded)
        tl.store(pointer.to(tl.pointer_type(tl.uint16)) + at, rounded.to(tl.uint16), inside)
    elif DTYPE == 2:
        tl.store(pointer.to(tl.pointer_type(tl.float16)) + at, value.to(tl.float16), inside)
    else:
        tl.store(pointer.to(tl.pointer_type(tl.float32)) + at, value, inside)


@triton.jit
def _delta(pointer, at, inside, WIDE: tl.constexpr):  # type: ignore[no-untyped-def]
    if WIDE:
        return tl.load(pointer.to(tl.pointer_type(tl.int64)) + at, inside, 0)
    else:
        return tl.load(pointer.to(tl.pointer_type(tl.int32)) + at, inside, 0)


@triton.jit
def write(  # type: ignore[no-untyped-def]
    tile_tensor,
    tile_first,
    bases,
    deltas,
    outs,
    sizes,
    columns,
    key_lows,
    key_highs,
    scales,
    lefts,
    rights,
    table,
    step,
    iteration,
    block,
    place,
    RULE: tl.constexpr,
    RANK: tl.constexpr,
    DTYPE: tl.constexpr,
    WIDE: tl.constexpr,
    GROUPS: tl.constexpr,
):
    """out = round(base + step·f32(delta + term)).

    RULE 0: term 0. 1: ±k by bit `place` of the word. 2: table[byte `place` of the word] (k in the
    table). 3: k·Σ_ρ left[ρ, row]·right[ρ, column], int8 signs in memory.
    """
    tile = tl.program_id(0)
    tensor = tl.load(tile_tensor + tile)
    first = tl.load(tile_first + tile)
    at = first + tl.arange(0, 4 * GROUPS).to(tl.int64)
    inside = at < tl.load(sizes + tensor)
    delta = _delta(tl.load(deltas + tensor), at, inside, WIDE)
    scale = tl.load(scales + tensor).to(delta.dtype)
    if RULE == 1:
        key_low, key_high = tl.load(key_lows + tensor), tl.load(key_highs + tensor)
        words = _words(first, iteration, block, key_low, key_high, GROUPS)
        bit = ((words >> place) & 1).to(tl.int32)
        delta += scale - 2 * scale * bit
    elif RULE == 2:
        key_low, key_high = tl.load(key_lows + tensor), tl.load(key_highs + tensor)
        words = _words(first, iteration, block, key_low, key_high, GROUPS)
        byte = ((words >> (8 * place)) & 255).to(tl.int32)
        delta += scale * tl.load(table + byte)
    elif RULE == 3:
        width = tl.load(columns + tensor)
        height = tl.load(sizes + tensor) // width
        left = tl.load(lefts + tensor).to(tl.pointer_type(tl.int8))
        right = tl.load(rights + tensor).to(tl.pointer_type(tl.int8))
        row, column = at // width, at % width
        total = tl.zeros([4 * GROUPS], tl.int32)
        for rho in range(RANK):
            a = tl.load(left + rho * height + row, inside, 0).to(tl.int32)
            b = tl.load(right + rho * width + column, inside, 0).to(tl.int32)
            total += a * b
        delta += scale * total
    base = _load(tl.load(bases + tensor), at, inside, DTYPE)
    value = base + step * delta.to(tl.float32)
    _store(tl.load(outs + tensor), at, value, inside, DTYPE)


@triton.jit
def accumulate(  # type: ignore[no-untyped-def]
    tile_tensor,
    tile_first,
    deltas,
    sizes,
    key_lows,
    key_highs,
    tables,
    iterations,
    blocks,
    runs,
    WIDE: tl.constexpr,
    GATHER: tl.constexpr,
    GROUPS: tl.constexpr,
):
    """delta += Σ_run Σ_b tables[run, b, byte b of the word], the words of the run's (iteration,
    block). In registers: delta is read and written once."""
    tile = tl.program_id(0)
    tensor = tl.load(tile_tensor + tile)
    first = tl.load(tile_first + tile)
    key_low, key_high = tl.load(key_lows + tensor), tl.load(key_highs + tensor)
    total = tl.zeros([4 * GROUPS], tl.int32)
    entry = tl.arange(0, 256)
    for run in range(runs):
        iteration, block = tl.load(iterations + run), tl.load(blocks + run)
        words = _words(first, iteration, block, key_low, key_high, GROUPS)
        base = tables + run * 1024
        for byte in tl.static_range(4):
            index = ((words >> (8 * byte)) & 255).to(tl.int32)
            if GATHER:
                total += tl.gather(tl.load(base + 256 * byte + entry), index, 0)
            else:
                total += tl.load(base + 256 * byte + index)
    at = first + tl.arange(0, 4 * GROUPS).to(tl.int64)
    inside = at < tl.load(sizes + tensor)
    pointer = tl.load(deltas + tensor)
    if WIDE:
        wide = pointer.to(tl.pointer_type(tl.int64)) + at
        tl.store(wide, tl.load(wide, inside, 0) + total.to(tl.int64), inside)
    else:
        narrow = pointer.to(tl.pointer_type(tl.int32)) + at
        tl.store(narrow, tl.load(narrow, inside, 0) + total, inside)


@triton.jit
def signs(  # type: ignore[no-untyped-def]
    out,
    stride,
    size,
    key,
    iterations,
    blocks,
    starts,
    counts,
    bits,
    weights,
    RANK: tl.constexpr,
    ELEMENTS: tl.constexpr,
):
    """out[j, (starts[run] + i)·RANK + ρ] = weights[run, i]·sign of element j of component ρ,
    int8; the sign is bit bits[run, i] of the word. Rows of `out` are `stride` bytes apart."""
    tile, run, rho = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    j = tile.to(tl.int64) * ELEMENTS + tl.arange(0, ELEMENTS).to(tl.int64)
    element = rho.to(tl.int64) * size + j
    low, high = (element // 4).to(tl.uint32), ((element // 4) >> 32).to(tl.uint32)
    iteration, block = tl.load(iterations + run), tl.load(blocks + run)
    w0, w1, w2, w3 = _philox(low, high, iteration, block, tl.load(key), tl.load(key + 1))
    lane = (element % 4).to(tl.int32)
    word = tl.where(lane == 0, w0, tl.where(lane == 1, w1, tl.where(lane == 2, w2, w3)))
    i = tl.arange(0, 32)
    bit, weight = tl.load(bits + run * 32 + i), tl.load(weights + run * 32 + i)
    set_bits = ((word[:, None] >> bit[None, :].to(tl.uint32)) & 1).to(tl.int32)
    value = weight[None, :] * (1 - 2 * set_bits)
    column = (tl.load(starts + run) + i) * RANK + rho
    inside = (j < size)[:, None] & (i < tl.load(counts + run))[None, :]
    tl.store(out + j[:, None] * stride + column[None, :], value.to(tl.int8), inside)


@triton.jit
def draw_only(out, rounds, GROUPS: tl.constexpr):  # type: ignore[no-untyped-def]
    """Draws words and keeps almost nothing: what sums cannot be faster than."""
    first = tl.program_id(0).to(tl.int64) * 4 * GROUPS
    low, high = tl.load(out), tl.load(out)
    total = tl.zeros([4 * GROUPS], tl.uint32)
    for iteration in range(rounds):
        total ^= _words(first, iteration, 0, low, high, GROUPS)
    tl.store(out, 0, tl.sum(total.to(tl.int32), 0) == 1)
