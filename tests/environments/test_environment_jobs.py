"""Whole jobs whose attempts are episodes."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from proofgym.cli.main import app
from proofgym.job_file import load_job
from proofgym.loop import iteration_metrics
from proofgym.rollout_lines import from_line

JOB = """
from proofgym import ES, GRPO, Job, Local, Sampling
from proofgym.tasks import from_jsonl

async def letters(chat, task, sandbox):
    turn = await chat(task.prompt)
    if task.name == "t3":
        raise KeyError("a missing answer")
    if turn.text[:1] < "m":
        turn = await chat(" more: ")
    return {{"e": turn.text.count("e") / 12, "first": 0.125}}

job = Job(
    model={model!r},
    tasks=from_jsonl({tasks!r}),
    environment=letters,
    algorithm={algorithm},
    sampling=Sampling(max_tokens=8),
    cluster=Local(workers=2, threads=1, device="cpu"),
    iterations=1,
)
"""


@pytest.fixture
def write(tiny_model, tmp_path):
    def write(algorithm):
        lines = [
            {"name": f"t{i}", "topic": "t", "difficulty": 1, "prompt": f"say {i}: "}
            for i in range(4)
        ]
        tasks = tmp_path / "tasks.jsonl"
        tasks.write_text("".join(json.dumps(line) + "\n" for line in lines))
        path = tmp_path / "job.py"
        path.write_text(JOB.format(model=str(tiny_model), tasks=str(tasks), algorithm=algorithm))
        return path

    return write


def turns(run):
    return {
        (tuple(line["key"]), line["member"]): [turn["text"] for turn in line["turns"]]
        for line in run.rollouts()
    }


def test_members_have_episodes_however_they_are_evaluated(write, tmp_path):
    es = "ES(population=4, prompts=3, sigma=0.02, evaluation={!r})"
    runs = []
    for way in ("factored", "materialised"):
        path = write(es.format(way))
        job = load_job(path)
        kept = [task for task in job.tasks.load() if task.name != "t3"]
        lines = tmp_path / "tasks.jsonl"
        lines.write_text("".join(lines.read_text().splitlines(keepends=True)[:3]))
        assert len(kept) == 3
        runs.append(load_job(path).run(tmp_path / way))
    one, other = map(turns, runs)
    assert len(one) == 12
    same = sum(one[key] == other[key] for key in one)
    assert same >= 10  # they agree to rounding
    assert len({texts[0] for texts in one.values()}) > 3


def test_a_grpo_run_counts_and_shows_what_went_wrong(write, tmp_path, capfd):
    path = write("GRPO(prompts=4, group=4, max_unscored=0.5)")
    run = load_job(path).run(tmp_path / "runs", source=path)
    (event,) = [event for event in run.events() if event["event"] == "iteration"]
    assert event["faults"] == {"raised": 4}
    assert event["unscored"] == 4
    assert event["components"]["first"] == 0.125
    assert "no score: 4 raised, such as: " in capfd.readouterr().err
    again = iteration_metrics([from_line(line, []) for line in run.rollouts(0)])
    assert {name: event[name] for name in again} == again

    arguments = ["show", run.id, "--runs", str(tmp_path / "runs"), "--rollouts", "--limit", "40"]
    printed = CliRunner().invoke(app, arguments).output
    assert "no score: 4 raised, such as: " in printed
    assert "first 0.125" in printed
    assert "user: say 0:" in printed
    assert "model, turn 1 (" in printed
    assert "user:  more:" in printed


def test_eval_takes_a_jobs_environment(write, tmp_path, tiny_model, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = write("ES()")
    arguments = ["eval", str(tiny_model), str(tmp_path / "tasks.jsonl"), "--job", str(path)]
    result = CliRunner().invoke(app, [*arguments, "--limit", "3"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.output.splitlines()[-1])["pass@1"] == 1.0


@pytest.mark.parametrize(
    ("options", "drawn"),
    [([], (1.0, 8)), (["--max-tokens", "3"], (1.0, 3)), (["--temperature", "0"], (0.0, 8))],
)
def test_eval_samples_as_the_job_but_for_what_is_said(
    write, tmp_path, tiny_model, monkeypatch, options, drawn
):
    from proofgym import evaluation

    monkeypatch.chdir(tmp_path)
    path = write("ES()")
    path.write_text(path.read_text() + "\njob = job.model_copy(update={'sampling': SAMPLING})\n")
    text = path.read_text()
    path.write_text("from proofgym import Sampling\nSAMPLING = Sampling(max_tokens=8)\n" + text)
    seen = []
    measure = evaluation.evaluate

    def watched(engine, attempts, tasks, sampling, **more):
        seen.append((sampling.temperature, sampling.max_tokens))
        return measure(engine, attempts, tasks, sampling, **more)

    monkeypatch.setattr(evaluation, "evaluate", watched)
    arguments = ["eval", str(tiny_model), str(tmp_path / "tasks.jsonl"), "--job", str(path)]
    result = CliRunner().invoke(app, [*arguments, "--limit", "1", *options])
    assert result.exit_code == 0, result.output
    assert seen == [drawn]
