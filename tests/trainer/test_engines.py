"""Gradients and several engines: the same completions and weights as with one, whatever happens."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import torch
from fleets import SAMPLING, both_ready, opened, workers_of

from proofgym import GRPO, Measure, Supervised
from proofgym.checkpoint import rebuild
from proofgym.engines.portions import groups
from proofgym.job_file import load_job
from proofgym.models import weights_digest
from proofgym.run_directory import RunDirectory
from proofgym.tasks import from_jsonl
from proofgym.types import Rollout, Status, Task, Verdict

torch.set_num_threads(1)
TASKS = [Task(f"t{i}", f"say {i}: ") for i in range(6)]
RULE = GRPO(prompts=6, group=4, learning_rate=3e-3, importance_cap=None)
KINDS = {
    "float32": ("float32", RULE),
    "bfloat16": ("bfloat16", RULE.override("learning_rate", "1e-4")),
    "lora": ("float32", RULE.override("lora", '{"rank": 4}')),
}


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    assert not workers_of(os.getpid())


def complete(it, meanwhile=lambda number: None):
    """Completions of an iteration; `meanwhile` is called with the number of each that came."""
    found = {}
    (batch,) = it.run.batches(TASKS)
    it.requests = batch.requests
    for request, completion in it.engine.generate(batch.requests, SAMPLING, batch.population):
        assert request.key not in found
        found[request.key] = completion
        meanwhile(len(found))
    return found


def complete_alone(it):
    """By one engine: in one batch, and to the bit as several do, portion by portion."""
    together = complete(it)
    found = {}
    for portion in groups(it.requests, 2, 8):
        asked = [it.requests[place] for place in portion.places]
        found |= {r.key: c for r, c in it.engine.generate(asked, SAMPLING)}
    return found, together


def learn(it, found):
    rollouts = []
    for request in it.requests:
        completion = found[request.key]
        verdict = Verdict(Status.PASSED, completion.text.count("e") / 12)
        rollouts.append(Rollout(0, TASKS[request.key[1]], request, (completion,), verdict))
    return it.run.update(rollouts)


def tokens(found):
    return {key: it.token_ids for key, it in found.items()}


@pytest.mark.parametrize(("kind", "share"), [("float32", 1), ("bfloat16", 0.8), ("lora", 0.4)])
def test_two_engines_answer_as_one_whatever_becomes_of_them(tiny_model, tmp_path, kind, share):
    dtype, rule = KINDS[kind]
    with opened(tiny_model, tmp_path / "one", rule, 1, dtype, max_batch=8) as one:
        alone = []
        for _ in range(4):
            alone.append(complete_alone(one))
            learn(one, alone[-1][0])
        with opened(tiny_model, tmp_path / "two", rule, 2, dtype, max_batch=8) as two:
            first, second = two.engine.workers
            both_ready(two.engine)

            def kill(number):
                if number == 2:
                    os.kill(second.pid, signal.SIGKILL)

            for number, meanwhile in enumerate((lambda _: None, kill, lambda _: None, kill)):
                shares = first.finished + second.finished
                found = complete(two, meanwhile)
                assert first.finished + second.finished - shares == 6  # by group
                expected, together = alone[number]
                assert found == expected
                if kind != "bfloat16":  # where other batches are rounded to other tokens
                    assert tokens(found) == tokens(together)
                moved = learn(two, found)
                if number:  # told to both, and to one that was started again
                    whole = moved["weights_whole_mb"]
                    assert 0 < moved["weights_moved_mb"] <= share * whole
            mine, theirs = two.model.state_dict(), one.model.state_dict()
            assert all(torch.equal(mine[name], theirs[name]) for name in mine)


def test_a_slow_process_does_not_hold_up_the_others(tiny_model, tmp_path):
    with opened(tiny_model, tmp_path, RULE, 2, max_batch=8) as two:
        first, second = two.engine.workers
        both_ready(two.engine)

        def slow(number):
            if number == 1:
                os.kill(second.pid, signal.SIGSTOP)
            if number == 5 * 4:
                os.kill(second.pid, signal.SIGCONT)

        complete(two, slow)
        assert first.finished >= 4 > 2 >= second.finished


JOB = """
from proofgym import GRPO, Job, Local, Model, Sampling
from proofgym.tasks import from_jsonl

def vowels(task, text):
    return text.count("e") / 12

