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
from proofgym.evolution import likelihood
from proofgym.evolution.factored import Factored
from proofgym.evolution.heed import Heard, astray, loud
from proofgym.evolution.likelihood import Reader
from proofgym.evolution.stacked import Stacked
from proofgym.evolution.state import named

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


@pytest.mark.parametrize("how", ["another member", "each other"])
def test_readers_that_read_wrongly_are_found_out(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What noise costs all members alike does not hide it."""
    options = {"objective": "likelihood", "samples": 2, "rank": 1, "sigma": 2**-4}
    run, engine = begun(tmp_path, **options)
    run.check(engine, "abc")
    if how == "another member":
        turn = Reader._turn
        other = lambda it, laid, readers: turn(it, laid, [m ^ 1 for m in readers])  # noqa: E731
        monkeypatch.setattr(Reader, "_turn", other)
    else:

        def all_before(owners_NT: torch.Tensor) -> torch.Tensor:
            length = owners_NT.shape[1]
            mask_TT = torch.ones(length, length, dtype=torch.bool).tril()
            return mask_TT[None, None].expand(len(owners_NT), 1, -1, -1)

        monkeypatch.setattr(likelihood, "seen", all_before)
    with pytest.raises(RunError, match="not scored with their own weights"):
        run.check(engine, "abc")
    run.close()


def test_steps_that_are_wrong_for_the_policy_too_are_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, engine = begun(tmp_path)
    view = RowCache.view
    shifted = lambda *which: tuple(part.roll(1, 0) for part in view(*which))  # noqa: E731
    monkeypatch.setattr(RowCache, "view", shifted)
    with pytest.raises(RunError, match="a plain pass disagree on the policy's"):
        run.check(engine, "abc")
    run.close()


@pytest.mark.parametrize("sigma", [2**-14, 2**-7, 2**-4])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("evaluation", ["factored", "stacked", "materialised", "likelihood"])
def test_no_sigma_raises_a_false_alarm(
    sigma: float, evaluation: str, dtype: torch.dtype, tmp_path: Path
) -> None:
    how: dict[str, Any] = {"evaluation": evaluation}
    if evaluation == "likelihood":
        how = {"objective": "likelihood", "samples": 2}
    run, engine = begun(tmp_path, dtype, sigma=sigma, **how)
    k = run.state.k
    for iteration in range(3):
        run.iteration = iteration  # so that the noise is another
        run.check(engine, "abc")
    assert run.state.k == k
    assert not any(it.wide for it in run.state.delta.values())
    run.iteration = 0
    run.close()


def test_noise_that_a_model_does_not_bear_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, engine = begun(tmp_path, sigma=2**-20)
    k, tried = run.state.k, []
    generate = engine.generate

    def fragile(requests: Any, sampling: Any, population: Any = None) -> Any:
        if population is not None and sampling.max_tokens > 1:
            tried.append(run.state.k // k)
            if run.state.k > 4 * k:
                raise EngineError(Batch.DIVERGED)
        return generate(requests, sampling, population)

    monkeypatch.setattr(engine, "generate", fragile)
    run.check(engine, "abc")
    assert tried == [1, 4, 16]
    assert run.state.k == k
    run.close()


@pytest.mark.parametrize(("room", "most"), [(1, 1), (4, 4), (50, 8)])
def test_few_positions_are_enough(room: int, most: int, tmp_path: Path) -> None:
    run, engine = begun(tmp_path)
    prompt = "theorem and or"
    positions = len(engine.tokenizer.encode(prompt)[:8]) + room
    engine.model.config.max_position_embeddings = positions
    asked = []
    generate = engine.generate

    def watched(requests: Any, sampling: Any, population: Any = None) -> Any:
        asked.append(sampling.max_tokens)
        return generate(requests, sampling, population)

    engine.generate = watched
    run.check(engine, prompt)
    assert max(asked) == most
    run.close()


def test_what_is_astray() -> None:
    heard = Heard(
        used=[1.0, 2.0, 9.0, 0.0],
        own=[1.1, 2.1, 4.0, 0.0],
        ground=[3.0, 5.0, 2.0, 0.1],
        tokens=[1] * 4,
    )
    near = heard.showing(rounding=1e-4)
    assert [round(noise, 3) for _, noise in near] == [1.9, 2.9, 2.0, 0.1]
    assert not astray(near)  # one of four
    assert len(heard.showing(rounding=0.1)) == 3
    policy = Heard(used=[3.0, 5.0], own=[1.0, 2.0], ground=[3.0, 5.0], tokens=[1, 1])
    assert astray(policy.showing(rounding=0.0))
    assert not policy.showing(rounding=1.0)
    assert not astray([])
    assert not Heard([float("nan")], [1.0], [1.0], [1]).finite


def test_noise_never_makes_delta_take_more_memory(tmp_path: Path) -> None:
    run, _ = begun(tmp_path, rank=None)
    state = run.state
    assert loud(state, state.k, 16) == 16 * state.k
    for accumulator in state.delta.values():
        accumulator.grow(2**31 - 1 - 4 * state.k)
    assert loud(state, state.k, 16) == 4 * state.k
    state.k = loud(state, state.k, 16)
    state.write_member(0, 0, named(run.lent.model, state.manifest))
    assert not any(it.wide for it in state.delta.values())
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
