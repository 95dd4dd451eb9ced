"""Attention of one new token a row, for transformers models.

The query heads that share a key head are its queries: nothing is repeated, where transformers
copies keys and values once for each of them whenever there is a mask. On a CPU in float32 two
products and a softmax between them are up to twice as fast as torch's fused attention, which is
made for many queries; in narrower dtypes they would round the scores. A GPU has a kernel for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from proofgym.engines.cache import StepCache
from proofgym.errors import EngineError

_NAME = "proofgym_grouped"
BY_KERNEL = {"cuda"}
"""Devices on which a kernel stores what is new and attends."""


@contextmanager
def grouped_attention(config: Any) -> Iterator[None]:
    """The model of this transformers config attends so meanwhile."""
    from transformers import AttentionInterface

    AttentionInterface.register(_NAME, _attend)
    kept = config._attn_implementation
    config._attn_implementation = _NAME
    try:
        yield
    finally:
        config._attn_implementation = kept


def _attend(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    step_cache: StepCache | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """query (N, H, 1, D), key and value (N, K, S, D), mask (N, 1, 1, S): (N, 1, H, D). Without a
    mask key and value are the new ones, S = 1, for the kernel to store.

    Heads h = k·H/K … share key head k, as `repeat_kv` has it. Raises EngineError for models whose
    attention is another.
    """
    if step_cache is None or key.shape != value.shape or key.shape[-1] != query.shape[-1]:
        raise EngineError(
            f"{type(module).__name__} attends in a way that proofgym does not know: use a model of "
            "the Llama, Qwen2 or Qwen3 family"
        )
    rows, heads, width = query.shape[0], query.shape[1], query.shape[3]
    groups = query.reshape(rows, key.shape[1], -1, width)
    scale = scaling or width**-0.5
    if attention_mask is None:
        attended = _by_kernel(groups, key[:, :, 0], value[:, :, 0], step_cache, scale)
    else:
        attend = _products if query.is_cpu and query.dtype == torch.float32 else _fused
        attended = attend(groups, key, value, attention_mask, scale)
    return attended.reshape(rows, 1, heads, width), None


def _by_kernel(
    groups: Tensor, key: Tensor, value: Tensor, cache: StepCache, scaling: float
) -> Tensor:
    from proofgym.engines.decode_attention import attend_new

    return attend_new(groups, key, value, cache.keys, cache.values, cache.positions, scaling)


def _fused(
    groups: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scaling: float
) -> Tensor:
    return scaled_dot_product_attention(groups, key, value, attn_mask=mask, scale=scaling)


def _products(groups: Tensor, key: Tensor, value: Tensor, mask: Tensor, scaling: float) -> Tensor:
    """groups (N, K, G, D). Rows and key heads are one axis: torch copies what has more of them."""
    groups_BGD, key_BSD, value_BSD = groups.flatten(0, 1), key.flatten(0, 1), value.flatten(0, 1)
    mask_BSG = mask.expand(*groups.shape[:3], -1).flatten(0, 1).transpose(1, 2)
    scores_BSG = torch.baddbmm(mask_BSG, key_BSD, groups_BGD.transpose(1, 2), alpha=scaling)
    weights_BGS = scores_BSG.transpose(1, 2).softmax(-1)
    return torch.bmm(weights_BGS, value_BSD).view(groups.shape)
