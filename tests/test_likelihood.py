"""The likelihood of fixed texts: against transformers, in any company, of a run's own weights."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tiny_models
import torch

from proofgym import ES, GRPO, Job, Likelihood, Local, LoRA, Measure, Model, Sampling, Supervised
from proofgym.checkpoint import rebuild
from proofgym.engines.transformers import TransformersEngine
from proofgym.errors import ConfigError, RunError, TaskError
from proofgym.models import load_model
from proofgym.tasks import from_jsonl
from proofgym.trainer import likelihoods, scorer

TEXTS = (
    "the cat sat on the mat.\n",
    "ab",
    "numbers: 1 2 3 = (4)\n\nwords and words and words",
    "x" * 256,  # the whole context
    "ab",
    "a short one",
)


@pytest.fixture(scope="module")
def loaded(tiny_model):
    return load_model(str(tiny_model))


def plain(loaded, text):
    """Nats of a text by transformers' own forward pass, one text at a time, and its tokens."""
    ids = loaded.tokenizer(text, return_tensors="pt").input_ids
    with torch.no_grad():
        logs = loaded.model(ids).logits.double().log_softmax(-1)
    return -float(logs[0, :-1].gather(-1, ids[0, 1:, None]).sum()), ids.shape[1] - 1


def measure(loaded, texts):
    return Likelihood(texts).measure(TransformersEngine(loaded), "texts")


def test_it_is_what_transformers_computes(loaded):
    found = measure(loaded, TEXTS)
    expected = [plain(loaded, text) for text in TEXTS]
    assert found["tokens"] == [count for _, count in expected] == [len(it) - 1 for it in TEXTS]
    assert found["nats"] == pytest.approx([nats for nats, _ in expected], abs=1e-3)
    mean = sum(nats for nats, _ in expected) / sum(found["tokens"])
    assert found["nats_per_token"] == pytest.approx(mean, abs=1e-5)
    assert mean > 1  # of some use


@pytest.mark.parametrize("family", tiny_models.FAMILIES)
def test_it_is_what_transformers_computes_for_each_family(family):
    tiny = tiny_models.loaded(family)
    texts = [it.strip() + end for it in tiny_models.CORPUS for end in ("", "\n", " by simp [h]")]
    found = measure(tiny, texts)
    assert found["nats"] == pytest.approx([plain(tiny, text)[0] for text in texts], abs=1e-3)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize(("dtype", "apart"), [("float32", 1e-4), ("bfloat16", 0.02)])
def test_a_gpu_computes_the_same(tiny_model, loaded, dtype, apart):
    there = load_model(str(tiny_model), dtype=dtype, device="cuda")
    found = measure(there, TEXTS)
    assert found["nats"] == pytest.approx(measure(loaded, TEXTS)["nats"], rel=apart)
    assert found["nats"] == measure(there, TEXTS)["nats"]


def test_order_and_company_change_nothing(loaded, monkeypatch):
    found = measure(loaded, TEXTS)
    repeated = measure(loaded, TEXTS)
    again = measure(loaded, TEXTS[::-1])
    for tokens, logits in ((1, 1 << 28), (40, 500), (100_000, 1)):
        monkeypatch.setattr(likelihoods, "BATCH_TOKENS", tokens)
        monkeypatch.setattr(scorer, "MOST_LOGITS", logits)
        assert measure(loaded, TEXTS)["nats"] == pytest.approx(found["nats"], abs=1e-3)
    assert again["nats"] == pytest.approx(found["nats"][::-1], abs=1e-3)
    assert again["digest"] != found["digest"] == repeated["digest"]
    assert repeated["nats"] == found["nats"]


def test_no_pass_has_more_tokens_than_its_budget(loaded, monkeypatch):
    sizes = []
    forward = scorer.Scorer.forward
    monkeypatch.setattr(
        scorer.Scorer,
        "forward",
        lambda self, ids, *rest: (sizes.append(ids.numel()), forward(self, ids, *rest))[1],
    )
    measure(loaded, [f"text number {number}: " + "a" * number for number in range(200)])
    assert len(sizes) > 10
    assert max(sizes) <= likelihoods.BATCH_TOKENS


def test_bfloat16_is_near(tiny_model, loaded):
    low = load_model(str(tiny_model), dtype="bfloat16")
    found = measure(low, TEXTS)["nats_per_token"]
    assert found == pytest.approx(measure(loaded, TEXTS)["nats_per_token"], rel=0.02)


def test_texts_of_a_file_and_of_tasks(loaded, tmp_path):
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n\n" for text in TEXTS))
    assert measure(loaded, path)["nats"] == measure(loaded, TEXTS)["nats"]
    assert measure(loaded, str(path))["digest"] == measure(loaded, list(TEXTS))["digest"]
    tasks = from_jsonl(write_tasks(tmp_path / "tasks.jsonl", 3))
    assert (
        measure(loaded, tasks)["nats"] == measure(loaded, ["say 0: ", "say 1: ", "say 2: "])["nats"]
    )


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ((), r"Likelihood.texts = \(\): holds no text"),
        (("ab", " \n"), "Likelihood.texts: text 2 is empty"),
        (("ab", 3), r"Likelihood.texts .*must be tasks, a tuple of texts or the path"),
        (3, "Likelihood.texts = 3: must be tasks"),
        (("ab", "a"), "Likelihood.texts: text 2 has 1 token"),
        (("ab", "x" * 257), "Likelihood.texts: text 2 has 257 tokens, the model takes 256"),
        ("no such text", "no file no such text"),
        (("ab", "a\ud800b"), "text 2: 'text' holds half a character"),
    ],
)
def test_what_cannot_be_measured_is_refused(loaded, texts, words):
    with pytest.raises((ConfigError, TaskError), match=words):
        Likelihood(texts).samples(TransformersEngine(loaded))


