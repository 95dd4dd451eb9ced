"""User rewards run in processes of their own; whatever they do is attributed, never a zero."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time

import pytest

from proofgym.environments.portable import portable
from proofgym.environments.reward import Reward
from proofgym.errors import EnvironmentError as RewardError
from proofgym.sandboxes.processes import descendants
from proofgym.types import Status, Task

TASK = Task("t", "prompt", data={"answer": 4})


def call(function, timeout=20.0):
    judge = Reward(function=function, timeout=timeout).open(1)
    try:
        return judge.judge(TASK, "some text")
    finally:
        judge.close()


def test_values_that_are_scores():
    bonus = 0.25  # a closure
    assert call(lambda task, text: task.data["answer"] + bonus).reward == 4.25
    assert call(lambda task, text: True).reward == 1.0
    verdict = call(lambda task, text: {"format": 0.5, "right": 1})
    assert verdict.reward == 1.5
    assert verdict.detail["components"] == {"format": 0.5, "right": 1}


def test_an_async_reward_is_awaited():
    async def reward(task, text):
        return len(text)

    assert call(reward).reward == 9.0


def hang(task, text):
    time.sleep(60)


def leave(task, text):
    os._exit(3)


def fail(task, text):
    raise KeyError("missing gold answer")


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (hang, "longer than 1 s"),
        (leave, "exit status 3"),
        (fail, "missing gold answer"),
        (lambda task, text: float("nan"), "nan"),
        (lambda task, text: None, "None"),
        (lambda task, text: "good", "str, not a number"),
        (lambda task, text: {"a": "x"}, "components"),
        (lambda task, text: sys.exit(0), "SystemExit"),
        (lambda task, text: b"x" * (64 << 20), "bytes"),
    ],
)
def test_faults_are_no_score_and_say_why(function, words):
    verdict = call(function, timeout=1.0 if function is hang else 20.0)
    assert verdict.status is Status.INFRASTRUCTURE
    assert verdict.reward is None
    assert words in verdict.message


def test_a_worker_is_replaced_after_a_crash():
    def reward(task, text):
        if text == "bad":
            os._exit(1)
        print("noise on standard output does not reach the reply")
        return 1.0

    judge = Reward(function=reward).open(1)
    try:
        assert judge.judge(TASK, "bad").reward is None
        assert judge.judge(TASK, "good").reward == 1.0
    finally:
        judge.close()


def test_a_flood_and_what_is_left_running_do_no_harm(capfd):
    before = set(descendants(os.getpid()))

    async def reward(task, text):
        subprocess.run(["setsid", "sh", "-c", "sleep 1000 & sleep 1000 &"], check=True)
        for _ in range(64):
            os.write(1, b"x" * (1 << 20))
        return 1.0

    assert call(reward).reward == 1.0
    assert len(capfd.readouterr().err) < 300_000
    assert set(descendants(os.getpid())) <= before


def test_an_async_reward_that_awaits_for_ever():
    async def reward(task, text):
        await asyncio.sleep(1000)

    verdict = call(reward, timeout=0.5)
    assert verdict.detail["fault"] == "timed out"


def test_what_cannot_travel_is_refused_before_work():
    lock = threading.Lock()
    with pytest.raises(RewardError, match="cannot be sent"):
        portable(lambda task, text: lock.locked())
    with pytest.raises(RewardError, match="not callable"):
        portable(3)


def test_what_cannot_be_called_with_a_task_and_a_text_is_refused_before_work():
    def short(task):
        return 1.0

    with pytest.raises(RewardError, match=r"short\(task\): cannot be called with \(task, text\)"):
        portable(short)
    with pytest.raises(RewardError, match="missing a required argument: 'more'"):
        portable(lambda task, text, more: 1.0)
    with pytest.raises(RewardError, match=r"give async def episode\(chat, task, sandbox\)"):
        portable(lambda chat: 1.0, "Episodes.episode", "async def episode(chat, task, sandbox)")
    for function in (lambda *every: 1.0, lambda task, text, scale=2: 1.0, print, max):
        portable(function)


def test_secrets_do_not_reach_the_reward(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hunter2")
    assert call(lambda task, text: 1.0 if "HF_TOKEN" in os.environ else 0.0).reward == 0.0


def test_a_reward_from_a_file_beside_the_job(tmp_path, monkeypatch):
    (tmp_path / "my_rewards.py").write_text(
        "BONUS = 2\ndef helper(x):\n    return x * BONUS\n"
        "def length_reward(task, text):\n    return helper(len(text))\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import my_rewards

    assert call(my_rewards.length_reward).reward == 18.0


class Poison:
    """Cannot be unpacked again."""

    def __reduce__(self):
        return (int, ("no number",))


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(10**400, id="huge"),
        pytest.param({"a": 10**400}, id="huge part"),
        pytest.param({"a": 1e101, "b": -1e101}, id="large parts"),
        pytest.param({"1": 1.0, 1: 2.0}, id="a name twice"),
        pytest.param(1.7e308, id="near overflow"),
        pytest.param("0.5", id="text"),
        pytest.param(b"1", id="bytes"),
        pytest.param(Poison(), id="poison"),
    ],
)
def test_values_that_are_no_scores(value):
    verdict = call(lambda task, text: value)
    assert (verdict.status, verdict.reward) == (Status.INFRASTRUCTURE, None)


@pytest.mark.parametrize(
    ("status", "reward"),
    [("great", 1.0), (Status.PASSED, "1"), (Status.PASSED, float("nan")), (Status.PASSED, None)],
)
def test_verdicts_of_user_code_are_checked(status, reward):
    from proofgym.types import Verdict

    verdict = call(lambda task, text: Verdict(status, reward))
    assert (verdict.status, verdict.reward) == (Status.INFRASTRUCTURE, None)


@pytest.mark.parametrize(
    "detail", [{"components": [1]}, {"components": {"a": "w"}}, {"fault": ["x"]}, [1]]
)
def test_details_that_a_run_could_not_read_are_bad_values(detail):
    from proofgym.types import Verdict

    verdict = call(lambda task, text: Verdict(Status.PASSED, 1.0, "", 0.0, detail))
    assert (verdict.reward, verdict.detail["fault"]) == (None, "bad value")


def test_half_characters_reach_no_file():
    from proofgym.types import Verdict

    def careless(task, text):
        raise ValueError("no file caf\udce9")

    made = [
        call(careless),
        call(lambda task, text: {"a\ud800": 1.0}),
        call(lambda task, text: Verdict(Status.PASSED, 1.0, "\ud800", 0.0, {"b": ["\ud801"]})),
    ]
    for verdict in made:
        (verdict.message + json.dumps(dict(verdict.detail), ensure_ascii=False)).encode()
    assert made[0].detail["fault"] == "raised"
    assert [it.reward for it in made[1:]] == [1.0, 1.0]
