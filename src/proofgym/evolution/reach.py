"""Whether noise on a tensor changes what an engine computes.

An engine may hold a copy of a weight, fuse it with another, or never use it; training would then
perturb something that answers nothing, and learn nothing from it. So each chosen tensor is
perturbed alone, loudly, and the engine is asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from proofgym.evolution.state import State

LOUD = 64.0
"""How many σ the noise has for this: enough to show after rounding to bfloat16."""


def unreached(
    state: State, tensors: Any, iteration: int, answer: Callable[[], Any]
) -> Iterator[str | None]:
    """For each tensor, its name if a member's noise in it, written into the model's weights,
    leaves `answer()` as it is without; else None."""
    noisy = {name: torch.empty_like(tensor) for name, tensor in tensors.items()}
    state.write_member(0, iteration, noisy)
    without = answer()
    for name, tensor in tensors.items():
        kept = tensor.detach().clone()
        try:
            tensor.data.copy_(kept + LOUD * (noisy[name] - kept))
            yield name if answer() == without else None
        finally:
            tensor.data.copy_(kept)
