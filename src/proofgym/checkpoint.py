"""A run's weights at any iteration, rebuilt from its base weights and history."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from proofgym.catalogue import OWN, PACKAGED
from proofgym.clusters.local import Local
from proofgym.durable import share_files
from proofgym.errors import ConfigError, RunError
from proofgym.job import Model
from proofgym.run_directory import RunDirectory, list_runs
from proofgym.trainer.checkpoints import DIRECTORY, Checkpoint, stored, whole

if TYPE_CHECKING:
    from proofgym.models import LoadedModel


def rebuild(run: RunDirectory, at: int | None = None, cluster: Local | None = None) -> LoadedModel:
    """The run's model after `at` iterations (None: all that are durable)."""
    from proofgym.evolution import replay

    trained = stored(run.path / DIRECTORY)
    job = run.read_json("job.json")["job"]
    fields = {k: v for k, v in job["model"].items() if k != "kind"}
    chosen = _choose(run, trained, at) if trained else None
    loaded = (cluster or Local()).load(Model(**fields))
    if chosen:
        from proofgym.trainer.policy import restore

        restore(loaded.model, chosen.tensors("weight"), chosen.state["lora"])
        return loaded
    if not (run.path / replay.HISTORY).exists():
        raise RunError(
            f"run {run.id} holds no history and no checkpoint yet: no iteration was finished"
        )
    replay.export(run.path, loaded.model, at)
    return loaded


def _choose(run: RunDirectory, trained: list[Checkpoint], at: int | None) -> Checkpoint:
    """The checkpoint after `at` iterations. Raises RunError naming those that were kept."""
    if chosen := whole([it for it in trained if at in (None, it.iteration)]):
        return chosen
    kept = ", ".join(str(checkpoint.iteration) for checkpoint in trained)
    raise RunError(
        f"run {run.id} keeps no whole checkpoint of iteration {at or 'any'}; it has {kept}"
    )


def load_model_or_run(cluster: Local, model: Model, runs: Path, at: int | None) -> LoadedModel:
    """A run if `model.name` is one's id or path (or `latest`), else a model by name."""
    known = [run.id for run in list_runs(runs)]
    part = model.name not in [*PACKAGED, *OWN] and any(model.name in run for run in known)
    a_model = Path(model.name).exists() and not (Path(model.name) / "job.json").exists()
    is_run = model.name == "latest" or (Path(model.name) / "job.json").exists() or part
    is_run = is_run and not a_model
    if not is_run:
        if at is not None:
            raise ConfigError(
                f"--at {at}: {model.name!r} is a model, not a run; runs are in {runs}"
            )
        return cluster.load(model)
    if model.adapter:
        raise ConfigError(
            f"--adapter {model.adapter}: a run's weights already hold its own adapter"
        )
    return rebuild(RunDirectory.read(runs, model.name), at, cluster)


def export_run(run: RunDirectory, at: int | None, to: Path) -> str:
    """Write a Hugging Face directory, whole or not at all; returns the weights' digest."""
    from safetensors import SafetensorError

    from proofgym.models import save, weights_digest

    loaded = rebuild(run, at)
    temporary = to.with_name(f".{to.name}.{os.getpid()}.tmp")
    try:
        save(loaded.model, loaded.tokenizer, temporary)
        share_files(temporary)
        temporary.replace(to)
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RunError(f"cannot write {to}: {reason}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return weights_digest(loaded.model)
