"""Keys and values of the rows being decoded, in one preallocated block a layer.

Every row is a slot. Rows in use are always the first ones, so that attention reads a plain view;
a row that finishes early is overwritten by the last one, or by a new row, and nothing else moves.
Positions count from the start of the row's own prompt: no padding on the left, so a row's result
does not depend on how long its neighbours are.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class RowCache:
    """Stands in for a transformers `Cache`: the attention modules only call `update`.

    `keys[layer]` and `values[layer]` are (rows, heads, length, head_dim). Set `target` to a
    `Prefill` or `Step` before driving the layers.
    """

    def __init__(self, rows: int, length: int) -> None:
        self.rows = rows
        self.length = length
        self.keys: dict[int, Tensor] = {}
        self.values: dict[int, Tensor] = {}
        self.positions: Tensor | None = None
        self.slots: Tensor | None = None
        self.span = 0

    def at(self, positions: Tensor, span: int) -> None:
        """The next pass adds one token a row, at `positions` (N,); attention sees [0, span)."""
        self.positions, self.span = positions, span
        self.slots = torch.arange(len(positions), device=positions.device)

    def update(self, keys: Tensor, values: Tensor, layer: int, *_: Any, **__: Any) -> tuple:
        """Store (N, heads, 1, head_dim) of one decoding step; return views up to the span."""
        block_keys, block_values = self.keys[layer], self.values[layer]
        count = keys.shape[0]
        block_keys[self.slots, :, self.positions] = keys[:, :, 0]
        block_values[self.slots, :, self.positions] = values[:, :, 0]
        return block_keys[:count, :, : self.span], block_values[:count, :, : self.span]

    def fill(self, layer: int, first: int, keys: Tensor, values: Tensor) -> None:
        """Put whole prompts (N, heads, prompt, head_dim) into the slots from `first` on."""
        for block, new in ((self.keys, keys), (self.values, values)):
            if layer not in block:
                shape = (self.rows, new.shape[1], self.length, new.shape[3])
                # Zeros, since attention multiplies masked values by 0 and 0 * nan is nan.
                block[layer] = new.new_zeros(shape)
            block[layer][first : first + len(new), :, : new.shape[2]] = new

    def move(self, sources: list[int], targets: list[int], length: int) -> None:
        """Copy rows to other slots, up to `length` positions."""
        tensors = [*self.keys.values(), *self.values.values()]
        source_N = torch.tensor(sources, device=tensors[0].device)
        target_N = torch.tensor(targets, device=tensors[0].device)
        for tensor in tensors:
            used = tensor[:, :, :length]
            used.index_copy_(0, target_N, used.index_select(0, source_N))


class PromptCache:
    """Collects a prompt pass: `update` keeps the layer's keys and values and passes them on."""

    def __init__(self) -> None:
        self.keys: dict[int, Tensor] = {}
        self.values: dict[int, Tensor] = {}

    def update(self, keys: Tensor, values: Tensor, layer: int, *_: Any, **__: Any) -> tuple:
        """Store and return (N, heads, prompt, head_dim)."""
        self.keys[layer], self.values[layer] = keys, values
        return keys, values
