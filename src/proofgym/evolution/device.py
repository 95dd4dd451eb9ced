"""The state of a run on a GPU: W_0 and Δ live there, and every kernel gives the CPU's bits.

Full rank: one launch writes a member, another sums any number of entries in registers. At rank r
the sum Σ c·A·Bᵀ is a product of matrices of 8-bit integers (c in digits to the base 255), which
tensor cores do exactly.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from proofgym.errors import ConfigError
from proofgym.evolution import noise, philox, triton_kernels, weights
from proofgym.evolution.accumulator import Accumulator
from proofgym.evolution.manifest import Manifest, Tensor
from proofgym.evolution.specification import Specification
from proofgym.evolution.state import Column, State, bounded, word_tables

_DTYPES = {"float32": 0, "bfloat16": 1, "float16": 2}
#: Counter groups of a tile: writing is bound by memory, sums by registers.
_WRITE_GROUPS, _SUM_GROUPS = 256, 512
#: Columns of one product, and elements of a tile of signs.
_COLUMNS, _SIGN_TILE = 8192, 128
_BASE = 255  # of the digits of a coefficient, which are -127..127
_LEAST_ROWS = 32  # of a product of 8-bit matrices
_INT32 = 2**31 - 1


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
    """Tensors for one launch: a row of facts for each, and the tiles that cover them all."""

    def __init__(self, tensors: Sequence[Tensor], groups: int, seed: int, device: Any) -> None:
        length = 4 * groups
        counts = [-(-tensor.size // length) for tensor in tensors]
        keys = [philox.key(seed, "noise", tensor.name) for tensor in tensors]
        place = functools.partial(_place, device=device)
        self.tensors, self.groups, self.count, self.place = tensors, groups, sum(counts), place
        self.tensor = place(np.repeat(np.arange(len(tensors)), counts), torch.int32)
        firsts = [np.arange(count, dtype=np.int64) * length for count in counts]
        self.first = place(np.concatenate([*firsts, np.zeros(0, np.int64)]), torch.int64)
        self.sizes = place([tensor.size for tensor in tensors], torch.int64)
        self.columns = place([tensor.matrix[1] for tensor in tensors], torch.int64)
        self.key_lows = place([key & 0xFFFFFFFF for key in keys], torch.uint32)
        self.key_highs = place([key >> 32 for key in keys], torch.uint32)
        self._known: dict[tuple[int, ...], torch.Tensor] = {}

    def pointers(self, tensors: Sequence[torch.Tensor]) -> torch.Tensor:
        """Where the tensors begin; kept, for they are mostly the same each time."""
        return self.numbers([it.data_ptr() for it in tensors])

    def numbers(self, values: Iterable[int]) -> torch.Tensor:
        key = tuple(values)
        if key not in self._known:
            if len(self._known) > 64:
                self._known.clear()
            self._known[key] = self.place(list(key), torch.int64)
        return self._known[key]


@dataclass(frozen=True)
class Term:
    """What a member adds to Δ: k of each tensor, and where its noise is. `rule` as in `write`."""

    rule: int = 0
    scales: tuple[int, ...] = ()
    iteration: int = 0
    index: int = 0
    block: int = 0
    place: int = 0


class DeviceState(State):
    """A `State` whose base weights and Δ are on one GPU.

    Args:
        base: torch tensors by name; they are copied.

    Raises:
        ConfigError: the noise is not exact, and so is computed on the CPU.
    """

    def __init__(
        self,
        manifest: Manifest,
        specification: Specification,
        base: weights.Tensors,
        device: torch.device | str = "cuda",
    ) -> None:
        if not specification.exact:
            raise ConfigError("ES.noise = 'gaussian' is computed on the CPU; take 'gaussian8'")
        self.device = torch.device(device)
        super().__init__(manifest, specification, base)

    gather = True
    """Whether tables are looked up in shared memory rather than in the cache."""

    def _take(self, base: weights.Tensors) -> None:
        seed = self.specification.seed
        self.base = {
            tensor.name: base[tensor.name]
            .detach()
            .to(self.device, copy=True, memory_format=torch.contiguous_format)
            .view(-1)
            for tensor in self.manifest
        }
        self.delta = {it.name: DeviceAccumulator(it.size, self.device) for it in self.manifest}
        self._writing = [
            Tiles(group, _WRITE_GROUPS, seed, self.device)
            for dtype in _DTYPES
            if (group := [it for it in self.manifest if it.dtype == dtype])
        ]
        full = [it for it in self.manifest if not self.specification.rank]
        self._summing = Tiles(full, _SUM_GROUPS, seed, self.device)
        self._table = _place(noise.GAUSSIAN8.astype(np.int32), torch.int32, self.device)

    # Writing weights

    def write_current(self, into: weights.Tensors) -> None:
        self._write_term(into, Term())

    def write_member(self, member: int, iteration: int, into: weights.Tensors) -> None:
        chosen = self.specification
        for tensor in self.manifest:
            self.delta[tensor.name].reserve(self._k(tensor) * chosen.largest)
        index, sign = noise.direction(member, chosen.antithetic)
        block, place = divmod(index, noise.PER_WORD[chosen.kind])
        rule = 3 if chosen.rank else 1 if chosen.kind == "rademacher" else 2
        scales = tuple(sign * self._k(it) for it in self.manifest)
        self._write_term(into, Term(rule, scales, iteration, index, block, place))

    def digest(self) -> str:
        tensors = {it.name: torch.empty_like(self.base[it.name]) for it in self.manifest}
        self.write_current(tensors)
        return weights.digest(self.manifest, lambda it: weights.read(tensors[it.name]))

    def _write_term(self, into: weights.Tensors, term: Term) -> None:
        self._one_width()
        scales = dict(zip((it.name for it in self.manifest), term.scales, strict=False))
        for tiles in self._writing:
            names = [it.name for it in tiles.tensors]
            targets = [into[name].detach() for name in names]
            outs = [
                it
                if it.device == self.base[name].device and it.is_contiguous()
                else torch.empty_like(self.base[name])
                for name, it in zip(names, targets, strict=True)
            ]
            self._launch_write(tiles, outs, term, [scales.get(name, 0) for name in names])
            for out, target in zip(outs, targets, strict=True):
                if out is not target:
                    target.copy_(out.view(target.shape))

    def _launch_write(
        self, tiles: Tiles, outs: Sequence[torch.Tensor], term: Term, scales: Sequence[int]
    ) -> None:
        deltas = [self.delta[it.name].tensor for it in tiles.tensors]
        signs = [self._member_signs(it, term) for it in tiles.tensors if term.rule == 3]
        none = tiles.sizes
        triton_kernels.write[(tiles.count,)](
            tiles.tensor,
            tiles.first,
            tiles.pointers([self.base[it.name] for it in tiles.tensors]),
            tiles.pointers(deltas),
            tiles.pointers(outs),
            tiles.sizes,
            tiles.columns,
            tiles.key_lows,
            tiles.key_highs,
            tiles.numbers(scales),
            tiles.pointers([left for left, _ in signs]) if signs else none,
            tiles.pointers([right for _, right in signs]) if signs else none,
            self._table,
            self.specification.step,
            term.iteration,
            term.block,
            term.place,
            RULE=term.rule,
            RANK=self.specification.rank or 1,
            DTYPE=_DTYPES[tiles.tensors[0].dtype],
            WIDE=deltas[0].dtype == torch.int64,
            GROUPS=tiles.groups,
        )

    def _member_signs(self, tensor: Tensor, term: Term) -> tuple[torch.Tensor, torch.Tensor]:
        """A [r, M] and Bᵀ [r, N] of one direction, int8."""
        factors = self.factors[tensor.name]
        left = factors.left(term.iteration, term.index, 0, tensor.matrix[0])
        right = factors.right(term.iteration, term.index)
        return tuple(_place(it, torch.int8, self.device) for it in (left, right))  # type: ignore

    # Updating Δ

    def _one_width(self) -> None:
        """Accumulators of one launch are all int32 or all int64."""
        wide = [it.wide for it in self.delta.values()]
        if any(wide) and not all(wide):
            for accumulator in self.delta.values():
                accumulator.widen()

    def _decay(self, m: int) -> None:
        for accumulator in self.delta.values():
            product = accumulator.tensor.to(torch.int64) * m
            product = (product + 0x7FFF + ((product >> 16) & 1)) >> 16
            accumulator.tensor -= product.to(accumulator.tensor.dtype)

    def _groups(self, columns: Sequence[Column]) -> Iterator[list[Column]]:
        return bounded(columns, self.specification.largest, _INT32)

    def _add_group(self, group: Sequence[Column]) -> None:
        if self.specification.rank:
            for tensor in self.manifest:
                self._add_product(tensor, group)
        else:
            self._add_words(group)

    def _add_words(self, group: Sequence[Column]) -> None:
        self._one_width()
        found = word_tables(self.specification.kind, group, np.int32)
        if not found or not self._summing.count:
            return
        tables = np.stack(list(found.values()))
        tiles, deltas = self._summing, [self.delta[it.name].tensor for it in self.manifest]
        triton_kernels.accumulate[(tiles.count,)](
            tiles.tensor,
            tiles.first,
            tiles.pointers(deltas),
            tiles.sizes,
            tiles.key_lows,
            tiles.key_highs,
            _place(tables, torch.int32, self.device),
            _place([iteration for iteration, _ in found], torch.uint32, self.device),
            _place([block for _, block in found], torch.uint32, self.device),
            len(found),
            WIDE=deltas[0].dtype == torch.int64,
            GATHER=self.gather,
            GROUPS=tiles.groups,
        )

    def _add_product(self, tensor: Tensor, group: Sequence[Column]) -> None:
        """Δ += L·R, a digit of the coefficients at a time, `_COLUMNS` columns at a time."""
        delta = self.delta[tensor.name].tensor.view(tensor.matrix)
        rows, columns = tensor.matrix
        rank = self.specification.rank or 1
        for at in range(0, len(group), max(1, _COLUMNS // rank)):
            part = group[at : at + max(1, _COLUMNS // rank)]
            runs = Runs(part, self.device)
            right = self._signs(tensor, "right", runs, [1] * len(part))
            for place, digits in enumerate(_digits([weight for _, _, weight in part])):
                left = self._signs(tensor, "left", runs, digits)
                product = torch._int_mm(left, right.t())[:rows, :columns]
                delta += product.to(delta.dtype) * _BASE**place

    def _signs(self, tensor: Tensor, side: str, runs: Runs, digits: Sequence[int]) -> torch.Tensor:
        """digit·A [M, C] or Bᵀ's transpose [N, C], int8, padded with zeros for the product."""
        rank = self.specification.rank or 1
        vector = len(tensor.shape) < 2
        size = tensor.matrix[0 if side == "left" else 1]
        width = -(-runs.columns * rank // 16) * 16
        height = max(-(-size // 16) * 16, _LEAST_ROWS)
        out = torch.zeros(height, width, dtype=torch.int8, device=self.device)
        if side == "left" and vector:
            row = np.repeat(np.asarray(digits, np.int8), rank)
            out[0, : row.size] = _place(row, torch.int8, self.device)
            return out
        key = philox.key(self.specification.seed, "noise" if vector else side, tensor.name)
        grid = (-(-size // _SIGN_TILE), runs.count, rank)
        triton_kernels.signs[grid](
            out,
            width,
            size,
            _place([key & 0xFFFFFFFF, key >> 32], torch.uint32, self.device),
            runs.iterations,
            runs.blocks,
            runs.starts,
            runs.counts,
            runs.bits,
            runs.spread(digits),
            RANK=rank,
            ELEMENTS=_SIGN_TILE,
        )
        return out


class Runs:
    """Columns (iteration, direction, coefficient) in runs that share their random words."""

    def __init__(self, group: Sequence[Column], device: torch.device) -> None:
        self._device, self.columns = device, len(group)
        spans: list[tuple[int, int, int, int]] = []  # iteration, block, start, count
        for at, (iteration, index, _) in enumerate(group):
            last = spans[-1] if spans else None
            if last and last[:2] == (iteration, index // 32) and last[3] < 32:
                spans[-1] = (*last[:3], last[3] + 1)
            else:
                spans.append((iteration, index // 32, at, 1))
        place = functools.partial(_place, device=device)
        self._spans, self.count = spans, len(spans)
        self.iterations = place([it[0] for it in spans], torch.uint32)
        self.blocks = place([it[1] for it in spans], torch.uint32)
        self.starts = place([it[2] for it in spans], torch.int32)
        self.counts = place([it[3] for it in spans], torch.int32)
        self.bits = self.spread([index % 32 for _, index, _ in group])

    def spread(self, values: Sequence[int]) -> torch.Tensor:
        """[runs, 32]: the values of each run's columns, then zeros."""
        out = np.zeros((self.count, 32), np.int32)
        for number, (_, _, start, count) in enumerate(self._spans):
            out[number, :count] = values[start : start + count]
        return _place(out, torch.int32, self._device)


def _digits(coefficients: Sequence[int]) -> Iterator[list[int]]:
    """Σ digit·255^place with digits in -127..127, lowest first."""
    left = list(coefficients)
    while any(left):
        digits = [(value + 127) % _BASE - 127 for value in left]
        yield digits
        left = [(value - digit) // _BASE for value, digit in zip(left, digits, strict=True)]


def _place(values: Any, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    kind = {torch.uint32: np.uint32, torch.int32: np.int32, torch.int8: np.int8}
    array = np.ascontiguousarray(values, kind.get(dtype, np.int64))
    return torch.from_numpy(array).to(device)
