"""Whatever episodes do, it is put down to them alone, and nothing is left behind."""

from __future__ import annotations

import asyncio
import ctypes
import os
import subprocess
import threading
import time

import pytest
from conversing import engine, play

from proofgym.environments.episodes import Episodes
from proofgym.loop import iteration_metrics
from proofgym.sandboxes.processes import descendants
from proofgym.training import fault_lines
from proofgym.types import Request, Sampling, Status, Task

FAULTS = {
    2: ("died", "exit status 3"),
    4: ("died", "SIGSEGV"),
    6: ("raised", "a missing answer"),
    8: ("bad value", "nan"),
    10: ("bad value", "list, not a number"),
    12: ("none", "None"),
    14: ("timed out", "in episode"),
    16: ("bad value", "bytes"),
    18: ("died", "exit status 5"),
}


async def episode(chat, task, sandbox):
    n = task.data["n"] if task.data["wrong"] else 1
    await chat(task.prompt)
    await chat(" and? ")
    if n == 2:
        subprocess.Popen(["setsid", "sleep", "1000"])
        os._exit(3)
    if n == 4:
        ctypes.string_at(0)
    if n == 6:
        raise KeyError("a missing answer")
    if n == 14:
        while True:
            pass
    if n == 18:
        threading.Timer(0.2, os._exit, [5]).start()
        await asyncio.sleep(3)
    await chat(" so? ")
    values = {8: float("nan"), 10: [1.0], 12: None, 16: b"x" * (32 << 20)}
    return values.get(n, {"a": 0.5, "b": 0.25})


@pytest.fixture(scope="module")
def plain():
    return engine()


def tasks(wrong):
    return [Task(f"t{n}", f"say {n}: ", data={"n": n, "wrong": wrong}) for n in range(20)]


def test_every_fault_is_put_down_to_its_own_episode(plain, monkeypatch):
    before = set(descendants(os.getpid()))
    calm = play(episode, tasks(wrong=False), on=plain)
    asked = []
    generate = plain.generate

    def counted(*arguments):
        for request, completion in generate(*arguments):
            asked.append(request.key)
            yield request, completion

    monkeypatch.setattr(plain, "generate", counted)
    found = play(episode, tasks(wrong=True), on=plain, stall=1.0, timeout=20, processes=2)
    assert len(asked) == len(set(asked))
    for n, (rollout, other) in enumerate(zip(found, calm, strict=True)):
        verdict = rollout.verdict
        turns = [turn.token_ids for turn in rollout.turns]
        assert turns == [turn.token_ids for turn in other.turns][: len(turns)]
        if n in FAULTS:
            kind, words = FAULTS[n]
            assert (verdict.status, verdict.reward) == (Status.INFRASTRUCTURE, None)
            assert verdict.detail["fault"] == kind
            assert words in verdict.message
            assert len(rollout.turns) >= 2
        else:
            assert verdict.reward == 0.75, verdict.message
    assert set(descendants(os.getpid())) <= before
    metrics = iteration_metrics(found)
    assert metrics["faults"] == {"bad value": 3, "died": 3, "none": 1, "raised": 1, "timed out": 1}
    assert metrics["components"] == {"a": 0.5, "b": 0.25}
    lines = list(fault_lines(metrics))
    assert "no score: 1 raised, such as: " in lines[3]
    assert "a missing answer" in lines[3]


def test_giving_up_early_leaves_nothing(plain):
    before = set(descendants(os.getpid()))

    async def long(chat, task, sandbox):
        for _ in range(20 if task.data["n"] else 1):
            await chat("x")
        return 1

    attempts = Episodes(long, max_turns=20).open(2)
    chosen = [Task(f"t{n}", "say: ", data={"n": n}) for n in range(6)]
    requests = [Request((0, n, 0), task.prompt) for n, task in enumerate(chosen)]
    made = attempts.make(plain, requests, chosen, Sampling(max_tokens=4))
    for attempt in made:
        assert attempt.result().verdict.reward == 1.0
        break
    made.close()
    assert set(descendants(os.getpid())) <= before
    again = attempts.make(plain, requests[:1], chosen[:1], Sampling(max_tokens=4))
    assert [it.result().verdict.reward for it in again] == [1.0]
    attempts.close()
    assert set(descendants(os.getpid())) <= before


def test_an_episode_that_cannot_be_loaded_says_so(plain, tmp_path, monkeypatch):
    module = tmp_path / "vanishing.py"
    module.write_text("import sys\nclass E:\n  async def __call__(self, c, t, s): return 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import vanishing

    class Gone:
        def __reduce__(self):
            return eval, ("1/0",)

    gone = Gone()

    async def episode(chat, task, sandbox):
        return gone is not None

    assert vanishing.E
    (rollout,) = play(episode, on=plain)
    assert rollout.verdict.detail["fault"] == "raised"
    assert "ZeroDivisionError" in rollout.verdict.message


def test_an_episode_that_swallows_the_end_of_its_time_is_given_up(plain, monkeypatch):
    from proofgym.environments import episode_worker

    async def stubborn(chat, task, sandbox):
        episode_worker._GRACE_S = 0.2
        while True:
            try:
                await asyncio.sleep(100)
            except Exception:
                continue

    began = time.monotonic()
    (rollout,) = play(stubborn, on=plain, timeout=0.3)
    assert (rollout.verdict.status, rollout.verdict.reward) == (Status.TIMEOUT, 0.0)
    assert time.monotonic() - began < 10
