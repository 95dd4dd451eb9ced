"""Later turns read what is new; what was read before is kept, as far as there is room."""

from __future__ import annotations

import math
from collections import deque

import pytest
from tiny_models import loaded

from proofgym.engines import transformers
from proofgym.engines.decoder import Decoder
from proofgym.engines.prefixes import Prefixes
from proofgym.engines.transformers import TransformersEngine
from proofgym.types import Request, Sampling

SAMPLING = Sampling(max_tokens=8)
CONTEXT = 128


class Trees:
    """Conversations of `depth` turns, in which every turn is answered in as many ways as there are
    `messages`; a list of their keys says which are over."""

    def __init__(self, first, messages, depth) -> None:
        self.context, self.rows, self.conversations = CONTEXT, len(first), len(first)
        self.coming, self.messages, self.depth = deque(first), messages, depth
        self.open = len(first) * sum(len(messages) ** turn for turn in range(depth))
        self.over: list = []

    def take(self, wait):
        if not self.open:
            return None
        taken = list(self.coming)
        self.coming.clear()
        return taken

    def ended(self):
        ended, self.over = self.over, []
        return ended

    def hear(self, request, completion) -> None:
        self.open -= 1
        if len(request.key) == self.depth:
            return
        so_far = completion.prompt_ids + completion.token_ids
        for number, message in enumerate(self.messages):
            key = (*request.key, number)
            of = request.key[:1]
            self.coming.append(Request(key, "", request.member, so_far + message, turn_of=of))


def converse(engine, first, messages, depth):
    feed = Trees(first, messages, depth)
    found = {}
    for request, completion in engine.generate([], SAMPLING, None, feed):
        found[request] = completion
        feed.hear(request, completion)
    return found


def check(engine, found):
    """Every turn is the one that the engine gives to its whole prompt."""
    for request, completion in found.items():
        ((_, alone),) = engine.generate([request], SAMPLING)
        assert (completion.prompt_ids, completion.token_ids) == (alone.prompt_ids, alone.token_ids)
        assert completion.logprobs == pytest.approx(alone.logprobs, abs=1e-4)


@pytest.fixture
def read(monkeypatch):
    """Tokens in passes over whole prompts, and in passes over what is new; padding included."""
    counts = {"prompt": 0, "more": 0}
    prompt, more = Decoder.prompt, Decoder.more

    def watch_prompt(self, hidden_NTD, *rest):
        counts["prompt"] += hidden_NTD.shape[0] * hidden_NTD.shape[1]
        return prompt(self, hidden_NTD, *rest)

    def watch_more(self, ids_NT, *rest):
        counts["more"] += ids_NT.numel()
        return more(self, ids_NT, *rest)

    monkeypatch.setattr(Decoder, "prompt", watch_prompt)
    monkeypatch.setattr(Decoder, "more", watch_more)
    return counts


FIRST = [Request((index,), ("h", "theorem a", "p q")[index % 3]) for index in range(9)]


def test_a_later_turn_reads_what_is_new(read):
    engine = TransformersEngine(loaded(), max_batch=9)
    message = (7, 8, 9)
    first = [Request((index,), "theorem a : p and q " + "ab"[index % 2]) for index in range(9)]
    found = converse(engine, first, [message], 4)
    whole = sum(len(c.prompt_ids) for r, c in found.items() if len(r.key) == 1)
    assert 0 < read["prompt"] <= whole  # equal prompts are read once
    # The last token of the turn before, and the message.
    assert read["more"] == 27 * (1 + len(message))
    check(engine, found)


@pytest.mark.parametrize("max_batch", [2, 5, 40])
def test_branches_go_on_from_what_they_share(read, max_batch):
    engine = TransformersEngine(loaded(), max_batch=max_batch)
    found = converse(engine, FIRST[:3], [(7,), (8, 9), (7, 8, 9, 10)], 3)
    assert len(found) == 3 * 13
    assert read["more"]
    check(engine, found)


def test_messages_of_any_length_side_by_side_to_the_end_of_the_context(read):
    engine = TransformersEngine(loaded(), max_batch=8)
    long = tuple(range(3, 3 + CONTEXT // 2 - 24))
    found = converse(engine, FIRST[:2], [(5,), long], 3)
    assert max(len(c.prompt_ids) + 8 for c in found.values()) > CONTEXT - 32
    check(engine, found)


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_without_room_everything_is_read_again(read, monkeypatch, share):
    made = Prefixes.__init__

    def small(self, cache, room):
        made(self, cache, lambda: share * 30_000)

    monkeypatch.setattr(transformers.Prefixes, "__init__", small)
    engine = TransformersEngine(loaded(), max_batch=4)
    found = converse(engine, FIRST, [(7,), (8, 9)], 3)
    assert bool(read["more"]) == bool(share)
    assert read["prompt"]
    check(engine, found)


def test_what_is_kept_keeps_to_its_room():
    tiny = loaded()
    engine = TransformersEngine(tiny)
    seen = []
    keep = Prefixes.keep

    def watched(self, row, slot):
        keep(self, row, slot)
        assert self._size == sum(it.size for it in self._kept)
        assert self._size <= self._cache.size
        seen.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Prefixes, "keep", watched)
        converse(engine, FIRST, [(7,), (8, 9), (9,), (10, 11)], 3)
    assert all(len(mine) <= 4 for mine in seen[0]._of.values())
    seen[0].forget([request.conversation for request in FIRST])
    assert (seen[0]._size, seen[0]._kept, seen[0]._of) == (0, {}, {})


def test_conversations_that_are_over_are_forgotten():
    kept = []

    class Watched(Prefixes):
        def forget(self, names):
            super().forget(names)
            kept.append(len(self._kept))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transformers, "Prefixes", Watched)
        engine = TransformersEngine(loaded(), max_batch=2)
        feed = Trees(FIRST, [(7,)], 2)
        for request, completion in engine.generate([], SAMPLING, None, feed):
            feed.hear(request, completion)
            if len(request.key) == 2:
                feed.over.append(request.conversation)
    assert kept[-1] <= 2 < len(FIRST)


def test_nothing_is_kept_where_no_turns_come():
    engine = TransformersEngine(loaded())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Prefixes, "__init__", lambda *_: pytest.fail("kept"))
        assert len(list(engine.generate(FIRST, SAMPLING))) == 9


def test_the_room_on_a_gpu_is_asked_for_once_there_is_a_cache():
    asked = []

    class Cache:
        size = 10

        def copy(self, slot, length):
            assert not asked or asked == [1]
            return ()

    class Row:
        requests = FIRST[:1]
        text_ids, position = (1, 2, 3), 2

    prefixes = Prefixes(Cache(), lambda: asked.append(1) or math.inf)
    assert not asked
    prefixes.keep(Row, 0)
    prefixes.keep(Row, 0)
    assert asked == [1]
