"""A population whose modules read members from tensors, which can be compiled."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tiny_models import FAMILIES, loaded

from proofgym.algorithms.es import ES
from proofgym.engines import transformers
from proofgym.engines.decoder import _step_layer, draw
from proofgym.types import Request, Sampling, Task

TASKS = [Task("a", "theorem and"), Task("b", "p ∧ q → q")]


def completions(
    family: str, scratch: Path, rank: int | None, compiled: str = "", way: str = "auto"
) -> dict[Request, tuple[tuple[int, ...], tuple[float, ...]]]:
    model = loaded(family, layers=3)
    es = ES(population=6, sigma=2**-5, rank=rank, evaluation=way)
    run = es.build(model.model, seed=0, directory=scratch, base_digest="none")
    engine = transformers.TransformersEngine(model, max_batch=9)
    if compiled:
        decoder = engine._decoder
        decoder.step_layer = torch.compile(_step_layer, dynamic=True, backend=compiled)
        decoder.draw = torch.compile(draw, dynamic=True, backend=compiled)
    kinds = [type(module) for module in model.model.modules()]
    done = {}
    for batch in run.batches(TASKS):
        done.update(engine.generate(batch.requests, Sampling(max_tokens=12), batch.population))
    run.close()
    assert [type(module) for module in model.model.modules()] == kinds
    kept = [name.rpartition(".")[2] for name, _ in model.model.named_buffers()]
    assert not [name for name in kept if name.startswith(("noise_", "laid_", "stack_"))]
    return {request: (it.token_ids, it.logprobs) for request, it in done.items()}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("rank", [1, 3])
def test_followed_members_are_the_selected_ones(
    family: str, rank: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooked = completions(family, tmp_path / "hooks", rank)
    monkeypatch.setattr(transformers, "PIPELINED", {"cpu"})
    followed = completions(family, tmp_path / "buffers", rank)
    assert len({tokens for tokens, _ in hooked.values()}) > 2
    for request, (tokens, logprobs) in hooked.items():
        assert followed[request][0] == tokens
        assert followed[request][1] == pytest.approx(logprobs, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["factored", "stacked"])
@pytest.mark.parametrize("family", FAMILIES)
def test_one_compilation_serves_every_layer(
    family: str, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transformers, "PIPELINED", {"cpu"})
    rank = 1 if way == "factored" else None
    plain = completions(family, tmp_path / "plain", rank, way=way)
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    compiled = completions(family, tmp_path / "compiled", rank, "aot_eager", way)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 2  # a layer, and the draw
    assert not torch._dynamo.utils.counters["graph_break"]
    for request, (tokens, logprobs) in plain.items():
        assert compiled[request][0] == tokens
        assert compiled[request][1] == pytest.approx(logprobs, abs=1e-4)
