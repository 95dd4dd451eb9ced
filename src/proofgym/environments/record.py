"""The parent's record of an attempt: every turn that was asked for, and what the model answered.

It makes a later turn's prompt out of tokens, and gives an episode that has to be started again the
answers that it had before.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from proofgym.environments.template import ChatTemplate, Plain, Template
from proofgym.errors import BudgetExceeded
from proofgym.tasks.tasks import PROMPT_END
from proofgym.types import Completion, Message, Request, Rollout, Task, Verdict

Place = tuple[tuple[int, ...], int]
"""A turn's: the path of branches that it is on, and its number on it."""


@dataclass(slots=True)
class Asked:
    """One turn."""

    request: Request
    messages: tuple[Message, ...]
    told: frozenset[str]
    """Tools that the model knows by now."""
    completion: Completion | None = None
    caller: Any = None
    """Who waits for it."""


@dataclass
class Record:
    """One attempt."""

    number: int
    iteration: int
    task: Task
    request: Request
    future: Future[Rollout] = field(default_factory=Future)
    turns: dict[Place, Asked] = field(default_factory=dict)
    life: int = 0
    """How often it has been started."""
    suspect: bool = False
    """Its process died, maybe by its doing; it gets one for itself."""
    began: float = 0.0
    template: Template | None = None
    asked: dict[int, set[Place]] = field(default_factory=dict)
    """The turns of each life."""

    def begin(self) -> None:
        self.life += 1
        self.began = self.began or time.monotonic()

    def finish(self, verdict: Verdict) -> None:
        """Its rollout has the turns of its last life."""
        places = sorted(self.asked.get(self.life, ()))
        turns = [it for place in places if (it := self.turns[place]).completion is not None]
        self.future.set_result(
            Rollout(
                self.iteration,
                self.task,
                self.request,
                tuple(it.completion for it in turns if it.completion is not None),
                verdict,
                tuple(it.messages for it in turns),
            )
        )


@dataclass(frozen=True)
class Rules:
    """What holds for every conversation of a set of attempts."""

    plain: Plain
    chat: ChatTemplate | None
    forced: bool
    """The template was asked for; else a statement to be continued is plain."""
    system: str | None
    max_turns: int
    max_tokens: int
    turn_tokens: int
    """Of one turn, where the episode does not say."""

    def ask(self, record: Record, life: int, call: Mapping[str, Any]) -> Asked:
        """The turn that an episode asks for: a new one, or one that it had in an earlier life.

        Raises BudgetExceeded.
        """
        place = (tuple(call["path"]), call["turn"])
        before = self._before(record, call["after"])
        names = [it["function"]["name"] for it in call["tools"]]
        told = before.told if before else frozenset[str]()
        prompt, messages = self._prompt(record, before, call, told)
        known, asked = record.turns.get(place), record.asked.setdefault(life, set())
        if place not in asked and len(asked) >= self.max_turns:
            raise BudgetExceeded(f"all {self.max_turns} turns are used up", "turns")
        if not prompt:
            raise ValueError("the first message is empty; a model needs at least one token")
        left = self.max_tokens - len(prompt)
        if left < 1:
            raise BudgetExceeded(
                f"the conversation has {len(prompt)} tokens, max_tokens = {self.max_tokens} holds "
                "no answer to it",
                "tokens",
            )
        path, number = place
        first = not path and number == 0
        stop = None if call["stop"] is None else tuple(call["stop"])
        request = Request(
            record.request.key if first else (*record.request.key, number, *path),
            messages[-1].text,
            record.request.member,
            prompt,
            min(call["max_tokens"] or self.turn_tokens, left),
            stop,
            record.request.key,
        )
        asked.add(place)
        if known is None or known.request != request:
            known = record.turns[place] = Asked(request, messages, told.union(names))
        return known

    def _before(self, record: Record, after: Any) -> Asked | None:
        return None if after is None else record.turns[tuple(after[0]), after[1]]

    def _prompt(
        self, record: Record, before: Asked | None, call: Mapping[str, Any], told: frozenset[str]
    ) -> tuple[tuple[int, ...], tuple[Message, ...]]:
        messages, tools = list(call["messages"]), call["tools"]
        if before is None:
            system = self.system if call["system"] is None else call["system"]
            if system:
                messages.insert(0, {"role": "system", "content": system})
            if record.template is None:
                record.template = self._template(record.task, call["messages"][0]["content"])
            ids = tuple(record.template.first(messages, tools))
        else:
            assert record.template is not None
            assert before.completion is not None
            so_far = before.completion.prompt_ids + before.completion.token_ids
            new = [it for it in tools if it["function"]["name"] not in told]
            ids = so_far + tuple(record.template.next(messages, new, so_far[-1]))
        return ids, tuple(Message(it["role"], it["content"]) for it in messages)

    def _template(self, task: Task, text: str) -> Template:
        continued = text == task.prompt and text.endswith(PROMPT_END) and "statement" in task.data
        if self.chat is None or (continued and not self.forced):
            return self.plain
        return self.chat
