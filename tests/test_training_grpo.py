"""Whole GRPO jobs on a tiny real model: learning, checkpoints, crashes, controls, refusals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

from proofgym import GRPO
from proofgym.checkpoint import export_run, rebuild
from proofgym.clusters.local import Local
from proofgym.errors import ConfigError, RunError
from proofgym.job_file import load_job
from proofgym.models import load_model, weights_digest
from proofgym.run_directory import RunDirectory
from proofgym.trainer.checkpoints import Checkpoints, stored

JOB = '''
from proofgym import GRPO, Job, Local, LoRA, Model, Sampling
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
    algorithm=GRPO(prompts=4, group=8, learning_rate=3e-3, checkpoint_every=2),
    sampling=Sampling(max_tokens=12),
    cluster=Local(workers=2, threads=1, device="cpu"),
    iterations=4,
    seed=3,
)
'''


def train(job_file, root, *overrides, **options):
    return load_job(job_file, overrides).run(root, source=job_file, overrides=overrides, **options)


def digest(run, at=None):
    return weights_digest(rebuild(run, at).model)


def rewards(run):
    return [event["reward"] for event in run.events() if event["event"] == "iteration"]


@pytest.mark.parametrize(
    "settings",
    [
        (),
        ('algorithm.lora={"rank": 4}', "algorithm.learning_rate=0.03"),
        ("algorithm.epochs=2", "algorithm.minibatches=2", "algorithm.learning_rate=1e-3"),
        ("algorithm.advantage=rloo", "algorithm.kl=0.01", "algorithm.entropy=0.001"),
        ("model.dtype=bfloat16", "algorithm.precision=bfloat16"),
    ],
    ids=str,
)
def test_a_tiny_model_learns(job_file, tmp_path, settings):
    run = train(job_file, tmp_path / "runs", "iterations=14", *settings)
    found = rewards(run)
    assert np.mean(found[-3:]) > 2 * np.mean(found[:3])
    event = [event for event in run.events() if event["event"] == "iteration"][-1]
    assert event["gradient_norm"] > 0
    assert event["informative"] > 0
    assert list(run.events())[-1]["weights"] == digest(run)


def test_a_run_is_not_finished_before_its_last_checkpoint_is(job_file, tmp_path, monkeypatch):
    whole = train(job_file, tmp_path / "whole", "algorithm.checkpoint_every=3")
    write = Checkpoints._write

    def full(self, iteration, *rest):
        if iteration == 4:
            raise OSError(28, "No space left on device")
        return write(self, iteration, *rest)

    monkeypatch.setattr(Checkpoints, "_write", full)
    with pytest.raises(RunError, match="No space left on device"):
        train(job_file, tmp_path / "runs", "algorithm.checkpoint_every=3")
    monkeypatch.undo()
    run = RunDirectory.open(tmp_path / "runs", "latest")
    assert run.events()[-1]["reason"] == "failed"
    load_job(job_file, ["algorithm.checkpoint_every=3"]).resume(run)
    assert run.events()[-1]["weights"] == digest(run) == digest(whole)


@pytest.mark.parametrize("settings", [(), ('algorithm.lora={"rank": 4}',)], ids=["full", "lora"])
def test_a_longer_run_ends_as_if_it_had_been_that_long(job_file, tmp_path, settings):
    whole = train(job_file, tmp_path / "whole", "iterations=5", *settings)
    run = train(job_file, tmp_path, "iterations=3", *settings)
    longer = load_job(job_file, ["iterations=5", *settings])
    longer.resume(RunDirectory.open(tmp_path, run.id))
    assert rewards(run) == rewards(whole)
    assert digest(run) == digest(whole)


def test_the_permuted_control_does_not_learn(job_file, tmp_path):
    run = train(job_file, tmp_path / "runs", "iterations=14", control="permuted")
    found = rewards(run)
    assert np.mean(found[-3:]) < 2 * np.mean(found[:3])


def test_the_permuted_control_of_a_whole_batch_does_not_learn(job_file, tmp_path):
    settings = ("algorithm.group=1", "algorithm.advantage=reinforce++", "algorithm.prompts=8")
    found = rewards(train(job_file, tmp_path / "n", "iterations=30", *settings))
    assert np.mean(found[-5:]) > 2 * np.mean(found[:5])
    control = train(job_file, tmp_path / "p", "iterations=30", *settings, control="permuted")
    found = rewards(control)
    assert np.mean(found[-5:]) < 2 * np.mean(found[:5])


def test_the_distance_from_the_start_is_none_at_the_start(job_file, tmp_path):
    settings = ("model.dtype=bfloat16", "algorithm.kl=0.1", "iterations=1")
    run = train(job_file, tmp_path / "runs", *settings, "algorithm.precision=float32")
    (event,) = [event for event in run.events() if event["event"] == "iteration"]
    assert event["kl"] == pytest.approx(0, abs=1e-9)


def test_minibatches_are_as_many_as_asked_for(job_file, tmp_path):
    run = train(job_file, tmp_path / "runs", "algorithm.minibatches=5", "iterations=1")
    (event,) = [event for event in run.events() if event["event"] == "iteration"]
    assert event["steps"] == 5


def test_overrides_may_come_in_any_order(job_file):
    pair = ("algorithm.group=1", "algorithm.advantage=reinforce++")
    assert load_job(job_file, pair).to_json() == load_job(job_file, pair[::-1]).to_json()
    with pytest.raises(ConfigError, match="nothing to compare"):
        load_job(job_file, pair[:1])


def test_greedy_attempts_are_refused(job_file, tmp_path):
    with pytest.raises(ConfigError, match="temperature = 0"):
        train(job_file, tmp_path / "runs", "sampling.temperature=0")


def test_kill_minus_nine_then_resume_equals_an_undisturbed_run(job_file, tmp_path):
    job_file.write_text(job_file.read_text().replace("iterations=4", "iterations=30"))
    calm = train(job_file, tmp_path / "calm")
    root = tmp_path / "killed"
    process = subprocess.Popen(
        [sys.executable, "-m", "proofgym", "train", *map(str, (job_file, "--runs", root))],
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while not list(root.glob("*/rollouts/00005.jsonl.gz")) and time.monotonic() < deadline:
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    run = RunDirectory.read(root, "latest")
    assert sum(event["event"] == "iteration" for event in run.events()) < 30
    again = RunDirectory.open(root, run.id)
    load_job(job_file).resume(again)
    assert digest(run) == digest(calm)
    iterations = [e["iteration"] for e in run.events() if e["event"] == "iteration"]
    assert iterations == list(range(30))
    assert rewards(run) == rewards(calm)
    with pytest.raises(RunError, match="finished: all 30 iterations"):
        load_job(job_file).resume(RunDirectory.open(root, run.id))


@pytest.mark.parametrize("settings", [(), ('algorithm.lora={"rank": 4}',)], ids=["full", "lora"])
def test_checkpoints_are_the_models_that_were_sampled_from(job_file, tmp_path, settings):
    settings = (*settings, "algorithm.keep_last=9", "iterations=5")
    run = train(job_file, tmp_path / "runs", *settings)
    assert [it.iteration for it in stored(run.path / "checkpoints")] == [2, 4, 5]
    exported = export_run(run, 2, tmp_path / "at2")
    assert exported == digest(run, 2) != digest(run)
    assert weights_digest(load_model(str(tmp_path / "at2")).model) == exported
    with pytest.raises(RunError, match="no whole checkpoint of iteration 3; it has 2, 4, 5"):
        rebuild(run, 3)
    # A longer run goes on from these weights: its next attempts are drawn from them.
    line = next(iter(run.rollouts(4)))
    engine = Local(device="cpu", threads=1).engine(rebuild(run, 4), 3)
    prompt = engine.tokenizer.encode(line["prompt"])
    again = engine.score(prompt, line["token_ids"])
    assert again == pytest.approx(line["logprobs"], abs=2e-4)


def test_dynamic_sampling_tries_more_tasks_until_enough_differ(job_file, tmp_path):
    text = job_file.read_text().replace(
        "return text.count(WANTED) / 12", "return float('3' in task.prompt and WANTED in text)"
    )
    job_file.write_text(text)
    settings = ("algorithm.prompts=1", "algorithm.dynamic_sampling=8", "iterations=6")
    run = train(job_file, tmp_path / "runs", *settings)
    events = [event for event in run.events() if event["event"] == "iteration"]
    assert max(event["tasks"] for event in events) > 1
    assert all(event["informative"] > 0 or event["tasks"] == 8 for event in events)
    assert any(event["steps"] for event in events)


def test_attempts_without_a_score_are_left_out_and_too_many_stop_the_run(job_file, tmp_path):
    text = job_file.read_text()
    some = text.replace("    return text", "    if '1' in text: return None\n    return text")
    job_file.write_text(some)
    run = train(job_file, tmp_path / "some", "algorithm.max_unscored=0.9")
    assert any(event.get("unscored") for event in run.events())
    job_file.write_text(
        text.replace(
            "    return text", "    if 'say 2' in task.prompt: return 1.0\n    return None"
        )
    )
    with pytest.raises(RunError, match="above max_unscored = 25%"):
        train(job_file, tmp_path / "most", "algorithm.prompts=8")


def test_an_engine_that_computes_something_else_stops_the_run(job_file, tmp_path, monkeypatch):
    from proofgym.trainer.trainer import Trainer

    once = Trainer.logprobs
    monkeypatch.setattr(
        Trainer, "logprobs", lambda self, *a, **k: [it - 0.01 for it in once(self, *a, **k)]
    )
    with pytest.raises(RunError, match=r"disagree .* 0\.01\d* on average \(allowed: 0\.001\)"):
        train(job_file, tmp_path / "runs")


def test_a_gradient_that_is_not_finite_changes_nothing(job_file, tmp_path):
    text = job_file.read_text().replace(
        "return text.count(WANTED) / 12", "return 1e30 * text.count(WANTED)"
    )
    job_file.write_text(text.replace("group=8", 'group=8, advantage="dr_grpo"'))
    with pytest.raises(RunError, match=r"gradient of step 1 is (nan|inf)"):
        train(job_file, tmp_path / "runs")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"group": 1}, "nothing to compare"),
        ({"group": 1, "advantage": "reinforce++", "dynamic_sampling": 2}, "group to 2 or more"),
        ({"advantage": "gropo"}, "did you mean 'grpo'"),
        ({"aggregation": "token"}, "did you mean 'token_mean'"),
        ({"clip_dual": 0.5}, "greater than 1"),
        ({"clip_dual": 1.1}, r"above 1 \+ clip_high"),
        ({"objective": "cispo", "clip_dual": 3.0}, "no use"),
        ({"prompts": 0}, "greater than or equal to 1"),
        ({"lora": {"rank": 0}}, "greater than or equal to 1"),
        ({"betas": (0.9, 1.0)}, "below 1"),
        ({"lerning_rate": 1.0}, "did you mean 'learning_rate'"),
    ],
)
def test_wrong_settings_are_refused_before_work(settings, words):
    with pytest.raises(ConfigError, match=words):
        GRPO(**settings)


def test_the_engines_model_asks_for_no_gradients_after_a_run(tiny_model, tmp_path):
    model = load_model(str(tiny_model)).model
    run = GRPO(prompts=1).build(model, seed=0, directory=tmp_path, base_digest="")
    assert all(it.requires_grad for it in model.parameters())
    run.close()
    assert not any(it.requires_grad for it in model.parameters())
    assert torch.is_grad_enabled()


def test_an_episode_trains_as_one_sequence_of_all_its_turns(job_file, tmp_path):
    from proofgym.rollout_lines import from_line
    from proofgym.trainer.sample import sequences

    text = job_file.read_text().replace(
        "job = Job(",
        '''
async def twice(chat, task, sandbox):
    """Two turns; what is said between them is not the model's to learn."""
    first = await chat(task.prompt)
    second = await chat(" and 7 more: ")
    return (first.text.count(WANTED) + second.text.count(WANTED)) / 24


