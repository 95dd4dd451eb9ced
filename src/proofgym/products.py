"""Float32 matrix products on a CPU by oneDNN, for passes without gradients.

torch leaves them to MKL, which uses the whole width of the vector units on Intel's processors
alone: on an AMD EPYC with AVX-512 oneDNN is 2.3 times as fast, held to AVX2 1.2 times. torch gives
it float32 layers only of models that it has compiled and frozen; this is the operator that those
call. Weights are read where they lie, so they may change between calls. bfloat16 goes to oneDNN
anyway.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input [..., N] times the transpose of weight [M, N], plus bias [M]."""
    operator = _operator() if _meant(weight) else None
    if operator is None:
        return nn.functional.linear(input, weight, bias)
    return operator(input, weight, bias, "none", [], "")


@contextmanager
def fast_products(modules: list[nn.Linear]) -> Iterator[None]:
    """These linear layers use `linear` meanwhile. Those that something else has made its own, by a
    class or a forward of theirs, stay as they are."""
    changed = [it for it in modules if type(it) is nn.Linear and _meant(it.weight)]
    for module in changed:
        module.__class__ = _Linear
    try:
        yield
    finally:
        for module in changed:
            module.__class__ = nn.Linear


class _Linear(nn.Linear):
    def forward(self, input: Tensor) -> Tensor:
        return linear(input, self.weight, self.bias)


def _meant(weight: Tensor) -> bool:
    return weight.is_cpu and weight.dtype == torch.float32


@functools.cache
def _operator() -> Any:
    """None where torch lacks it, or it does not do what is expected of it."""
    try:
        operator = torch.ops.mkldnn._linear_pointwise
        input, weight = torch.eye(2), torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        bias = torch.tensor([5.0, 6.0])
        made = operator(input, weight, bias, "none", [], "")
    except (AttributeError, RuntimeError, NotImplementedError):
        return None
    return operator if torch.equal(made, weight.T + bias) else None
