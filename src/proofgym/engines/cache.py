"""Keys and values of the rows being decoded, in preallocated blocks.

Every row is a slot. Rows in use are always the first ones, so that attention reads a plain view;
the slot of one that finishes early is taken by the last one, and nothing else moves.
Positions count from the start of the row's own prompt: no padding on the left, so a row's result
does not depend on how long its neighbours are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

_SPARE = 16
"""Positions beyond those that a step may see, and a row beyond those that it may have: a compiler
takes sizes that happen to be equal for the same, and a view of everything for a dense tensor."""
_MOVED = 2**28
"""Bytes copied to other slots at once."""


class RowCache:
    """`keys[layer]` and `values[layer]` are (rows, heads, length, head_dim). All of the model's
    `layers` have them in one block of keys and one of values where they are of one shape, as in
    most models. Two blocks, since a compiler copies what it is given twice before it writes."""

    def __init__(self, rows: int, length: int, layers: int) -> None:
        self.rows = rows
        self.length = length
        self.keys: dict[int, Tensor] = {}
        self.values: dict[int, Tensor] = {}
        self._layers = layers
        self._blocks: dict[Any, Tensor] = {}

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(block.nbytes for block in self._blocks.values())

    def view(self, layer: int, rows: int, span: int, first: int = 0) -> tuple[Tensor, Tensor]:
        """Keys and values (rows, heads, span, head_dim) of the rows from `first` on and the first
        positions; a few positions more than `length` are there."""
        chosen = slice(first, first + rows)
        return self.keys[layer][chosen, :, :span], self.values[layer][chosen, :, :span]

    def fill(self, layer: int, first: int, keys: Tensor, values: Tensor) -> None:
        """Put whole prompts (N, heads, prompt, head_dim) into the slots from `first` on."""
        for kind, mine, new in (("keys", self.keys, keys), ("values", self.values, values)):
            if layer not in mine:
                mine[layer] = self._block(kind, new)[layer]
            mine[layer][first : first + len(new), :, : new.shape[2]] = new

    def _block(self, kind: str, like: Tensor) -> Tensor:
        """(layers, rows, heads, length, head_dim) for keys or values like these."""
        heads, width = like.shape[1], like.shape[3]
        key = kind, heads, width, like.dtype
        if key not in self._blocks:
            slots = self.rows + 1, heads, self.length + _SPARE, width
            # Zeros, since attention may multiply masked values by 0, and 0 * nan is nan.
            self._blocks[key] = like.new_zeros(self._layers, *slots)
        return self._blocks[key]

    def copy(self, slot: int, length: int) -> tuple[Tensor, ...]:
        """Keys and values of a row's first `length` positions, block by block."""
        return tuple(block[:, slot, :, :length].clone() for block in self._blocks.values())

    def put(self, slot: int, blocks: Sequence[Tensor], length: int) -> None:
        """The first `length` positions of what `copy` gave, as a row."""
        for mine, block in zip(self._blocks.values(), blocks, strict=True):
            mine[:, slot, :, :length] = block[:, :, :length]

    def move(self, sources: list[int], targets: list[int], length: int) -> None:
        """Copy rows to other slots, up to `length` positions."""
        for block in self._blocks.values():
            source_N, target_N = (sent(it, block.device) for it in (sources, targets))
            used = block[:, :, :, :length]
            one = len(sources) * length * block.shape[2] * block.shape[4] * block.element_size()
            for part in used.split(max(1, _MOVED // max(1, one))):
                part[:, target_N] = part[:, source_N]


def sent(values: Sequence[int] | np.ndarray, device: torch.device) -> Tensor:
    """On its way to the device. From memory that is not pinned, a GPU would first have to finish
    what it is doing."""
    made = torch.tensor(values)
    if device.type == "cuda":
        made = made.pin_memory()
    return made.to(device, non_blocking=True)


class StepCache:
    """One layer of a `RowCache` in a decoding step. Stands in for a transformers `Cache`, of which
    the attention modules only call `update`. `later`: attention stores what is new."""

    def __init__(self, keys: Tensor, values: Tensor, positions: Tensor, later: bool) -> None:
        self.keys, self.values, self.positions, self.later = keys, values, positions, later

    def update(self, keys: Tensor, values: Tensor, *_: Any, **__: Any) -> tuple:
        """Store (N, heads, 1, head_dim), each row's at its position; all of the layer's view.
        The new ones themselves, if attention is to store them."""
        if self.later:
            return keys, values
        slots = torch.arange(self.positions.shape[0], device=self.positions.device)
        self.keys[slots, :, self.positions] = keys[:, :, 0]
        self.values[slots, :, self.positions] = values[:, :, 0]
        return self.keys, self.values


class MoreCache:
    """One layer of some rows of a `RowCache` in a pass over what is new in them."""

    def __init__(self, keys: Tensor, values: Tensor, positions: Tensor) -> None:
        self.keys, self.values, self.positions = keys, values, positions

    def update(self, keys: Tensor, values: Tensor, *_: Any, **__: Any) -> tuple:
        """Store (N, heads, T, head_dim), each token's at its position; all of the rows' view."""
        slots = torch.arange(len(self.positions), device=self.positions.device)[:, None]
        self.keys[slots, :, self.positions] = keys.transpose(1, 2)
        self.values[slots, :, self.positions] = values.transpose(1, 2)
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
