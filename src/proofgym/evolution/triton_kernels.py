"""The inner loops on a GPU: the same integers as `noise`, the same bits as `kernels`.

Importing this imports Triton. One launch serves all tensors of a model: a *tile* is a run of
elements of one tensor, and tables on the device say which. `Tables` in `device` makes them.
Element j of a tensor owns word j mod 4 of the counter group ⌊j/4⌋, as in `philox`.
"""

from __future__ import annotations

import triton
import triton.language as tl


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
def _at(address, first, KIND: tl.constexpr, LENGTH: tl.constexpr):  # type: ignore[no-untyped-def]
    """Pointers to the elements of a tile; all tensors begin at multiples of 16 bytes."""
    start = tl.multiple_of(address.to(tl.pointer_type(KIND)), 16)
    return start + tl.multiple_of(first, LENGTH) + tl.arange(0, LENGTH)


@triton.jit
def _read(pointers, inside, WHOLE: tl.constexpr):  # type: ignore[no-untyped-def]
    """A whole tile is read without a mask, and so many elements at a time."""
    if WHOLE:
        return tl.load(pointers)
    else:
        return tl.load(pointers, inside, 0)


@triton.jit
def _keep(pointers, value, inside, WHOLE: tl.constexpr):  # type: ignore[no-untyped-def]
    if WHOLE:
        tl.store(pointers, value)
    else:
        tl.store(pointers, value, inside)


@triton.jit
def _encode(value, DTYPE: tl.constexpr):  # type: ignore[no-untyped-def]
    """Rounded half to even; a NaN in bfloat16 becomes 0x7FC0, as on the CPU."""
    if DTYPE == 1:
        bits = value.to(tl.uint32, bitcast=True)
        rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        rounded = tl.where((bits & 0x7FFFFFFF) > 0x7F800000, 0x7FC0, rounded)
        return rounded.to(tl.uint16)
    elif DTYPE == 2:
        return value.to(tl.float16)
    else:
        return value


@triton.jit
def _decode(stored, DTYPE: tl.constexpr):  # type: ignore[no-untyped-def]
    """Exact float32 of stored weights."""
    if DTYPE == 1:
        return (stored.to(tl.uint32) << 16).to(tl.float32, bitcast=True)
    else:
        return stored.to(tl.float32)


@triton.jit
def _write_tile(  # type: ignore[no-untyped-def]
    base_at,
    delta_at,
    out_at,
    first,
    size,
    width,
    key_low,
    key_high,
    scale,
    left,
    right,
    table,
    step,
    iteration,
    block,
    place,
    RULE: tl.constexpr,
    RANK: tl.constexpr,
    DTYPE: tl.constexpr,
    STORED: tl.constexpr,
    WIDE: tl.constexpr,
    GROUPS: tl.constexpr,
    WHOLE: tl.constexpr,
):
    LENGTH: tl.constexpr = 4 * GROUPS
    at = first + tl.arange(0, LENGTH)
    inside = at < size
    if WIDE:
        delta = _read(_at(delta_at, first, tl.int64, LENGTH), inside, WHOLE)
    else:
        delta = _read(_at(delta_at, first, tl.int32, LENGTH), inside, WHOLE)
    k = scale.to(delta.dtype)
    if RULE == 1:
        words = _words(first, iteration, block, key_low, key_high, GROUPS)
        delta += tl.where(((words >> place) & 1) == 1, -k, k)
    elif RULE == 2:
        words = _words(first, iteration, block, key_low, key_high, GROUPS)
        byte = ((words >> (8 * place)) & 255).to(tl.int32)
        delta += k * tl.load(table + byte)
    elif RULE == 3:
        height = size // width
        row = first // width + (first % width + tl.arange(0, LENGTH)) // width
        column = at - row * width
        total = tl.zeros([LENGTH], tl.int32)
        for rho in range(RANK):
            a = tl.load(left + rho * height + row, inside, 0).to(tl.int32)
            b = tl.load(right + rho * width + column, inside, 0).to(tl.int32)
            total += a * b
        delta += k * total
    base = _decode(_read(_at(base_at, first, STORED, LENGTH), inside, WHOLE), DTYPE)
    value = base + step * delta.to(tl.float32)
    _keep(_at(out_at, first, STORED, LENGTH), _encode(value, DTYPE), inside, WHOLE)


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
    factors,
    table,
    step,
    iteration,
    block,
    place,
    RULE: tl.constexpr,
    RANK: tl.constexpr,
    DTYPE: tl.constexpr,
    STORED: tl.constexpr,
    WIDE: tl.constexpr,
    GROUPS: tl.constexpr,
):
    """out = round(base + step·f32(delta + term)).

    RULE 0: term 0. 1: ±k by bit `place` of the word. 2: k·table[byte `place` of the word]. 3:
    k·Σ_ρ A[ρ, row]·B[ρ, column], int8, from `lefts` and `rights` on in `factors`.
    """
    tile = tl.program_id(0)
    tensor = tl.load(tile_tensor + tile)
    first = tl.multiple_of(tl.load(tile_first + tile), 4 * GROUPS)
    size = tl.load(sizes + tensor)
    base, delta, out = tl.load(bases + tensor), tl.load(deltas + tensor), tl.load(outs + tensor)
    low, high = tl.load(key_lows + tensor), tl.load(key_highs + tensor)
    width, scale = tl.load(columns + tensor), tl.load(scales + tensor)
    left, right = factors + tl.load(lefts + tensor), factors + tl.load(rights + tensor)
    if first + 4 * GROUPS <= size:
        _write_tile(
            base,
            delta,
            out,
            first,
            size,
            width,
            low,
            high,
            scale,
            left,
            right,
            table,
            step,
            iteration,
            block,
            place,
            RULE,
            RANK,
            DTYPE,
            STORED,
            WIDE,
            GROUPS,
            True,
        )
    else:
        _write_tile(
            base,
            delta,
            out,
            first,
            size,
            width,
            low,
            high,
            scale,
            left,
            right,
            table,
            step,
            iteration,
            block,
            place,
            RULE,
            RANK,
            DTYPE,
            STORED,
            WIDE,
            GROUPS,
            False,
        )


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
    GROUPS: tl.constexpr,
):
    """delta += Σ_run Σ_b tables[run, b, byte b of the word], the words of the run's (iteration,
    block). In registers: delta is read and written once."""
    tile = tl.program_id(0)
    tensor = tl.load(tile_tensor + tile)
    first = tl.load(tile_first + tile)
    key_low, key_high = tl.load(key_lows + tensor), tl.load(key_highs + tensor)
    total = tl.zeros([4 * GROUPS], tl.int32)
    for run in range(runs):
        iteration, block = tl.load(iterations + run), tl.load(blocks + run)
        words = _words(first, iteration, block, key_low, key_high, GROUPS)
        for byte in tl.static_range(4):
            index = ((words >> (8 * byte)) & 255).to(tl.int32)
            total += tl.load(tables + run * 1024 + 256 * byte + index)
    inside = first + tl.arange(0, 4 * GROUPS) < tl.load(sizes + tensor)
    address = tl.load(deltas + tensor)
    if WIDE:
        wide = _at(address, first, tl.int64, 4 * GROUPS)
        tl.store(wide, tl.load(wide, inside, 0) + total.to(tl.int64), inside)
    else:
        narrow = _at(address, first, tl.int32, 4 * GROUPS)
        tl.store(narrow, tl.load(narrow, inside, 0) + total, inside)


