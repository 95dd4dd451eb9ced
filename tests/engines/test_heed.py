"""A run begins only where members are scored with their own weights, in training's own way."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
import tiny_models
import torch

from proofgym.algorithms.es import ES
from proofgym.engines import compiling, transformers
from proofgym.engines.batch import Batch
from proofgym.engines.cache import RowCache
from proofgym.engines.decoder import Decoder, draw
from proofgym.engines.transformers import TransformersEngine
from proofgym.errors import EngineError, RunError
from proofgym.evolution.factored import Factored
from proofgym.evolution.heed import Heard, loud
from proofgym.evolution.likelihood import Reader
from proofgym.evolution.stacked import Stacked

KINDS = {"factored": Factored, "stacked": Stacked}


def begun(directory: Path, dtype: torch.dtype = torch.float32, **options: Any) -> Any:
    """A run of a tiny model, and its engine."""
    loaded = tiny_models.loaded()
    loaded.model.to(dtype)
    config = ES(**{"population": 4, "sigma": 2**-7, **options})
    run = config.build(loaded.model, seed=3, directory=directory, base_digest="base")
    return run, TransformersEngine(loaded)


def ask_for_the_policy(population: Any, *_: Any) -> None:
    if population is not None:
        population.select(None)


@pytest.mark.parametrize("evaluation", KINDS)
def test_steps_that_forget_members_are_found_out(
    evaluation: str, pipelined: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, engine = begun(tmp_path, evaluation=evaluation)
    run.check(engine, "abc")
    if pipelined:
        monkeypatch.setattr(KINDS[evaluation], "follow", ask_for_the_policy)
    else:
        forget = lambda batch, rows: ask_for_the_policy(batch._population)  # noqa: E731
        monkeypatch.setattr(Batch, "_select", forget)
    with pytest.raises(RunError, match="not scored with their own weights"):
        run.check(engine, "abc")
    run.iteration = 1  # as in a run that goes on
    with pytest.raises(RunError, match="not scored with their own weights"):
        run.check(engine, "abc")
    run.close()


def test_an_engine_that_keeps_one_member_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, engine = begun(tmp_path, evaluation="stacked")
    follow = Stacked.follow
    monkeypatch.setattr(Stacked, "follow", lambda it, rows, n: follow(it, rows.clamp(max=0), n))
    monkeypatch.setattr(transformers, "PIPELINED", {"cpu"})
    with pytest.raises(RunError, match="not scored with their own weights"):
        run.check(engine, "abc")
    run.close()


@pytest.mark.parametrize("parameters", [("*",), ("model.norm.weight",)])
def test_readers_that_forget_members_are_found_out(
    parameters: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"objective": "likelihood", "samples": 2, "rank": 1, "parameters": parameters}
    run, engine = begun(tmp_path, **options)
    run.check(engine, "abc")
    forget = lambda reader, laid, readers: ask_for_the_policy(laid)  # noqa: E731
    monkeypatch.setattr(Reader, "_turn", forget)
    with pytest.raises(RunError, match="not scored with their own weights"):
        run.check(engine, "abc")
    run.close()


@pytest.mark.parametrize("sigma", [2**-14, 2**-7, 1.0])
@pytest.mark.parametrize("evaluation", ["factored", "stacked", "materialised"])
def test_no_sigma_raises_a_false_alarm(sigma: float, evaluation: str, tmp_path: Path) -> None:
    run, engine = begun(tmp_path, torch.bfloat16, sigma=sigma, evaluation=evaluation)
    k = run.state.k
    run.check(engine, "abc")
    assert run.state.k == k
    assert not any(it.wide for it in run.state.delta.values())
    run.close()


def test_noise_that_a_model_does_not_bear_is_lowered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, engine = begun(tmp_path)
    k, tried = run.state.k, []
    generate = engine.generate

    def fragile(requests: Any, sampling: Any, population: Any = None) -> Any:
        tried.append(run.state.k // k)
        if population is not None and sampling.max_tokens > 1 and run.state.k > 4 * k:
            raise EngineError(Batch.DIVERGED)
        return generate(requests, sampling, population)

    monkeypatch.setattr(engine, "generate", fragile)
    run.check(engine, "abc")
    assert tried[-2:] == [16, 4]
    assert run.state.k == k
    run.close()


def test_what_is_heeded() -> None:
    noisy = Heard(used=[1.0, 2.0], own=[1.1, 2.1], policy=[3.0, 5.0])
    assert noisy.heeded(rounding=0.0)
    assert not Heard(used=[3.0, 5.0], own=[1.0, 2.0], policy=[3.0, 5.0]).heeded(rounding=0.0)
    assert Heard(used=[3.0, 5.0], own=[1.0, 2.0], policy=[3.0, 5.0]).heeded(rounding=1.0)
    assert Heard(used=[], own=[], policy=[]).heeded(rounding=0.0)
    assert not Heard(used=[float("nan")], own=[1.0], policy=[1.0]).finite


def test_noise_never_makes_delta_take_more_memory(tmp_path: Path) -> None:
    run, _ = begun(tmp_path, sigma=1.0, learning_rate=2**-20, noise="gaussian8", rank=None)
    assert loud(run.state, run.state.k, 16) < 16 * run.state.k
    run.close()


@pytest.mark.parametrize("evaluation", KINDS)
def test_code_compiled_for_the_policy_does_not_answer_for_members(
    evaluation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where torch skips guards of modules that it takes to be untouched."""
    torch._dynamo.reset()
    monkeypatch.setattr(compiling, "BACKEND", "eager")
    monkeypatch.setattr("proofgym.engines.decoder.fast_products", lambda _: torch.no_grad())
    run, engine = begun(tmp_path, evaluation=evaluation, sigma=0.1, rank=1)
    decoder = Decoder(engine.model)
    decoder.compile()
    config = engine.model.config

    def step(fused: bool) -> torch.Tensor:
        cache = RowCache(4, 16, len(decoder.layers))
        head = config.hidden_size // config.num_attention_heads
        written = torch.randn(
            4, config.num_key_value_heads, 3, head, generator=torch.Generator().manual_seed(1)
        )
        for layer in range(len(decoder.layers)):
            cache.fill(layer, 0, written, written)
        ids, positions = torch.arange(4), torch.full((4,), 3)
        hidden_ND = decoder.step(ids, positions, 8, cache, fused)
        drawn = (decoder.draw if fused else draw)(
            decoder.body.norm,
            decoder.head,
            hidden_ND[:, None],
            torch.full((4,), 0.3, dtype=torch.float64),
            1.0,
            1.0,
        )
        return torch.cat([hidden_ND.flatten(), drawn[1]])

    skipped: Any = contextlib.nullcontext()
    if hasattr(torch._dynamo.config, compiling.SKIPPED):
        skipped = torch._dynamo.config.patch(compiling.SKIPPED, True)
    with skipped:
        for _ in range(3):
            policy = step(fused=True)
        with run.way.lay(0, range(4)) as laid:
            laid.expect(range(4))
            laid.follow(torch.arange(4), 4)
            wanted = step(fused=False)
            assert torch.allclose(step(fused=True), wanted, atol=1e-5)
            assert not torch.allclose(policy, wanted, atol=1e-2)
        assert torch.allclose(step(fused=True), policy, atol=1e-5)
    run.close()
