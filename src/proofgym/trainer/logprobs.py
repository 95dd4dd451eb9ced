"""Log-probabilities and entropies of drawn tokens, without holding all logits at once."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

#: Logits held at once. More positions than fit are done in parts, whose logits are computed a
#: second time for the gradient.
MOST_LOGITS = 1 << 28


def logprobs(
    hidden_KD: Tensor, head: Any, targets_K: Tensor, temperature: float
) -> tuple[Tensor, Tensor]:
    """Natural log-probability (K,) of each target under softmax(logits / temperature), and the
    entropy (K,) of that distribution in nats; both float32 and differentiable."""
    size = max(1, MOST_LOGITS // head.weight.shape[0])
    if len(hidden_KD) <= size:
        return _part(hidden_KD, head, targets_K, temperature)
    parts = [
        checkpoint(_part, hidden, head, targets, temperature, use_reentrant=False)
        for hidden, targets in zip(hidden_KD.split(size), targets_K.split(size), strict=True)
    ]
    return torch.cat([part[0] for part in parts]), torch.cat([part[1] for part in parts])


def _part(
    hidden_KD: Tensor, head: Any, targets_K: Tensor, temperature: float
) -> tuple[Tensor, Tensor]:
    logits_KV = head(hidden_KD).float()
    if temperature != 1:
        logits_KV = logits_KV / temperature
    logs_KV = logits_KV.log_softmax(-1)
    chosen_K = logs_KV.gather(-1, targets_K[:, None])[:, 0]
    return chosen_K, -(logs_KV.exp() * logs_KV).sum(-1)
