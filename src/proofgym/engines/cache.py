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
    """`keys[layer]` and `values[layer]` are (rows, heads, length, head_dim)."""

    def __init__(self, rows: int, length: int) -> None:
        self.rows = rows
        self.length = length
        self.keys: dict[int, Tensor] = {}
        self.values: dict[int, Tensor] = {}

    def view(self, layer: int, rows: int, span: int) -> tuple[Tensor, Tensor]:
        """Keys and values (rows, heads, span, head_dim) of the first rows and positions."""
        return self.keys[layer][:rows, :, :span], self.values[layer][:rows, :, :span]

    def fill(self, layer: int, first: int, keys: Tensor, values: Tensor) -> None:
        """Put whole prompts (N, heads, prompt, head_dim) into the slots from `first` on."""
        for block, new in ((self.keys, keys), (self.values, values)):
            if layer not in block:
                # One row more than a step may have: a compiler takes equal sizes for the same one.
                shape = (self.rows + 1, new.shape[1], self.length, new.shape[3])
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


class StepCache:
    """One layer of a `RowCache` in a decoding step. Stands in for a transformers `Cache`, of which
    the attention modules only call `update`."""

    def __init__(self, keys: Tensor, values: Tensor, positions: Tensor) -> None:
        self.keys, self.values, self.positions = keys, values, positions

    def update(self, keys: Tensor, values: Tensor, *_: Any, **__: Any) -> tuple:
        """Store (N, heads, 1, head_dim), each row's at its position; all of the layer's view."""
        slots = torch.arange(self.positions.shape[0], device=self.positions.device)
        self.keys[slots, :, self.positions] = keys[:, :, 0]
        self.values[slots, :, self.positions] = values[:, :, 0]
        return self.keys, self.values


class PromptCache:
    """Collects a prompt pass: `update` keeps the layer's keys and values and passes them on."""

    def __init__(self) -> None:
        self.keys: dict[int, Tensor] = {}
        self.values: dict[int, Tensor] = {}

    def update(self, keys: Tensor, values: Tensor, layer: int, *_: Any, **__: Any) -> tuple:
        """Store and return (N, heads, prompt, head_dim)."""
        self.keys[layer], self.values[layer] = keys, values
        return keys, values
