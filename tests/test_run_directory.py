"""A run's record survives crashes and refuses a second writer."""

from __future__ import annotations

import gzip
import json

import pytest

from proofgym.errors import RunError
from proofgym.run_directory import RunDirectory, list_runs, write_atomically
from proofgym.types import Completion, Request, Rollout, Status, Task, Verdict


@pytest.fixture
def run(tmp_path):
    directory = RunDirectory.create(tmp_path, "test")
    directory.write_json("job.json", {"job": {}})
    yield directory
    directory.close()


def rollout(iteration):
    return Rollout(
        iteration,
        Task("t1", "theorem t1 : p ∧ q := by\n", "and", 1),
        Request((iteration, 0, 0), "theorem t1 : p ∧ q := by\n", 3),
        (Completion((1, 2), (3, 4), (-0.5, -0.25), "  exact ⟨hp, hq⟩", "stop"),),
        Verdict(Status.FAILED, 0.0, "unknown identifier", 0.01),
    )


def test_a_second_writer_is_refused_and_told_who_holds_the_run(run, tmp_path):
    with pytest.raises(RunError, match=r"in use by process \d+"):
        RunDirectory.open(tmp_path, run.id)
    run.close()
    RunDirectory.open(tmp_path, run.id).close()


def test_a_run_is_found_by_part_of_its_id_or_latest(run, tmp_path):
    assert RunDirectory.read(tmp_path, "latest").id == run.id
    assert RunDirectory.read(tmp_path, run.id[-4:]).id == run.id
    with pytest.raises(RunError, match="no run 'nothing'"):
        RunDirectory.read(tmp_path, "nothing")


def test_torn_event_lines_and_later_iterations_are_forgotten(run):
    for iteration in range(4):
        run.record("iteration", iteration=iteration, reward=0.5)
        run.write_rollouts(iteration, [rollout(iteration)])
    with (run.path / "events.jsonl").open("ab") as file:
        file.write(b'{"event": "iteration", "iter')
    run.forget_from(2)
    assert [event["iteration"] for event in run.events()] == [0, 1]
    assert [line["iteration"] for line in run.rollouts()] == [0, 1]
    run.record("iteration", iteration=2)
    assert len((run.path / "events.jsonl").read_text().splitlines()) == 3


def test_rollouts_are_greppable_text(run):
    run.write_rollouts(7, [rollout(7)])
    text = gzip.decompress((run.path / "rollouts" / "00007.jsonl.gz").read_bytes()).decode()
    assert "⟨hp, hq⟩" in text
    assert json.loads(text)["token_ids"] == [3, 4]


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x.json"
    write_atomically(path, b"old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(RunError, match="No space left"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_runs_are_listed_oldest_first(run, tmp_path):
    assert [item.id for item in list_runs(tmp_path)] == [run.id]
    assert list_runs(tmp_path / "none") == []


def test_damaged_lines_and_files_are_named_not_fatal(tmp_path):
    run = RunDirectory.create(tmp_path, "x")
    run.write_json("job.json", {"job": {}})
    run.record("start")
    with (run.path / "events.jsonl").open("ab") as file:
        file.write(b"\0" * 37 + b"\n5\n\xff\n[]\n{}\n")
    run.record("iteration", iteration=0)
    assert [event["event"] for event in run.events()] == ["start", "iteration"]
    (run.path / "rollouts" / "00000.jsonl.gz").write_bytes(b"\x1f\x8b\x08\0\0\0\0\0\0\0abc")
    with pytest.raises(RunError, match=r"00000\.jsonl\.gz is damaged"):
        list(run.rollouts())
    (run.path / "job.json").write_bytes(b"[]")
    with pytest.raises(RunError, match=r"job\.json is damaged"):
        run.read_json("job.json")
    (run.path / "job.json").write_bytes(b"\xff")
    with pytest.raises(RunError, match=r"job\.json cannot be read"):
        run.read_json("job.json")
    run.close()
