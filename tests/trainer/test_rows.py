"""Samples laid out in rows: each drawn token once, and the same numbers whatever the layout."""

from __future__ import annotations

import numpy as np
import pytest
import tiny_models
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from proofgym.engines.transformers import TransformersEngine
from proofgym.trainer.options import LoRA, TrainerOptions
from proofgym.trainer.rows import lay_out, microbatches
from proofgym.trainer.sample import Sample, sequences
from proofgym.trainer.trainer import Trainer
from proofgym.types import Completion

ids = st.lists(st.integers(1, 299), min_size=1, max_size=6).map(tuple)
drawn = st.lists(st.tuples(st.integers(1, 299), st.booleans()), min_size=1, max_size=8)


def sample(prompt, parts):
    return Sample(
        tuple(prompt), tuple(token for token, _ in parts), np.array([it for _, it in parts])
    )


several = st.lists(st.tuples(st.sampled_from([(1, 2), (1, 2, 3), (9,)]), drawn), min_size=1)


@given(several, st.integers(1, 64), st.integers(1, 40), st.booleans())
def test_every_drawn_token_is_predicted_once_from_what_came_before(data, width, size, share):
    samples = [sample(prompt, parts) for prompt, parts in data]
    batches = microbatches(lay_out(samples, width, share), size)
    rows = [row for batch in batches for row in batch]
    assert sorted(place for row in rows for place in row.samples) == [
        place for place, item in enumerate(samples) if item.count
    ]
    for batch in batches:
        assert len(batch) == 1 or len(batch) * len(batch[0].ids) <= size
        assert max(len(row.ids) for row in batch) == len(batch[0].ids)
    for row in rows:
        seen = iter(zip(row.columns, row.targets, strict=True))
        for number, place in enumerate(row.samples, start=1):
            item = samples[place]
            whole = item.prompt_ids + item.token_ids
            for offset in np.flatnonzero(item.drawn):
                column, target = next(seen)
                assert target == item.token_ids[offset]
                assert row.positions[column] == len(item.prompt_ids) + offset - 1
                before = [
                    token
                    for token, owner in zip(
                        row.ids[: column + 1], row.owners[: column + 1], strict=True
                    )
                    if owner in (0, number)
                ]
                assert tuple(before) == whole[: len(item.prompt_ids) + offset]
        assert next(seen, None) is None


@pytest.mark.parametrize("family", tiny_models.FAMILIES)
def test_logprobs_are_the_engines_in_any_layout(family):
    model = tiny_models.loaded(family)
    draw = np.random.default_rng(0)
    samples = [
        sample(prompt, [(int(it), True) for it in draw.integers(1, 300, draw.integers(1, 9))])
        for prompt in ((5, 6, 7, 8), (9,))
        for _ in range(4)
    ]
    engine = TransformersEngine(model)
    wanted = [engine.score(item.prompt_ids, item.token_ids) for item in samples]
    for options in (
        TrainerOptions(),
        TrainerOptions(share_prompts=False),
        TrainerOptions(micro_tokens=1, gradient_checkpointing=True),
    ):
        found = Trainer(model.model, options).logprobs(samples)
        for ours, theirs in zip(found, wanted, strict=True):
            assert ours == pytest.approx(theirs, abs=2e-5)


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 100), st.booleans())
def test_gradients_do_not_depend_on_how_a_step_is_cut(tokens, share):
    draw = np.random.default_rng(1)
    samples = [
        sample(prompt, [(int(it), bool(it % 3)) for it in draw.integers(1, 300, 6)])
        for prompt in ((5, 6, 7, 8), (9,))
        for _ in range(3)
    ]

    def gradients(options):
        model = tiny_models.build_model()
        trainer = Trainer(model, options)
        for batch, _ in trainer._batches(samples):
            trainer._tokens(trainer.policy.scorer, batch, samples).logprobs.sum().backward()
        return [parameter.grad for parameter in trainer.policy.trained.values()]

    whole = gradients(TrainerOptions(share_prompts=False))
    for ours, theirs in zip(
        gradients(TrainerOptions(micro_tokens=tokens, share_prompts=share)), whole, strict=True
    ):
        assert torch.allclose(ours, theirs, rtol=1e-4, atol=1e-4 * float(theirs.abs().max()))


def test_turns_become_one_sequence_and_branches_their_own():
    first = Completion((1, 2), (3, 4), (-0.1, -0.2), "", "stop")
    second = Completion((1, 2, 3, 4, 50, 51), (5,), (-0.3,), "", "stop")
    branch = Completion((1, 2, 60), (7, 8), (-0.4, -0.5), "", "stop")
    joined, apart = sequences([first, second, branch])
    assert joined.prompt_ids == (1, 2)
    assert joined.token_ids == (3, 4, 50, 51, 5)
    assert joined.drawn.tolist() == [True, True, False, False, True]
    assert joined.values["engine"] == pytest.approx([-0.1, -0.2, -0.3])
    assert (apart.prompt_ids, apart.token_ids) == ((1, 2, 60), (7, 8))


def test_lora_leaves_the_base_alone_and_publishes_the_merged_weights():
    model = tiny_models.loaded()
    before = {name: it.clone() for name, it in model.model.named_parameters()}
    trainer = Trainer(model.model, TrainerOptions(lora=LoRA(rank=4), learning_rate=1e-2))
    samples = [sample((5, 6, 7), [(8, True), (9, True)])]
    (start,) = trainer.logprobs(samples)
    trainer.step(samples, lambda tokens: (-tokens.logprobs.sum(), {}))
    (trained,) = trainer.logprobs(samples)
    (reference,) = trainer.logprobs(samples, reference=True)
    assert (reference == start).all()
    assert trained.sum() > start.sum() + 0.1
    assert trainer.publish() == 14
    engine = TransformersEngine(model)
    assert engine.score((5, 6, 7), (8, 9)) == pytest.approx(trained, abs=2e-5)
    changed = {name for name, it in model.model.named_parameters() if (it != before[name]).any()}
    assert len(changed) == 14
    assert all("proj" in name for name in changed)


def test_low_precision_weights_have_a_float32_master_copy():
    model = tiny_models.loaded()
    model.model.to(torch.bfloat16)
    options = TrainerOptions(learning_rate=1e-6, precision="float32")
    trainer = Trainer(model.model, options)
    samples = [sample((5, 6, 7), [(8, True), (9, True)])]
    for _ in range(3):
        trainer.step(samples, lambda tokens: (-tokens.logprobs.sum(), {}))
    name, master = next(iter(trainer.policy.trained.items()))
    assert master.dtype == torch.float32
    trainer.publish()
    held = dict(model.model.named_parameters())[name]
    assert held.dtype == torch.bfloat16
    assert (held == master.bfloat16()).all()
    # Steps of 1e-6 vanish when they are added to bfloat16 weights near 1.
    assert (master != master.bfloat16().float()).any()
