"""Factored evaluation against members whose weights are written out."""

import pytest
import torch
from populations import TOLERANCE, model, updated
from tiny_models import loaded
from torch import nn

from proofgym.algorithms.es import ES
from proofgym.engines.transformers import TransformersEngine
from proofgym.errors import EngineError, ModelError
from proofgym.evolution import corrections, manifest, specification
from proofgym.evolution.factored import Factored
from proofgym.evolution.state import State, named
from proofgym.types import Sampling, Task

NOISES = ["rademacher", "gaussian8"]


def population(made, rank=1, **changes):
    state = updated(made, rank, **changes)
    return state, Factored(made, state)


def compare(made, state, laid, rows, tolerance):
    ids = torch.randint(0, 61, (len(rows), 9), generator=torch.Generator().manual_seed(1))
    laid.prepare(1)
    with laid:
        laid.select(rows)
        together = made(ids).logits.float()
        laid.select(None)
        unselected = made(ids).logits.float()
    plain = made(ids).logits.float()
    assert torch.equal(unselected, plain)
    for row, member in enumerate(rows):
        state.write_member(member, 1, named(made, state.manifest))
        alone = made(ids[row : row + 1]).logits.float()[0]
        size = alone.abs().max()
        assert (together[row] - alone).abs().max() <= tolerance * size
        assert (plain[row] - alone).abs().max() > 10 * tolerance * size
    state.write_current(named(made, state.manifest))


@pytest.mark.parametrize("kind", ["llama", "qwen2"])
@pytest.mark.parametrize("rank", [1, 3])
@pytest.mark.parametrize("noise", NOISES)
def test_float32_agrees_to_rounding(kind, rank, noise):
    made = model(kind)
    state, laid = population(made, rank, noise=noise)
    compare(made, state, laid, [0, 1, 2, 3, 4, 5, 5, 0], TOLERANCE[torch.float32])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("noise", NOISES)
def test_half_precisions_agree_to_their_rounding(dtype, noise):
    made = model(dtype=dtype)
    state, laid = population(made, noise=noise)
    ids = torch.randint(0, 61, (6, 9), generator=torch.Generator().manual_seed(1))
    laid.prepare(1)
    with laid:
        laid.select(range(6))
        together = made(ids).logits.float()
    for member in range(6):
        state.write_member(member, 1, named(made, state.manifest))
        alone = made(ids[member : member + 1]).logits.float()[0]
        assert (together[member] - alone).abs().max() <= TOLERANCE[dtype] * alone.abs().max()


@pytest.mark.parametrize("antithetic", [True, False])
@pytest.mark.parametrize("noise", NOISES)
def test_many_directions_gather_instead_of_masking(noise, antithetic, monkeypatch):
    monkeypatch.setattr(corrections, "_DENSE", 1)
    made = model("qwen2", tied=False)
    state, laid = population(made, 2, antithetic=antithetic, noise=noise)
    compare(made, state, laid, [5, 0, 3, 3], TOLERANCE[torch.float32])


@pytest.mark.parametrize(
    ("patterns", "first"),
    [
        (("*",), 0),
        (("lm_head.*",), 0),  # tied to the embedding
        (("*layers.1.*", "model.norm.weight"), 1),
        (("*.2.mlp.*",), 2),
        (("model.norm.weight",), 3),
    ],
)
def test_chosen_tensors_and_the_first_layer(patterns, first):
    made = model()
    state, laid = population(made, patterns=patterns)
    assert laid.first_layer == first
    compare(made, state, laid, [1, 4], TOLERANCE[torch.float32])


def test_an_untied_head_alone_leaves_all_layers_shared():
    assert population(model(tied=False), patterns=("lm_head.*",))[1].first_layer == 3


@pytest.mark.parametrize("noise", NOISES)
def test_the_compilable_form_agrees(noise):
    """The modules of `follow`, which engines on a GPU compile."""
    made = model("qwen2")
    _, laid = population(made, 2, noise=noise)
    ids = torch.randint(0, 61, (5, 9), generator=torch.Generator().manual_seed(1))
    rows = torch.tensor([5, 0, 3, 3, 2])
    laid.prepare(1)
    assert laid.compilable
    with laid:
        laid.select(rows)
        hooked = made(ids).logits
        laid.follow(rows, 5)
        followed = made(ids).logits
    size = hooked.abs().max()
    assert (hooked - followed).abs().max() <= TOLERANCE[torch.float32] * size
    assert (hooked - made(ids).logits).abs().max() > 100 * TOLERANCE[torch.float32] * size


