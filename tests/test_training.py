"""Whole jobs on a tiny real model: learning, records, crashes, resuming, controls."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from proofgym import Measure, Probe
from proofgym.checkpoint import export_run, rebuild
from proofgym.cli.main import app
from proofgym.errors import ConfigError, ModelError, RunError, TaskError, VerifierError
from proofgym.job_file import load_job
from proofgym.models import load_model
from proofgym.run_directory import RunDirectory

JOB = '''
from proofgym import ES, Job, Local, Model, Sampling
from proofgym.tasks import from_jsonl

WANTED = "e"

def vowels(task, text):
    """Share of the wanted letter: dense, so that a tiny model can climb it."""
    return text.count(WANTED) / 12

job = Job(
    name="tiny",
    model=Model({model!r}),
    tasks=from_jsonl({tasks!r}),
    reward=vowels,
    algorithm=ES(population=16, prompts=4, sigma=2**-6, learning_rate=2**-5, keyframe_every=3),
    sampling=Sampling(max_tokens=12),
    cluster=Local(workers=2, threads=1, device="cpu"),
    iterations=4,
    seed=3,
)
'''


def train(job_file, root, *overrides, **options):
    return load_job(job_file, overrides).run(root, source=job_file, overrides=overrides, **options)


def digest(run):
    from proofgym.models import weights_digest

    return weights_digest(rebuild(run).model)


@pytest.mark.parametrize("noise", ["rademacher", "gaussian8"])
def test_a_tiny_model_learns_and_the_run_says_so(job_file, tmp_path, capfd, noise):
    run = train(job_file, tmp_path / "runs", "iterations=60", f"algorithm.noise={noise}")
    events = run.events()
    rewards = [event["reward"] for event in events if event["event"] == "iteration"]
    assert sum(rewards[-5:]) > 2 * sum(rewards[:5])
    assert events[-1]["reason"] == "finished"
    lines = list(run.rollouts(0))
    assert len(lines) == 64
    assert {"prompt", "token_ids", "logprobs", "text", "status", "message", "reward"} <= set(
        lines[0]
    )
    printed = capfd.readouterr().err
    assert run.id in printed
    assert re.search(r"iteration 60/60 64/64 attempts", printed)
    assert (run.path / "job.py").read_text() == job_file.read_text()


def test_members_may_read_what_the_policy_wrote(job_file, tmp_path):
    """It learns, goes on after an interruption and with engines of other processes as if alone."""
    told = "algorithm.objective=likelihood", "algorithm.samples=8", "algorithm.population=32"
    whole = train(job_file, tmp_path / "whole", *told, "iterations=40")
    events = [event for event in whole.events() if event["event"] == "iteration"]
    assert events[0]["attempts"] == 32, "of the policy, not of members"
    rewards = [event["reward"] for event in events]
    assert sum(rewards[-5:]) > 2 * sum(rewards[:5])
    few = train(job_file, tmp_path / "few", *told)
    again = load_job(job_file, [*told, "iterations=6"])
    again.resume(RunDirectory.open(tmp_path / "few", few.id)).close()
    six = train(job_file, tmp_path / "six", *told, "iterations=6", "cluster.engines=2")
    assert digest(few) == digest(six)
    found, expected = (list(run.rollouts(5)) for run in (few, whole))
    for one, two in zip(found, expected, strict=True):
        assert one["token_ids"] == two["token_ids"]


def test_equal_seeds_give_equal_runs_and_other_seeds_do_not(job_file, tmp_path):
    first, second = (train(job_file, tmp_path / name) for name in "ab")
    assert digest(first) == digest(second)
    assert digest(train(job_file, tmp_path / "c", "seed=4")) != digest(first)


def test_the_permuted_control_differs_and_is_recorded(job_file, tmp_path):
    run = train(job_file, tmp_path / "p", control="permuted")
    assert digest(run) != digest(train(job_file, tmp_path / "n"))
    assert run.read_json("job.json")["control"] == "permuted"


def command(*arguments):
    return [sys.executable, "-m", "proofgym", *map(str, arguments)]


def test_kill_minus_nine_then_resume_equals_an_undisturbed_run(job_file, tmp_path):
    calm = train(job_file, tmp_path / "calm", "iterations=12")
    root = tmp_path / "killed"
    process = subprocess.Popen(
        command("train", job_file, "--set", "iterations=12", "--runs", root),
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while not list(root.glob("*/rollouts/00004.jsonl.gz")) and time.monotonic() < deadline:
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    run = RunDirectory.read(root, "latest")
    assert sum(event["event"] == "iteration" for event in run.events()) < 12
    subprocess.run(command("resume", "latest", "--runs", root), check=True, timeout=120)
    assert digest(run) == digest(calm)
    iterations = [e["iteration"] for e in run.events() if e["event"] == "iteration"]
    assert iterations == list(range(12))


def test_what_changes_no_result_may_change_in_a_resume(job_file):
    stored = load_job(job_file, ["algorithm.rank=none", "algorithm.stack=4"]).to_json()
    free = ["algorithm.rank=none", "algorithm.stack=2", "algorithm.keyframe_every=1"]
    free += ["cluster.workers=7", "cluster.threads=5", "cluster.max_batch=64"]
    assert load_job(job_file, free).differs(stored) == []
    assert load_job(job_file, [*free, "algorithm.sigma=0.5"]).differs(stored) == [
        "algorithm.sigma 0.015625 -> 0.5"
    ]


def test_fields_that_a_run_is_older_than_have_their_defaults(job_file):
    job = load_job(job_file)
    stored = json.loads(json.dumps(job.to_json()))
    del stored["algorithm"]["objective"], stored["order"], stored["sampling"]["top_p"]
    assert job.differs(stored) == []
    other = job.override("sampling.top_p", "0.5")
    assert other.differs(stored) == ["sampling.top_p 1.0 -> 0.5"]
    probed = job.model_copy(
        update={"measure": Measure(probes={"other": Probe(job.tasks, job.reward)})}
    )
    stored = json.loads(json.dumps(probed.to_json()))
    del stored["measure"]["probes"]["other"]["samples"], stored["budget"], stored["iterations"]
    assert probed.differs(stored) == ["iterations 20 -> 4"]
    stored["budget"] = None
    assert probed.override("budget.tokens", "5").differs(stored)
    stored = job.to_json()
    del stored["algorithm"]["objective"]
    stored["algorithm"]["kind"] = "GRPO"
    assert "algorithm.objective None -> 'reward'" in job.differs(stored)


def test_ranks_are_for_gradients(job_file):
    with pytest.raises(ConfigError, match="ES trains none: give engines=2"):
        load_job(job_file, ["cluster.ranks=2"])


def test_control_c_ends_cleanly_and_resumes(job_file, tmp_path):
    root = tmp_path / "runs"
    process = subprocess.Popen(
        command("train", job_file, "--set", "iterations=300", "--runs", root),
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 120
    while not list(root.glob("*/rollouts/00001.jsonl.gz")) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    printed = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert "proofgym resume" in printed
    assert "Traceback" not in printed
    assert RunDirectory.read(root, "latest").events()[-1]["reason"] == "interrupted"


def test_resuming_a_finished_run_says_so(job_file, tmp_path):
    run = train(job_file, tmp_path)
    with pytest.raises(RunError, match=r"finished: all 4 iterations.*--set iterations=MORE"):
        load_job(job_file).resume(RunDirectory.open(tmp_path, run.id))


def test_a_longer_run_ends_as_if_it_had_been_that_long(job_file, tmp_path):
    whole = train(job_file, tmp_path / "whole", "iterations=6")
    run = train(job_file, tmp_path)
    command = [sys.executable, "-m", "proofgym", "resume", run.id, "--runs", str(tmp_path)]
    subprocess.run([*command, "--set", "iterations=6"], check=True)
    assert digest(run) == digest(whole)
    assert run.read_json("job.json")["job"]["iterations"] == 6
    kinds = [event["event"] for event in run.events()]
    assert kinds.count("iteration") == 6
    assert kinds.count("extended") == 1
    again = subprocess.run(command, capture_output=True, text=True)
    assert "all 6 iterations are done" in again.stderr
    shorter = load_job(job_file, ["iterations=5"])
    directory = RunDirectory.open(tmp_path, run.id)
    with pytest.raises(RunError, match="iterations 6 -> 5"):
        shorter.resume(directory)
    directory.close()
    load_job(job_file, ["iterations=7"]).resume(RunDirectory.open(tmp_path, run.id)).close()
    again = subprocess.run(command, capture_output=True, text=True)
    assert "all 7 iterations are done" in again.stderr, "what Job.resume was given is kept, too"


def test_resuming_with_other_settings_names_what_changed(job_file, tmp_path):
    run = train(job_file, tmp_path)
    job = load_job(job_file, ["algorithm.sigma=0.5"])
    with pytest.raises(RunError, match=r"algorithm\.sigma 0\.0\d+ -> 0\.5.*may change.*m\.stack"):
        job.resume(RunDirectory.open(tmp_path, run.id))


def test_time_travel_exports_a_loadable_model(job_file, tmp_path):
    run = train(job_file, tmp_path / "runs")
    exported = export_run(run, 2, tmp_path / "at2")
    assert exported != digest(run)
    assert list(run.events())[-1]["weights"] == export_run(run, None, tmp_path / "all")
    from proofgym.models import weights_digest

    assert weights_digest(load_model(str(tmp_path / "at2")).model) == exported


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise KeyError('gold')", "gold"),
        ("return float('nan')", "nan"),
        ("import time; time.sleep(30)", "longer than"),
    ],
)
def test_a_broken_reward_stops_the_run_with_its_message(job_file, tmp_path, body, words):
    text = job_file.read_text().replace("return text.count(WANTED) / 12", body)
    job_file.write_text(
        text.replace("reward=vowels", "reward=Reward(function=vowels, timeout=0.5)")
        .replace("import ES", "import ES, Reward")
        .replace("prompts=4", "prompts=1")
        .replace("population=16", "population=2")
    )
    with pytest.raises(VerifierError, match=words):
        train(job_file, tmp_path / "runs")


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("algorithm.sgima=1", "did you mean 'sigma'"),
        ("algorithm.sigma=-1", "greater than 0"),
        ("algorithm.population=3", "even"),
        ("iterations=0", "greater than or equal to 1"),
        ("nonsense", "field=value"),
    ],
)
def test_wrong_overrides_are_refused_before_work(job_file, tmp_path, override, words):
    with pytest.raises(ConfigError, match=words):
        train(job_file, tmp_path / "runs", override)
    assert not (tmp_path / "runs").exists()


def test_a_statement_that_lean_refuses_is_named_with_file_and_line(tiny_model, tmp_path):
    good = {"name": "a", "topic": "t", "difficulty": 1, "statement": "theorem a (p : Prop) : p → p"}
    bad = {**good, "name": "b", "statement": "theorem b (p : Prop) : p → nonsense p"}
    (tmp_path / "tasks.jsonl").write_text(f"{json.dumps(good)}\n{json.dumps(bad)}\n")
    path = tmp_path / "job.py"
    path.write_text(
        "from proofgym import ES, Job\nfrom proofgym.tasks import from_jsonl\n"
        f"job = Job(model={str(tiny_model)!r}, algorithm=ES(population=2),\n"
        f"          tasks=from_jsonl({str(tmp_path / 'tasks.jsonl')!r}), iterations=1)\n"
    )
    with pytest.raises(TaskError, match=r"tasks\.jsonl, line 2.*Lean refuses"):
        load_job(path).run(tmp_path / "runs", source=path)


def test_a_job_file_must_define_one_job(tmp_path):
    path = Path(tmp_path / "none.py")
    path.write_text("x = 1\n")
    with pytest.raises(ConfigError, match=r"exactly one Job .* found: none$"):
        load_job(path)


def test_a_job_may_be_made_from_one_of_a_file_beside_it(job_file, tmp_path):
    path = tmp_path / "longer.py"
    path.write_text(
        f"from {job_file.stem} import job as base\njob = base.replace('iterations', 77)\n"
    )
    assert load_job(path, beside=job_file.parent).iterations == 77
    more = "second = base.replace('iterations', 78)\n"
    path.write_text(path.read_text() + more)
    with pytest.raises(ConfigError, match="found: job, second"):
        load_job(path, beside=job_file.parent)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("job = (", "line 1"),
        ("import nothing_of_this_name", "ModuleNotFoundError"),
        ("x = 1\nraise RuntimeError('mine')", "line 2.*mine"),
        ("import sys; sys.exit(0)", "SystemExit"),
    ],
)
def test_a_job_file_that_fails_is_named_with_its_line(tmp_path, text, words):
    path = tmp_path / "bad.py"
    path.write_text(text)
    with pytest.raises(ConfigError, match=rf"bad\.py.*{words}"):
        load_job(path)


def test_a_runs_copy_of_the_job_finds_what_lies_beside_the_original(job_file, tmp_path):
    copy = tmp_path / "elsewhere" / "job.py"
    copy.parent.mkdir()
    copy.write_text(job_file.read_text() + "\nfrom pathlib import Path\nHERE = Path(__file__)\n")
    load_job(copy, beside=job_file.parent)
    assert job_file.parent / "job.py" == sys.modules["proofgym_job"].HERE


def test_a_lost_history_is_refused_and_nothing_is_changed(job_file, tmp_path):
    run = train(job_file, tmp_path)
    run.close()
    (run.path / "history.pges").unlink()
    events = (run.path / "events.jsonl").read_text()
    cut = events[: events.rindex('{"event": "end"')]
    (run.path / "events.jsonl").write_text(cut)
    with pytest.raises(RunError, match=r"record \(history.pges or checkpoints\) is missing"):
        load_job(job_file).resume(RunDirectory.open(tmp_path, run.id))
    assert (run.path / "events.jsonl").read_text().startswith(cut)
    assert list((run.path / "rollouts").iterdir())


def test_a_reward_class_in_place_of_an_object_is_refused(job_file):
    from proofgym import Lean

    with pytest.raises(ConfigError, match=r"write Lean\(\)"):
        _with_reward(job_file, Lean)


def _with_reward(job_file, reward):
    job = load_job(job_file)
    fields = {name: getattr(job, name) for name in job.model_fields_set}
    return type(job)(**{**fields, "reward": reward})


@pytest.mark.parametrize(
    ("override", "error", "words"),
    [
        ("model=nothing-such", ModelError, "no such packaged model"),
        ("model=./nothing-such", ModelError, "there is no folder nothing-such"),
        ("model=../nothing/such", ModelError, r"there is no folder ../nothing"),
        ("algorithm.parameters=['nothing.*']", ConfigError, "matches no tensor"),
        ("cluster.device=cuda", ConfigError, "sees no GPU"),
    ],
)
def test_bad_input_leaves_no_run_behind(job_file, tmp_path, override, error, words):
    if "cuda" in override and torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    with pytest.raises(error, match=words):
        train(job_file, tmp_path / "runs", override.replace("'", '"'))
    assert not list((tmp_path / "runs").glob("*"))


@pytest.mark.parametrize("options", [[], ["--dry-run"]])
def test_a_model_of_no_known_name_is_refused_before_anything_else(job_file, tmp_path, options):
    chosen = ["--set", "model=lean-tinny", "--set", "tasks.path=nothing", "--runs", str(tmp_path)]
    done = CliRunner().invoke(app, ["train", str(job_file), *chosen, *options])
    assert isinstance(done.exception, ModelError)
    assert "did you mean 'lean-tiny'?" in str(done.exception)
    assert done.output == ""


@pytest.mark.parametrize("name", ["lean-tiny", "someone/some-model"])
def test_a_model_that_may_exist_passes_the_check(job_file, name):
    assert load_job(job_file, [f"model={name}"]).check()
