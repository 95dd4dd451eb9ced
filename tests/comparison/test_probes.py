"""Probes: what training does to tasks that it was not for, and how far it moves the weights."""

from __future__ import annotations

import copy
import csv
import json

import pytest
import torch
from test_compare import compare
from transformers import AutoModelForCausalLM

from proofgym import Measure, Probe, Reasoning
from proofgym.comparison import load
from proofgym.errors import ConfigError, TaskError
from proofgym.tasks import lean_core
from proofgym.weight_change import WeightChange

PROBED = """
from proofgym import Probe

def other(task, text):
    \"\"\"Passes where another letter was written.\"\"\"
    return float("a" in text)

TRAINED = from_jsonl({folder!r} + "/train.jsonl")
experiment = Comparison(
    name="probed",
    job=job,
    variants={{
        "small step": {{}},
        "large step": {{"algorithm.learning_rate": 2**-3}},
        "hot": {{"sampling.temperature": 3.0}},
        "grpo": {{"algorithm": GRPO(prompts=4, group=4, learning_rate=1e-2)}},
    }},
    seeds=(0, 1),
    budget=Budget(tokens=500),
    at=(0, 0.5, 1),
    samples=2,
    probes={{"other": Probe(tasks=TRAINED, reward=other, samples=3)}},
)
"""

TASKS = lean_core("heldout", limit=2)


@pytest.fixture(scope="module")
def probed(write, folder):
    path = write(PROBED.format(folder=str(folder)))
    printed = compare(path, "--jobs", "2")
    return path.parent / "comparisons" / "probed", printed


def test_probes_are_measured_before_and_after(probed):
    directory, _ = probed
    for run in (directory / "runs").iterdir():
        if not run.is_dir():
            continue
        events = [json.loads(line) for line in (run / "events.jsonl").open()]
        measured = [event for event in events if event["event"] == "evaluation"]
        assert ["probes" in event for event in measured] == [
            True,
            *[False] * (len(measured) - 2),
            True,
        ]
        first, last = measured[0]["probes"]["other"], measured[-1]["probes"]["other"]
        assert first["scored"] == last["scored"] == [3] * 8
        assert first["success"] == pytest.approx(sum(first["passed"]) / 24, abs=1e-6)
        assert first["reward"] == pytest.approx(first["success"])
        assert measured[0]["change"] == {"relative": 0.0, "tensors": 0}
        assert measured[-1]["change"]["relative"] > 0


def test_all_runs_begin_with_the_same_answers(probed):
    """Whatever a variant changes of its own sampling."""
    directory, _ = probed
    starts = [
        next(event for event in map(json.loads, path.open()) if event["event"] == "evaluation")
        for path in directory.glob("runs/*/events.jsonl")
    ]
    assert len(starts) == 8
    assert len({json.dumps(event["probes"]["other"]["passed"]) for event in starts}) == 1
    assert len({json.dumps(event["passed"]) for event in starts}) == 1


def test_the_report_has_them(probed):
    directory, printed = probed
    summary = json.loads((directory / "summary.json").read_text())
    changes = {it["name"]: it["change"] for it in summary["variants"]}
    assert changes["large step"][0] > 2 * changes["small step"][0]
    assert changes["small step"][1] <= changes["small step"][0] <= changes["small step"][2]
    for variant in summary["variants"]:
        probe = variant["probes"]["other"]
        difference = probe["after"]["mean"] - probe["before"]["mean"]
        assert probe["difference"]["mean"] == pytest.approx(difference, abs=1e-5)
        said = [line for line in printed.stdout.splitlines() if "other" in line]
        assert any(line.startswith(f"- {variant['name']} ") for line in said)
    page = (directory / "report.html").read_text()
    assert "What it cost elsewhere" in page
    assert "other before" in page
    lines = list(csv.DictReader((directory / "results.csv").open()))
    assert all(line["change"] for line in lines)
    assert {
        bool(line["probe:other:success"]) for line in lines if float(line["share"]) in (0.0, 1.0)
    } == {True}


def test_a_probe_that_cannot_be_judged_is_refused_before_any_work(write, folder):
    wrong = PROBED.replace("reward=other, ", "")  # Lean, and tasks without statements
    path = write(wrong.format(folder=str(folder)))
    done = compare(path, check=False)
    assert done.exit_code == 1
    assert "probe 'other': task 'train0' has no Lean statement" in str(done.exception)
    assert not (path.parent / "comparisons" / "probed" / "runs").exists()


def test_a_probe_that_cannot_be_prepared_is_refused_before_training(write, tmp_path):
    pytest.importorskip("reasoning_gym")
    job = load(write()).job
    odd = Probe(tasks=job.tasks, reward=Reasoning())
    with pytest.raises(TaskError, match=r"probe 'odd': .*no reasoning_gym task"):
        job.replace("measure", Measure(at=(1.0,), probes={"odd": odd})).run(tmp_path / "runs")
    assert not list((tmp_path / "runs").glob("*/rollouts/*"))


def test_names_and_values_of_probes():
    with pytest.raises(ConfigError, match="letters, digits"):
        Measure(probes={"a b": Probe(tasks=TASKS)})
    with pytest.raises(ConfigError, match="both given"):
        Probe(tasks=TASKS, reward=lambda task, text: 1.0, environment=episode)


async def episode(chat, task, sandbox):
    return 1.0


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_change_is_that_of_all_weights_together(tiny_model, dtype):
    model = AutoModelForCausalLM.from_pretrained(tiny_model, dtype=dtype)
    model.requires_grad_(False)
    start = copy.deepcopy(dict(model.named_parameters()))
    change = WeightChange(model)
    assert change.now() == {"relative": 0.0, "tensors": 0}
    with torch.no_grad():
        model.model.norm.weight.add_(0.5)
        model.model.layers[0].mlp.up_proj.weight.mul_(1.25)
    flat, before = (
        torch.cat([weight.flatten().double() for weight in it.values()])
        for it in (dict(model.named_parameters()), start)
    )
    found = change.now()
    assert found["tensors"] == 2
    assert found["relative"] == pytest.approx(
        float((flat - before).norm() / before.norm()), rel=1e-6
    )
