"""Fine-tuning learns, stops at its plateau, and gives weights that its adapter gives again."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from tiny_models import save
from typer.testing import CliRunner

from proofgym.cli.main import app
from proofgym.engines.transformers import TransformersEngine
from proofgym.errors import ConfigError, ModelError
from proofgym.models import load_model, weights_digest
from proofgym.sft import SFT, _Session, batches, tokenise
from proofgym.trainer.sample import Sample
from proofgym.types import Request, Sampling

ANSWERS = {"p": "exact h", "q": "intro x", "r": "rfl", "s": "exact ⟨h, g⟩"}
EXAMPLES = [(f"theorem {name} : by\n  ", text) for name, text in ANSWERS.items()] * 6
QUICK = SFT(epochs=12, batch=8, learning_rate=1e-2, validation=0, alpha=64, every=4)


@pytest.fixture
def directory(tmp_path):
    return save(tmp_path / "tiny")


def changed(**fields):
    return SFT(**{**{name: getattr(QUICK, name) for name in SFT.model_fields}, **fields})


def answers(loaded):
    wanted = [Request((i,), prompt) for i, (prompt, _) in enumerate(EXAMPLES[:4])]
    sampling = Sampling(temperature=0, max_tokens=20)
    done = TransformersEngine(loaded).generate(wanted, sampling)
    return {request.prompt: (c.text, c.finish) for request, c in done}


@pytest.mark.parametrize("rank", [8, None])
def test_it_learns_text_and_end(directory, rank):
    loaded = load_model(str(directory))
    points = []
    fitted = changed(rank=rank).fit(loaded, EXAMPLES, report=points.append)
    assert points == fitted.curve
    assert points[-1]["step"] == points[-1]["steps"] == 36
    assert points[-1]["loss"] < 0.1 * points[0]["loss"]
    assert answers(fitted.loaded) == {p: (text, "stop") for p, text in EXAMPLES[:4]}
    assert fitted.loaded.digest == weights_digest(loaded.model)
    assert not any(p.requires_grad for p in loaded.model.parameters())


def test_the_adapter_gives_the_same_weights_again(directory, tmp_path):
    fitted = QUICK.fit(load_model(str(directory)), EXAMPLES)
    digest = fitted.save_adapter(tmp_path / "warm", command="proofgym sft --to warm")
    again = load_model(str(directory), adapter=tmp_path / "warm", digest=fitted.loaded.digest)
    assert again.adapter_digest == digest
    assert answers(again) == answers(fitted.loaded)
    record = json.loads((tmp_path / "warm" / "adapter.json").read_text())
    assert record["base_digest"] == again.base_digest
    assert record["rank"] == 8
    assert record["command"] == "proofgym sft --to warm"
    assert "q_proj" in record["targets"]
    assert record["curve"][-1]["step"] == 36


def test_training_is_reproducible_and_leaves_the_global_generator(directory):
    torch.manual_seed(5)
    before = torch.get_rng_state()
    quick = changed(epochs=2)
    first = quick.fit(load_model(str(directory)), EXAMPLES)
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(3)
    second = quick.fit(load_model(str(directory)), EXAMPLES)
    assert first.loaded.digest == second.loaded.digest
    assert [p["loss"] for p in first.curve] == [p["loss"] for p in second.curve]
    other = quick.fit(load_model(str(directory)), EXAMPLES, seed=1)
    assert other.loaded.digest != first.loaded.digest


def test_a_plateau_stops_it_and_the_best_is_kept(directory):
    config = SFT(epochs=100, batch=8, learning_rate=2e-2, validation=0.2, every=4, patience=2)
    fitted = config.fit(load_model(str(directory)), EXAMPLES)
    assert fitted.curve[-1]["step"] < fitted.curve[-1]["steps"]
    best = min(point["validation_loss"] for point in fitted.curve)
    assert fitted.validation == pytest.approx(best, rel=0.2, abs=0.02)


@pytest.mark.parametrize("rank", [8, None])
def test_the_whole_model_saves_too(directory, tmp_path, rank):
    fitted = changed(rank=rank, epochs=1).fit(load_model(str(directory)), EXAMPLES)
    fitted.save_model(tmp_path / "model")
    assert load_model(str(tmp_path / "model")).digest == fitted.loaded.digest
    if rank is None:
        with pytest.raises(ModelError, match="save_model"):
            fitted.save_adapter(tmp_path / "adapter")


def test_prompt_and_completion_are_tokenised_apart(directory):
    loaded = load_model(str(directory))
    first, _ = tokenise(loaded, [("t", "heorem"), ("a", "b")])
    prompt, text = list(first.prompt_ids), list(first.token_ids)
    assert prompt == loaded.tokenizer.encode("t")
    assert text == [*loaded.tokenizer.encode("heorem"), loaded.tokenizer.eos_token_id]
    assert prompt + text[:-1] != loaded.tokenizer.encode("theorem")


def test_only_the_completion_is_learnt(directory):
    """The loss of a padded batch is the plain model's over completion tokens alone."""
    loaded = load_model(str(directory))
    rows = tokenise(loaded, EXAMPLES[:4])
    losses = []
    for row in rows:
        ids = torch.tensor([row.prompt_ids + row.token_ids])
        logprobs = loaded.model(ids).logits[0].log_softmax(-1)
        losses += [
            -float(logprobs[len(row.prompt_ids) + place - 1, token])
            for place, token in enumerate(row.token_ids)
        ]
    session = _Session(SFT(rank=None), loaded, rows, rows)
    assert session.loss(rows) == pytest.approx(sum(losses) / len(losses), rel=1e-5)


