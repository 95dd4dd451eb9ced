"""Members side by side against members whose weights are written out one by one."""

from __future__ import annotations

import pytest
import torch
from populations import TOLERANCE, model, updated
from tiny_models import FAMILIES, loaded

from proofgym.algorithms.es import ES
from proofgym.engines import transformers
from proofgym.errors import ConfigError, EngineError, ModelError, RunError
from proofgym.evolution.stacked import Stacked
from proofgym.evolution.state import named
from proofgym.evolution.swapped import Swapped
from proofgym.evolution.ways import groups
from proofgym.types import Sampling, Task

TASKS = [Task("a", "theorem and"), Task("b", "p ∧ q → q"), Task("c", "theorem and or")]


def stacked(made, most=4, **changes):
    state = updated(made, **changes)
    return state, Stacked(made, state, most)


def logits(made, ids):
    return made(ids).logits


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kind", ["rademacher", "gaussian8"])
@pytest.mark.parametrize("family", ["llama", "qwen2"])
def test_logits_are_those_of_members_written_out(family, kind, dtype, tied):
    made = model(family, dtype, tied)
    state, side = stacked(made, noise=kind)
    ids = torch.randint(0, 61, (9, 5), generator=torch.Generator().manual_seed(3))
    plain = logits(made, ids)
    parts = groups(6, side.size)
    assert [list(it) for it in parts] == [[0, 1, 2], [3, 4, 5]]
    for group in parts:
        rows = [group[place] for place in (2, 0, 0, 1, 2, 0, 0, 1, 0)]
        side.prepare(1, group)
        with side:
            side.select(rows)
            found = logits(made, ids)
            side.select(None)
            assert torch.equal(logits(made, ids), plain)
        for member in group:
            state.write_member(member, 1, named(made, state.manifest))
            mine = torch.tensor([row == member for row in rows])
            wanted = logits(made, ids[mine])
            gap = (found[mine] - wanted).abs().max() / wanted.abs().max()
            assert gap < TOLERANCE[dtype]
            assert (wanted - plain[mine]).abs().max() > 1e-3 * wanted.abs().max()
        state.write_current(named(made, state.manifest))
    assert torch.equal(logits(made, ids), plain)


def test_followed_rows_have_room_and_strangers_at_the_end_do_no_harm():
    made = model()
    _, side = stacked(made)
    ids = torch.randint(0, 61, (8, 4), generator=torch.Generator().manual_seed(3))
    side.prepare(1, [0, 1, 2])
    with side:
        side.select([0, 1, 0, 2, 0])
        wanted = logits(made, ids[:5])
        side.expect([0, 1, 0, 2, 0])
        assert side.layout == 4
        # Slots that are not in use still name members: theirs, or some of another group.
        side.follow(torch.tensor([0, 1, 0, 2, 0, 0, 0, 5, 1, 1]), 5)
        assert torch.allclose(logits(made, ids[:5]), wanted, atol=1e-5)
        side.follow(torch.tensor([0, 1, 0, 2, 0, 0, 0, 5, 1, 1]), 8)
        assert torch.allclose(logits(made, ids)[:5], wanted, atol=1e-5)


def test_what_is_perturbed_is_what_was_chosen():
    made = model()
    patterns = ("model.layers.2.*", "!*norm*")
    state, side = stacked(made, patterns=patterns)
    assert side.first_layer == 2

    def changed():
        return {name for name, it in made.named_modules() if isinstance(it, Swapped)}

    with side:
        assert {f"{name}.weight" for name in changed()} == {it.name for it in state.manifest}
    assert not changed()


def test_members_that_are_not_held_are_refused():
    made = model()
    _, side = stacked(made)
    side.prepare(0, [0, 1])
    with side, pytest.raises(EngineError, match="member 3 is not among those"):
        side.select([0, 3])
    with pytest.raises(EngineError, match="do not fit into stacks of 3"):
        side.prepare(0, range(4))


def test_members_are_selected_inside_the_block_alone():
    made = model()
    keys = set(made.state_dict())
    _, side = stacked(made)
    side.prepare(0, [0, 1])
    for _ in range(2):
        with pytest.raises(EngineError, match="inside its `with` block"):
            side.select([0, 1])
        with side:
            side.select([0, 1])
    with side:
        with side:
            pass
        with pytest.raises(EngineError, match="inside its `with` block"):
            side.select([0, 1])
    assert set(made.state_dict()) == keys


