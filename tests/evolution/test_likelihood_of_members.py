"""Members read tokens: the same numbers as each one's weights in the model, read alone."""

import numpy as np
import pytest
import torch
from populations import model, updated

from proofgym.errors import EngineError
from proofgym.evolution import likelihood, ways
from proofgym.evolution.likelihood import Reader
from proofgym.evolution.ways import Lent
from proofgym.trainer.sample import Sample

MEMBERS = 6


def samples(seed=0):
    """Groups of completions of one prompt each, one with inserted tokens, one prompt alone."""
    draw, made = np.random.default_rng(seed), []
    for prompt, group in ((3, 4), (7, 3), (5, 1)):
        prompt_ids = tuple(draw.integers(0, 61, prompt).tolist())
        for _ in range(group):
            count = int(draw.integers(1, 9))
            drawn = np.ones(count, bool)
            drawn[1 : count // 2] = False
            sample = Sample(prompt_ids, tuple(draw.integers(0, 61, count).tolist()), drawn)
            sample.values["weight"] = draw.normal(size=sample.count).astype(np.float32)
            made.append(sample)
    return made


def naive(made, state, texts, heat):
    """Every member's weights written into the model, every sample in a pass of its own."""
    lent, sums = Lent(made, state), []
    for member in range(MEMBERS):
        lent.member(member, 1)
        total = 0.0
        for sample in texts:
            ids = torch.tensor([[*sample.prompt_ids, *sample.token_ids]])
            logs = (made(ids).logits[0].double() / heat).log_softmax(-1)
            places = len(sample.prompt_ids) + np.flatnonzero(sample.drawn)
            chosen = [float(logs[place - 1, ids[0, place]]) for place in places]
            total += float(np.dot(chosen, sample.values["weight"]))
        sums.append(total)
    lent.policy()
    return np.array(sums)


@pytest.mark.parametrize("kind", ["llama", "qwen2"])
@pytest.mark.parametrize(
    ("how", "rank", "noise"),
    [
        ("factored", 1, "rademacher"),
        ("factored", 2, "gaussian8"),
        ("materialised", None, "gaussian8"),
    ],
)
def test_likelihoods_are_those_of_each_member_alone(kind, how, rank, noise, monkeypatch):
    made = model(kind)
    state = updated(made, rank=rank, noise=noise, members=MEMBERS)
    texts = samples()
    way = ways.make(how, Lent(made, state), None)
    for heat in (1.0, 0.7):
        expected = naive(made, state, texts, heat)
        assert np.ptp(expected) > 0.1
        for most_tokens, most_logits in ((10_000, 1 << 28), (40, 1 << 28), (10_000, 61 * 40)):
            monkeypatch.setattr(likelihood, "MOST_LOGITS", most_logits)
            done = []
            reader = Reader(made, most_tokens)
            found = reader.weighted_likelihoods(way, 1, range(MEMBERS), texts, heat, done.append)
            np.testing.assert_allclose(found, expected, rtol=0, atol=2e-4)
            assert sum(done) == MEMBERS
    way.detach()


def test_what_members_agree_on_is_computed_once(monkeypatch):
    made = model()
    state = updated(made, rank=1, members=MEMBERS, patterns=("model.norm.weight",))
    texts, rows = samples(), []
    expected = naive(made, state, texts, 1.0)
    assert np.ptp(expected) > 0.02
    way = ways.make("factored", Lent(made, state), None)
    first = made.model.layers[0]
    forward = first.forward
    monkeypatch.setattr(first, "forward", lambda x, **k: rows.append(len(x)) or forward(x, **k))
    for most, passes in ((10_000, 1), (1, 3 * MEMBERS)):
        rows.clear()
        found = Reader(made, most).weighted_likelihoods(way, 1, range(MEMBERS), texts, 1.0)
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-4)
        assert len(rows) == passes
        assert sum(rows) == 3 * (1 if most > 1 else MEMBERS)
    way.detach()


def test_samples_alone_need_no_mask_and_tokens_without_weight_count_for_nothing():
    made = model()
    state = updated(made, rank=1, members=MEMBERS)
    texts = [text for text in samples() if len(text.prompt_ids) == 5]
    way = ways.make("factored", Lent(made, state), None)
    reader = Reader(made, 100)
    found = reader.weighted_likelihoods(way, 1, range(MEMBERS), texts, 1.0)
    np.testing.assert_allclose(found, naive(made, state, texts, 1.0), rtol=0, atol=1e-4)
    texts[0].values["weight"][:] = 0
    assert not reader.weighted_likelihoods(way, 1, range(MEMBERS), texts, 1.0).any()
    way.detach()


def test_what_to_lower_when_memory_runs_out():
    made = model()
    way = ways.make("factored", Lent(made, updated(made, rank=1, members=MEMBERS)), None)

    def full(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory")

    made.model.layers[1].forward = full
    with pytest.raises(EngineError, match=r"passes of 77 tokens: lower ES\.micro_tokens"):
        Reader(made, 77).weighted_likelihoods(way, 1, range(MEMBERS), samples(), 1.0)
    way.detach()
