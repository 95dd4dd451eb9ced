"""A checksum of tensors' bits, the same on every device."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import torch
from torch import Tensor

_CHUNK = {"cpu": 1 << 14, "cuda": 1 << 22}
"""Words at a time. On a CPU as many as its cache holds, and too few for torch to share out: threads
that wait for a busy core take many times as long."""
_MIX = -0x61C8864680B583EB  # 2^64 divided by the golden ratio, as a signed word


@torch.no_grad()
def checksum(tensors: Mapping[str, Tensor]) -> str:
    """Of names, shapes and bits; no change within 8 neighbouring bytes leaves it as it was, and
    any other does with a chance of about 2^-64."""
    total = hashlib.sha256()
    for name, tensor in tensors.items():
        total.update(f"{name}\0{tuple(tensor.shape)}\0{_sum(tensor)}\0".encode())
    return total.hexdigest()


def _sum(tensor: Tensor) -> int:
    """Σ_j mix((2j + 1)·w_j) over words of 8 bytes, modulo 2^64: integers, so that the order does
    not matter; each word can be had back from its term, so that it counts with all its bits."""
    flat_E = tensor.detach().reshape(-1)
    each, most = 8 // flat_E.element_size(), _CHUNK.get(flat_E.device.type, 1 << 14)
    length = min(most, -(-flat_E.numel() // each))
    words_C = torch.zeros(length, dtype=torch.int64, device=flat_E.device)
    odd_C = 2 * torch.arange(length, device=flat_E.device) + 1
    sums = [words_C.sum()]
    for part in flat_E.split(most * each):
        words_C.zero_()
        words_C.view(flat_E.dtype)[: part.numel()].copy_(part)
        words_C *= odd_C
        words_C ^= (words_C >> 32) & 0xFFFFFFFF
        words_C *= _MIX
        words_C ^= (words_C >> 32) & 0xFFFFFFFF
        sums.append(words_C.sum())
        odd_C += 2 * most
    return int(torch.stack(sums).sum()) % 2**64
