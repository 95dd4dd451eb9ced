"""What a run was begun with is noticed where the settings alone would not tell."""

from __future__ import annotations

import importlib.util
import json
import sys

import pytest

from proofgym import fingerprints
from proofgym.errors import RunError
from proofgym.job_file import load_job
from proofgym.types import Task

WRITTEN = """
LIMIT = 3
OTHER = 1

def counted(text):
    return text.count("e")

def reward(task, text):
    return min(counted(text), LIMIT)

class Judge:
    def __call__(self, task, text):
        return counted(text)
"""


def module(path, text):
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    made = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.mark.parametrize("name", ["reward", "Judge"])
def test_code_is_known_by_what_it_says_and_names(tmp_path, name):
    def digest(file, text):
        found = getattr(module(tmp_path / file, text), name)
        return fingerprints.of_code(found() if isinstance(found, type) else found)

    known = digest("one.py", WRITTEN)
    assert known == digest("two.py", WRITTEN.replace("OTHER = 1", "OTHER = 2\n\nmore = []"))
    assert known != digest("three.py", WRITTEN.replace('"e"', '"a"'))
    changed = digest("four.py", WRITTEN.replace("LIMIT = 3", "LIMIT = 4"))
    assert (known != changed) == (name == "reward")


def test_what_is_not_written_in_a_file_is_not_known():
    from proofgym.environments.lean_feedback import lean_feedback

    assert fingerprints.of_code(len) is None
    assert fingerprints.of_code(lean_feedback()) is None


def test_tasks_are_known_by_all_that_they_hold():
    task = Task("a", "p", data={"answer": 1})
    assert fingerprints.of_tasks([task]) == fingerprints.of_tasks(
        [Task("a", "p", data={"answer": 1})]
    )
    assert fingerprints.of_tasks([task]) != fingerprints.of_tasks(
        [Task("a", "p", data={"answer": 2})]
    )


JOB = """
from proofgym import GRPO, Job, Local, Sampling
from proofgym.tasks import from_jsonl

def reward(task, text):
    return float(len(text))

job = Job(
    model="lean-tiny",
    tasks=from_jsonl("tasks.jsonl"),
    reward=reward,
    algorithm=GRPO(prompts=1, group=2),
    sampling=Sampling(max_tokens=4),
    cluster=Local(workers=1, threads=1, device="cpu"),
    iterations=1,
)
"""


def test_a_run_goes_on_with_mended_code_but_not_with_other_tasks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = {"name": "a", "topic": "t", "difficulty": 1, "prompt": "say: ", "answer": 1}
    (tmp_path / "tasks.jsonl").write_text(json.dumps(line))
    path = tmp_path / "job_of_prints.py"
    path.write_text(JOB)
    run = load_job(path).run(tmp_path / "runs", source=path)
    stored = run.read_json("job.json")
    assert set(stored["fingerprints"]) == {"contents of tasks", fingerprints.CODE}

    (tmp_path / "tasks.jsonl").write_text(json.dumps(line | {"answer": 2}))
    longer = load_job(path, ["iterations=2"])
    with pytest.raises(RunError, match="made with other contents of tasks"):
        longer.resume(run)

    (tmp_path / "tasks.jsonl").write_text(json.dumps(line))
    path.write_text(JOB.replace("float(len(text))", "len(text) / 2"))
    mended = load_job(path, ["iterations=2"])
    assert mended.strays(stored, mended.tasks.load()) == [fingerprints.CODE]
    mended.resume(run)
    assert run.events()[-1]["iterations"] == 2