@triton.jit
def factor_vectors(  # type: ignore[no-untyped-def]
    tile_tensor,
    tile_first,
    starts,
    sizes,
    key_lows,
    key_highs,
    per_words,
    table,
    out,
    stride,
    iteration,
    index,
    NORMALS: tl.constexpr,
    GROUPS: tl.constexpr,
):
    """out[p·stride + starts[v] + j] = element j of vector v in direction `index` + p, int8: a sign
    where a word of the vector serves 32 directions, a normal of `table` where it serves 4."""
    tile, row = tl.program_id(0), tl.program_id(1)
    direction = index + row
    start = out + row.to(tl.int64) * stride
    vector = tl.load(tile_tensor + tile)
    first = tl.load(tile_first + tile)
    low, high = tl.load(key_lows + vector), tl.load(key_highs + vector)
    per_word = tl.load(per_words + vector)
    block, place = direction // per_word, direction % per_word
    words = _words(first, iteration, block, low, high, GROUPS)
    at = first + tl.arange(0, 4 * GROUPS)
    if NORMALS:
        shifted = words >> tl.where(per_word == 4, 8 * place, place)
        sign = 1 - 2 * (shifted & 1).to(tl.int32)
        normal = tl.load(table + (shifted & 255).to(tl.int32))
        value = tl.where(per_word == 4, normal, sign)
    else:
        value = 1 - 2 * ((words >> place) & 1).to(tl.int32)
    inside = at < tl.load(sizes + vector)
    tl.store(start + tl.load(starts + vector) + at, value.to(tl.int8), inside)


@triton.jit
def factor(  # type: ignore[no-untyped-def]
    out,
    stride,
    size,
    key,
    iterations,
    blocks,
    starts,
    counts,
    places,
    weights,
    table,
    RANK: tl.constexpr,
    ELEMENTS: tl.constexpr,
    PER_WORD: tl.constexpr,
):
    """out[j, (starts[run] + i)·RANK + ρ] = weights[run, i]·value of element j of component ρ,
    int8; the value is a sign by bit places[run, i] of the word, or where a word serves 4 directions
    table[byte places[run, i]]. Rows of `out` are `stride` bytes apart."""
    tile, run, rho = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    j = tile.to(tl.int64) * ELEMENTS + tl.arange(0, ELEMENTS).to(tl.int64)
    element = rho.to(tl.int64) * size + j
    low, high = (element // 4).to(tl.uint32), ((element // 4) >> 32).to(tl.uint32)
    iteration, block = tl.load(iterations + run), tl.load(blocks + run)
    w0, w1, w2, w3 = _philox(low, high, iteration, block, tl.load(key), tl.load(key + 1))
    lane = (element % 4).to(tl.int32)
    word = tl.where(lane == 0, w0, tl.where(lane == 1, w1, tl.where(lane == 2, w2, w3)))
    i = tl.arange(0, PER_WORD)
    place = tl.load(places + run * PER_WORD + i)[None, :].to(tl.uint32)
    weight = tl.load(weights + run * PER_WORD + i)[None, :]
    if PER_WORD == 4:
        byte = ((word[:, None] >> (8 * place)) & 255).to(tl.int32)
        value = weight * tl.load(table + byte)
    else:
        set_bits = ((word[:, None] >> place) & 1).to(tl.int32)
        value = weight * (1 - 2 * set_bits)
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