async def twice(chat, task, sandbox):
    first = await chat(task.prompt)
    second = await chat(" and 7 more: ")
    return (first.text.count("e") + second.text.count("e")) / 24

job = Job(
    name="tiny",
    model=Model({model!r}),
    tasks=from_jsonl({tasks!r}),
    reward=vowels,
    algorithm=GRPO(prompts=4, group=8, learning_rate=3e-3, checkpoint_every=2),
    sampling=Sampling(max_tokens=12),
    cluster=Local(workers=2, threads=1, device="cpu", engines=2, max_batch=16),
    iterations=4,
    seed=3,
)
"""


def train(job_file, root, *overrides):
    return load_job(job_file, overrides).run(root, source=job_file, overrides=overrides)


def iterations(run):
    return [event for event in run.events() if event["event"] == "iteration"]


def digest(run):
    return weights_digest(rebuild(run).model)


def test_kill_minus_nine_then_resume_equals_an_undisturbed_run(job_file, tmp_path):
    settings = ("model.dtype=bfloat16", "iterations=8")
    calm = train(job_file, tmp_path / "calm", *settings)
    root = tmp_path / "killed"
    command = [sys.executable, "-m", "proofgym", "train", *map(str, (job_file, "--runs", root))]
    for each in settings:
        command += ["--set", each]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not list(root.glob("*/rollouts/00003.jsonl.gz")) and time.monotonic() < deadline:
        time.sleep(0.005)
    process.kill()
    process.wait()
    while workers_of(process.pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not workers_of(process.pid)
    run = RunDirectory.read(root, "latest")
    assert len(iterations(run)) < 8
    load_job(job_file, settings).resume(RunDirectory.open(root, run.id))
    assert digest(run) == digest(calm)
    assert [it["reward"] for it in iterations(run)] == [it["reward"] for it in iterations(calm)]


def test_ranks_and_engines_work_together(job_file, tmp_path):
    alone = train(job_file, tmp_path / "one", "cluster.engines=1")
    both = train(job_file, tmp_path / "both", "cluster.ranks=2")
    for mine, theirs in zip(iterations(both), iterations(alone), strict=True):
        assert mine["reward"] == pytest.approx(theirs["reward"], abs=0.05)
        assert mine["loss"] == pytest.approx(theirs["loss"], abs=0.05)
    for found, expected in zip(both.rollouts(0), alone.rollouts(0), strict=True):
        assert found["token_ids"] == expected["token_ids"]


def test_episodes_are_shared_out_and_learn(job_file, tmp_path):
    job_file.write_text(job_file.read_text().replace("reward=vowels", "environment=twice"))
    settings = ("algorithm.importance_cap=None", "iterations=6", "algorithm.learning_rate=1e-2")
    two = train(job_file, tmp_path / "two", *settings)
    one = train(job_file, tmp_path / "one", *settings, "cluster.engines=1")
    for found, expected in zip(two.rollouts(0), one.rollouts(0), strict=True):
        assert [it["token_ids"] for it in found["turns"]] == [
            it["token_ids"] for it in expected["turns"]
        ]
    rewards = [it["reward"] for it in iterations(two)]
    assert rewards[-1] > 1.5 * rewards[0]


def test_a_supervised_run_is_measured_by_all_engines(job_file, tmp_path):
    heldout = tmp_path / "heldout.jsonl"
    about = {"topic": "letters", "difficulty": 1}
    lines = [{"name": f"h{i}", "prompt": f"{i} now: ", **about} for i in range(6)]
    heldout.write_text("".join(json.dumps(line) + "\n" for line in lines))
    job = load_job(job_file)
    rule = Supervised(prompts=4, learning_rate=1e-3, reference=job.tasks)
    measured = {"evaluation": from_jsonl(str(heldout)), "measure": Measure(at=(0, 1), samples=4)}
    found = {}
    for engines in (1, 2):
        cluster = job.cluster.override("engines", str(engines))
        changed = {"algorithm": rule, "cluster": cluster, **measured}
        run = job.model_copy(update=changed).run(tmp_path / str(engines))
        found[engines] = [it["success"] for it in run.events() if it["event"] == "evaluation"]
    before, after = found[2]
    assert found[1] == found[2]
    assert before != after
    last = iterations(run)[-1]
    assert last["weights_whole_mb"] == 0  # nobody asked for weights but to measure
