"""Modules that correct each row for its member, read from a tensor: the form of a factored
population that can be compiled.
"""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn, ones_like, rsqrt

from proofgym.evolution import noise
from proofgym.evolution.modules import for_rows
from proofgym.evolution.swapped import Swapped, give, swap


class _Perturbed(Swapped):
    """Buffers (each None where it has no part in the module):

    left [P, r, M] and right [P, r, N] of a matrix, σ' in left; table [V, P, r] in left's place for
    an embedding; vectors [n, M] of a bias or gain; members [≥ B] of the rows, in full size, for
    compilers take the shapes of buffers as fixed.
    """

    reads = ("noise_left", "noise_right", "noise_table", "noise_vectors", "noise_members")
    pairs: ClassVar[bool]
    """Whether members 2p and 2p + 1 share a direction."""

    def _of_rows(self, factor: Tensor, rows: int) -> Tensor:
        """[B, …] of a factor [P, …]."""
        directions, _ = noise.direction(self.read("noise_members")[:rows], self.pairs)
        return factor[directions]

    def _signed(self, inner: Tensor) -> Tensor:
        """[B, …, r] with each row's sign."""
        rows = inner.shape[0]
        members = self.read("noise_members")[:rows]
        _, signs = noise.direction(members, self.pairs)
        shape = rows, *[1] * (inner.dim() - 1)
        return inner * (ones_like(members, dtype=inner.dtype) * signs).view(shape)

    def _vector(self, like: Tensor) -> Tensor:
        """[B, 1…, M]."""
        members = self.read("noise_members")[: like.shape[0]]
        return for_rows(self.read("noise_vectors"), members, like)


class _Linear(_Perturbed, nn.Linear):
    def forward(self, input: Tensor) -> Tensor:
        output = nn.functional.linear(input, self.weight, self.bias)
        left, right = self.read_if_any("noise_left"), self.read_if_any("noise_right")
        if left is not None and right is not None:
            factor = self._of_rows(right, input.shape[0]).float().unsqueeze(1)  # [B, 1, r, N]
            inner = (input.float().unsqueeze(-2) * factor).sum(-1)  # [B, T, r]
            factor = self._of_rows(left, input.shape[0]).float().unsqueeze(1)  # [B, 1, r, M]
            change = (self._signed(inner).unsqueeze(-1) * factor).sum(-2)
            output = (output.float() + change).to(output.dtype)
        if self.read_if_any("noise_vectors") is not None:
            output = output + (self._vector(output) - self.bias)
        return output


class _Embedding(_Perturbed, nn.Embedding):
    def forward(self, input: Tensor) -> Tensor:
        output = nn.functional.embedding(input, self.weight)
        members = self.read("noise_members")[: input.shape[0]]
        directions, _ = noise.direction(members, self.pairs)
        table = self.read("noise_table")
        inner = self._signed(table[input, directions[:, None]].float())  # [B, T, r]
        factor = self._of_rows(self.read("noise_right"), input.shape[0]).float().unsqueeze(1)
        return (output.float() + (inner.unsqueeze(-1) * factor).sum(-2)).to(output.dtype)


class _Norm(_Perturbed):
    variance_epsilon: float

    def forward(self, hidden_states: Tensor) -> Tensor:
        return normalised(hidden_states, self.variance_epsilon, self._vector(hidden_states))


def normalised(x: Tensor, epsilon: float, gain: Tensor) -> Tensor:
    """The RMS norm of the Llama and Qwen families, with a gain for each row, [B, 1…, N]."""
    wide = x.float()
    scale = rsqrt(wide.pow(2).mean(-1, keepdim=True) + epsilon)
    return gain * (wide * scale).to(x.dtype)


def is_known(module: nn.Module) -> bool:
    """Whether this kind of module is one whose pass is written out here."""
    return type(module) in (nn.Linear, nn.Embedding) or is_known_norm(module)


def is_known_norm(module: nn.Module) -> bool:
    return type(module).__name__.endswith("RMSNorm") and hasattr(module, "variance_epsilon")


def perturb(module: nn.Module, pairs: bool, **factors: Tensor) -> None:
    """Have a known module correct its rows, with these factors in addition to those it has."""
    other = {nn.Linear: _Linear, nn.Embedding: _Embedding}.get(type(module), _Norm)
    swap(module, other, pairs=pairs)
    give(module, **{f"noise_{name}": factor for name, factor in factors.items()})
