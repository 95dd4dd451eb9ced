"""Writes weights on a GPU: all tensors of one dtype in one launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import triton.language as tl

from proofgym.evolution import cuda_kernels, philox, triton_kernels
from proofgym.evolution.device_tables import FactorVectors, Tiles, place
from proofgym.evolution.manifest import Tensor
from proofgym.evolution.specification import Specification

DTYPES = {"float32": 0, "bfloat16": 1, "float16": 2}
_STORED = {"float32": tl.float32, "bfloat16": tl.uint16, "float16": tl.float16}
_GROUPS = 256  # of the tiles of Triton's kernel


@dataclass(frozen=True)
class Term:
    """What a member adds to Δ, besides the tensor's shift: ±k and the place of its noise.

    `rule` is that of `triton_kernels.write`.
    """

    rule: int = 0
    k: int = 0
    iteration: int = 0
    index: int = 0
    block: int = 0
    place: int = 0


class Writer:
    """The tensors of one dtype.

    Args:
        base: W_0 of each, flat, on the device.
        table: `noise.GAUSSIAN8` on the device, int32.
        nvidia: whether to take the CUDA kernel.
    """

    def __init__(
        self,
        tensors: Sequence[Tensor],
        specification: Specification,
        base: Sequence[torch.Tensor],
        vectors: FactorVectors,
        table: torch.Tensor,
        nvidia: bool,
    ) -> None:
        self.names = [it.name for it in tensors]
        self._base, self._specification, self._nvidia = base, specification, nvidia
        self._dtype = tensors[0].dtype
        device = base[0].device
        keys = [philox.key(specification.seed, "noise", it.name) for it in tensors]
        length = cuda_kernels.TILE if nvidia else 4 * _GROUPS
        self._tiles = Tiles([it.size for it in tensors], keys, length, device)
        self._shifts = [it.shift for it in tensors]
        self._scales: dict[int, torch.Tensor] = {}
        self._columns = place([it.matrix[1] for it in tensors], torch.int64, device)
        self._lefts = place([vectors.left[name] for name in self.names], torch.int64, device)
        self._rights = place([vectors.right[name] for name in self.names], torch.int64, device)
        self._factors, self._table = vectors.values, table
        self._fitting: tuple[int, ...] = ()

    def write(
        self, deltas: Sequence[torch.Tensor], targets: Sequence[torch.Tensor], term: Term
    ) -> None:
        """Write into the targets, which may be anywhere and have strides."""
        addresses = tuple(map(torch.Tensor.data_ptr, targets))
        plain = all(map(torch.Tensor.is_contiguous, targets))
        if plain and (addresses == self._fitting or all(map(self._fits, targets))):
            self._fitting = addresses
            self._launch(deltas, targets, term)
            return
        outs = [torch.empty_like(it) for it in self._base]
        self._launch(deltas, outs, term)
        for out, target in zip(outs, targets, strict=True):
            target.detach().copy_(out.view(target.shape))

    def _scale(self, k: int) -> torch.Tensor:
        """±k of each tensor. Few are kept: k changes with a schedule, and then for good."""
        if k not in self._scales:
            if len(self._scales) > 8:
                self._scales.clear()
            scales = [k << shift for shift in self._shifts]
            self._scales[k] = place(scales, torch.int64, self._base[0].device)
        return self._scales[k]

    def _fits(self, tensor: torch.Tensor) -> bool:
        return tensor.data_ptr() % 16 == 0 and tensor.device == self._base[0].device

    def _launch(
        self, deltas: Sequence[torch.Tensor], outs: Sequence[torch.Tensor], term: Term
    ) -> None:
        tiles = self._tiles
        facts = (
            tiles.tensor,
            tiles.first,
            tiles.pointers(self._base),
            tiles.pointers(deltas),
            tiles.pointers(outs),
            tiles.sizes,
            self._columns,
            tiles.key_lows,
            tiles.key_highs,
            self._scale(term.k),
            self._lefts,
            self._rights,
            self._factors,
            self._table,
            self._specification.step,
            term.iteration,
            term.block,
            term.place,
        )
        wide, rank = deltas[0].dtype == torch.int64, self._specification.rank or 1
        if self._nvidia:
            kernel = cuda_kernels.write_member(wide, DTYPES[self._dtype], term.rule, rank)
            block = (cuda_kernels.THREADS, 1, 1)
            kernel(grid=(tiles.count, 1, 1), block=block, args=list(facts))
            return
        triton_kernels.write[(tiles.count,)](
            *facts,
            RULE=term.rule,
            RANK=rank,
            DTYPE=DTYPES[self._dtype],
            STORED=_STORED[self._dtype],
            WIDE=wide,
            GROUPS=tiles.groups,
        )
