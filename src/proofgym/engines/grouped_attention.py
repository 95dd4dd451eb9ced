"""Attention of one new token a row, for transformers models.

The query heads that share a key head are its queries: nothing is repeated, where transformers
copies keys and values once for each of them whenever there is a mask.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

_NAME = "proofgym_grouped"


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
    attention_mask: Tensor,
    scaling: float | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """query (N, H, 1, D), key and value (N, K, S, D), mask (N, 1, 1, S): (N, 1, H, D).

    Heads h = k·H/K … share key head k, as `repeat_kv` has it.
    """
    rows, heads, width = query.shape[0], query.shape[1], query.shape[3]
    groups = query.reshape(rows, key.shape[1], -1, width)
    attended = scaled_dot_product_attention(
        groups, key, value, attn_mask=attention_mask, scale=scaling
    )
    return attended.reshape(rows, 1, heads, width), None
