"""What GPU kernels need to know of tensors and coefficients, in tables on the device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from proofgym.evolution import noise, philox, triton_kernels
from proofgym.evolution.accumulator import Accumulator
from proofgym.evolution.manifest import Tensor
from proofgym.evolution.specification import Specification
from proofgym.evolution.state import Column, Factor

DIGIT_BASE = 255  # of the digits of a coefficient, which are -127..127
_TABLES = 256
"""Lists of tensors whose addresses are kept: a population held side by side has one a member."""
_KINDS = {torch.uint32: np.uint32, torch.int32: np.int32, torch.int8: np.int8}


def place(values: Any, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """Numbers on the device; uint32, int32, int8 or else int64."""
    array = np.ascontiguousarray(values, _KINDS.get(dtype, np.int64))
    return torch.from_numpy(array).to(device)


class DeviceAccumulator(Accumulator):
    """Δ of one tensor on a device; `values` copies it to the host and back."""

    def __init__(self, size: int, device: torch.device) -> None:
        self.tensor = torch.zeros(size, dtype=torch.int32, device=device)
        self.bound = 0

    @property
    def values(self) -> NDArray[Any]:  # type: ignore[override]
        return self.tensor.cpu().numpy()

    @values.setter
    def values(self, array: NDArray[Any]) -> None:
        self.tensor = torch.from_numpy(np.ascontiguousarray(array)).to(self.tensor.device)

    @property
    def wide(self) -> bool:
        return self.tensor.dtype == torch.int64

    def widen(self) -> None:
        self.tensor = self.tensor.to(torch.int64)

    def largest(self) -> int:
        if not self.tensor.numel():
            return 0
        low, high = torch.aminmax(self.tensor)
        return max(abs(int(low)), abs(int(high)))


class Tiles:
    """Tensors of one launch: sizes and keys, and the tiles of `length` elements that cover them."""

    def __init__(
        self, sizes: Sequence[int], keys: Sequence[int], length: int, device: torch.device
    ) -> None:
        counts = [-(-size // length) for size in sizes]
        self.groups, self.count, self.device = length // 4, sum(counts), device
        self.tensor = place(np.repeat(np.arange(len(sizes)), counts), torch.int32, device)
        firsts = [np.arange(count, dtype=np.int64) * length for count in counts]
        self.first = place(np.concatenate([*firsts, np.zeros(0)]), torch.int64, device)
        self.sizes = place(sizes, torch.int64, device)
        self.key_lows = place([key & 0xFFFFFFFF for key in keys], torch.uint32, device)
        self.key_highs = place([key >> 32 for key in keys], torch.uint32, device)
        self._known: dict[tuple[int, ...], torch.Tensor] = {}

    def pointers(self, tensors: Sequence[torch.Tensor]) -> torch.Tensor:
        """Where the tensors begin; kept, for they are mostly the same each time."""
        addresses = tuple(map(torch.Tensor.data_ptr, tensors))
        if addresses not in self._known:
            if len(self._known) >= _TABLES:
                self._known.clear()
            self._known[addresses] = place(addresses, torch.int64, self.device)
        return self._known[addresses]


class FactorVectors:
    """A and B of all tensors of a low-rank run, drawn at once: of one direction, or of all.

    Args:
        table: `noise.GAUSSIAN8` on the device, int32.
    """

    def __init__(
        self,
        specification: Specification,
        tensors: Sequence[Tensor],
        table: torch.Tensor,
        device: torch.device,
    ) -> None:
        self.left: dict[str, int] = dict.fromkeys((it.name for it in tensors), 0)
        self.right: dict[str, int] = dict(self.left)
        self.values = torch.ones(1, dtype=torch.int8, device=device)
        """Of the direction that was drawn last: where each tensor's begin is in `left`, `right`."""
        self._tensors, self._rank = tensors, specification.rank or 1
        if not specification.rank:
            return
        per_word = noise.PER_WORD[specification.kind]
        sizes: list[int] = []
        keys: list[int] = []
        per_words: list[int] = []
        end = ones = max((it.matrix[0] * specification.rank for it in tensors), default=1)
        for tensor in tensors:
            rows, columns = tensor.matrix
            vector = len(tensor.shape) < 2
            sides = [("noise" if vector else "right", columns, self.right, per_word)]
            sides += [] if vector else [("left", rows, self.left, 32)]
            for purpose, size, where, served in sides:
                where[tensor.name] = end
                sizes.append(size * specification.rank)
                keys.append(philox.key(specification.seed, purpose, tensor.name))
                per_words.append(served)
                end += sizes[-1]
        # A vector's A is all ones: the first entries, which nothing draws over.
        self.values = torch.ones(end, dtype=torch.int8, device=device)
        self._starts = place(np.cumsum([ones, *sizes[:-1]]), torch.int64, device)
        self._tiles = Tiles(sizes, keys, 1024, device)
        self._per_words = place(per_words, torch.int32, device)
        self._table, self._normals = table, per_word == 4

    def draw(self, iteration: int, index: int) -> None:
        """Of direction `index`, into `values`."""
        self._draw(self.values[None], iteration, index)

    def of_all(self, iteration: int, count: int) -> dict[str, Factor]:
        """A [count, r, M] and Bᵀ [count, r, N] of directions 0..count-1 of each tensor."""
        values = self.values.new_ones(count, len(self.values))
        self._draw(values, iteration, 0)

        def side(start: int, size: int) -> torch.Tensor:
            return values[:, start : start + self._rank * size].view(count, self._rank, size)

        return {
            it.name: (
                side(self.left[it.name], it.matrix[0]),
                side(self.right[it.name], it.matrix[1]),
            )
            for it in self._tensors
        }

    def _draw(self, out: torch.Tensor, iteration: int, index: int) -> None:
        """Directions from `index` on, one in each row."""
        tiles = self._tiles
        triton_kernels.factor_vectors[(tiles.count, len(out))](
            tiles.tensor,
            tiles.first,
            self._starts,
            tiles.sizes,
            tiles.key_lows,
            tiles.key_highs,
            self._per_words,
            self._table,
            out,
            out.stride(0),
            iteration,
            index,
            NORMALS=self._normals,
            GROUPS=tiles.groups,
        )


