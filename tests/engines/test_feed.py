"""Requests that come while others are being answered, and prompts that are known as tokens."""

from __future__ import annotations

from collections import deque

import pytest
import torch
from tiny_models import loaded

from proofgym.engines.transformers import TransformersEngine
from proofgym.errors import EngineError
from proofgym.types import Request, Sampling

SAMPLING = Sampling(max_tokens=8)


class Conversations:
    """A feed in which every completion is answered by another request, `turns` times."""

    def __init__(self, first: list[Request], turns: int, context: int = 128) -> None:
        self.context, self.rows = context, len(first)
        self.turns, self.open = turns, len(first)
        self.coming = deque(first)
        self.idle = 0

    def take(self, wait: bool) -> list[Request] | None:
        self.idle += wait
        if not self.open and not self.coming:
            return None
        taken = list(self.coming)
        self.coming.clear()
        return taken

    def hear(self, request, completion) -> None:
        turn = len(request.key) - 1
        if turn == self.turns - 1:
            self.open -= 1
            return
        ids = (*completion.prompt_ids, *completion.token_ids, 7)
        of = request.key[:1]
        self.coming.append(Request((*request.key, turn), "", request.member, ids, turn_of=of))

    def ended(self) -> list[tuple[tuple[int, ...], int]]:
        return []


def converse(engine, first, turns, population=None):
    feed = Conversations(first, turns)
    found = {}
    for request, completion in engine.generate([], SAMPLING, population, feed):
        assert (request.key, request.member) not in found
        found[request.key, request.member] = completion
        feed.hear(request, completion)
    return found, feed


def test_later_turns_are_those_of_separate_calls():
    first = [Request((index,), ("h", "theorem a", "p q")[index % 3]) for index in range(9)]
    engine = TransformersEngine(loaded(), max_batch=4)
    together, feed = converse(engine, first, 4)
    assert len(together) == 36
    assert feed.idle <= 5
    alone = {}
    wave = first
    for turn in range(1, 5):
        answered = list(engine.generate(wave, SAMPLING))
        alone |= {request.key: completion for request, completion in answered}
        wave = [
            Request((*r.key, turn - 1), "", 0, (*c.prompt_ids, *c.token_ids, 7))
            for r, c in answered
        ]
    assert {key: c.token_ids for (key, _), c in together.items()} == {
        key: c.token_ids for key, c in alone.items()
    }
    assert all(c.prompt_ids == alone[key].prompt_ids for (key, _), c in together.items())


@pytest.mark.parametrize("first_layer", [0, 2])
def test_members_have_conversations_of_their_own(first_layer):
    from test_population import RankOne

    tiny = loaded()
    population = RankOne(tiny.model, first_layer)
    population.attach()
    if first_layer == 2:  # all above the layers: members that agree so far share a row
        population.targets, head = [], tiny.model.model.norm
        left = torch.randn(4, 64, generator=torch.Generator().manual_seed(1)) * 0.3

        def correct(_, inputs, output):
            if population.rows is None:
                return output
            return output + left[population.rows[: len(output)]][:, None]

        head.register_forward_hook(correct)
    engine = TransformersEngine(tiny, max_batch=6)
    first = [Request((task,), "theorem a", member) for task in range(3) for member in range(4)]
    together, _ = converse(engine, first, 3, population)
    assert len(together) == 36
    for task in range(3):
        for member in range(4):
            alone, _ = converse(engine, [Request((task,), "theorem a", member)], 3, population)
            for key, completion in alone.items():
                assert together[key].token_ids == completion.token_ids


def test_a_request_may_have_limits_of_its_own():
    engine = TransformersEngine(loaded())
    free = next(c for _, c in engine.generate([Request((1,), "h")], SAMPLING))
    wanted = [
        Request((1,), "h", max_tokens=3),
        Request((1,), "h", 1, max_tokens=20),
        Request((1,), "h", 2, stop=(free.text[2],)),
    ]
    found = {r.member: c for r, c in engine.generate(wanted, SAMPLING)}
    assert found[0].token_ids == free.token_ids[:3]
    assert len(found[1].token_ids) == 20
    assert found[2].text == free.text[: free.text.index(free.text[2])]


def test_a_feed_keeps_to_what_it_said():
    engine = TransformersEngine(loaded())
    feed = Conversations([Request((1,), "a long prompt")], 2, context=6)
    with pytest.raises(EngineError, match="its feed said 6 at most"):
        list(engine.generate([], SAMPLING, None, feed))
    feed = Conversations([], 2, context=1000)
    with pytest.raises(EngineError, match="the model has 128"):
        list(engine.generate([], SAMPLING, None, feed))
