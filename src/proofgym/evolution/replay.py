"""From a history to weights: any iteration of a run, bit for bit, on any machine."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from proofgym.errors import HistoryError
from proofgym.evolution import history, keyframe, weights
from proofgym.evolution.history import Record
from proofgym.evolution.manifest import Manifest
from proofgym.evolution.specification import Specification
from proofgym.evolution.state import State, named

HISTORY, KEYFRAMES = "history.pges", "keyframes"


def restore(
    record: Record, model: Any, keyframes: Path | None = None, at: int | None = None
) -> State:
    """The state after `at` iterations (None: all), from a model that holds the base weights.

    The model is only read. Raises HistoryError where its weights are not the history's base.
    """
    at = record.iterations if at is None else at
    if not 0 <= at <= record.iterations:
        raise HistoryError(f"iteration {at} is not in a history of {record.iterations} iterations")
    state = start(record.header, model)
    first = keyframe.load_newest(keyframes, state, record, at) if keyframes else 0
    state.apply(*record.between(first, at))
    return state


def make_state(manifest: Manifest, specification: Specification, base: weights.Tensors) -> State:
    """The state before the first iteration, on the GPU if the weights are there."""
    devices = {tensor.device for tensor in map(base.__getitem__, (it.name for it in manifest))}
    on_gpu = len(devices) == 1 and next(iter(devices)).type == "cuda"
    if on_gpu and specification.exact and importlib.util.find_spec("triton"):
        from proofgym.evolution.device import DeviceState

        return DeviceState(manifest, specification, base, devices.pop())
    return State(manifest, specification, base)


def start(header: dict[str, Any], model: Any) -> State:
    """The state at iteration 0, after checking that `model` holds exactly the base weights."""
    manifest = Manifest.from_json(header["manifest"])
    manifest.check(model)
    specification = Specification.from_json(header["specification"])
    state = make_state(manifest, specification, named(model, manifest))
    if base_weights(state) != header["base_weights"]:
        raise HistoryError(
            "this model's weights are not the ones that the history starts from "
            f"(base {header['base_digest'][:12]}, adapter {str(header['adapter_digest'])[:12]}): "
            "load that base model and apply its warm-start adapter first"
        )
    return state


def base_weights(state: State) -> str:
    """Digest of W_0 of the perturbed tensors; see `weights.digest`."""
    return weights.digest(state.manifest, lambda tensor: weights.read(state.base[tensor.name]))


def export(directory: Path, model: Any, at: int | None = None, *, approximate: bool = False) -> str:
    """Put the weights after `at` iterations (None: all) of the run in `directory` into `model`.

    `model` must hold the run's base weights (with its warm-start adapter merged). Returns the
    digest of the rebuilt tensors. Float Gaussian noise differs between machines in the last bits,
    so such a run is refused unless `approximate`.
    """
    record = history.read(directory / HISTORY)
    if not Specification.from_json(record.header["specification"]).exact and not approximate:
        raise HistoryError(
            "this run used noise='gaussian', which is outside the promise of exact replay: "
            "pass approximate=True to rebuild it anyway, or train with 'gaussian8'"
        )
    state = restore(record, model, directory / KEYFRAMES, at)
    state.write_current(named(model, state.manifest))
    return state.digest()
