"""A binary heap of (seconds, number) over two arrays, compiled. Importing this imports Numba."""

from __future__ import annotations

import numba


@numba.njit(inline="always")
def push(keys, items, size, key, item):
    """Add to a heap of `size` entries; the caller counts."""
    place = size
    while place > 0:
        parent = (place - 1) >> 1
        if keys[parent] <= key:
            break
        keys[place], items[place] = keys[parent], items[parent]
        place = parent
    keys[place], items[place] = key, item


@numba.njit(inline="always")
def pop(keys, items, size):
    """Take the least of a heap of `size` entries and return its item; the caller counts."""
    least = items[0]
    last = size - 1
    key, item = keys[last], items[last]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= last:
            break
        if child + 1 < last and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[place], items[place] = keys[child], items[child]
        place = child
    keys[place], items[place] = key, item
    return least
