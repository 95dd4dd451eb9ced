"""Modules that read each row's weights from stacks of whole members."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from proofgym.evolution.modules import for_rows, kind, with_gain
from proofgym.evolution.perturbed import is_known_norm, normalised
from proofgym.evolution.swapped import Swapped, give, swap

_LAID = ("laid_places", "laid_sources", "laid_targets")


class _Beside(Swapped):
    """Buffers: the stacks [members, …] of those of its parameters that are perturbed, and of the
    rows of a pass, None while the module's own weights answer,

    laid_places [≥ B], the stack that each row reads; laid_sources [members, room], the row at each
    place by member; laid_targets [≥ B], the place of each row in [members · room].
    """

    reads = ("stack_weight", "stack_bias", *_LAID)

    @property
    def _laid(self) -> bool:
        return self.read_if_any("laid_places") is not None

    def _of_rows(self, name: str, like: Tensor) -> Tensor:
        """[B, 1…, N] of a vector's stack, for rows like [B, …, N]."""
        return for_rows(self.read(name), self.read("laid_places")[: like.shape[0]], like)

    def _product(self, x: Tensor, stack: Tensor) -> Tensor:
        """[B, …, M] for x [B, …, N] and a stack [members, M, N]: one product for all members."""
        grouped = x[self.read("laid_sources")]  # [members, room, …, N]
        product = torch.bmm(grouped.flatten(1, -2), stack.transpose(1, 2))
        by_member = product.unflatten(1, grouped.shape[1:-1])
        return by_member.flatten(0, 1)[self.read("laid_targets")[: x.shape[0]]]


class _Linear(_Beside, nn.Linear):
    def forward(self, input: Tensor) -> Tensor:
        if not self._laid:
            return nn.functional.linear(input, self.weight, self.bias)
        stack = self.read_if_any("stack_weight")
        if stack is None:
            output = nn.functional.linear(input, self.weight)
        else:
            output = self._product(input, stack)
        if self.read_if_any("stack_bias") is not None:
            return output + self._of_rows("stack_bias", output)
        return output if self.bias is None else output + self.bias


class _Embedding(_Beside, nn.Embedding):
    def forward(self, input: Tensor) -> Tensor:
        if not self._laid:
            return nn.functional.embedding(input, self.weight)
        places = self.read("laid_places")[: input.shape[0]]
        return self.read("stack_weight")[places[:, None], input]


class _Norm(_Beside):
    variance_epsilon: float
    weight: Tensor

    def forward(self, hidden_states: Tensor) -> Tensor:
        gain = self._of_rows("stack_weight", hidden_states) if self._laid else self.weight
        return normalised(hidden_states, self.variance_epsilon, gain)


class _OtherNorm(_Beside):
    """Any norm: its own pass, with another gain."""

    def forward(self, input: Tensor) -> Tensor:
        own = super().forward
        if not self._laid:
            return own(input)
        return with_gain(self, own, self._of_rows("stack_weight", input), input)


def lay(module: nn.Module, stacks: Mapping[str, Tensor]) -> None:
    """Have a module read these stacks, by parameter, for the rows that `lay_rows` names."""
    swap(module, _how(module))
    give(module, **{f"stack_{name}": stack for name, stack in stacks.items()})


def lay_rows(module: nn.Module, laid: tuple[Tensor, Tensor, Tensor] | None) -> None:
    """The places, sources and targets of the rows of the next pass; None: the module's own weights
    answer it."""
    given: Any = laid or (None, None, None)
    give(module, **dict(zip(_LAID, given, strict=True)))


def _how(module: nn.Module) -> type[_Beside]:
    norm = _Norm if is_known_norm(module) else _OtherNorm
    return {"linear": _Linear, "embedding": _Embedding, "norm": norm}[kind(module)]