@pytest.mark.parametrize("noise", NOISES)
def test_float16_has_room_for_the_corrections_of_large_activations(noise):
    """Bᵀ·x of a wide layer with activations in the hundreds, σ small: neither over nor under."""
    torch.manual_seed(0)
    made = nn.Sequential(nn.Linear(4096, 8, bias=False)).half().requires_grad_(False)
    chosen = specification.choose(
        seed=1, kind=noise, rank=1, antithetic=True, population=2, sigma=2**-11, learning_rate=1e-3
    )
    listed = manifest.build(made, ("*",), chosen)
    state = State(listed, chosen, named(made, listed))
    laid, x = Factored(made, state), 300 * torch.ones(1, 4096).half()
    x[0, ::2] = 250
    drawn = state.factors["0.weight"].right(0, 0).astype(float)[0] / chosen.unit
    laid.prepare(0)
    with laid:
        laid.select([0])
        found = (made(x) - made[0].forward(x)).float()
    exact = chosen.sigma * state.factors["0.weight"].left(0, 0, 0, 8)[0] * (drawn @ x[0].numpy())
    assert torch.allclose(found[0], torch.from_numpy(exact).float(), rtol=2e-2, atol=0.5)


def test_decoding_with_a_cache_agrees():
    made = model()
    state, laid = population(made)
    ids = torch.randint(0, 61, (4, 6), generator=torch.Generator().manual_seed(2))
    laid.prepare(1)
    with laid:
        laid.select([0, 1, 2, 3])
        whole = made(ids).logits[:, -1]
        cached = made(ids[:, :-1], use_cache=True)
        laid.select(torch.tensor([0, 1, 2, 3]))
        last = made(ids[:, -1:], cache=cached.past_key_values).logits[:, -1]
    assert torch.allclose(whole, last, atol=1e-5)
    assert state.iteration == 1


def test_the_model_is_as_it_was_afterwards():
    made = model()
    before = made(torch.arange(5)[None]).logits
    state, laid = population(made, patterns=("*",))
    state.iteration = 1
    base = {name: tensor.clone() for name, tensor in made.state_dict().items()}
    laid.prepare(1)
    with laid:
        laid.select([0, 1])
        with pytest.raises(EngineError, match="batch of 1 rows met 2"):
            made(torch.arange(5)[None])
    assert all(torch.equal(base[name], tensor) for name, tensor in made.state_dict().items())
    assert not any(module._forward_hooks for module in made.modules())
    assert not any("forward" in vars(module) for module in made.modules())
    assert before.shape == made(torch.arange(5)[None]).logits.shape


def test_misuse_is_named():
    made = model()
    _, laid = population(made)
    with laid, pytest.raises(EngineError, match="prepare"):
        laid.select([0])
    laid.prepare(1)
    for wrong in ([6], [-1], [[0, 1]]):
        with laid, pytest.raises(EngineError, match="below 6"):
            laid.select(wrong)
    with pytest.raises(ModelError, match="not known how LayerNorm"):
        population(nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3)))


@pytest.mark.parametrize(
    ("family", "noise"),
    [("llama", "rademacher"), ("qwen2", "gaussian8"), ("qwen3", "rademacher")],
)
def test_the_engine_samples_what_the_written_out_members_would(family, noise, tmp_path):
    sampled = []
    for evaluation in ("factored", "materialised"):
        prepared = loaded(family)
        config = ES(population=8, sigma=2**-4, evaluation=evaluation, noise=noise)
        run = config.build(
            prepared.model, seed=1, directory=tmp_path / evaluation, base_digest="base"
        )
        engine = TransformersEngine(prepared, seed=3)
        found = {}
        for batch in run.batches([Task("a", "ab ab"), Task("b", "abcd")]):
            for request, completion in engine.generate(
                batch.requests, Sampling(max_tokens=8), batch.population
            ):
                found[request.key, request.member] = completion.token_ids
        sampled.append(found)
        run.close()
    assert sampled[0] == sampled[1]
    assert len(set(sampled[0].values())) > 8


def test_members_are_selected_inside_the_block_alone():
    made = model()
    _, laid = population(made, 2)
    laid.prepare(1)
    with laid:
        laid.select([0, 1])
    for choose in (lambda: laid.select([0]), lambda: laid.follow(torch.tensor([0]), 1)):
        with pytest.raises(EngineError, match="inside its `with` block"):
            choose()
