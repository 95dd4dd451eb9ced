"""A rollout as one line of JSON, and back.

A single-turn attempt's prompt is kept as text. An episode's turns are kept whole: of each the
messages before it, for readers, and the tokens that it adds to the turn that it goes on from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from proofgym.types import Completion, Message, Request, Rollout, Status, Task, Verdict

#: Decimals of seconds that are kept: sums over rollouts take no more, or a sum made again from
#: the lines would differ from the first.
SECONDS_DECIMALS = 4

#: What of a verdict's detail is kept.
_DETAIL = ("components", "fault", "budget")


def to_line(rollout: Rollout) -> dict[str, Any]:
    verdict = rollout.verdict
    line = {
        "iteration": rollout.iteration,
        "task": rollout.task.name,
        "topic": rollout.task.topic,
        "difficulty": rollout.task.difficulty,
        "member": rollout.request.member,
        "key": list(rollout.request.key),
        "prompt": rollout.request.prompt,
        **_last(rollout.turns),
        "status": str(verdict.status),
        "reward": verdict.reward,
        "message": verdict.message,
        "verify_s": round(verdict.seconds, SECONDS_DECIMALS),
        **{name: verdict.detail[name] for name in _DETAIL if name in verdict.detail},
    }
    if len(rollout.turns) == 1 and not rollout.messages:
        return line | _tokens(rollout.turns[0])
    return line | {"turns": [_turn(rollout, number) for number in range(len(rollout.turns))]}


def from_line(line: dict[str, Any], tasks: Sequence[Task]) -> Rollout:
    """The inverse, as far as lines go: without `data` for a task that is none of `tasks`, and
    without the prompt's tokens of a single-turn attempt."""
    known = (task for task in tasks if task.name == line["task"])
    task = next(known, Task(line["task"], line["prompt"], line["topic"], line["difficulty"]))
    request = Request(tuple(line["key"]), line["prompt"], line["member"])
    detail = {name: line[name] for name in _DETAIL if name in line}
    verdict = Verdict(
        Status(line["status"]), line["reward"], line["message"], line["verify_s"], detail
    )
    if "turns" not in line:
        return Rollout(line["iteration"], task, request, (_completion((), line),), verdict)
    turns: list[Completion] = []
    messages = []
    for turn in line["turns"]:
        so_far = () if turn["after"] is None else _all(turns[turn["after"]])
        turns.append(_completion((*so_far, *turn["inserted_ids"]), turn))
        messages.append(tuple(Message(role, text) for role, text in turn["messages"]))
    return Rollout(line["iteration"], task, request, tuple(turns), verdict, tuple(messages))


def _last(turns: Sequence[Completion]) -> dict[str, Any]:
    return {"text": turns[-1].text, "finish": turns[-1].finish} if turns else {"text": ""}


def _tokens(turn: Completion) -> dict[str, Any]:
    return {
        "token_ids": list(turn.token_ids),
        "logprobs": [round(value, 4) for value in turn.logprobs],
    }


def _turn(rollout: Rollout, number: int) -> dict[str, Any]:
    turn = rollout.turns[number]
    after = _goes_on_from(rollout.turns, number)
    known = 0 if after is None else len(_all(rollout.turns[after]))
    messages = rollout.messages[number] if rollout.messages else ()
    return {
        "after": after,
        "messages": [[it.role, it.text] for it in messages],
        "inserted_ids": list(turn.prompt_ids[known:]),
        "text": turn.text,
        "finish": turn.finish,
        **_tokens(turn),
    }


def _goes_on_from(turns: Sequence[Completion], number: int) -> int | None:
    """The turn before, of the same conversation: the one with the most of this one's prompt."""
    prompt = turns[number].prompt_ids
    found = [
        place
        for place in range(number)
        if len(so_far := _all(turns[place])) <= len(prompt) and prompt[: len(so_far)] == so_far
    ]
    return max(found, key=lambda place: len(_all(turns[place])), default=None)


def _all(turn: Completion) -> tuple[int, ...]:
    return turn.prompt_ids + turn.token_ids


def _completion(prompt_ids: tuple[int, ...], line: dict[str, Any]) -> Completion:
    return Completion(
        prompt_ids, tuple(line["token_ids"]), tuple(line["logprobs"]), line["text"], line["finish"]
    )
