"""The forward pass of training: how likely the model finds drawn tokens, and its entropy."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

#: Logits held at once. More positions than fit are done in parts, whose logits are computed a
#: second time for the gradient.
MOST_LOGITS = 1 << 28


class Scorer(nn.Module):
    """A causal language model, asked only for what it drew.

    `pull` makes the entropy differentiable too, which holds more in memory.
    """

    def __init__(self, model: Any, pull: bool = False) -> None:
        super().__init__()
        self.model, self.pull = model, pull

    def forward(
        self,
        ids_BT: Tensor,
        positions_BT: Tensor,
        mask_B1TT: Tensor | None,
        reads_K2: Tensor,
        targets_K: Tensor,
        temperature: float,
    ) -> tuple[Tensor, Tensor]:
        """Natural log-probability (K,) of each target under softmax(logits / temperature) at its
        row and column of `reads_K2`, and the entropy (K,) of that distribution in nats; float32.
        """
        hidden_BTD = self.model.model(
            ids_BT, attention_mask=mask_B1TT, position_ids=positions_BT, use_cache=False
        ).last_hidden_state
        hidden_KD = hidden_BTD[reads_K2[:, 0], reads_K2[:, 1]]
        head = self.model.get_output_embeddings()
        size = max(1, MOST_LOGITS // head.weight.shape[0])
        if len(hidden_KD) <= size:
            return self._read(hidden_KD, head, targets_K, temperature)
        parts = [
            checkpoint(self._read, hidden, head, targets, temperature, use_reentrant=False)
            for hidden, targets in zip(hidden_KD.split(size), targets_K.split(size), strict=True)
        ]
        return torch.cat([part[0] for part in parts]), torch.cat([part[1] for part in parts])

    def _read(
        self, hidden_KD: Tensor, head: Any, targets_K: Tensor, temperature: float
    ) -> tuple[Tensor, Tensor]:
        logits_KV = head(hidden_KD).float()
        if temperature != 1:
            logits_KV = logits_KV / temperature
        logs_KV = logits_KV.log_softmax(-1)
        chosen_K = logs_KV.gather(-1, targets_K[:, None])[:, 0].clone()  # FSDP wants no views
        if self.pull:
            return chosen_K, -(logs_KV.exp() * logs_KV).sum(-1)
        still_KV = logs_KV.detach()
        return chosen_K, -still_KV.exp().mul_(still_KV).sum(-1)
