"""Probes: what training does to tasks that it was not for, and how far it moves the weights."""

from __future__ import annotations

import copy
import csv
import json
import shutil

import numpy as np
import pytest
import torch
from test_compare import compare
from transformers import AutoModelForCausalLM

from proofgym import Measure, Probe, Reasoning
from proofgym.comparison import load
from proofgym.comparison.intervals import Estimate, two_way
from proofgym.comparison.record import Record, nats_tables
from proofgym.comparison.results import ProbeResult
from proofgym.errors import ConfigError, TaskError
from proofgym.tasks import lean_core
from proofgym.weight_change import WeightChange

PROBED = """
from proofgym import Likelihood, Probe

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
    probes={{
        "other": Probe(tasks=TRAINED, reward=other, samples=3),
        "english": Likelihood(("the cat sat on the mat.", "a dog", "numbers: 1 2 3")),
    }},
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
        before, after = (measured[place]["probes"]["english"] for place in (0, -1))
        assert before["tokens"] == after["tokens"] == [22, 4, 13]
        assert after["nats_per_token"] == pytest.approx(sum(after["nats"]) / 39, abs=1e-4)
        assert before["nats"] != after["nats"]
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
    assert len({json.dumps(event["probes"]["english"]["nats"]) for event in starts}) == 1


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
        assert probe["measures"] == "success"
        assert len(probe["rewards"]) == 2
    page = (directory / "report.html").read_text()
    assert "What it cost elsewhere" in page
    assert "other before" in page
    lines = list(csv.DictReader((directory / "results.csv").open()))
    assert all(line["change"] for line in lines)
    assert {
        bool(line["probe:other:success"]) for line in lines if float(line["share"]) in (0.0, 1.0)
    } == {True}


def test_the_report_has_nats_per_token(probed):
    directory, _ = probed
    summary = json.loads((directory / "summary.json").read_text())
    page = (directory / "report.html").read_text()
    assert "english before, nats per token" in page
    assert "lower is better" in page
    for variant in summary["variants"]:
        probe = variant["probes"]["english"]
        assert probe["measures"] == "likelihood"
        assert "rewards" not in probe
        ends = {"before": [], "after": []}
        for path in directory.glob("runs/*/events.jsonl"):
            if path.parent.name.startswith(variant["name"].replace(" ", "-") + "-seed"):
                events = [json.loads(line) for line in path.open()]
                points = [it["probes"]["english"] for it in events if "probes" in it]
                for name, point in zip(ends, points, strict=True):
                    ends[name].append(sum(point["nats"]) / sum(point["tokens"]))
        for name, values in ends.items():
            assert len(values) == 2
            assert probe[name]["mean"] == pytest.approx(sum(values) / 2, abs=1e-5)
            assert 0 <= probe[name]["low"] < probe[name]["mean"] < probe[name]["high"]
            assert f"{probe[name]['mean']:.4f} [" in page
        difference = probe["difference"]
        assert difference["mean"] == pytest.approx(
            probe["after"]["mean"] - probe["before"]["mean"], abs=2e-6
        )
        assert difference["low"] < difference["mean"] < difference["high"]
        amount = f"{difference['mean']:+.4f} nats per token ["
        (said,) = [
            line
            for line in summary["established"]
            if line.startswith(f"{variant['name']} ") and "the probe english" in line
        ]
        assert amount in said
        assert amount in page
        assert "], lower is better" in said
    lines = list(csv.DictReader((directory / "results.csv").open()))
    ends = [line for line in lines if float(line["share"]) in (0.0, 1.0)]
    assert all(float(line["probe:english:nats_per_token"]) > 1 for line in ends)
    assert all("probe:english:success" not in line for line in lines)


def record(nats, tokens=(10, 20, 60), digest="same"):
    """A run that measured `nats` before and after."""
    counts = [
        {"probes": {"english": {"nats": it, "tokens": list(tokens), "digest": digest}}}
        for it in nats
    ]
    return Record(None, [], counts, [])


def test_a_text_counts_by_its_length():
    """The interval is that of the ratio of sums in a plain bootstrap over texts."""
    generator = np.random.default_rng(0)
    tokens = generator.integers(5, 100, 300)
    before = tokens * generator.normal(3, 0.5, 300)
    after = before + tokens * generator.normal(0.02, 0.1, 300)
    tables = nats_tables([record([before, after], tokens)], "english")
    draws = generator.integers(0, 300, (10_000, 300))
    lengths = tokens[draws].sum(1)
    for table, sums in ((tables[1], after), (tables[1] - tables[0], after - before)):
        found, drawn = two_way(table), sums[draws].sum(1) / lengths
        assert found.mean == pytest.approx(sums.sum() / tokens.sum())
        width = found.high - found.low
        assert found.low == pytest.approx(np.quantile(drawn, 0.025), abs=0.05 * width)
        assert found.high == pytest.approx(np.quantile(drawn, 0.975), abs=0.05 * width)


def test_runs_that_read_other_texts_are_not_compared():
    same = record([[30.0, 60.0, 180.0]] * 2)
    assert nats_tables([same, same], "english") is not None
    assert nats_tables([same, record([[3.0, 6.0]] * 2, (1, 2), "other")], "english") is None


def test_the_report_says_where_runs_read_other_texts(probed, tmp_path):
    directory, _ = probed
    shutil.copytree(directory, tmp_path / "probed")
    path = tmp_path / "probed" / "runs" / "hot-seed1" / "events.jsonl"
    events = [json.loads(line) for line in path.open()]
    next(it for it in reversed(events) if "probes" in it)["probes"]["english"]["digest"] = "other"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    compare(directory.parents[1] / "experiment.py", "--report-only", "--to", tmp_path)
    summary = json.loads((tmp_path / "probed" / "summary.json").read_text())
    probes = {it["name"]: set(it["probes"]) for it in summary["variants"]}
    assert probes["hot"] == {"other"}
    assert probes["grpo"] == {"other", "english"}
    said = [it for it in summary["established"] if "shows nothing on the probe" in it]
    assert len(said) == 1
    assert said[0].startswith("hot shows nothing on the probe english: ")


@pytest.mark.parametrize(
    ("measures", "change", "worse"),
    [
        ("success", -0.1, True),
        ("success", 0.1, False),
        ("likelihood", 0.1, True),
        ("likelihood", -0.1, False),
    ],
)
def test_more_nats_are_a_loss(measures, change, worse):
    estimate = Estimate(change, change, change, 0.0, 1.0, 1)
    assert ProbeResult(measures, estimate, estimate, estimate).worse is worse


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


def test_a_text_that_no_try_can_read_leaves_nothing_behind(write, folder):
    one_token = PROBED.format(folder=str(folder)).replace('"a dog"', '"a"')
    path = write(one_token)
    failed = compare(path, "--set", "seeds=[0]", "--set", 'variants={"es": {}}', check=False)
    assert failed.exit_code != 0
    assert "text 2 has 1 token" in failed.stderr
    assert "given up after 1 try:" in failed.stderr
    assert not list((path.parent / "comparisons" / "probed" / "runs").glob("*/job.json"))
