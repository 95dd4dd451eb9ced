"""What changed in a tensor between two updates, exactly: bits that were put in place of others.

In bfloat16 most weights keep their bits, since a small step is rounded away; then the changed ones
are named by their places, or by a bit for each weight, whichever is shorter. Where most have
changed the tensor goes as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_GAPS = tuple(map(np.dtype, ("u1", "u2", "u4", "u8")))


@dataclass(frozen=True)
class Difference:
    """The changed elements of one tensor, as arrays on the CPU."""

    form: str
    """`whole`; `flags`: a bit for each element; or the dtype of the gaps from one changed element
    to the next."""
    values: Any
    """Bits of the changed elements, or of all."""
    where: Any


@torch.no_grad()
def difference(now: Tensor, before: Tensor | None) -> Difference | None:
    """From `before` to `now`; None where nothing changed. `before` None: the whole tensor."""
    now_E = _bits(now)
    if before is None:
        return Difference("whole", now_E.cpu().numpy(), np.zeros(0, np.uint8))
    differs_E = now_E != _bits(before)
    size, width, count = now_E.numel(), now_E.element_size(), int(differs_E.count_nonzero())
    if not count:
        return None
    flags = -(-size // 8)
    if count * width + min(flags, count) >= size * width:
        return difference(now, None)
    if count < flags:
        places_N = differs_E.nonzero()[:, 0]
        gaps_N = np.diff(places_N.cpu().numpy(), prepend=-1)
        dtype = next(it for it in _GAPS if gaps_N.max() <= np.iinfo(it).max)
        if count * dtype.itemsize < flags:
            return Difference(dtype.str, now_E[places_N].cpu().numpy(), gaps_N.astype(dtype))
    flags_E = np.packbits(differs_E.cpu().numpy())
    return Difference("flags", now_E[differs_E].cpu().numpy(), flags_E)


@torch.no_grad()
def put(tensor: Tensor, form: str, values: Any, where: Any) -> None:
    """Make in `tensor` the changes that a difference of this form holds; both are bytes."""
    into_E = _bits(tensor)
    values_N = torch.from_numpy(np.frombuffer(values, np.uint8)).view(into_E.dtype)
    values_N = values_N.to(into_E.device)
    if form == "whole":
        into_E.copy_(values_N)
    elif form == "flags":
        flags_E = np.unpackbits(np.frombuffer(where, np.uint8), count=into_E.numel()).view(bool)
        into_E[torch.from_numpy(flags_E).to(into_E.device)] = values_N
    else:
        places_N = np.cumsum(np.frombuffer(where, form), dtype=np.int64) - 1
        into_E[torch.from_numpy(places_N).to(into_E.device)] = values_N


def _bits(tensor: Tensor) -> Tensor:
    """The same memory, as integers."""
    return tensor.detach().view(-1).view(_BITS[tensor.element_size()])
