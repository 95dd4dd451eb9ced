"""Attention of one new token a row over cached keys and values, as one kernel on a GPU.

Fused attention of libraries is made for many queries, reads every row to the longest one's end and
wants a mask; and a compiler that writes new keys into a cache copies the whole cache to be sure
that nobody else sees it. Here a program takes one row's queries of one key head, puts the new key
and value in their place, and reads what the row has written, no more. Sums are kept in float32
(the online softmax of FlashAttention, arXiv 2205.14135).
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

_LEAST = 16
"""Rows and columns of the smallest product that matrix units do."""
_READ = 2**13
"""Bytes of keys, and of values, read at once: as much as any GPU has room for several times."""


@torch.library.custom_op("proofgym::attend_new", mutates_args=("keys", "values"))
def attend_new(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    keys: Tensor,
    values: Tensor,
    positions: Tensor,
    scaling: float,
) -> Tensor:
    """Store each row's new key and value (N, K, H) at its position (N,) in the caches
    (N, K, S, H), and attend to positions 0 up to it: query (N, K, G, H), of which G share a key
    head, to (N, K, G, H). The caches may be views with rows of numbers side by side, but not of
    the same memory. Raises ValueError."""
    _check(query, key, value, keys, values, positions)
    rows, heads, queries, width = query.shape
    query, key, value = (
        it if it.stride(-1) == 1 else it.contiguous() for it in (query, key, value)
    )
    attended = query.new_empty(query.shape)
    wide = max(_LEAST, triton.next_power_of_2(width))
    block = max(_LEAST, _READ // (wide * keys.element_size()))
    _attend_new[(rows, heads)](
        query, key, value, keys, values, positions, attended, scaling,
        *query.stride()[:3], *key.stride()[:2], *value.stride()[:2], *keys.stride()[:3],
        *values.stride()[:3],
        QUERIES=queries, WIDTH=width,
        TILE=max(_LEAST, triton.next_power_of_2(queries)),
        WIDE=wide, BLOCK=block,
    )  # fmt: skip
    return attended


def _check(
    query: Tensor, key: Tensor, value: Tensor, keys: Tensor, values: Tensor, positions: Tensor
) -> None:
    """What the kernel counts on."""
    rows, heads, _, width = query.shape
    if {key.shape, value.shape} != {(rows, heads, width)}:
        raise ValueError(f"key {(*key.shape,)}, value {(*value.shape,)}, query {(*query.shape,)}")
    if keys.shape != values.shape or (*keys.shape[:2], keys.shape[3]) != (rows, heads, width):
        raise ValueError(f"caches {(*keys.shape,)}, {(*values.shape,)}, key {(*key.shape,)}")
    if (keys.stride(3), values.stride(3), positions.stride(0)) != (1, 1, 1):
        raise ValueError("caches and positions must have their last axis in one piece")
    if query.is_cpu and query.dtype == torch.bfloat16:
        raise ValueError("Triton's interpreter does not multiply bfloat16")


@attend_new.register_fake
def _(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    keys: Tensor,
    values: Tensor,
    positions: Tensor,
    scaling: float,
) -> Tensor:
    return query.new_empty(query.shape)


@triton.jit
def _attend_new(  # type: ignore[no-untyped-def]
    query, key, value, keys, values, positions, attended, scaling,
    query_row, query_head, query_one, key_row, key_head, value_row, value_head,
    keys_row, keys_head, keys_one, values_row, values_head, values_one,
    QUERIES: tl.constexpr, WIDTH: tl.constexpr,
    TILE: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    position = tl.load(positions + row)
    place, one = tl.arange(0, WIDE), tl.arange(0, TILE)
    inside, asked = place < WIDTH, (one < QUERIES)[:, None] & (place < WIDTH)[None]
    new_key = tl.load(key + row * key_row + head * key_head + place, inside, 0)
    new_value = tl.load(value + row * value_row + head * value_head + place, inside, 0)
    keys += row * keys_row + head * keys_head
    values += row * values_row + head * values_head
    tl.store(keys + position * keys_one + place, new_key, inside)
    tl.store(values + position * values_one + place, new_value, inside)

    at = row * query_row + head * query_head + one[:, None] * query_one + place[None]
    asking = tl.load(query + at, asked, 0)
    # The new position first: what has just been stored need not be read.
    highest = tl.sum(asking.to(tl.float32) * new_key.to(tl.float32)[None], 1) * scaling
    weight = tl.full((TILE,), 1.0, tl.float32)
    summed = tl.zeros((TILE, WIDE), tl.float32) + new_value.to(tl.float32)[None]
    for first in range(0, position.to(tl.int32), BLOCK):
        there = first + tl.arange(0, BLOCK)
        read = (there < position)[:, None] & inside[None]
        old_keys = tl.load(keys + there[:, None] * keys_one + place[None], read, 0)
        old_values = tl.load(values + there[:, None] * values_one + place[None], read, 0)
        scores = tl.dot(asking, tl.trans(old_keys), input_precision="ieee") * scaling
        scores = tl.where((there < position)[None], scores, float("-inf"))
        higher = tl.maximum(highest, tl.max(scores, 1))
        shares = tl.exp(scores - higher[:, None])
        kept = tl.exp(highest - higher)
        weight = weight * kept + tl.sum(shares, 1)
        read_values = tl.dot(shares.to(old_values.dtype), old_values, input_precision="ieee")
        summed = summed * kept[:, None] + read_values
        highest = higher
    result = (summed / weight[:, None]).to(new_value.dtype)
    out = (row * tl.num_programs(1) + head) * QUERIES * WIDTH
    tl.store(attended + out + one[:, None] * WIDTH + place[None], result, asked)