def test_a_line_without_text_is_refused(tmp_path):
    path = tmp_path / "texts.jsonl"
    path.write_text('{"text": "ab"}\n{"prompt": "cd"}\n')
    with pytest.raises(TaskError, match="line 2: field 'text' is missing"):
        Likelihood(path).check()


def test_weights_that_have_diverged_are_no_number(tiny_model):
    broken = load_model(str(tiny_model))
    broken.model.model.norm.weight.fill_(torch.nan)
    with pytest.raises(RunError, match=r"texts: .*no finite likelihood"):
        measure(broken, TEXTS)


def write_tasks(path, count, first=0):
    lines = [
        {
            "name": f"t{i}",
            "prompt": f"say {i}: ",
            "topic": "letters",
            "difficulty": 1,
            "proof": "eee",
        }
        for i in range(first, first + count)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def wanted(task, text):
    """Passes where the wanted letter was written."""
    return float("e" in text)


@pytest.fixture
def job(tiny_model, tmp_path):
    return Job(
        name="tiny",
        model=Model(str(tiny_model)),
        tasks=from_jsonl(write_tasks(tmp_path / "train.jsonl", 6)),
        evaluation=from_jsonl(write_tasks(tmp_path / "heldout.jsonl", 2, 100)),
        reward=wanted,
        algorithm=ES(population=8, prompts=4, sigma=2**-6, learning_rate=2**-5),
        sampling=Sampling(max_tokens=4),
        cluster=Local(workers=1, threads=1, device="cpu"),
        iterations=2,
        measure=Measure(at=(0.0, 0.5, 1.0), probes={"english": Likelihood(TEXTS)}),
    )


LOW_RANK = {"algorithm.rank": 1}
CHANGES = {
    "materialised": {"algorithm.evaluation": "materialised"},
    "stacked": {"algorithm.evaluation": "stacked"},
    "factored": {**LOW_RANK, "algorithm.evaluation": "factored"},
    "fleet": {**LOW_RANK, "algorithm.evaluation": "factored", "cluster.engines": 2},
    "grpo": {"algorithm": GRPO(prompts=4, group=4, learning_rate=1e-2)},
    "grpo lora": {"algorithm": GRPO(prompts=4, group=4, learning_rate=1e-1, lora=LoRA(rank=2))},
    "grpo bfloat16": {
        "algorithm": GRPO(prompts=4, group=4, learning_rate=1e-2),
        "model.dtype": "bfloat16",
    },
}


@pytest.mark.parametrize("name", [*CHANGES, "supervised"])
def test_a_run_measures_its_unperturbed_weights_before_and_after(job, tmp_path, name):
    changes = CHANGES.get(name) or {"algorithm": Supervised(prompts=4, reference=job.tasks)}
    check_run(job, tmp_path, changes)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", sorted(CHANGES.keys() - {"fleet"}))
def test_a_run_on_a_gpu_does_so_too(job, tmp_path, name):
    check_run(job, tmp_path, {**CHANGES[name], "cluster.device": "cuda"})


def check_run(job, tmp_path, changes):
    """Its events have what the weights before and after give."""
    for path, value in changes.items():
        job = job.replace(path, value)
    run = job.run(tmp_path / "runs")
    points = [event for event in run.events() if event["event"] == "evaluation"]
    assert ["probes" in point for point in points] == [True, False, True]
    first, last = (points[place]["probes"]["english"] for place in (0, -1))
    for found, made in (
        (first, job.cluster.load(job.model)),
        (last, rebuild(run, None, job.cluster)),
    ):
        assert found["nats"] == pytest.approx(measure(made, TEXTS)["nats"], abs=1e-3)
    assert last["tokens"] == first["tokens"]
    assert last["digest"] == first["digest"]
    assert abs(last["nats_per_token"] - first["nats_per_token"]) > 1e-4  # it has moved
    assert np.isfinite(last["nats"]).all()


@pytest.mark.parametrize(
    ("text", "words"), [("a", "has 1 token"), ("x" * 300, "has 300 tokens"), ("", "is empty")]
)
def test_a_run_with_such_texts_is_refused_before_training(job, tmp_path, text, words):
    job = job.replace("measure", Measure(at=(1.0,), probes={"english": Likelihood(("ab", text))}))
    with pytest.raises(ConfigError, match=f"probe 'english': Likelihood.texts: text 2 {words}"):
        job.run(tmp_path / "runs")
    assert not list((tmp_path / "runs").glob("*/rollouts/*"))
