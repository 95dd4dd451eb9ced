"""The weights of a run: an immutable base W_0 and an integer accumulator Δ for each tensor.

Update (arXiv 2509.24372 in integers): Δ += Σ_i c_i·ε_i, W = round(f32(W_0) + s·f32(Δ)).
Member: W_i = round(f32(W_0) + s·f32(Δ + k·ε_i)), always written from the base, never by taking
noise back out. At rank r (arXiv 2511.16652), ε = A·Bᵀ of r pairs of vectors.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proofgym.errors import HistoryError
from proofgym.evolution import kernels, noise, philox, threads, weights
from proofgym.evolution.accumulator import Accumulator
from proofgym.evolution.history import Decay, Entry, Update
from proofgym.evolution.lowrank import Factors
from proofgym.evolution.manifest import Manifest, Tensor
from proofgym.evolution.specification import Specification

#: Elements that a thread takes at a time, holds as float32 scratch, and draws words for.
SHARD, CHUNK, DRAW = 1 << 21, 1 << 18, 1 << 15
#: Every partial sum below this is an integer that a float32 (float64) holds exactly.
_EXACT = {np.float32: 2**24, np.float64: 2**53}

#: (iteration, direction, coefficient)
Column = tuple[int, int, int]
#: A and Bᵀ of one tensor: NumPy arrays, or torch tensors on a device.
Factor = tuple[Any, Any]


@dataclass(frozen=True)
class Shard:
    """Elements start..stop-1 of a tensor: whole rows under the low-rank rule."""

    tensor: Tensor
    start: int
    stop: int


class State:
    """W_0 and Δ of the perturbed tensors of `manifest`, after `iteration` iterations."""

    def __init__(
        self, manifest: Manifest, specification: Specification, base: weights.Tensors
    ) -> None:
        self.manifest, self.specification = manifest, specification
        self.iteration = 0
        self.k = specification.k
        """σ in steps of s·unit, for the members that are written from now on."""
        self.factors = {tensor.name: Factors(specification, tensor) for tensor in manifest}
        self._keys = {
            tensor.name: philox.key(specification.seed, "noise", tensor.name) for tensor in manifest
        }
        self._take(base)

    def _take(self, base: weights.Tensors) -> None:
        self.base: dict[str, Any] = {it.name: weights.read(base[it.name]) for it in self.manifest}
        self.delta: dict[str, Any] = {it.name: Accumulator(it.size) for it in self.manifest}
        self._kernels = kernels.load()
        self._shards = [shard for tensor in self.manifest for shard in self._cut(tensor)]

    def apply(self, *entries: Entry) -> None:
        """Apply history entries in their order. Updates between decays are summed in one pass."""
        pending: list[Update] = []
        for entry in entries:
            if entry.iteration != self.iteration:
                raise HistoryError(
                    f"entry {entry.iteration} cannot follow {self.iteration} iterations"
                )
            if isinstance(entry, Decay):
                self._add(pending)
                pending = []
                self._decay(entry.m)
            else:
                pending.append(entry)
                self.iteration += 1
        self._add(pending)

    def write_current(self, into: weights.Tensors) -> None:
        """Write W into the tensors named as in the manifest."""
        self._write(into, self._current_writer)

    def write_member(self, member: int, iteration: int, into: weights.Tensors) -> None:
        """Write the weights of one member of one iteration, from the base."""
        for tensor in self.manifest:
            self.delta[tensor.name].reserve(self._k(tensor) * self.specification.largest)
        self._write(into, self._member_writer(member, iteration))

    def draw(self, iteration: int) -> Mapping[str, Factor]:
        """A [P, r, M] and Bᵀ [P, r, N] of every tensor, by name, for an iteration's directions
        under the low-rank rule. Integers of 8 bits, where the state is."""
        count = self.specification.directions
        return {name: it.vectors(iteration, count) for name, it in self.factors.items()}

    def write_vectors(self, tensor: Tensor, drawn: Factor, into: Any) -> None:
        """Write a 1-D tensor of every member at once, from what `draw` gave; `into` [n, N]."""
        chosen, accumulator = self.specification, self.delta[tensor.name]
        accumulator.reserve(self._k(tensor) * chosen.largest)
        dtype = accumulator.values.dtype
        noises = drawn[1].sum(axis=1, dtype=dtype) * dtype.type(self._k(tensor))  # [P, N]
        if chosen.antithetic:
            noises = np.stack([noises, -noises], axis=1).reshape(-1, tensor.size)
        delta_nN = accumulator.values + noises
        base_nN = np.tile(weights.decode(self.base[tensor.name]), (chosen.population, 1))
        out = np.empty(delta_nN.size, np.float32)
        self._kernels.current(base_nN.reshape(-1), delta_nN.reshape(-1), chosen.step, out)
        with weights.writing(into) as target:
            weights.encode(out, target)

    def digest(self) -> str:
        """Digest of the current weights of the perturbed tensors; see `weights.digest`."""

        def content(tensor: Tensor) -> NDArray[Any]:
            out = np.empty(tensor.size, weights.STORAGE[tensor.dtype])
            for shard in self._cut(tensor):
                self._convert(shard, out, self._current_writer)
            return out

        return weights.digest(self.manifest, content)

    def checksum(self) -> str:
        """Of Δ and the iteration, on any device. Far cheaper than `digest`, and enough to tell
        whether states with equal bases and entries hold the same."""
        tensors = list(self.manifest)
        total = hashlib.sha256(str(self.iteration).encode())
        for tensor, value in zip(tensors, self._sums_of(tensors), strict=True):
            total.update(f"\0{tensor.name}\0{value % 2**64}".encode())
        return total.hexdigest()

    def _sums_of(self, tensors: Sequence[Tensor]) -> Sequence[int]:
        """Σ_j (2j + 1)·Δ_j of each, modulo 2^64: no single change leaves it as it was."""

        def one(tensor: Tensor) -> int:
            total, values = 0, self.delta[tensor.name].values
            for a in range(0, values.size, CHUNK):
                part = values[a : a + CHUNK].astype(np.int64).view(np.uint64)
                odd = np.arange(2 * a + 1, 2 * (a + part.size) + 1, 2, dtype=np.uint64)
                total += int((part * odd).sum(dtype=np.uint64))
            return total

        return threads.each(one, tensors)

    # Writing weights

    def _write(self, into: weights.Tensors, write: Callable[..., None]) -> None:
        with ExitStack() as stack:
            arrays = {
                tensor.name: stack.enter_context(weights.writing(into[tensor.name]))
                for tensor in self.manifest
            }
            threads.each(
                lambda shard: self._convert(shard, arrays[shard.tensor.name], write), self._shards
            )

    def _convert(self, shard: Shard, out: NDArray[Any], write: Callable[..., None]) -> None:
        """Call write(shard, base f32, delta, out f32, first element) on chunks of a shard."""
        base, delta = self.base[shard.tensor.name], self.delta[shard.tensor.name].values
        whole = base.dtype == np.float32
        length = shard.stop - shard.start if whole else CHUNK
        for first, last in _chunks(shard, length, self._row(shard.tensor)):
            target = out[first:last] if whole else np.empty(last - first, np.float32)
            write(shard, weights.decode(base[first:last]), delta[first:last], target, first)
            if not whole:
                weights.encode(target, out[first:last])

    def _current_writer(self, shard: Shard, base: Any, delta: Any, out: Any, first: int) -> None:
        self._kernels.current(base, delta, self.specification.step, out)

    def _member_writer(self, member: int, iteration: int) -> Callable[..., None]:
        specification = self.specification
        index, sign = noise.direction(member, specification.antithetic)
        step = specification.step

        def low_rank(shard: Shard, base: Any, delta: Any, out: Any, first: int) -> None:
            columns = shard.tensor.matrix[1]
            rows = first // columns, (first + out.size) // columns
            factors = self.factors[shard.tensor.name]
            k = sign * self._k(shard.tensor)
            left = factors.left(iteration, index, *rows).astype(delta.dtype) * delta.dtype.type(k)
            right = factors.right(iteration, index).astype(delta.dtype)
            shape = rows[1] - rows[0], columns
            self._kernels.outer_member(
                base.reshape(shape), delta.reshape(shape), left.T, right, step, out.reshape(shape)
            )

        def full(shard: Shard, base: Any, delta: Any, out: Any, first: int) -> None:
            k = sign * self._k(shard.tensor)
            key = self._keys[shard.tensor.name]
            if not specification.exact:
                drawn = noise.gaussian(key, iteration, index, first, first + out.size)
                term = drawn.astype(delta.dtype) * delta.dtype.type(k)
                self._kernels.member(base, delta, term, step, out)
                return
            block, place = divmod(index, noise.PER_WORD[specification.kind])
            shift, table = byte_table(specification.kind, place, k)
            table = table.astype(delta.dtype)
            for a in range(0, out.size, DRAW):
                b = min(a + DRAW, out.size)
                words = self._kernels.words(key, iteration, block, first + a, first + b)
                self._kernels.lookup_member(
                    base[a:b], delta[a:b], words, shift, table, step, out[a:b]
                )

        return low_rank if specification.rank else full

    def _k(self, tensor: Tensor) -> int:
        return self.k << tensor.shift

    # Updating Δ

    def _decay(self, m: int) -> None:
        def shrink(shard: Shard) -> None:
            values = self.delta[shard.tensor.name].values[shard.start : shard.stop]
            self._kernels.decay(values, m)

        threads.each(shrink, self._shards)

    def _add(self, updates: Sequence[Update]) -> None:
        """Δ += Σ c_i·ε_i over all updates; directions with the sum 0 of a pair drop out."""
        columns = [
            (update.iteration, index, weight)
            for update in updates
            for index, weight in self.directions(update.coefficients).items()
            if weight
        ]
        for group in self._groups(columns):
            amount = self.specification.largest * sum(abs(weight) for _, _, weight in group)
            for accumulator in self.delta.values():
                accumulator.grow(amount)
            self._add_group(group)

    def _groups(self, columns: Sequence[Column]) -> Iterator[list[Column]]:
        """Sums whose every partial sum is exact in the arithmetic of `_add_group`."""
        return bounded(columns, self.specification.largest, _EXACT[np.float32] - 1)

    def _add_group(self, group: Sequence[Column]) -> None:
        add = self._add_outer if self.specification.rank else self._add_full
        threads.each(partial(add, group), self._shards)

    def directions(self, coefficients: Iterable[int]) -> dict[int, int]:
        """Coefficient of each direction: the two members of a pair share one, opposite in sign."""
        total: dict[int, int] = {}
        for member, coefficient in enumerate(coefficients):
            index, sign = noise.direction(member, self.specification.antithetic)
            total[index] = total.get(index, 0) + sign * coefficient
        return total

    def _add_outer(self, group: Sequence[Column], shard: Shard) -> None:
        columns = shard.tensor.matrix[1]
        rows = shard.start // columns, shard.stop // columns
        factors = self.factors[shard.tensor.name]
        amount = self.specification.largest * sum(abs(weight) for _, _, weight in group)
        dtype = next(dtype for dtype, limit in _EXACT.items() if amount < limit)
        left, right = factors.stack(group, rows, dtype)
        delta = self.delta[shard.tensor.name].values[shard.start : shard.stop]
        self._kernels.outer_add(delta.reshape(rows[1] - rows[0], columns), left, right)

    def _add_full(self, group: Sequence[Column], shard: Shard) -> None:
        kind, key = self.specification.kind, self._keys[shard.tensor.name]
        delta = self.delta[shard.tensor.name].values
        if not self.specification.exact:
            for iteration, index, weight in group:
                drawn = noise.gaussian(key, iteration, index, shard.start, shard.stop)
                delta[shard.start : shard.stop] += drawn.astype(delta.dtype) * delta.dtype.type(
                    weight
                )
            return
        for (iteration, block), tables in word_tables(kind, group, delta.dtype).items():
            for first, last in _chunks(shard, DRAW):
                words = self._kernels.words(key, iteration, block, first, last)
                self._kernels.lookup_add(delta[first:last], words, tables)

    def _cut(self, tensor: Tensor) -> Iterator[Shard]:
        """Shards of about SHARD elements."""
        for first, last in _chunks(Shard(tensor, 0, tensor.size), SHARD, self._row(tensor)):
            yield Shard(tensor, first, last)

    def _row(self, tensor: Tensor) -> int:
        """Elements that stay together: a row of the low-rank rule's matrix."""
        return tensor.matrix[1] if self.specification.rank else 1


