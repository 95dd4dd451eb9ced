"""Draw tokens from logits with given uniforms, and their log-probabilities."""

from __future__ import annotations

import torch
from torch import Tensor

_CHUNK = 128
#: Logits on a CPU that are looked at together: a few MB, which its caches hold.
_CACHED = 2**20


def sample(
    logits_NV: Tensor, uniforms_N: Tensor, temperature: float, top_p: float
) -> tuple[Tensor, Tensor]:
    """Token ids (N,) and their natural log-probabilities (N,) under the policy at temperature 1.

    A token is where the cumulative distribution passes the row's uniform draw, so it depends on
    nothing but the row. Temperature 0 takes the most likely token.
    """
    if logits_NV.is_cpu and logits_NV.numel() > _CACHED:
        size = max(1, _CACHED // logits_NV.shape[1])
        parts = zip(logits_NV.split(size), uniforms_N.split(size), strict=True)
        drawn = [_sample(*part, temperature, top_p) for part in parts]
        return torch.cat([tokens for tokens, _ in drawn]), torch.cat([logps for _, logps in drawn])
    return _sample(logits_NV, uniforms_N, temperature, top_p)


def _sample(
    logits_NV: Tensor, uniforms_N: Tensor, temperature: float, top_p: float
) -> tuple[Tensor, Tensor]:
    logits_NV = logits_NV.float()
    highest_N1 = logits_NV.amax(-1, keepdim=True)
    weights_NV = (logits_NV - highest_N1).exp_()
    normaliser_N = highest_N1[:, 0] + weights_NV.sum(-1).log()
    if temperature == 0:
        tokens_N = logits_NV.argmax(-1)
    else:
        if temperature != 1:
            weights_NV = ((logits_NV - highest_N1) / temperature).exp_()
        if top_p < 1:
            weights_NV = _nucleus(weights_NV, top_p)
        tokens_N = _inverse(weights_NV, uniforms_N)
    chosen_N = logits_NV.gather(-1, tokens_N[:, None])[:, 0]
    return tokens_N, chosen_N - normaliser_N


def _inverse(weights_NV: Tensor, uniforms_N: Tensor) -> Tensor:
    """The first index whose cumulative weight exceeds the draw times the total.

    Two levels (chunks, then inside one chunk), each summed in float64: a running sum over a whole
    vocabulary in float32 would lose the tail, and in float64 would cost ten times more.
    """
    rows, vocabulary = weights_NV.shape
    if vocabulary % _CHUNK:
        weights_NV = torch.nn.functional.pad(weights_NV, (0, -vocabulary % _CHUNK))
    chunks_NCK = weights_NV.view(rows, -1, _CHUNK)
    ends_NC = chunks_NCK.sum(-1).double().cumsum(-1)
    goal_N1 = uniforms_N.to(ends_NC)[:, None] * ends_NC[:, -1:]
    chunk_N1 = (ends_NC <= goal_N1).sum(-1, keepdim=True).clamp_(max=ends_NC.shape[1] - 1)
    start_N1 = torch.where(
        chunk_N1 > 0, ends_NC.gather(1, (chunk_N1 - 1).clamp(min=0)), torch.zeros_like(goal_N1)
    )
    inside_NK = chunks_NCK[torch.arange(rows, device=chunk_N1.device), chunk_N1[:, 0]]
    ends_NK = start_N1 + inside_NK.double().cumsum(-1)
    # Rounding may leave the draw past the last end; then the last token of any weight is meant.
    last_N1 = (inside_NK > 0).long().cumsum(-1).argmax(-1, keepdim=True)
    index_N1 = torch.minimum((ends_NK <= goal_N1).sum(-1, keepdim=True), last_N1)
    return (chunk_N1 * _CHUNK + index_N1)[:, 0]


def _nucleus(weights_NV: Tensor, top_p: float) -> Tensor:
    """Zero all but the fewest most likely tokens that hold `top_p` of the weight."""
    sorted_NV, order_NV = weights_NV.sort(dim=-1, descending=True, stable=True)
    before_NV = sorted_NV.cumsum(-1) - sorted_NV
    kept_NV = sorted_NV.where(before_NV < top_p * sorted_NV.sum(-1, keepdim=True), 0.0)
    return torch.zeros_like(weights_NV).scatter_(-1, order_NV, kept_NV)
