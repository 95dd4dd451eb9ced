"""Before the first iteration the engine shows that noise on each chosen tensor reaches it."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import tiny_models
import torch
from torch import nn

from proofgym.algorithms.es import ES
from proofgym.engines.transformers import TransformersEngine
from proofgym.errors import RunError

MODES = ("factored", "materialised")


def run_of(loaded: Any, directory: Path, evaluation: str, **options: Any) -> Any:
    config = ES(population=4, evaluation=evaluation, **options)
    return config.build(loaded.model, seed=3, directory=directory, base_digest="base")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("family", ["llama", "qwen2"])
@pytest.mark.parametrize("evaluation", MODES)
@pytest.mark.parametrize("noise", ["rademacher", "gaussian8"])
def test_every_tensor_is_reached(
    tmp_path: Path, noise: str, evaluation: str, family: str, dtype: torch.dtype
) -> None:
    """Biases, norms and tied embeddings included; and the check leaves no trace."""
    loaded = tiny_models.loaded(family)
    loaded.model.to(dtype)
    before = {name: value.clone() for name, value in loaded.model.state_dict().items()}
    run = run_of(loaded, tmp_path, evaluation, sigma=2**-7, noise=noise)
    run.check(TransformersEngine(loaded), "abc")
    assert all(torch.equal(before[n], value) for n, value in loaded.model.state_dict().items())
    run.close()


@pytest.mark.parametrize("evaluation", MODES)
def test_a_tensor_without_effect_is_named(tmp_path: Path, evaluation: str) -> None:
    loaded = tiny_models.loaded()
    loaded.model.spare = nn.Linear(4, 4, bias=False).requires_grad_(False)
    run = run_of(loaded, tmp_path, evaluation)
    with pytest.raises(RunError, match=r"1 of \d+ uses of chosen tensors .* spare\.weight\."):
        run.check(TransformersEngine(loaded), "abc")
    run.close()
    without = run_of(loaded, tmp_path / "b", evaluation, parameters=("*", "!spare.*"))
    without.check(TransformersEngine(loaded), "abc")
    without.close()


def test_an_engine_with_weights_of_its_own_is_found_out(tmp_path: Path) -> None:
    loaded = tiny_models.loaded()
    run = run_of(loaded, tmp_path, "materialised")
    with pytest.raises(RunError, match=r"noise on (\d+) of \1 uses"):
        run.check(TransformersEngine(copy.deepcopy(loaded)), "abc")
    run.close()
