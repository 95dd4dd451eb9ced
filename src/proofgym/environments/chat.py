"""The conversation that an episode has with the model: what `chat` is inside it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from proofgym.environments.tools import Tool, ToolCall, read_calls, run, schema

Text = str | Mapping[str, str] | Sequence[Mapping[str, str]]
"""A message's text, a message `{"role": …, "content": …}`, or several."""


class Line(Protocol):
    """Where calls go: to the process that has the engine."""

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any: ...


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model wrote, exactly the tokens that were drawn."""

    text: str
    """Without the end token, cut before the stop string."""
    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    """Natural logarithms, one a token."""
    finish: Literal["stop", "length"]
    """`length`: it was cut off by `max_tokens` or by the episode's budget of tokens."""

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The calls in its text, in order; see `ToolCall`."""
        return read_calls(self.text)


class Chat:
    """A conversation. `turn = await chat(message)` adds a message and the model's answer.

    Nothing is tokenised twice: a turn's prompt is the tokens of everything before it.
    """

    def __init__(
        self,
        line: Line,
        path: tuple[int, ...] = (),
        turn: int = 0,
        after: tuple[tuple[int, ...], int] | None = None,
    ) -> None:
        self._line, self._path, self._turn, self._after = line, path, turn, after
        self._branches = 0
        self._busy = False

    async def __call__(
        self,
        message: Text,
        *,
        role: str = "user",
        system: str | None = None,
        tools: Sequence[Tool] = (),
        max_tokens: int | None = None,
        stop: Sequence[str] | None = None,
    ) -> Turn:
        """Say something to the model, and wait for its turn.

        Args:
            message: its text, or a message `{"role": …, "content": …}`, or a list of them.
            role: whose message a text is; chat templates know `user`, `tool` and others.
            system: the system prompt, in the first message only; by default the episode's.
            tools: functions that the model is told of; `turn.tool_calls` are its calls.
            max_tokens: of this turn, in place of the job's.
            stop: strings that end this turn, in place of the job's.

        Raises:
            BudgetExceeded: no turns, tokens or seconds are left for it.
            ValueError: an argument is wrong.
        """
        if system is not None and self._after is not None:
            raise ValueError("system: a system prompt can only come with the first message")
        arguments = {
            "path": self._path,
            "turn": self._turn,
            "after": self._after,
            "messages": _messages(message, role),
            "system": system,
            "tools": [schema(tool) for tool in tools],
            "max_tokens": _positive(max_tokens),
            "stop": None if stop is None else _strings(stop),
        }
        with self._alone():
            said = await self._line.call("chat", arguments)
            self._after = (self._path, self._turn)
            self._turn += 1
        finish: Any = said["finish"]
        return Turn(said["text"], tuple(said["token_ids"]), tuple(said["logprobs"]), finish)

    async def use(
        self, message: Text, tools: Sequence[Tool], *, calls: int = 8, **options: Any
    ) -> Turn:
        """Like `chat(message)`, but run the functions that the model calls and tell it what they
        give, until it answers without a call, or has called `calls` times."""
        turn = await self(message, tools=tools, **options)
        while turn.tool_calls and calls > 0:
            asked, calls = turn.tool_calls[:calls], calls - len(turn.tool_calls)
            told = [{"role": "tool", "content": await run(call, tools)} for call in asked]
            options.pop("system", None)
            turn = await self(told, tools=tools, **options)
        return turn

    def branch(self) -> Chat:
        """An independent copy of the conversation so far."""
        self._branches += 1
        return Chat(self._line, (*self._path, self._branches), self._turn, self._after)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        if self._busy:
            raise ValueError("this chat waits for a turn already; use chat.branch() for another")
        self._busy = True
        try:
            yield
        finally:
            self._busy = False


def _messages(message: Text, role: str) -> list[dict[str, str]]:
    if isinstance(message, str):
        return [{"role": role, "content": message}]
    given = [message] if isinstance(message, Mapping) else list(message)
    for it in given:
        whole = isinstance(it, Mapping) and {"role", "content"} <= set(it)
        if not whole or not all(isinstance(part, str) for part in it.values()):
            raise ValueError(f'message: {it!r:.200} is no text and no {{"role", "content"}}')
    if not given:
        raise ValueError("message: an empty list")
    return [dict(it) for it in given]


def _positive(value: int | None) -> int | None:
    if value is not None and (not isinstance(value, int) or value < 1):
        raise ValueError(f"max_tokens = {value!r}: a whole number above 0")
    return value


def _strings(value: Sequence[str]) -> list[str]:
    given = [value] if isinstance(value, str) else list(value)
    if not all(isinstance(it, str) for it in given):
        raise ValueError(f"stop = {value!r:.200}: strings")
    return given
