"""Which modules of a model use chosen tensors, and how."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal

import torch
from torch import Tensor, nn

from proofgym.errors import ModelError
from proofgym.evolution import manifest

_LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks)\.(\d+)\.")


def uses(
    model: nn.Module, chosen: manifest.Manifest
) -> Iterator[tuple[nn.Module, str, manifest.Tensor]]:
    """Every module that uses a chosen tensor, as which of its parameters; a tied one is used by
    several. Raises ModelError for a tensor that none uses, or one used in an unknown way."""
    parameters = dict(model.named_parameters())
    wanted = {id(parameters[tensor.name]): tensor for tensor in chosen}
    used = set()
    for module in model.modules():
        for name, parameter in module.named_parameters(recurse=False):
            tensor = wanted.get(id(parameter))
            if tensor is not None:
                _refuse_unknown(module, name, tensor)
                yield module, name, tensor
                used.add(tensor.name)
    missing = [tensor.name for tensor in chosen if tensor.name not in used]
    if missing:
        raise ModelError(f"found no module that uses {missing[0]}")


def kind(module: nn.Module) -> Literal["linear", "embedding", "norm"]:
    """What a module of `uses` does with its parameters."""
    if isinstance(module, nn.Linear):
        return "linear"
    return "embedding" if isinstance(module, nn.Embedding) else "norm"


def _refuse_unknown(module: nn.Module, name: str, tensor: manifest.Tensor) -> None:
    if isinstance(module, nn.Linear | nn.Embedding):
        return
    if name == "weight" and len(tensor.shape) == 1 and getattr(module, "bias", None) is None:
        return
    raise ModelError(
        f"members cannot share a batch: it is not known how {type(module).__name__} uses "
        f'{tensor.name}. Leave it out (parameters = "*", "!{tensor.name}") or set '
        'evaluation="materialised"'
    )


def for_rows(vectors: Tensor, members: Tensor, like: Tensor) -> Tensor:
    """[B, 1…, N] of vectors [n, N]: the one of each row's member [B], for rows like [B, …, N]."""
    found = vectors[members]
    return found.view(like.shape[0], *[1] * (like.dim() - 2), found.shape[1])


def with_gain(
    module: nn.Module, forward: Callable[[Tensor], Tensor], gain: Tensor, x: Tensor
) -> Tensor:
    """A norm's forward pass with a gain for each row, [B, 1…, N], in the place of its own."""
    if isinstance(module, nn.LayerNorm | nn.RMSNorm):  # these insist on a 1-D gain
        return _replaced(module, torch.ones_like(module.weight), lambda: forward(x)) * gain
    return _replaced(module, gain, lambda: forward(x))


def _replaced(module: nn.Module, weight: Tensor, call: Callable[[], Tensor]) -> Tensor:
    parameters = module._parameters
    kept = parameters["weight"]
    parameters["weight"] = weight  # type: ignore[assignment]
    try:
        return call()
    finally:
        parameters["weight"] = kept


def first_layer(model: nn.Module, chosen: manifest.Manifest) -> int:
    """Index of the first decoder layer with a chosen tensor; the depth if none has one."""
    embedding = getattr(model, "get_input_embeddings", lambda: None)()
    depth, first = 0, None
    for name, _ in model.named_parameters():
        if found := _LAYER.search(name):
            depth = max(depth, int(found[1]) + 1)
    parameters = dict(model.named_parameters())
    for tensor in chosen:
        found = _LAYER.search(tensor.name)
        if embedding is not None and parameters[tensor.name] is embedding.weight:
            return 0
        layer = int(found[1]) if found else depth
        first = layer if first is None else min(first, layer)
    return depth if first is None else first
