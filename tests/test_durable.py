"""What is written to a temporary place first has the mode of any other file in the end."""

from __future__ import annotations

import os

import pytest
import torch
from safetensors.torch import save_file
from test_training import JOB, train  # noqa: F401  (JOB is for the fixture job_file)

from proofgym.checkpoint import export_run
from proofgym.durable import new_directory, whole_file
from proofgym.model_cache import write_directory
from proofgym.trainer.checkpoints import Checkpoints


@pytest.fixture(params=[0o022, 0o027, 0o077], ids=oct)
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def modes(*folders):
    """Those of folders and all that is in them, as (files, folders)."""
    paths = [path for folder in folders for path in (folder, *folder.rglob("*"))]
    files = {path.stat().st_mode & 0o777 for path in paths if path.is_file()}
    return files, {path.stat().st_mode & 0o777 for path in paths if path.is_dir()}


def test_whatever_is_written_follows_the_umask(tmp_path, umask):
    place = tmp_path / "place"
    with write_directory(place / "model") as scratch:
        save_file({"a": torch.zeros(1)}, scratch / "model.safetensors")
    checkpoints = Checkpoints(place / "checkpoints", last=1, best=0)
    checkpoints.save(1, {"weight/a": torch.zeros(1)}, {}, 0.0)
    checkpoints.close()
    with whole_file(place / "file") as file:
        file.write(b"whole")
    with new_directory(place / "new") as made:
        (made / "file").touch()
        made.rename(place / "new")
    assert modes(place) == ({0o666 & ~umask}, {0o777 & ~umask})
    assert not list(place.glob(".*")), "nothing temporary is left"


def test_an_exported_model_can_be_read_by_others(job_file, tmp_path):
    run = train(job_file, tmp_path / "runs", "iterations=1")
    before = os.umask(0o022)
    try:
        export_run(run, None, tmp_path / "out")
    finally:
        os.umask(before)
    assert modes(tmp_path / "out") == ({0o644}, {0o755})
