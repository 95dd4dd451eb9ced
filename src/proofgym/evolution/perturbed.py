"""Modules that read each row's member from a tensor: the form of a population that can be compiled.

A module keeps its weights and changes its class meanwhile; its factors, and the tensor of members,
lie among its buffers. So a layer's forward pass is a function of tensors alone: compiled once it
serves every layer, its corrections melt into the operations around them, and a CUDA graph of it
may be replayed with other members and other factors in the same memory.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from proofgym.evolution import noise
from proofgym.evolution.modules import for_rows

_BUFFERS = ("left", "right", "table", "vectors", "members")


class _Perturbed(nn.Module):
    """Buffers (each under `noise_…`, None where it has no part in the module):

    left [P, r, M] and right [P, r, N] of a matrix, σ' in left; table [V, P, r] in left's place for
    an embedding; vectors [n, M] of a bias or gain; members [≥ B] of the rows, in full size, for
    compilers take the shapes of buffers as fixed.
    """

    noise_pairs: ClassVar[bool]
    """Whether members 2p and 2p + 1 share a direction."""
    noise_kind: ClassVar[Any]
    """The class that the module had."""

    def _of_rows(self, factor: Tensor, rows: int) -> Tensor:
        """[B, …] of a factor [P, …]."""
        directions, _ = noise.direction(self.get_buffer("noise_members")[:rows], self.noise_pairs)
        return factor[directions]

    def _signed(self, inner: Tensor) -> Tensor:
        """[B, …, r] with each row's sign."""
        rows = inner.shape[0]
        members = self.get_buffer("noise_members")[:rows]
        _, signs = noise.direction(members, self.noise_pairs)
        shape = rows, *[1] * (inner.dim() - 1)
        return inner * (torch.ones_like(members, dtype=inner.dtype) * signs).view(shape)

    def _vector(self, like: Tensor) -> Tensor:
        """[B, 1…, M]."""
        members = self.get_buffer("noise_members")[: like.shape[0]]
        return for_rows(self.get_buffer("noise_vectors"), members, like)


class _Linear(_Perturbed, nn.Linear):
    def forward(self, input: Tensor) -> Tensor:
        output = nn.functional.linear(input, self.weight, self.bias)
        left, right = self._buffers["noise_left"], self._buffers["noise_right"]
        if left is not None and right is not None:
            factor = self._of_rows(right, input.shape[0]).float().unsqueeze(1)  # [B, 1, r, N]
            inner = (input.float().unsqueeze(-2) * factor).sum(-1)  # [B, T, r]
            factor = self._of_rows(left, input.shape[0]).float().unsqueeze(1)  # [B, 1, r, M]
            change = (self._signed(inner).unsqueeze(-1) * factor).sum(-2)
            output = (output.float() + change).to(output.dtype)
        if self._buffers["noise_vectors"] is not None:
            output = output + (self._vector(output) - self.bias)
        return output


class _Embedding(_Perturbed, nn.Embedding):
    def forward(self, input: Tensor) -> Tensor:
        output = nn.functional.embedding(input, self.weight)
        members = self.get_buffer("noise_members")[: input.shape[0]]
        directions, _ = noise.direction(members, self.noise_pairs)
        table = self.get_buffer("noise_table")
        inner = self._signed(table[input, directions[:, None]].float())  # [B, T, r]
        factor = self._of_rows(self.get_buffer("noise_right"), input.shape[0]).float().unsqueeze(1)
        return (output.float() + (inner.unsqueeze(-1) * factor).sum(-2)).to(output.dtype)


class _Norm(_Perturbed):
    """The RMS norm of the Llama and Qwen families, with a gain for each row."""

    variance_epsilon: float

    def forward(self, hidden_states: Tensor) -> Tensor:
        wide = hidden_states.float()
        scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)
        return self._vector(hidden_states) * (wide * scale).to(hidden_states.dtype)


def can_perturb(module: nn.Module) -> bool:
    """Whether `perturb` knows this kind of module."""
    is_norm = type(module).__name__.endswith("RMSNorm") and hasattr(module, "variance_epsilon")
    return type(module) in (nn.Linear, nn.Embedding) or is_norm


def perturb(module: nn.Module, pairs: bool, members: Tensor, **factors: Tensor) -> None:
    """Give a module its perturbed class and these buffers, in addition to those it has."""
    if not isinstance(module, _Perturbed):
        module.__class__ = _class(type(module), pairs)
        for name in _BUFFERS:
            module._buffers[f"noise_{name}"] = None
    for name, factor in {**factors, "members": members}.items():
        module._buffers[f"noise_{name}"] = factor


def restore(module: nn.Module) -> None:
    """Undo `perturb`; harmless where there is nothing to undo."""
    if isinstance(module, _Perturbed):
        module.__class__ = module.noise_kind
        for name in _BUFFERS:
            del module._buffers[f"noise_{name}"]


_classes: dict[tuple[type, bool], Any] = {}


def _class(kind: type, pairs: bool) -> Any:
    """One class for all modules of a kind: compiled code depends on it."""
    made = _classes.get((kind, pairs))
    if made is None:
        base = {nn.Linear: _Linear, nn.Embedding: _Embedding}.get(kind)
        bases = (base,) if base else (_Norm, kind)
        name = f"Perturbed{kind.__name__}"
        made = _classes[kind, pairs] = type(name, bases, {"noise_pairs": pairs, "noise_kind": kind})
    return made
