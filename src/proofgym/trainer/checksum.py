"""A checksum of tensors' bits, the same on every device."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import torch
from torch import Tensor

_CHUNK = 1 << 21
"""Words at a time: bounds the memory that it takes."""


@torch.no_grad()
def checksum(tensors: Mapping[str, Tensor]) -> str:
    """Of names, shapes and bits; no change within 8 neighbouring bytes leaves it as it was."""
    total = hashlib.sha256()
    for name, tensor in tensors.items():
        total.update(f"{name}\0{tuple(tensor.shape)}\0{_sum(tensor)}\0".encode())
    return total.hexdigest()


def _sum(tensor: Tensor) -> int:
    """Σ_j (2j + 1)·w_j over words of 8 bytes, modulo 2^64: integers, so that the order does not
    matter; odd factors have inverses, so that each word counts with all its bits."""
    flat_E = tensor.detach().reshape(-1)
    each = 8 // flat_E.element_size()
    length = min(_CHUNK, -(-flat_E.numel() // each))
    words_C = torch.zeros(length, dtype=torch.int64, device=flat_E.device)
    odd_C = 2 * torch.arange(length, device=flat_E.device) + 1
    sums = [words_C.sum()]
    for number, part in enumerate(flat_E.split(_CHUNK * each)):
        words_C.zero_()
        words_C.view(flat_E.dtype)[: part.numel()].copy_(part)
        sums.append((words_C * odd_C).sum() + 2 * _CHUNK * number * words_C.sum())
    return int(torch.stack(sums).sum()) % 2**64