class Columns:
    """Columns (iteration, direction, coefficient) of a product, in runs that share their words,
    which serve `per_word` directions each."""

    def __init__(self, group: Sequence[Column], per_word: int, device: torch.device) -> None:
        spans: list[tuple[int, int, int, int]] = []  # iteration, block, start, count
        for at, (iteration, index, _) in enumerate(group):
            block = index // per_word
            last = spans[-1] if spans else None
            if last and last[:2] == (iteration, block) and last[3] < per_word:
                spans[-1] = (*last[:3], last[3] + 1)
            else:
                spans.append((iteration, block, at, 1))
        self._spans, self._device = spans, device
        self.count, self.runs, self.per_word = len(group), len(spans), per_word
        self.lengths = [count for *_, count in spans]
        self.iterations = place([it[0] for it in spans], torch.uint32, device)
        self.blocks = place([it[1] for it in spans], torch.uint32, device)
        self.starts = place([it[2] for it in spans], torch.int32, device)
        self.counts = place(self.lengths, torch.int32, device)
        self.places = self._spread([index % per_word for _, index, _ in group])
        self.ones = self._spread([1] * len(group))
        self._weights = [weight for _, _, weight in group]

    @cached_property
    def digits(self) -> list[torch.Tensor]:
        """Of the coefficients, [runs, per_word] each, lowest first."""
        return [self._spread(digits) for digits in digits_of(self._weights)]

    def _spread(self, values: Sequence[int]) -> torch.Tensor:
        """[runs, per_word]: the values of each run's columns, then zeros."""
        out = np.zeros((self.runs, self.per_word), np.int32)
        for number, (_, _, start, count) in enumerate(self._spans):
            out[number, :count] = values[start : start + count]
        return place(out, torch.int32, self._device)


def by_word(group: Sequence[Column], per_word: int) -> dict[tuple[int, int], list[int]]:
    """Coefficients of the directions that each (iteration, block) serves."""
    found: dict[tuple[int, int], list[int]] = {}
    for iteration, index, weight in group:
        block, place = divmod(index, per_word)
        found.setdefault((iteration, block), [0] * per_word)[place] += weight
    return found


def digits_of(coefficients: Sequence[int]) -> Iterator[list[int]]:
    """Σ digit·255^place with digits in -127..127, lowest first."""
    left = list(coefficients)
    while any(left):
        digits = [(value + 127) % DIGIT_BASE - 127 for value in left]
        yield digits
        left = [(value - digit) // DIGIT_BASE for value, digit in zip(left, digits, strict=True)]
