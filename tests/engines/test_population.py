"""Many members in one batch: each row is its own perturbed model, the common part runs once."""

from __future__ import annotations

import pytest
import torch
from tiny_models import FAMILIES, loaded

from proofgym.engines.transformers import TransformersEngine
from proofgym.types import Request, Sampling

PROMPTS = ("theorem and_swap", "p ∧ q → q", "theorem and_swap : p")


class RankOne:
    """A correction u·vᵀ for each member on the output of one linear layer a decoder layer."""

    compilable = False
    layout = 0

    def expect(self, members) -> None:
        pass

    def __init__(self, model, first_layer: int, members: int = 4) -> None:
        self.first_layer = first_layer
        self.rows = None
        self.targets = [layer.mlp.down_proj for layer in model.model.layers[first_layer:]]
        if first_layer == 0:
            self.targets.append(model.model.layers[0].self_attn.k_proj)
        generator = torch.Generator().manual_seed(5)
        self.factors = [
            (
                torch.randn(members, target.out_features, generator=generator) * 0.2,
                torch.randn(members, target.in_features, generator=generator) * 0.2,
            )
            for target in self.targets
        ]

    def select(self, members) -> None:
        self.rows = members

    def follow(self, members, rows) -> None:
        self.rows = members

    def attach(self) -> None:
        for target, (left, right) in zip(self.targets, self.factors, strict=True):

            def correct(_, inputs, output, left=left, right=right):
                if self.rows is None:
                    return output
                rows = self.rows[: len(output)]
                assert len(rows) == len(output)
                inner = torch.einsum("btd,bd->bt", inputs[0], right[rows])
                return output + inner[..., None] * left[rows][:, None]

            target.register_forward_hook(correct)

    def write(self, member: int) -> None:
        for target, (left, right) in zip(self.targets, self.factors, strict=True):
            target.weight.data += torch.outer(left[member], right[member])


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("first_layer", [0, 1, 3])
def test_rows_equal_their_materialised_members(family, first_layer):
    wanted = [
        Request((member, index), PROMPTS[index % 3], member)
        for index in range(7)
        for member in range(4)
    ]
    sampling = Sampling(max_tokens=10, stop=("e",))
    batched = loaded(family, layers=4)
    population = RankOne(batched.model, first_layer)
    population.attach()
    engine = TransformersEngine(batched, max_batch=11)
    together = {r.key: c for r, c in engine.generate(wanted, sampling, population)}
    assert len(together) == len(wanted)
    for member in range(4):
        single = loaded(family, layers=4)
        RankOne(single.model, first_layer).write(member)
        alone = TransformersEngine(single).generate(
            [request for request in wanted if request.member == member], sampling
        )
        for request, completion in alone:
            other = together[request.key]
            assert other.token_ids == completion.token_ids
            assert other.logprobs == pytest.approx(completion.logprobs, abs=1e-4)
    members_differ = {together[(member, 0)].token_ids for member in range(4)}
    assert len(members_differ) > 1


def test_layers_below_the_first_perturbed_run_once_a_prompt(monkeypatch):
    tiny = loaded(layers=4)
    population = RankOne(tiny.model, 3)
    population.attach()
    engine = TransformersEngine(tiny)
    passes = []
    prompt = engine._decoder.prompt

    def watched(hidden, first, last):
        passes.append((hidden.shape[0], first, last))
        return prompt(hidden, first, last)

    monkeypatch.setattr(engine._decoder, "prompt", watched)
    wanted = [Request((m, i), PROMPTS[i % 3], m) for i in range(6) for m in range(4)]
    list(engine.generate(wanted, Sampling(max_tokens=3), population))
    assert passes == [(3, 0, 3), (12, 3, 4)]


def test_a_head_only_population_shares_every_layer():
    tiny = loaded(layers=2, tie_word_embeddings=False)
    population = RankOne(tiny.model, 2)  # nothing perturbed below the head
    engine = TransformersEngine(tiny)
    wanted = [Request((1,), PROMPTS[0], member) for member in range(3)]
    done = [c for _, c in engine.generate(wanted, Sampling(max_tokens=5), population)]
    assert len({c.token_ids for c in done}) == 1


class Gains:
    """A gain vector for each member on the final norm: members differ above all layers."""

    layout, compilable = 0, False

    def expect(self, members) -> None:
        pass

    def __init__(self, model, members: int, spread: float) -> None:
        self.first_layer = len(model.model.layers)
        self.rows, self.passes = None, 0
        self.norm = model.model.norm
        generator = torch.Generator().manual_seed(3)
        size = self.norm.weight.numel()
        self.gains = 1 + spread * torch.randn(members, size, generator=generator)
        self.norm.register_forward_hook(self._correct)
        model.model.layers[0].register_forward_hook(self._count)

    def select(self, members) -> None:
        self.rows, self.exactly = members, True

    def follow(self, members, rows) -> None:
        self.rows, self.exactly = members, False

    def _correct(self, _, inputs, output):
        count = len(output)
        assert len(self.rows) == count or (not self.exactly and len(self.rows) > count)
        return output * self.gains[self.rows[:count]][:, None]

    def _count(self, _, inputs, output) -> None:
        self.passes += len(inputs[0])


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("max_batch", [1, 3, 8, 64])
def test_members_share_a_row_until_they_part(family, max_batch, pipelined):
    wanted = [
        Request((index,), PROMPTS[index % 3], member) for index in range(6) for member in range(5)
    ]
    sampling = Sampling(max_tokens=12, stop=("e",))
    shared = loaded(family, layers=2)
    population = Gains(shared.model, members=5, spread=0.03)
    engine = TransformersEngine(shared, max_batch=max_batch)
    together = {(r.key, r.member): c for r, c in engine.generate(wanted, sampling, population)}
    assert len(together) == len(wanted)
    for member in range(5):
        single = loaded(family, layers=2)
        single.model.model.norm.weight.data *= population.gains[member]
        mine = [request for request in wanted if request.member == member]
        for request, completion in TransformersEngine(single).generate(mine, sampling):
            other = together[request.key, member]
            assert (other.token_ids, other.text, other.finish) == (
                completion.token_ids,
                completion.text,
                completion.finish,
            )
            assert other.logprobs == pytest.approx(completion.logprobs, abs=1e-4)
    tokens = sum(len(completion.token_ids) for completion in together.values())
    if not pipelined:  # there every member has its own row
        assert population.passes < 0.85 * tokens, "members that agree must be computed once"
    assert len({together[(0,), member].token_ids for member in range(5)}) > 1, "and some must part"


def test_a_row_gives_each_request_its_own_probabilities():
    model = loaded("llama", layers=2)
    population = Gains(model.model, members=2, spread=0.01)
    same = [Request((0,), PROMPTS[0], member) for member in range(2)]
    first, second = (
        completion
        for _, completion in TransformersEngine(model).generate(
            same, Sampling(max_tokens=4), population
        )
    )
    assert first.token_ids == second.token_ids
    assert first.logprobs != second.logprobs