def test_batches_hold_every_row_once_and_little_padding():
    rows = [Sample((0,) * (1 + i * 7 % 50), (1,), np.ones(1, bool)) for i in range(100)]
    seen = list(batches(rows, 8, seed=0, epoch=0))
    assert sorted(r.length for batch in seen for r in batch) == sorted(r.length for r in rows)
    padded = sum(max(r.length for r in batch) * len(batch) for batch in seen)
    assert padded < 1.25 * sum(r.length for r in rows)
    assert seen != list(batches(rows, 8, seed=0, epoch=1))


def test_models_and_examples_that_cannot_be_used(directory):
    loaded = load_model(str(directory))
    with pytest.raises(ModelError, match="no examples"):
        SFT().fit(loaded, [])
    with pytest.raises(ModelError, match="example 1 has no prompt"):
        SFT().fit(loaded, [("a", "b"), ("", "b")])
    with pytest.raises(ModelError, match="the model takes 128"):
        SFT().fit(loaded, [("abcdefghij" * 50, "b"), ("a", "b")])
    with pytest.raises(ModelError, match="stored form"):
        SFT().fit(load_model(str(directory), dtype="bfloat16"), EXAMPLES)
    with pytest.raises(ConfigError, match="did you mean 'cosine'"):
        SFT(schedule="cosin")


def test_no_step_is_kept_that_is_worse_than_none(directory):
    """Steps far too large: what was there before them is the best."""
    loaded = load_model(str(directory))
    before = weights_digest(loaded.model)
    config = SFT(rank=None, learning_rate=3.0, validation=0.3, every=1, patience=1, warmup=0)
    assert config.fit(loaded, EXAMPLES).loaded.digest == before


def test_tasks_that_are_held_out_are_not_trained_on(tmp_path):
    arguments = ["sft", "--model", "lean-tiny", "--to", str(tmp_path / "a")]
    done = CliRunner().invoke(app, [*arguments, "--tasks", "lean_core:heldout"])
    assert "--heldout shares 208 of its 208 tasks with --tasks" in str(done.exception)


def test_a_place_that_cannot_be_written_is_refused_before_work():
    done = CliRunner().invoke(app, ["sft", "--to", "/proc/nope/a"])
    assert "cannot write in /proc/nope" in str(done.exception)
