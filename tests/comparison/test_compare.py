"""Whole comparisons on a tiny real model: shared draws, budgets, faults, resuming, reports."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import xml.dom.minidom
from html.parser import HTMLParser

import pytest
from typer.testing import CliRunner

from proofgym.cli.main import app
from proofgym.comparison import load, plan, write_report
from proofgym.comparison.runner import starts
from proofgym.errors import RunError


def command(*arguments):
    return [sys.executable, "-m", "proofgym", *map(str, arguments)]


def compare(path, *options, verb="compare", check=True):
    """Run the command in this process, whose server of processes all tests share."""
    to = ["--to", str(path.parent / "comparisons")] if "--to" not in options else []
    done = CliRunner().invoke(app, [verb, str(path), *to, *map(str, options)])
    assert not check or done.exit_code == 0, (done.stderr, done.exception)
    return done


@pytest.fixture(scope="module")
def done(write):
    """The directory of a finished comparison, its file, and what was printed; not to be changed."""
    path = write()
    printed = compare(path, "--jobs", "2")
    return path.parent / "comparisons" / "tiny", path, printed


@pytest.fixture
def copied(done, tmp_path):
    """A copy of it, to be changed."""
    directory, path, _ = done
    shutil.copytree(directory, tmp_path / "comparisons" / "tiny")
    (tmp_path / "experiment.py").write_text(path.read_text())
    return tmp_path / "comparisons" / "tiny", tmp_path / "experiment.py"


def runs_of(path, directory):
    return plan(load(path), directory)


def test_a_comparison_from_file_to_report(done):
    directory, path, printed = done
    runs = runs_of(path, directory)
    assert [run.id for run in runs] == ["es-seed0", "grpo-seed0", "es-seed1", "grpo-seed1"]
    events = {run.id: run.directory.events() for run in runs}
    for found in events.values():
        spent = [e["tokens"] for e in found if e["event"] == "iteration"]
        assert sum(spent[:-1]) < 900 <= sum(spent)
        shares = [share for e in found if e["event"] == "evaluation" for share in e["shares"]]
        assert shares == [0, 0.5, 1]
        assert found[-1]["reason"] == "finished"
    starts = [next(e for e in it if e["event"] == "evaluation") for it in events.values()]
    assert len({json.dumps(e["passed"]) for e in starts}) == 1, "all face the same draws"
    first = {run.id: [line["task"] for line in run.directory.rollouts(0)] for run in runs}
    for seed in (0, 1):
        met = [list(dict.fromkeys(first[f"{name}-seed{seed}"])) for name in ("es", "grpo")]
        assert met[0] == met[1], "the same tasks in the same order"
    assert "es" in printed.stdout
    summary = json.loads((directory / "summary.json").read_text())
    assert summary["differences"][0]["seeds"] == 2
    assert summary["established"] == [
        line[2:] for line in printed.stdout.splitlines() if line.startswith("- ")
    ]
    lines = list(csv.DictReader((directory / "results.csv").open()))
    assert len(lines) == 12
    assert {"pass@1", "pass@2", "tokens"} <= set(lines[0])
    check_page((directory / "report.html").read_text())


def check_page(text, pictures=6):
    """Well-formed, nothing from outside, and its pictures parse."""
    assert "http" not in text
    assert "<script" not in text
    assert "nan" not in text.lower().replace("nanmean", "")
    parser = Balanced()
    parser.feed(text)
    assert parser.open == []
    drawn = text.split("<svg")[1:]
    assert len(drawn) >= pictures
    for picture in drawn:
        xml.dom.minidom.parseString("<svg" + picture.split("</svg>")[0] + "</svg>")


class Balanced(HTMLParser):
    """Fails where a tag is closed that is not open."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_report_needs_to_know_which_tasks_were_measured(copied):
    directory, path = copied
    (directory / "runs" / "grpo-seed0" / "evaluation.json").unlink()
    error = compare(path, "--report-only", check=False).exception
    assert isinstance(error, RunError)
    assert re.search(r"runs/grpo-seed0 has measurements but no evaluation\.json", str(error))


