"""Low-rank noise ε = A·Bᵀ (EGGROLL, arXiv 2511.16652): A of signs, B of the run's kind of noise.

√r is folded into α and σ. A tensor [M, …] counts as a matrix [M, N]; a vector [N] as one row, with
A all ones, which at rank 1 is the full-rank rule. Component ρ of A's row i is element ρ·M + i of
the stream "left", of B's row j element ρ·N + j of the stream "right" ("noise" for vectors). A word
serves 32 directions of signs, or 4 of normals.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proofgym.evolution import kernels, noise, philox
from proofgym.evolution.manifest import Tensor
from proofgym.evolution.specification import Specification


class Factors:
    """A and B of one tensor, as small integers."""

    def __init__(self, specification: Specification, tensor: Tensor) -> None:
        self.rank = specification.rank or 1
        self.rows, self.columns = tensor.matrix
        self._kind = specification.kind
        self._vector = len(tensor.shape) < 2
        purpose = "noise" if self._vector else "right"
        self._left = philox.key(specification.seed, "left", tensor.name)
        self._right = philox.key(specification.seed, purpose, tensor.name)

    def left(self, iteration: int, index: int, start: int, stop: int) -> NDArray[np.int8]:
        """A of direction `index` for rows start..stop-1, transposed: [r, stop - start]."""
        if self._vector:
            return np.ones((self.rank, 1), np.int8)
        return noise.bits(
            self._words(self._left, self.rows, iteration, index // 32, start, stop), index
        )

    def right(self, iteration: int, index: int) -> NDArray[np.int8]:
        """Bᵀ of direction `index`: [r, N]."""
        block = index // noise.PER_WORD[self._kind]
        words = self._words(self._right, self.columns, iteration, block, 0, self.columns)
        return noise.OF_WORDS[self._kind](words, index)

    def vectors(self, iteration: int, count: int) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """A and Bᵀ of directions 0..count-1 of one iteration: [count, r, M] and [count, r, N]."""
        left = np.ones((count, self.rank * self.rows), np.int8)
        right = np.empty((count, self.rank * self.columns), np.int8)
        draw = kernels.load().draw
        draw(self._kind, self._right, iteration, right)
        if not self._vector:
            draw("rademacher", self._left, iteration, left)
        shape = count, self.rank, -1
        return left.reshape(shape), right.reshape(shape)

    def stack(
        self, group: Sequence[tuple[int, int, int]], rows: tuple[int, int], dtype: Any = np.int8
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """L [rows, C], R [C, N] with Σ c·A·Bᵀ = L·R over (iteration, direction, c) in `group`."""
        height, count = rows[1] - rows[0], len(group) * self.rank
        left = np.empty((height, len(group), self.rank), dtype)
        right = np.empty((len(group), self.rank, self.columns), dtype)
        weight = np.array([c for _, _, c in group], dtype)[:, None, None]
        for span, index, place in _runs(group, noise.PER_WORD[self._kind]):
            words = self._words(self._right, self.columns, *place, 0, self.columns)
            right[span] = noise.OF_WORDS[self._kind](words, index)
        if self._vector:
            left[:] = weight.transpose(2, 0, 1)
        else:
            for span, index, place in _runs(group, 32):
                signs = noise.bits(self._words(self._left, self.rows, *place, *rows), index)
                left[:, span] = (weight[span] * signs).transpose(2, 0, 1)
        return left.reshape(height, count), right.reshape(count, self.columns)

    def _words(
        self, key: int, size: int, iteration: int, block: int, start: int, stop: int
    ) -> philox.Words:
        """Words of rows start..stop-1 of each component: [r, stop - start]."""
        draw = kernels.load().words
        return np.stack(
            [
                draw(key, iteration, block, rho * size + start, rho * size + stop)
                for rho in range(self.rank)
            ]
        )


def _runs(
    group: Sequence[tuple[int, int, int]], per_word: int
) -> Iterator[tuple[slice, NDArray[np.int64], tuple[int, int]]]:
    """Columns of `group` that share words: where, directions [C, 1, 1], (iteration, block)."""
    at = 0
    for place, run in itertools.groupby(group, lambda c: (c[0], c[1] // per_word)):
        index = np.array([direction for _, direction, _ in run])[:, None, None]
        yield slice(at, at := at + len(index)), index, place