job = Job(''',
    )
    job_file.write_text(text.replace("reward=vowels", "environment=twice"))
    run = train(job_file, tmp_path / "runs", "iterations=14")
    found = rewards(run)
    assert np.mean(found[-3:]) > 2 * np.mean(found[:3])
    attempts = [from_line(line, []) for line in run.rollouts(0)]
    for attempt in attempts:
        (sample,) = sequences(attempt.turns)
        assert sample.count == attempt.tokens
        assert not sample.drawn.all()


def test_a_failure_between_the_steps_of_an_iteration_keeps_no_half_of_it(
    job_file, tmp_path, monkeypatch
):
    from proofgym.trainer.trainer import Trainer

    settings = ("algorithm.minibatches=2", "algorithm.checkpoint_every=100", "iterations=5")
    calm = train(job_file, tmp_path / "calm", *settings)
    once = Trainer.step

    def fail(self, *arguments):
        if self.steps == 7:  # the second of iteration 4
            raise RunError("the power failed")
        return once(self, *arguments)

    monkeypatch.setattr(Trainer, "step", fail)
    with pytest.raises(RunError, match="power"):
        train(job_file, tmp_path / "torn", *settings)
    monkeypatch.undo()
    run = RunDirectory.open(tmp_path / "torn", "latest")
    load_job(job_file, settings).resume(run)
    assert digest(run) == digest(calm)


def test_an_iteration_without_anything_to_learn_from_says_so(job_file, tmp_path, capfd):
    text = job_file.read_text().replace("return text.count(WANTED) / 12", "return 1.0")
    job_file.write_text(text)
    run = train(job_file, tmp_path / "runs", "iterations=1")
    assert "nothing to learn from" in capfd.readouterr().err
    (event,) = [event for event in run.events() if event["event"] == "iteration"]
    assert (event["steps"], event["informative"]) == (0, 0)
