"""Before the first iteration the engine shows that noise on each chosen tensor reaches it."""

from __future__ import annotations

import copy
import math
from pathlib import Path
from typing import Any

import pytest
import tiny_models
import torch
from torch import nn

from proofgym.algorithms.es import ES
from proofgym.engines.transformers import TransformersEngine
from proofgym.errors import RunError
from proofgym.evolution.factored import Factored
from proofgym.evolution.state import State, named
from proofgym.types import Task

MODES = ("factored", "stacked", "materialised")


def calls_of(engine: Any) -> list[int]:
    """Grows by the number of rows of each batch that the engine is asked for."""
    calls: list[int] = []
    generate = engine.generate

    def counted(requests: Any, *rest: Any) -> Any:
        calls.append(len(requests))
        return generate(requests, *rest)

    engine.generate = counted
    return calls


def run_of(loaded: Any, directory: Path, evaluation: str, **options: Any) -> Any:
    options = {"population": 4, "evaluation": evaluation, **options}
    config = ES(**options)
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


@pytest.mark.parametrize(
    ("evaluation", "antithetic", "rows"),
    [
        ("factored", True, 3),
        ("factored", False, 6),
        ("stacked", True, 6),
        ("materialised", True, 1),
    ],
)
@pytest.mark.parametrize("max_batch", [128, 4])
def test_a_batch_asks_about_as_many_tensors_as_it_has_members(
    tmp_path: Path, evaluation: str, antithetic: bool, rows: int, max_batch: int
) -> None:
    loaded = tiny_models.loaded()
    for place in (0, 1):
        spare = nn.Linear(4, 4, bias=False).requires_grad_(False)
        loaded.model.model.layers[place].spare = spare
    run = run_of(loaded, tmp_path, evaluation, population=6, antithetic=antithetic)
    engine = TransformersEngine(loaded, max_batch=max_batch)
    calls = calls_of(engine)
    names = r"2 of \d+ uses .*: model\.layers\.0\.spare\.weight, model\.layers\.1\.spare\.weight\."
    with pytest.raises(RunError, match=names):
        run.check(engine, "abc")
    tied = evaluation == "factored"  # the embedding and the head are asked about one by one
    assert run.way.uses == len(list(run.state.manifest)) + tied
    assert calls == [rows] * (1 + math.ceil(run.way.uses / rows))
    run.close()


@pytest.mark.parametrize("evaluation", MODES)
def test_chosen_tensors_above_all_layers(tmp_path: Path, evaluation: str) -> None:
    """There members are one row until they draw different tokens."""
    loaded = tiny_models.loaded(tie_word_embeddings=False)
    chosen = ("lm_head.weight", "model.norm.weight")
    run = run_of(loaded, tmp_path, evaluation, parameters=chosen)
    run.check(TransformersEngine(loaded), "abc")
    run.close()


@pytest.mark.parametrize("evaluation", MODES)
def test_one_token_is_enough_of_a_prompt(tmp_path: Path, evaluation: str) -> None:
    """Attention to one token, or to equal ones, does not depend on queries and keys."""
    loaded = tiny_models.loaded()
    run = run_of(loaded, tmp_path, evaluation)
    for prompt in ("a", "!!!"):
        assert len(set(loaded.tokenizer.encode(prompt))) == 1
        run.check(TransformersEngine(loaded), prompt)
    run.close()


def test_each_use_of_a_tied_tensor_must_be_reached(tmp_path: Path) -> None:
    loaded = tiny_models.loaded()
    run = run_of(loaded, tmp_path, "factored")
    engine = TransformersEngine(loaded)
    engine._decoder.head = copy.deepcopy(engine._decoder.head)
    with pytest.raises(RunError, match=r"1 of \d+ uses .*: model\.embed_tokens\.weight\."):
        run.check(engine, "abc")
    run.close()


@pytest.mark.parametrize("noise", ["rademacher", "gaussian8"])
def test_the_iteration_s_noise_is_drawn_again_afterwards(tmp_path: Path, noise: str) -> None:
    loaded = tiny_models.loaded("qwen2")
    run = run_of(loaded, tmp_path, "factored", noise=noise)
    laid = run.way._factored

    def drawn() -> list[Any]:
        return [factor.clone() for patch in laid._patches for factor in patch.factors().values()]

    laid.prepare(0)
    before = drawn()
    run.check(TransformersEngine(loaded), "abc")
    next(run.batches([Task("a", "abc")]))
    assert all(torch.equal(*pair) for pair in zip(before, drawn(), strict=True))
    run.close()


def test_an_engine_with_weights_of_its_own_is_found_out(tmp_path: Path) -> None:
    loaded = tiny_models.loaded()
    run = run_of(loaded, tmp_path, "materialised")
    with pytest.raises(RunError, match=r"noise on (\d+) of \1 uses"):
        run.check(TransformersEngine(copy.deepcopy(loaded)), "abc")
    run.close()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("noise", ["rademacher", "gaussian8"])
@pytest.mark.parametrize(("evaluation", "rows"), [("factored", 3), ("stacked", 6)])
def test_on_a_gpu(
    tmp_path: Path, evaluation: str, rows: int, noise: str, dtype: torch.dtype
) -> None:
    """What is reached and what is not, in as many batches; and the noise of the CPU's factors."""
    loaded = tiny_models.loaded("qwen2")
    loaded.model.spare = nn.Linear(4, 4, bias=False).requires_grad_(False)
    loaded.model.to("cuda", dtype)
    run = run_of(loaded, tmp_path, evaluation, population=6, sigma=2**-7, noise=noise)
    assert run.state.device.type == "cuda"
    engine = TransformersEngine(loaded)
    calls = calls_of(engine)
    with pytest.raises(RunError, match=r"1 of \d+ uses .*: spare\.weight\."):
        run.check(engine, "abc")
    assert calls == [rows] * (1 + math.ceil(run.way.uses / rows))
    if evaluation == "factored":
        listed = run.state.manifest
        host = State(listed, run.state.specification, named(loaded.model, listed))
        ours = Factored(loaded.model, host)
        ours.prepare(0)
        for mine, other in zip(ours._patches, run.way._factored._patches, strict=True):
            for name, factor in mine.factors().items():
                assert torch.equal(factor, other.factors()[name]), (mine.tensor.name, name)
    run.close()
