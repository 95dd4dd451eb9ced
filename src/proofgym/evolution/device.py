"""The state of a run on a GPU: W_0 and Δ live there, and every kernel gives the CPU's bits.

Full rank: one launch writes a member, another sums any number of entries in registers. At rank r
the sum Σ c·A·Bᵀ is a product of matrices of 8-bit integers (c in digits to the base 255), which
tensor cores do exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import torch

from proofgym.errors import ConfigError
from proofgym.evolution import cuda_kernels, noise, philox, triton_kernels, weights
from proofgym.evolution.device_tables import (
    DIGIT_BASE,
    Columns,
    DeviceAccumulator,
    FactorVectors,
    Tiles,
    by_word,
    place,
)
from proofgym.evolution.device_writer import DTYPES, Term, Writer
from proofgym.evolution.manifest import Manifest, Tensor
from proofgym.evolution.specification import Specification
from proofgym.evolution.state import Column, Factor, State, bounded, word_tables

_SUM_GROUPS = 256  # counter groups of a tile of Triton's sums: registers bound them
_COLUMNS, _FACTOR_TILE = 16384, 64  # columns of one product, elements of a tile of a factor
_LEAST_ROWS = 32  # of a product of 8-bit matrices
_LIMIT = 127 * (DIGIT_BASE**4 - 1) // 254  # of a sum: four digits, which 32 bits have room for
_CHECKED = 1 << 24  # elements of a checksum at a time


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
        self.device = _indexed(device)
        self._room_for = (-1, 0)
        self._keys_placed: dict[int, torch.Tensor] = {}
        super().__init__(manifest, specification, base)

    def _take(self, base: weights.Tensors) -> None:
        self.base = {it.name: _own(base[it.name], self.device) for it in self.manifest}
        self.delta = {it.name: DeviceAccumulator(it.size, self.device) for it in self.manifest}
        self._nvidia = self.device.type == "cuda" and cuda_kernels.available()
        rank = self.specification.rank
        # At rank 1 the rule for vectors is the full-rank rule.
        self._full = [it for it in self.manifest if not rank or (rank == 1 and len(it.shape) < 2)]
        self._products = [it for it in self.manifest if it not in self._full]
        keys = [philox.key(self.specification.seed, "noise", it.name) for it in self._full]
        length = cuda_kernels.TILE if self._nvidia else 4 * _SUM_GROUPS
        self._summing = Tiles([it.size for it in self._full], keys, length, self.device)
        self._table = place(noise.GAUSSIAN8, torch.int32, self.device)
        self._vectors = FactorVectors(
            self.specification, list(self.manifest), self._table, self.device
        )
        self._writers = list(self._make_writers())

    def _make_writers(self) -> Iterator[Writer]:
        for dtype in DTYPES:
            tensors = [it for it in self.manifest if it.dtype == dtype]
            if tensors:
                base = [self.base[it.name] for it in tensors]
                chosen = self.specification
                yield Writer(tensors, chosen, base, self._vectors, self._table, self._nvidia)

    # Writing weights

    def write_current(self, into: weights.Tensors) -> None:
        self._one_width()
        self._write_term(into, Term())

    def write_member(self, member: int, iteration: int, into: weights.Tensors) -> None:
        chosen = self.specification
        if self._room_for != (self.iteration, self.k):  # Δ changes with the iteration only
            for tensor in self.manifest:
                self.delta[tensor.name].reserve(self._k(tensor) * chosen.largest)
            self._one_width()
            self._room_for = self.iteration, self.k
        index, sign = noise.direction(member, chosen.antithetic)
        block, bit = divmod(index, noise.PER_WORD[chosen.kind])
        rule = 3 if chosen.rank else 1 if chosen.kind == "rademacher" else 2
        self._write_term(into, Term(rule, sign * self.k, iteration, index, block, bit))

    def draw(self, iteration: int) -> Mapping[str, Factor]:
        return self._vectors.of_all(iteration, self.specification.directions)

    def write_vectors(self, tensor: Tensor, drawn: Factor, into: torch.Tensor) -> None:
        chosen, accumulator = self.specification, self.delta[tensor.name]
        accumulator.reserve(self._k(tensor) * chosen.largest)
        noises = drawn[1].sum(dim=1, dtype=accumulator.tensor.dtype) * self._k(tensor)
        if chosen.antithetic:
            noises = torch.stack([noises, -noises], dim=1).flatten(0, 1)
        total = (accumulator.tensor + noises).to(torch.float32) * chosen.step
        into.detach().copy_(self.base[tensor.name].to(torch.float32) + total)

    def digest(self) -> str:
        tensors = {it.name: torch.empty_like(self.base[it.name]) for it in self.manifest}
        self.write_current(tensors)
        return weights.digest(self.manifest, lambda it: weights.read(tensors[it.name]))

    def _sums_of(self, tensors: Sequence[Tensor]) -> Sequence[int]:
        totals = []
        for tensor in tensors:
            delta, total = self.delta[tensor.name].tensor, torch.zeros((), dtype=torch.int64)
            total = total.to(self.device)
            for a in range(0, delta.numel(), _CHECKED):
                part = delta[a : a + _CHECKED].to(torch.int64)
                odd = torch.arange(a, a + part.numel(), device=self.device) * 2 + 1
                total += (part * odd).sum()
            totals.append(total)
        return torch.stack(totals).tolist() if totals else []

    def _write_term(self, into: weights.Tensors, term: Term) -> None:
        if term.rule == 3:
            self._vectors.draw(term.iteration, term.index)
        for writer in self._writers:
            deltas = [self.delta[name].tensor for name in writer.names]
            writer.write(deltas, [into[name] for name in writer.names], term)

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
        """Sums within four digits; a coefficient that alone is beyond comes in several parts."""
        largest = self.specification.largest
        parts = [
            (iteration, index, part)
            for iteration, index, weight in columns
            for part in _parts(weight, _LIMIT // largest)
        ]
        return bounded(parts, largest, _LIMIT)

    def _add_group(self, group: Sequence[Column]) -> None:
        self._add_words(group)
        length = max(1, _COLUMNS // (self.specification.rank or 1))
        if not self._products:
            return
        per_word = noise.PER_WORD[self.specification.kind]
        for at in range(0, len(group), length):
            part = group[at : at + length]
            lefts = Columns(part, 32, self.device)
            rights = lefts if per_word == 32 else Columns(part, per_word, self.device)
            for tensor in self._products:
                self._add_product(tensor, lefts, rights)

    def _add_words(self, group: Sequence[Column]) -> None:
        self._one_width()
        if not self._summing.count or not group:
            return
        by_matrices = self._nvidia and self.specification.kind == "rademacher"
        runs = by_word(group, noise.PER_WORD["rademacher"]) if by_matrices else {}
        digits = cuda_kernels.digit_table(list(runs.values())) if by_matrices else None
        if digits is None:
            self._look_up(group)
            return
        wide = next(iter(self.delta.values())).wide
        total = sum(weight for _, _, weight in group)
        cuda_kernels.sum_signs(wide, digits[1])(
            grid=(self._summing.count, 1, 1),
            block=(cuda_kernels.THREADS, 1, 1),
            args=[
                *self._sums(),
                *(place(digits[0], torch.uint32, self.device), *self._places(runs)),
                *(len(runs), total),
            ],
        )

    def _look_up(self, group: Sequence[Column]) -> None:
        """By tables of the partial sums of each byte."""
        found = word_tables(self.specification.kind, group, np.int32)
        tables = place(np.stack(list(found.values())), torch.int32, self.device)
        triton_kernels.accumulate[(self._summing.count,)](
            *self._sums(),
            tables,
            *self._places(found),
            len(found),
            WIDE=next(iter(self.delta.values())).wide,
            GROUPS=self._summing.groups,
        )

    def _sums(self) -> tuple[torch.Tensor, ...]:
        """What sums know of the tensors."""
        tiles = self._summing
        deltas = tiles.pointers([self.delta[it.name].tensor for it in self._full])
        return tiles.tensor, tiles.first, deltas, tiles.sizes, tiles.key_lows, tiles.key_highs

    def _places(self, runs: Iterable[tuple[int, int]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Iteration and block of each run."""
        pairs = list(runs)
        iterations, blocks = [it[0] for it in pairs], [it[1] for it in pairs]
        return (
            place(iterations, torch.uint32, self.device),
            place(blocks, torch.uint32, self.device),
        )

    def _add_product(self, tensor: Tensor, lefts: Columns, rights: Columns) -> None:
        """Δ += L·R, a digit of the coefficients at a time."""
        delta = self.delta[tensor.name].tensor.view(tensor.matrix)
        rows, columns = tensor.matrix
        right = self._factor(tensor, "right", rights, rights.ones)
        for number, digits in enumerate(lefts.digits):
            left = self._factor(tensor, "left", lefts, digits)
            product = torch._int_mm(left, right.t())[:rows, :columns]
            delta.add_(product, alpha=DIGIT_BASE**number)

    def _factor(
        self, tensor: Tensor, side: str, part: Columns, weights: torch.Tensor
    ) -> torch.Tensor:
        """weight·A [M, C] or Bᵀ's transpose [N, C], int8, padded with zeros for the product."""
        rank = self.specification.rank or 1
        vector = len(tensor.shape) < 2
        size = tensor.matrix[0 if side == "left" else 1]
        width = -(-part.count * rank // 16) * 16
        height = max(-(-size // 16) * 16, _LEAST_ROWS)
        padded = height > size or width > part.count * rank
        make = torch.zeros if padded else torch.empty
        out = make(height, width, dtype=torch.int8, device=self.device)
        if side == "left" and vector:
            flat = torch.cat(
                [row[:count] for row, count in zip(weights, part.lengths, strict=True)]
            )
            out[0, : part.count * rank] = flat.repeat_interleave(rank).to(torch.int8)
            return out
        key = philox.key(self.specification.seed, "noise" if vector else side, tensor.name)
        triton_kernels.factor[(-(-size // _FACTOR_TILE), part.runs, rank)](
            out,
            width,
            size,
            self._key(key),
            part.iterations,
            part.blocks,
            part.starts,
            part.counts,
            part.places,
            weights,
            self._table,
            RANK=rank,
            ELEMENTS=_FACTOR_TILE,
            PER_WORD=part.per_word,
        )
        return out

    def _key(self, key: int) -> torch.Tensor:
        if key not in self._keys_placed:
            halves = [key & 0xFFFFFFFF, key >> 32]
            self._keys_placed[key] = place(halves, torch.uint32, self.device)
        return self._keys_placed[key]


def _parts(value: int, most: int) -> Iterator[int]:
    """Integers of magnitude up to `most` whose sum is `value`."""
    while value:
        part = max(-most, min(most, value))
        yield part
        value -= part


def _own(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A flat copy on the device."""
    return tensor.detach().to(device, copy=True).contiguous().view(-1)


def _indexed(device: torch.device | str) -> torch.device:
    """With its number, as the devices of tensors have it."""
    return torch.empty(0, device=device).device