def test_a_larger_budget_continues_what_is_there(copied):
    directory, path = copied
    compare(path, "--jobs", "2", "--set", "budget.tokens=1500")
    for run in plan(load(path, ["budget.tokens=1500"]), directory):
        found = run.directory.events()
        spent = [e["tokens"] for e in found if e["event"] == "iteration"]
        assert sum(spent[:-1]) < 1500 <= sum(spent)
        points = [e for e in found if e["event"] == "evaluation"]
        assert [share for e in points for share in e["shares"]] == [0, 0.5, 1, 0.5, 1]
        assert points[-2]["tokens"] >= 750
        assert points[-2]["passed"] == points[-3]["passed"], "the weights that were measured last"
        assert points[-2]["evaluation_seconds"] == 0
        assert run.finished
    summary = json.loads((directory / "summary.json").read_text())
    assert summary["budget"]["tokens"] == 1500
    for name in ("es-seed0", "grpo-seed1"):
        lines = csv.DictReader((directory / "results.csv").open())
        shares = [float(line["share"]) for line in lines if line["run"] == name]
        assert shares == sorted(shares)
        assert shares[-1] == 1 > shares[2] > 0.6
    refused = compare(path, "--report-only", check=False)
    assert "--set budget.tokens=1500" in str(refused.exception)


def test_runs_that_another_reward_judged_are_not_gone_on_with(copied):
    directory, path = copied
    written = (directory / "comparison.py").read_text()
    path.write_text(path.read_text().replace('float("e" in text)', '1.0 - float("e" in text)'))
    for options in [], ["--set", "seeds=[0,1,2]"], ["--report-only"]:
        refused = compare(path, *options, check=False)
        assert isinstance(refused.exception, RunError)
        assert "other settings: code of the reward" in str(refused.exception)
    assert (directory / "comparison.py").read_text() == written


def test_again_does_only_what_is_missing(copied):
    directory, path = copied
    before = {run.id: (run.path / "events.jsonl").read_bytes() for run in runs_of(path, directory)}
    printed = compare(path, "--set", "seeds=[0,1,2]", "--set", 'variants={"es": {}}')
    assert "es-seed2: finished" in printed.stderr
    assert "es-seed0: finished" not in printed.stderr
    for name, content in before.items():
        assert (directory / "runs" / name / "events.jsonl").read_bytes() == content
    changed = compare(path, "--set", "budget.tokens=500", check=False)
    assert "budget.tokens 900 -> 500" in str(changed.exception)


