"""Conversations over several processes: each stays where it began, and outlives its process."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter, defaultdict
from types import SimpleNamespace

import pytest
from fleets import SAMPLING, both_ready, opened
from test_fleet import FULL, LOW, TASKS, nothing_is_left, pipelined

from proofgym.algorithms.algorithm import rewards_of
from proofgym.engines.conversations import Bell, Conversations, Seat
from proofgym.engines.fleet import Fleet
from proofgym.engines.portions import Portion
from proofgym.engines.remote import Remote
from proofgym.engines.work import Setup
from proofgym.environments.episodes import Episodes
from proofgym.errors import EngineError
from proofgym.evolution.replica import Members
from proofgym.types import Request

__all__ = ["nothing_is_left", "pipelined"]  # fixtures


async def talk(chat, task, sandbox):
    """Two turns, three where the first is so."""
    turn = await chat(task.prompt, max_tokens=6)
    await chat(" more: ", max_tokens=4)
    if turn.text[:1] < "m":
        await chat(" and more: ")
    return turn.text.count("e") / 6


def play(it):
    """An iteration of episodes."""
    attempts = Episodes(episode=talk, processes=1, max_tokens=80).open(2)
    rollouts = []
    try:
        for batch in it.run.batches(TASKS):
            made = attempts.make(it.engine, batch.requests, batch.tasks, SAMPLING, batch.population)
            rollouts += [it.result() for it in made]
    finally:
        attempts.close()
    it.run.learn(rewards_of(rollouts))
    return {
        (r.request.key, r.request.member): [turn.token_ids for turn in r.turns] for r in rollouts
    }


@pytest.mark.parametrize("rule", [LOW, FULL], ids=["factored", "written out"])
def test_members_talk_over_two_processes_as_over_one(tiny_model, tmp_path, monkeypatch, rule):
    with opened(tiny_model, tmp_path / "one", rule, 1) as one:
        alone = [play(one) for _ in range(3)]
    assert {len(turns) for turns in alone[0].values()} == {2, 3}
    with opened(tiny_model, tmp_path / "two", rule, 2) as two:
        assert play(two) == alone[0]
        first, second = two.engine.workers
        killed, finished, once = second.pid, first.finished, Seat.answered

        def answered(seat, number):
            if seat.worker.pid == killed:  # its conversation has another turn to come
                os.kill(killed, signal.SIGKILL)
            return once(seat, number)

        monkeypatch.setattr(Seat, "answered", answered)
        assert play(two) == alone[1]
        assert first.finished > finished
        two.engine.start()
        both_ready(two.engine)
        assert second.pid != killed
        assert play(two) == alone[2]


class Talk:
    """A feed of conversations of so many turns each, and perhaps of an aside, which they asked for
    and do not wait for."""

    context = 64

    def __init__(self, count, turns, asides=False):
        self.rows, self.turns, self.asides = count, turns, asides
        self.coming = [Request((0, n), "", n, (n + 2,), turn_of=(0, n)) for n in range(count)]
        self.conversations = self.open = count
        self.over = []
        self.bell = lambda: None

    def ring(self, bell):
        self.bell = bell

    def take(self, wait):
        coming, self.coming = self.coming, []
        return coming if coming or self.open else None

    def ended(self):
        over, self.over = self.over, []
        return over

    def answer(self, request, completion):
        turn = len(request.key)
        if turn == self.turns + 1:
            self.open -= 1
            self.over.append(request.conversation)
            aside = Request((*request.key, 0), "", request.member, (5,), turn_of=request.turn_of)
            self.coming += [aside] * self.asides
        elif turn <= self.turns:
            ids = (*completion.prompt_ids, *completion.token_ids, 3)
            key = (*request.key, turn)
            self.coming.append(Request(key, "", request.member, ids, turn_of=request.turn_of))
        threading.Timer(0.01, self.bell).start()


def test_turns_stay_with_the_process_that_answered_the_first(tiny_model, tmp_path, monkeypatch):
    asked = defaultdict(Counter)
    once = Seat.ask

    def ask(seat, turns):
        for turn in turns:
            asked[turn.conversation][seat.worker.place] += 1
        once(seat, turns)

    monkeypatch.setattr(Seat, "ask", ask)
    with opened(tiny_model, tmp_path, FULL, 2) as two:
        converse(two.engine, Talk(9, 3))
        assert all(len(places) == 1 and places.total() == 3 for places in asked.values())
        sizes = Counter(place for places in asked.values() for place in places)
        assert sorted(sizes.values()) == [4, 5]

        asked.clear()
        first, second = two.engine.workers
        converse(two.engine, Talk(9, 3), lambda: os.kill(second.pid, signal.SIGKILL))
        assert all(places.total() >= 3 for places in asked.values())
        moved = [set(places) == {0, 1} for places in asked.values()]
        assert any(moved)
        assert not all(moved)

        two.engine.start()
        both_ready(two.engine)
        two.engine._patience = 5.0
        with pytest.raises(EngineError, match=r"engine 0 .* no progress on turns of .* 5 s"):
            converse(two.engine, Talk(4, 2), lambda: os.kill(first.pid, signal.SIGSTOP))


def test_a_member_is_done_with_when_its_conversations_are_over(tiny_model, tmp_path):
    with opened(tiny_model, tmp_path, FULL, 2) as two:
        (batch,) = two.run.batches(TASKS)
        found = converse(two.engine, Talk(6, 2, asides=True), population=batch.population)
        assert len(found) == 6 * (2 + 1)
        assert sum(worker.finished for worker in two.engine.workers) >= 6


def converse(engine, feed, after_one=lambda: None, population=None):
    sampling, found = SAMPLING.override("max_tokens", "4"), set()
    for request, completion in engine.generate([], sampling, population, feed):
        assert (request.key, request.member) not in found
        found.add((request.key, request.member))
        if len(found) == 1:
            after_one()
        feed.answer(request, completion)
    return found


def test_a_conversation_that_loses_process_after_process_is_given_up(caplog):
    fleet = Fleet.__new__(Fleet)
    fleet.workers = [Remote(place, Setup({}, "cpu", 1, 1), 1.0) for place in range(3)]
    it = Conversations(fleet, SAMPLING, None, SimpleNamespace(context=8, rows=3, conversations=3))
    poison = Request((0, 1, 2, 1), "", turn_of=(0, 1, 2))
    ends = []
    fleet.hear = lambda: ends

    def end(worker):
        worker.ready, worker.portion = True, Portion(None, (), "turns of conversations")
        it._seats[worker.place] = Seat(worker, None, asked={0: poison})
        ends[:] = [(worker, ("ended",))]
        assert list(it._hear()) == []
        assert it._seats == {}
        assert it._waiting.pop(None) == [poison]

    end(fleet.workers[0])
    end(fleet.workers[1])
    assert "engine 1 (cpu, process 0) ended while it answered turns of conv" in caplog.text
    with pytest.raises(EngineError, match=r"engine 2 .* the 3rd time in a row"):
        end(fleet.workers[2])


def test_a_bell_may_be_rung_by_anyone_at_any_time():
    bell = Bell()
    bell.hush()
    for _ in range(100_000):
        bell.ring()
    bell.hush()
    bell.close()
    bell.ring()


@pytest.mark.parametrize(
    ("factored", "at_once", "tasks", "rows"),
    [(True, 512, 32, 256), (True, 512, 4, 128), (False, 512, 32, 32), (False, 8, 32, 4)],
)
def test_a_process_has_room_for_as_many_turns_as_there_will_be(factored, at_once, tasks, rows):
    members, engines = 64, [None, None]
    count = members * tasks
    feed = SimpleNamespace(context=8, rows=min(at_once, count), conversations=count)
    population = Members(0, 1, members, 2 if factored else 1, factored)
    it = Conversations(SimpleNamespace(workers=engines), SAMPLING, population, feed)
    assert it._room.rows == rows
