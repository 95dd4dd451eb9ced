"""Steps launched ahead: rows that are over keep their slots until fewer make for smaller steps."""

from __future__ import annotations

from collections import Counter

import pytest
from tiny_models import loaded

from proofgym.engines import transformers
from proofgym.engines.pipeline import Pipeline
from proofgym.engines.steps import Steps
from proofgym.engines.transformers import TransformersEngine
from proofgym.types import Request, Sampling

WANTED = [
    Request((index,), ("theorem a", "p ∧ q", "h")[index % 3], max_tokens=3 + index * 5 % 37)
    for index in range(64)
]
SAMPLING = Sampling(max_tokens=40, stop=("e",))


@pytest.fixture(autouse=True)
def pipelined() -> None:
    """Every test here runs both ways itself."""


@pytest.fixture
def calls(monkeypatch) -> Counter:
    """How often prompts came, and rows moved."""
    counted: Counter = Counter()

    def count(owner, name):
        original = getattr(owner, name)

        def counting(self, *given):
            counted[name] += 1
            return original(self, *given)

        monkeypatch.setattr(owner, name, counting)

    count(Pipeline, "admit")
    count(Steps, "move")
    return counted


def both_ways(monkeypatch, wanted, max_batch):
    """Completions step by step; and with steps launched ahead, in the order in which they end."""
    found = []
    for devices in ({"cuda"}, {"cpu", "cuda"}):
        monkeypatch.setattr(transformers, "PIPELINED", devices)
        engine = TransformersEngine(loaded(), max_batch=max_batch)
        found.append(list(engine.generate(wanted, SAMPLING)))
    return dict(found[0]), found[1]


def check(here, ahead):
    assert len(ahead) == len(here)  # nothing is answered twice
    for request, completion in ahead:
        other = here[request]
        assert (completion.token_ids, completion.text, completion.finish) == (
            other.token_ids,
            other.text,
            other.finish,
        )
        assert completion.logprobs == pytest.approx(other.logprobs, abs=1e-4)


def test_rows_move_only_when_fewer_make_a_smaller_step(monkeypatch, calls):
    here, ahead = both_ways(monkeypatch, WANTED, 64)
    check(here, ahead)
    assert len({len(completion.token_ids) for _, completion in ahead}) > 20
    assert {completion.finish for _, completion in ahead} == {"stop", "length"}
    assert calls["admit"] == 1
    assert 1 <= calls["move"] <= 3  # to 32, 16 and 8 rows


@pytest.mark.parametrize("max_batch", [1, 5, 8, 16, 40])
def test_rows_move_too_when_others_come(monkeypatch, calls, max_batch):
    here, ahead = both_ways(monkeypatch, WANTED, max_batch)
    check(here, ahead)
    assert calls["admit"] > 1
    # A smaller step may be reached anew after each wave.
    assert calls["move"] <= calls["admit"] + 2
    if max_batch > 8:
        assert calls["move"]


def test_steps_see_no_further_than_rows_that_go_on(monkeypatch):
    """A long row that is over costs no attention, though it keeps its slot."""
    spans = []
    launch = Steps.launch

    def watched(self, uniforms, span):
        spans.append(span)
        return launch(self, uniforms, span)

    monkeypatch.setattr(Steps, "launch", watched)
    long = Request((0,), "theorem and_swap (p q : Prop) : p ∧ q → q ∧ p", max_tokens=2)
    short = Request((1,), "h", max_tokens=12)
    here, ahead = both_ways(monkeypatch, [long, short], 8)
    check(here, ahead)
    prompts = {request: len(completion.prompt_ids) for request, completion in ahead}
    assert spans[:2] == [prompts[long] + 1, prompts[long] + 2]  # its last token is under way
    assert spans[2:] == [prompts[short] + drawn for drawn in range(3, 12)]


def test_calls_of_fewer_rows_share_the_memory_of_larger_ones(monkeypatch):
    here, _ = both_ways(monkeypatch, WANTED, 64)
    engine = TransformersEngine(loaded(), max_batch=64)
    caches = set()
    for count in (20, 64, 9, 50):
        check(
            {it: here[it] for it in WANTED[:count]},
            list(engine.generate(WANTED[:count], SAMPLING)),
        )
        caches.add(engine._kept[0].cache)
        assert len(engine._kept) == 1
    assert len(caches) == 1
    list(engine.generate([Request((0,), "h", max_tokens=90)], SAMPLING))  # a longer one
    assert engine._kept[0].cache not in caches
