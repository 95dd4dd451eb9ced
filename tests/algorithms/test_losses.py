"""Losses: gradients against finite differences, and the same however a step is cut up."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from proofgym.algorithms.losses import PolicyLoss, token_weights
from proofgym.trainer.tokens import Tokens

LENGTHS = (3, 1, 5)
VARIANTS = [
    PolicyLoss(objective=objective, ratio=ratio, kl=kl, entropy=entropy, importance_cap=cap, **more)
    for objective in ("clip", "cispo")
    for ratio in ("token", "sequence")
    for kl, entropy, cap in ((0.0, 0.0, None), (0.2, 0.1, 1.5))
    for more in ({}, {"clip_high": 0.4, "clip_dual": 1.2})
]


def tokens(logits_KV, values, chosen_K):
    logs_KV = logits_KV.log_softmax(-1)
    sequence = torch.repeat_interleave(torch.arange(len(LENGTHS)), torch.tensor(LENGTHS))
    return Tokens(
        logs_KV.gather(-1, chosen_K[:, None])[:, 0],
        -(logs_KV.exp() * logs_KV).sum(-1),
        sequence,
        len(LENGTHS),
        values,
    )


@pytest.mark.parametrize("loss", VARIANTS, ids=str)
def test_gradients_are_finite_differences(loss):
    torch.manual_seed(0)
    count = sum(LENGTHS)
    logits = torch.randn(count, 7, dtype=torch.float64)
    chosen = torch.randint(0, 7, (count,))
    now = logits.log_softmax(-1).gather(-1, chosen[:, None])[:, 0]
    values = {
        "advantage": torch.randn(len(LENGTHS), dtype=torch.float64).repeat_interleave(
            torch.tensor(LENGTHS)
        ),
        "weight": torch.rand(count, dtype=torch.float64),
        "share": torch.full((count,), 1 / count, dtype=torch.float64),
        "old": now + 0.3 * torch.randn(count, dtype=torch.float64),
        "engine": now + 0.3 * torch.randn(count, dtype=torch.float64),
        "reference": now + 0.3 * torch.randn(count, dtype=torch.float64),
    }
    logits.requires_grad_(True)
    value, _ = loss(tokens(logits, values, chosen))
    (gradient,) = torch.autograd.grad(value, logits)

    frozen = None
    if loss.objective == "cispo":  # its weights stand still: the gradient is that of A·w·log π
        ratio = loss._ratio(now - values["old"], tokens(logits.detach(), values, chosen)).exp()
        frozen = ratio.clamp(max=1 + loss.clip_high)

    def plain(at):
        found = tokens(at, values, chosen)
        if frozen is None:
            return float(loss(found)[0])
        policy = -frozen * values["advantage"] * found.logprobs
        if loss.importance_cap:
            policy = policy * (values["old"] - values["engine"]).exp().clamp(max=1.5)
        if loss.kl:
            far = values["reference"] - found.logprobs
            policy = policy + loss.kl * (far.exp() - far - 1)
        total = (policy * values["weight"]).sum()
        return float(total - loss.entropy * (found.entropy * values["share"]).sum())

    step = 1e-6
    for place in np.ndindex(3, 7):
        moved = logits.detach().clone()
        moved[place] += step
        up = plain(moved)
        moved[place] -= 2 * step
        assert float(gradient[place]) == pytest.approx((up - plain(moved)) / (2 * step), abs=1e-7)


def test_token_weights_are_the_three_averages():
    assert token_weights([2, 4], "sequence_mean", 10) == [1 / 4, 1 / 8]
    assert token_weights([2, 4], "token_mean", 10) == [1 / 6, 1 / 6]
    assert token_weights([2, 4], "constant", 10) == [1 / 20, 1 / 20]
    assert token_weights([0, 4], "sequence_mean", 10) == [1 / 2, 1 / 8]


def test_a_first_step_has_ratio_one_and_clips_nothing():
    logits = torch.randn(sum(LENGTHS), 7)
    count = sum(LENGTHS)
    values = {
        "advantage": torch.ones(count),
        "weight": torch.full((count,), 1 / count),
        "share": torch.full((count,), 1 / count),
    }
    value, report = PolicyLoss()(tokens(logits, values, torch.zeros(count, dtype=torch.long)))
    assert float(value) == pytest.approx(-1.0)
    assert float(report["ratio"]) == pytest.approx(1.0)
    assert float(report["clipped_high"]) == float(report["clipped_low"]) == 0
