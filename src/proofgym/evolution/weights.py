"""Weights as NumPy arrays: views of torch tensors, conversions to and from float32, digests.

bfloat16 has no NumPy type, so its arrays are the bits, as uint16.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proofgym.evolution import kernels, threads
from proofgym.evolution.manifest import Tensor

#: Torch tensors, or NumPy arrays in storage form, by name.
Tensors = Mapping[str, Any]

STORAGE: dict[str, Any] = {"float32": np.float32, "bfloat16": np.uint16, "float16": np.float16}


def decode(values: NDArray[Any]) -> NDArray[np.float32]:
    """Exact float32 of stored weights, flat."""
    if values.dtype == np.uint16:
        return kernels.load().decode_bfloat16(values)
    return values.astype(np.float32, copy=False)


def encode(values: NDArray[np.float32], out: NDArray[Any]) -> None:
    """Round flat float32 to the dtype of `out`, half to even; NaN stays NaN."""
    if out.dtype != np.uint16:
        with np.errstate(over="ignore"):
            out[...] = values
        return
    kernels.load().encode_bfloat16(values, out)


def read(tensor: Any) -> NDArray[Any]:
    """A flat NumPy copy of a torch tensor (or of an array) in storage form, on the CPU."""
    if isinstance(tensor, np.ndarray):
        return tensor.reshape(-1).copy()

    flat = tensor.detach().to("cpu", copy=True).contiguous().view(-1)
    return _array(flat)


def _array(flat: Any) -> NDArray[Any]:
    """The NumPy view of a flat CPU tensor."""
    import torch

    if flat.dtype == torch.bfloat16:
        return flat.view(torch.int16).numpy().view(np.uint16)
    return flat.numpy()


@contextmanager
def writing(tensor: Any) -> Iterator[NDArray[Any]]:
    """A flat NumPy array whose contents end up in `tensor`: a view where that is possible."""
    if isinstance(tensor, np.ndarray):
        yield tensor.reshape(-1)
        return
    import torch

    target = tensor.detach()
    direct = target.device.type == "cpu" and target.is_contiguous()
    flat = (target if direct else torch.empty(target.shape, dtype=target.dtype)).view(-1)
    yield _array(flat)
    if not direct:
        target.copy_(flat.view(target.shape))


def digest(tensors: Iterable[Tensor], content: Callable[[Tensor], NDArray[Any]]) -> str:
    """SHA-256 over (name, dtype, shape, SHA-256 of the little-endian bytes) of each tensor."""
    listed = list(tensors)
    contents = threads.each(lambda tensor: hashlib.sha256(content(tensor).data).digest(), listed)
    total = hashlib.sha256()
    for tensor, inner in zip(listed, contents, strict=True):
        shape = "x".join(map(str, tensor.shape))
        total.update(f"{tensor.name}\0{tensor.dtype}\0{shape}\0".encode() + inner)
    return total.hexdigest()
