"""Drawing tokens: the distribution is right, the tail is reachable, the edges are safe."""

import numpy as np
import pytest
import torch

from proofgym.engines import sampler
from proofgym.engines.sampler import sample
from proofgym.random import uniforms


def draw(logits, count, temperature=1.0, top_p=1.0):
    draws = torch.from_numpy(uniforms([3], np.arange(count)))
    return sample(torch.tensor(logits).expand(count, -1), draws, temperature, top_p)[0]


def test_frequencies_follow_the_softmax():
    logits = torch.linspace(0, 2, 300)
    tokens = draw(logits.tolist(), 8_000, temperature=0.8)
    frequency = torch.bincount(tokens, minlength=300) / 8_000
    wanted = (logits / 0.8).softmax(-1)
    assert float((frequency - wanted).abs().sum()) < 0.2


def test_a_draw_is_the_inverse_of_the_cumulative_distribution():
    logits = torch.randn(64, 1000, generator=torch.Generator().manual_seed(0)) * 3
    draws = torch.from_numpy(uniforms([9], np.arange(64)))
    tokens, logprobs = sample(logits, draws, 1.0, 1.0)
    ends = logits.double().softmax(-1).cumsum(-1)
    assert tokens.tolist() == (ends <= draws[:, None]).sum(-1).tolist()
    wanted = logits.log_softmax(-1).gather(-1, tokens[:, None])[:, 0]
    torch.testing.assert_close(logprobs, wanted, atol=1e-5, rtol=0)


@pytest.mark.parametrize("value", [0.0, 1 - 2**-53])
@pytest.mark.parametrize("hot", [0, 127, 128, 299])
def test_extreme_draws_stay_on_tokens_with_weight(value, hot):
    logits = torch.full((1, 300), -float("inf"))
    logits[0, hot] = 0.0
    token, logprob = sample(logits, torch.tensor([value], dtype=torch.float64), 1.0, 1.0)
    assert token.item() == hot
    assert logprob.item() == 0.0


def test_top_p_keeps_the_fewest_likely_tokens():
    logits = torch.tensor([0.5, 0.3, 0.15, 0.05]).log().tolist()
    assert set(draw(logits, 500, top_p=0.79).tolist()) == {0, 1}
    assert set(draw(logits, 500, top_p=0.81).tolist()) == {0, 1, 2}
    assert set(draw(logits, 500, top_p=0.01).tolist()) == {0}


def test_logprobs_are_at_temperature_one():
    logits = torch.tensor([[2.0, 1.0, 0.0]])
    for temperature in (0, 0.3, 2.0):
        token, logprob = sample(logits, torch.tensor([0.0]), temperature, 0.9)
        assert logprob.item() == pytest.approx(logits.log_softmax(-1)[0, token].item(), abs=1e-6)


def test_many_rows_draw_what_each_draws_alone(monkeypatch):
    logits = torch.randn(7, 300, generator=torch.Generator().manual_seed(1))
    draws = torch.from_numpy(uniforms([4], np.arange(7)))
    together = sample(logits, draws, 0.7, 0.9)
    monkeypatch.setattr(sampler, "_CACHED", 1000)  # three rows of three at most
    apart = sample(logits, draws, 0.7, 0.9)
    assert torch.equal(together[0], apart[0])
    assert torch.equal(together[1], apart[1])
