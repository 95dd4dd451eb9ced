"""The policy-gradient losses of GRPO and its kin, as sums over drawn tokens.

A loss is Σ_k w_k·l_k over the K drawn tokens of a step. The weights w_k hold the whole of how
tokens and sequences are averaged (`token_weights`) and are known before any forward pass, so
however the step is cut into passes, the sums and gradients are the same.

Per token, with advantage A, ratio r = π_new/π_old and its clipped c = clip(r, 1−ε_low, 1+ε_high):

- `clip`: −min(r·A, c·A) (PPO, arXiv 1707.06347, eq. 7); ε_high > ε_low is DAPO's "clip higher"
  (arXiv 2503.14476, eq. 10); `clip_dual` bounds r from above where A < 0 (arXiv 1912.09729).
- `cispo`: −sg(min(r, 1+ε_high))·A·log π_new (MiniMax-M1, arXiv 2506.13585, eq. 4).

With `ratio="sequence"` r is the geometric mean of the sequence's ratios (GSPO, arXiv 2507.18071,
eq. 7). `kl` adds β·(e^d − d − 1), d = log π_ref − log π_new (arXiv 2402.03300, eq. 4). `entropy`
takes away a multiple of the tokens' mean entropy. `importance_cap` multiplies the policy term by
min(π_old/π_engine, cap): truncated importance sampling between the model that trains and the engine
that drew the tokens (Yao et al., 2025, "Your efficient RL framework secretly brings you off-policy
RL training").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from torch import Tensor

    from proofgym.trainer.tokens import Tokens

Aggregation = Literal["sequence_mean", "token_mean", "constant"]


def token_weights(lengths: Sequence[int], how: Aggregation, most: int) -> list[float]:
    """w of each drawn token of each of the step's attempts, by the attempts' drawn tokens.

    - `sequence_mean`: mean over an attempt's tokens, then over attempts (GRPO, arXiv 2402.03300).
    - `token_mean`: mean over all tokens of the step (DAPO, arXiv 2503.14476).
    - `constant`: sum over an attempt's tokens / `most`, then mean over attempts: no preference for
      short or long answers (Dr. GRPO, arXiv 2503.20783).
    """
    if how == "token_mean":
        return [1 / max(1, sum(lengths))] * len(lengths)
    if how == "constant":
        return [1 / (most * len(lengths))] * len(lengths)
    return [1 / (max(1, length) * len(lengths)) for length in lengths]


@dataclass(frozen=True, slots=True)
class PolicyLoss:
    """A loss over `Tokens` with values `advantage`, `weight` and `share` (1 / tokens computed);
    where they are needed also `old`, `engine` or `importance`, and `reference`."""

    objective: Literal["clip", "cispo"] = "clip"
    ratio: Literal["token", "sequence"] = "token"
    clip_low: float = 0.2
    clip_high: float = 0.2
    clip_dual: float | None = None
    kl: float = 0.0
    entropy: float = 0.0
    importance_cap: float | None = None

    def __call__(self, tokens: Tokens) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of these tokens, and their part of: mean ratio, shares clipped, k3, entropy and
        the mean |log π − log π_engine| (all means over the tokens computed)."""
        new_K, advantage_K, share_K = tokens.logprobs, tokens["advantage"], tokens["share"]
        old_K = tokens.values["old"] if "old" in tokens.values else new_K.detach()
        ratio_K = self._ratio(new_K - old_K, tokens).exp()
        loss_K = self._policy(ratio_K, advantage_K, new_K)
        if self.importance_cap is not None:
            loss_K = loss_K * self._importance(tokens, old_K)
        low_K = (ratio_K < 1 - self.clip_low) & (advantage_K < 0)
        high_K = (ratio_K > 1 + self.clip_high) & (advantage_K > 0)
        report = {
            "ratio": (ratio_K * share_K).sum(),
            "clipped_low": (low_K * share_K).sum(),
            "clipped_high": (high_K * share_K).sum(),
            "entropy": (tokens.entropy * share_K).sum(),
        }
        if self.kl:
            distance_K = tokens["reference"] - new_K
            k3_K = distance_K.exp() - distance_K - 1
            loss_K = loss_K + self.kl * k3_K
            report["kl"] = (k3_K * share_K).sum()
        loss = (loss_K * tokens["weight"]).sum()
        if self.entropy:
            loss = loss - self.entropy * report["entropy"]
        return loss, report

    def _ratio(self, log_ratio_K: Tensor, tokens: Tokens) -> Tensor:
        """Log of the ratio that each token is weighted by."""
        if self.ratio == "token":
            return log_ratio_K
        zeros_S = log_ratio_K.new_zeros(tokens.sequences)
        sums_S = zeros_S.index_add(0, tokens.sequence, log_ratio_K)
        counts_S = zeros_S.index_add(0, tokens.sequence, log_ratio_K.detach() * 0 + 1)
        return (sums_S / counts_S)[tokens.sequence]

    def _policy(self, ratio_K: Tensor, advantage_K: Tensor, new_K: Tensor) -> Tensor:
        if self.objective == "cispo":
            return -ratio_K.clamp(max=1 + self.clip_high).detach() * advantage_K * new_K
        clipped_K = ratio_K.clamp(1 - self.clip_low, 1 + self.clip_high)
        if self.clip_dual is not None:
            ratio_K = ratio_K.clamp(max=self.clip_dual)
        return -(ratio_K * advantage_K).minimum(clipped_K * advantage_K)

    def _importance(self, tokens: Tokens, old_K: Tensor) -> Tensor:
        if "importance" in tokens.values:
            return tokens["importance"].clamp(max=self.importance_cap)
        return (old_K - tokens["engine"]).exp().clamp(max=self.importance_cap)


def cross_entropy(tokens: Tokens) -> tuple[Tensor, dict[str, Tensor]]:
    """−Σ share·log π, in nats; with a `share` of 1 / tokens of the step (`even`) their mean."""
    return -(tokens.logprobs * tokens["share"]).sum(), {}