def run(family, scratch, way, rank=None, rows=9, device="cpu", tasks=TASKS, stop=(), **fields):
    made = loaded(family, layers=3)
    made.model.to(device)
    es = ES(population=6, sigma=2**-5, rank=rank, evaluation=way, **fields)
    started = es.build(made.model, seed=0, directory=scratch, base_digest="none")
    engine = transformers.TransformersEngine(made, max_batch=rows)
    started.check(engine, TASKS[0].prompt)
    done = {}
    for batch in started.batches(tasks):
        sampling = Sampling(max_tokens=12, stop=stop)
        found = engine.generate(batch.requests, sampling, batch.population)
        for request, completion in found:
            done[request.key, request.member] = completion.token_ids, completion.logprobs
    rewards = {key: float(len(set(tokens))) for key, (tokens, _) in done.items()}
    started.learn(rewards)
    started.close()
    return done, made.model.cpu()


@pytest.mark.parametrize("pipelined", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_run_is_the_same_however_members_are_evaluated(family, pipelined, tmp_path, monkeypatch):
    if pipelined:
        monkeypatch.setattr(transformers, "PIPELINED", {"cpu"})
    alone, first = run(family, tmp_path / "alone", "materialised")
    for stack, rows in ((2, 9), (6, 9), (6, 4), (4, 100)):
        beside, second = run(
            family, tmp_path / f"{stack}-{rows}", "stacked", stack=stack, rows=rows
        )
        assert {key: tokens for key, (tokens, _) in beside.items()} == {
            key: tokens for key, (tokens, _) in alone.items()
        }
        for key, (_, logprobs) in alone.items():
            assert beside[key][1] == pytest.approx(logprobs, abs=1e-4)
        for one, other in zip(first.parameters(), second.parameters(), strict=True):
            assert torch.equal(one, other)
    assert len({tokens for tokens, _ in alone.values()}) > 3


@pytest.mark.parametrize("rows", [10, 20, 33, 100])
def test_rows_that_are_over_take_no_other_rows_room(rows, tmp_path, monkeypatch):
    tasks = [Task(str(index), ("theorem and", "p ∧ q → q", "h")[index % 3]) for index in range(11)]
    changes = {"tasks": tasks, "stop": ("e", "a", "t"), "rows": rows}
    alone, _ = run("llama", tmp_path / "alone", "materialised", **changes)
    assert len({len(tokens) for tokens, _ in alone.values()}) > 6
    monkeypatch.setattr(transformers, "PIPELINED", {"cpu"})
    for stack in (2, 6):
        beside, _ = run("llama", tmp_path / f"{stack}", "stacked", stack=stack, **changes)
        assert beside.keys() == alone.keys()
        for key, (tokens, logprobs) in alone.items():
            assert beside[key][0] == tokens
            assert beside[key][1] == pytest.approx(logprobs, abs=1e-4)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("family", FAMILIES)
def test_a_gpu_gives_what_the_cpu_gives(family, tmp_path):
    alone, first = run(family, tmp_path / "alone", "materialised")
    for stack in (2, None):
        place = tmp_path / f"{stack}"
        beside, second = run(family, place, "auto", stack=stack, rows=18, device="cuda")
        assert {key: tokens for key, (tokens, _) in beside.items()} == {
            key: tokens for key, (tokens, _) in alone.items()
        }
        for one, other in zip(first.parameters(), second.parameters(), strict=True):
            assert torch.equal(one, other)


def test_low_rank_members_can_be_stacked_too(tmp_path):
    factored, first = run("llama", tmp_path / "factored", "factored", rank=2)
    beside, second = run("llama", tmp_path / "beside", "stacked", rank=2)
    assert [tokens for tokens, _ in beside.values()] == [tokens for tokens, _ in factored.values()]
    for one, other in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(one, other)


def test_a_tensor_without_effect_stops_the_run(tmp_path):
    made = loaded("llama", layers=3)
    dead = torch.nn.Linear(4, 4, bias=False)
    made.model.model.layers[1].dead = dead
    es = ES(population=4, rank=None, evaluation="stacked")
    started = es.build(made.model, seed=0, directory=tmp_path, base_digest="none")
    with pytest.raises(RunError, match=r"layers\.1\.dead\.weight"):
        started.check(transformers.TransformersEngine(made), TASKS[0].prompt)
    started.close()


def test_what_cannot_be_stacked_is_refused(tmp_path):
    made = model()
    made.model.layers[0].input_layernorm.bias = torch.nn.Parameter(torch.zeros(32))
    with pytest.raises(ModelError, match='evaluation="materialised"'):
        stacked(made)
    with pytest.raises(ConfigError, match="stack has no use"):
        ES(evaluation="factored", stack=4)
    assert ES(rank=None).way(made) == "materialised"


def test_a_run_goes_on_with_other_members_side_by_side(tmp_path):
    run("llama", tmp_path, "stacked", stack=2)
    made = loaded("llama", layers=3)
    es = ES(population=6, sigma=2**-5, rank=None, evaluation="stacked", stack=3)
    again = es.build(made.model, seed=0, directory=tmp_path, base_digest="none")
    assert again.iteration == 1
    assert again.way.size == 3
    again.close()