def test_kill_minus_nine_then_again_ends_as_if_undisturbed(done, tmp_path):
    directory, path, _ = done
    calm = {run.id: kept(run) for run in runs_of(path, directory) if run.seed == 0}
    killed = tmp_path / "killed"
    process = subprocess.Popen(
        command("compare", path, "--to", killed, "--jobs", 2, "--set", "seeds=[0]"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while len(list(killed.glob("tiny/runs/*/rollouts/*.gz"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert any(run.begun and not run.finished for run in runs_of(path, killed / "tiny"))
    compare(path, "--to", killed, "--jobs", "2", "--set", "seeds=[0]")
    tried = starts(killed / "tiny")
    assert [it["error"] for it in tried] == [""] * len(tried), "nothing was left running"
    again = [run for run in runs_of(path, killed / "tiny") if run.seed == 0]
    assert {run.id: kept(run) for run in again} == calm


def test_a_run_dies_with_what_started_it_even_while_it_cannot_run_python(tmp_path):
    """A thread that watches the parent waits for whatever holds the interpreter."""
    code = (
        "import ctypes, multiprocessing, pathlib, sys, time\n"
        "from proofgym.comparison import worker\n"
        "def held():\n"
        "    worker._end_with_parent()\n"
        "    pathlib.Path(sys.argv[1]).touch()\n"
        "    ctypes.PyDLL(None).sleep(60)\n"  # with the interpreter's lock
        "if __name__ == '__main__':\n"
        "    process = multiprocessing.get_context('forkserver').Process(target=held)\n"
        "    process.start()\n"
        "    print(process.pid, flush=True)\n"
        "    time.sleep(60)\n"
    )
    script, ready = tmp_path / "starts.py", tmp_path / "ready"
    script.write_text(code.replace("sys.argv[1]", repr(str(ready))))
    parent = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    wait_for(ready.exists)
    time.sleep(0.1)
    parent.kill()
    parent.communicate()
    wait_for(lambda: not os.path.exists(f"/proc/{child}"), seconds=5)


def wait_for(what, seconds=60):
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def kept(run):
    """What a run's record says, but for what clocks say."""
    names = ("event", "iteration", "tokens", "reward", "passed", "scored", "shares")
    return [
        {name: event[name] for name in names if name in event}
        for event in run.directory.events()
        if event["event"] in ("iteration", "evaluation")
    ]


def test_measuring_does_not_disturb_training(done, tmp_path):
    directory, path, _ = done
    run = runs_of(path, directory)[0]
    plain = run.job.replace("measure", None).run(tmp_path)
    rewards = [e["reward"] for e in run.directory.events() if e["event"] == "iteration"]
    assert rewards == [e["reward"] for e in plain.events() if e["event"] == "iteration"]


CONTROLS = """
FLAG = {flag!r}

def wanted(task, text):
    import os
    if not os.path.exists(FLAG):
        raise RuntimeError("no flag yet")
    return float("e" in text)

experiment = Comparison(
    name="tiny",
    job=job.replace("reward", wanted),
    variants={{
        "taught": {{"algorithm": Supervised(prompts=4, learning_rate=1e-2)}},
        "es": {{}},
        "shuffled": {{"control": "permuted"}},
    }},
    seeds=(0,),
    budget=Budget(tokens=150),
    at=(0, 1),
    samples=2,
    retries=1,
    price_per_hour=2.0,
)
"""


def test_failures_are_retried_shown_and_made_good_later(write, folder):
    """Also: the supervised and the permuted control, and one seed."""
    path = write(CONTROLS.format(flag=str(folder / "flag")))
    failed = compare(path, "--jobs", "3", check=False)
    assert "3 of 3 runs failed" in str(failed.exception)
    assert "given up after 2 tries" in failed.stderr
    assert "no flag yet" in failed.stderr
    page = (path.parent / "comparisons" / "tiny" / "report.html").read_text()
    check_page(page, pictures=0)
    assert "no flag yet" in page
    (folder / "flag").touch()
    sentences = compare(path, "--jobs", "3").stdout
    assert "n seeds = 1: nothing can be said about seeds" in sentences
    assert "Started again after a failure" in sentences
    summary = json.loads((path.parent / "comparisons" / "tiny" / "summary.json").read_text())
    taught = summary["variants"][0]
    assert taught["gain"]["mean"] > 0
    assert taught["costs"]["attempts"] == 0
    assert taught["costs"]["tokens"] >= 150
    assert taught["costs"]["money"] > 0
    assert summary["runs"][2]["variant"] == "shuffled"


CROWDED = """
FLAG = {flag!r}

import os
import torch
from proofgym.engines.transformers import TransformersEngine

generate = TransformersEngine.generate

def full_once(self, *args, **kwargs):
    try:
        os.close(os.open(FLAG, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return generate(self, *args, **kwargs)
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

TransformersEngine.generate = full_once

experiment = Comparison(
    name="tiny",
    job=job,
    variants={{"es": {{}}}},
    seeds=(0, 1, 2),
    budget=Budget(tokens=150),
    at=(0, 1),
    retries=0,
)
"""


def test_a_run_that_finds_no_room_beside_others_goes_on_later(write, folder):
    path = write(CROWDED.format(flag=str(folder / "full")))
    done = compare(path, "--jobs", "3")
    assert "out of memory beside the others; from now on 2 at a time" in done.stderr
    assert "given up" not in done.stderr
    assert "Started again after a failure, then finished" in done.stdout


SWEEP = """
experiment = Sweep(
    name="tiny",
    job=job,
    grid={"algorithm.sigma": [2**-7, 2**-6], "tasks": {"few": job.tasks.replace("limit", 3),
          "all": job.tasks}},
    seeds=(0, 1),
    budget=Budget(verifier_seconds=0.002),
    at=(0, 1),
    samples=2,
)
"""


def test_a_sweep_is_planned_run_and_decomposed(write):
    path = write(SWEEP)
    plan_ = compare(path, "--dry-run", verb="sweep").stdout
    assert "4 variants x 2 seeds = 8 runs" in plan_
    assert "tasks = few" in plan_
    assert not (path.parent / "comparisons").exists()
    compare(path, "--jobs", "2", verb="sweep")
    variance = json.loads((path.parent / "comparisons/tiny/summary.json").read_text())["variance"]
    names = [part["name"] for part in variance["parts"]]
    assert names == ["algorithm.sigma", "tasks", "seed", "rest"]
    assert sum(part["freedom"] for part in variance["parts"]) == 7
    wrong = compare(path, check=False)
    assert "proofgym sweep" in str(wrong.exception)


def test_the_report_alone_from_what_is_there(copied):
    directory, path = copied
    for name in ("report.html", "summary.json"):
        (directory / name).unlink()
    (directory / "runs/grpo-seed1/job.json").unlink()
    printed = compare(path, "--report-only").stdout
    assert "1 of 4 runs are missing here (not begun): grpo-seed1." in printed
    check_page((directory / "report.html").read_text())


def test_no_report_takes_the_place_of_one_for_less(copied):
    directory, path = copied
    before = {it.name: it.read_bytes() for it in directory.iterdir() if it.is_file()}
    refused = compare(path, "--report-only", "--set", "budget.tokens=5000", check=False)
    assert "--set budget.tokens=900" in str(refused.exception)
    assert {it.name: it.read_bytes() for it in directory.iterdir() if it.is_file()} == before
    compare(path, "--report-only", "--set", "budget.tokens=900")
    given = directory / "runs" / "es-seed0" / "job.json"  # a larger one that was begun and not done
    given.write_text(given.read_text().replace('"tokens": 900', '"tokens": 5000'))
    more = ["--set", "budget.tokens=5000"]
    assert "4 of 4 runs are missing" in compare(path, "--report-only", *more).stdout


def test_the_time_left_counts_how_long_runs_take_to_start(copied):
    directory, path = copied
    more = ["--dry-run", "--set", "budget.tokens=9000"]
    waits = [
        next(e["time"] for e in run.directory.events() if e["event"] == "start") - it["began"]
        for run in runs_of(path, directory)
        for it in starts(directory)
        if it["run"] == run.id
    ]
    assert len(waits) == 4
    assert f"(start-up: {sum(waits) / 4:.1f} s a run, included)" in compare(path, *more).stdout
    slow = [it | {"began": it["began"] - 3600} for it in starts(directory)]
    slow = [it | {"seconds": it["seconds"] + 3600} for it in slow]
    (directory / "starts.jsonl").write_text("".join(json.dumps(it) + "\n" for it in slow))
    assert re.search(r"estimate: 4 h [0-5] min", compare(path, *more).stdout)
    (directory / "starts.jsonl").unlink()
    assert "(start-up: not counted)" in compare(path, *more).stdout


def test_a_report_of_nothing_says_so(write, tmp_path):
    path = write()
    experiment = load(path)
    written = write_report(experiment, plan(experiment, tmp_path), tmp_path)
    assert "4 of 4 runs are missing" in written.sentences[0]
    assert "None" not in written.path.read_text().replace("<code>", "")
