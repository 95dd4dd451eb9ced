"""Checkpoints are whole or not there; the newest and the best stay."""

from __future__ import annotations

import pytest
import torch

from proofgym.errors import RunError
from proofgym.trainer.checkpoints import Checkpoints, stored, whole


def save(checkpoints, iteration, score, value=None):
    tensors = {"weight/a": torch.full((3,), float(value or iteration))}
    checkpoints.save(iteration, tensors, {"steps": iteration}, score)
    checkpoints.wait()


def test_the_last_and_the_best_are_kept(tmp_path):
    checkpoints = Checkpoints(tmp_path, last=2, best=1)
    for iteration, score in enumerate([0.1, 0.9, 0.2, 0.9, 0.3, 0.4], start=1):
        save(checkpoints, iteration, score)
    assert [it.iteration for it in stored(tmp_path)] == [4, 5, 6]  # of equals, the later one
    checkpoints.close()


def test_what_is_saved_is_what_was_there_when_asked(tmp_path):
    checkpoints = Checkpoints(tmp_path, last=1, best=0)
    tensor = torch.zeros(1000)
    checkpoints.save(1, {"weight/a": tensor}, {}, 0.0)
    tensor += 1
    checkpoints.close()
    (found,) = stored(tmp_path)
    assert float(found.tensors("weight")["a"].sum()) == 0


def test_damage_is_named_and_the_one_before_is_used(tmp_path, caplog):
    checkpoints = Checkpoints(tmp_path, last=3, best=0)
    for iteration in (1, 2, 3):
        save(checkpoints, iteration, 0.0)
    checkpoints.close()
    data = (tmp_path / "00003" / "tensors.safetensors").read_bytes()
    (tmp_path / "00003" / "tensors.safetensors").write_bytes(data[:-4] + b"\0\0\0\1")
    (tmp_path / "00002" / "state.json").write_text("{")
    assert [it.iteration for it in stored(tmp_path)] == [1, 3]
    assert whole(stored(tmp_path)).iteration == 1
    assert "00003 is damaged" in caplog.text
    assert "00002 is damaged" in caplog.text


def test_what_a_killed_process_left_is_swept(tmp_path):
    left = tmp_path / ".00007.123.tmp"
    left.mkdir(parents=True)
    Checkpoints(tmp_path, last=1, best=0).close()
    assert not left.exists()


def test_a_full_disk_is_told_and_nothing_half_stays(tmp_path, monkeypatch):
    import safetensors
    import safetensors.torch

    def full(tensors, path):  # what the library raises on a disk that is full
        path.write_bytes(b"half")
        raise safetensors.SafetensorError("I/O error: No space left on device (os error 28)")

    checkpoints = Checkpoints(tmp_path, last=1, best=0)
    monkeypatch.setattr(safetensors.torch, "save_file", full)
    with pytest.raises(RunError, match="No space left"):
        save(checkpoints, 1, 0.0)
    checkpoints.close()
    assert list(tmp_path.iterdir()) == []


def test_lost_checkpoints_are_told_from_none_yet(tmp_path):
    assert Checkpoints(tmp_path, last=2, best=0).new
    checkpoints = Checkpoints(tmp_path, last=2, best=0)
    checkpoints.begin()
    assert not Checkpoints(tmp_path, last=2, best=0).new
    assert Checkpoints(tmp_path, last=2, best=0).latest() is None
    save(checkpoints, 4, 0.0)
    assert Checkpoints(tmp_path, last=2, best=0).latest().iteration == 4
    (tmp_path / "00004" / "state.json").unlink()
    with pytest.raises(RunError, match="after iteration 4 is missing"):
        Checkpoints(tmp_path, last=2, best=0).latest()