def _chunks(shard: Shard, length: int, row: int = 1) -> Iterator[tuple[int, int]]:
    """Element ranges of a shard, of `length` rounded down to whole rows (but at least one)."""
    length = max(1, length // max(1, row)) * max(1, row)
    for first in range(shard.start, shard.stop, length):
        yield first, min(first + length, shard.stop)


def bounded(columns: Sequence[Column], largest: int, limit: int) -> Iterator[list[Column]]:
    """Split a sum into groups whose partial sums are at most `limit`, where that can be."""
    group: list[Column] = []
    amount = 0
    for column in columns:
        weight = largest * abs(column[2])
        if group and amount + weight > limit:
            yield group
            group, amount = [], 0
        group.append(column)
        amount += weight
    if group:
        yield group


def byte_table(kind: str, place: int, k: int) -> tuple[int, NDArray[np.int64]]:
    """(shift, table [256]): k·ε of direction `place` of a word is table[(word >> shift) & 255]."""
    value = np.arange(256)
    if kind == "gaussian8":
        return 8 * place, k * noise.GAUSSIAN8.astype(np.int64)
    return place // 8 * 8, k * (1 - 2 * ((value >> (place % 8)) & 1))


def word_tables(
    kind: str, group: Iterable[Column], dtype: Any
) -> dict[tuple[int, int], NDArray[Any]]:
    """For each (iteration, block), tables [4, 256]: Σ c·ε = Σ_b tables[b, byte b of the word]."""
    found: dict[tuple[int, int], NDArray[Any]] = {}
    for iteration, index, weight in group:
        block, place = divmod(index, noise.PER_WORD[kind])
        tables = found.setdefault((iteration, block), np.zeros((4, 256), dtype))
        shift, table = byte_table(kind, place, weight)
        tables[shift // 8] += table.astype(dtype)
    return found


def named(model: Any, manifest: Manifest) -> Mapping[str, Any]:
    """The model's perturbed tensors by their names in the manifest."""
    parameters = dict(model.named_parameters())
    return {tensor.name: parameters[tensor.name] for tensor in manifest}
