"""Environments: an episode is a coroutine that talks with the model, and says what it was worth."""

from __future__ import annotations

import inspect
import queue
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, Literal

from pydantic import Field, field_validator

from proofgym.config import Config
from proofgym.engines.engine import Engine
from proofgym.environments.actor import Stagecraft
from proofgym.environments.children import Children
from proofgym.environments.lean import Lean
from proofgym.environments.portable import portable
from proofgym.environments.protected import Protections
from proofgym.environments.record import Asked, Record, Rules
from proofgym.environments.template import ChatTemplate, Plain, has_template
from proofgym.environments.workshop import Workshop
from proofgym.errors import BudgetExceeded, ConfigError
from proofgym.sandboxes.limits import Limits
from proofgym.tasks.tasks import Tasks
from proofgym.types import Completion, Request, Rollout, Sampling, Task

LIKE = "async def episode(chat, task, sandbox)"


class Episodes(Config):
    """Score attempts that are conversations: `async def episode(chat, task, sandbox)`."""

    episode: Any
    """Talks with the model (`await chat(…)`) and returns the reward: a float, a bool, a dict of
    components whose sum it is, a `Verdict`, or None for no score."""
    max_turns: int = Field(16, ge=1)
    """Turns of the model in one episode, those of branches included."""
    max_tokens: int = Field(2048, ge=2)
    """Tokens of one conversation: prompts, answers and what is inserted, together."""
    timeout: float = Field(60.0, gt=0, allow_inf_nan=False)
    """Seconds of an episode's own time: waits for the model or a sandbox do not count."""
    stall: float = Field(10.0, ge=0.5, allow_inf_nan=False)
    """Seconds an episode may go on without an await; then it is ended from outside, unscored."""
    system: str | None = None
    """System prompt of every conversation."""
    template: Literal["auto", "chat", "plain"] = "auto"
    """How messages become tokens. `auto`: by the tokenizer's chat template if it has one; but a
    task's Lean statement as the first message is continued as plain text."""
    limits: Limits = Limits()
    """Of each program that `sandbox.run` or `sandbox.python` starts."""
    lean: Lean = Lean()
    """How `sandbox.lean` judges."""
    require: Protections = ()
    """Protections without which `sandbox.run` is refused; `proofgym doctor` lists them."""
    at_once: int = Field(512, ge=1)
    """Episodes under way at once."""
    processes: int | None = Field(None, ge=1)
    """Processes that they live in; None: one a verification worker, at most 4."""

    @field_validator("episode")
    @classmethod
    def _coroutine(cls, value: Any) -> Any:
        method = getattr(type(value), "__call__", None)  # noqa: B004  of an object that has one
        if not inspect.iscoroutinefunction(value) and not inspect.iscoroutinefunction(method):
            raise ValueError(f"must be a coroutine function: {LIKE}")
        portable(value, "Episodes.episode", LIKE)
        return value

    def open(self, workers: int) -> EpisodeAttempts:
        return EpisodeAttempts(self, workers)


class EpisodeAttempts:
    """Plays episodes; their processes stay from one call of `make` to the next."""

    def __init__(self, config: Episodes, workers: int) -> None:
        self.config = config
        processes = config.processes or min(workers, 4)
        self._craft = Stagecraft(
            portable(config.episode, "Episodes.episode", LIKE),
            config.timeout,
            config.stall,
            min(processes, config.at_once),
            config.at_once,
        )
        self._workshop = Workshop(config.limits, config.lean, config.require, workers)
        self._children: Children | None = None
        self._feed: EpisodeFeed | None = None
        self._numbers = 0

    def prepare(self, tasks: Tasks) -> None:
        """Nothing to check ahead: the episode alone knows what it can use."""

    def describe(self) -> str:
        it = self.config
        return (
            f"episodes in {self._craft.processes} child processes, at most {it.max_turns} turns, "
            f"{it.max_tokens} tokens and {it.timeout:g} s each"
        )

    def make(
        self,
        engine: Engine,
        requests: Sequence[Request],
        tasks: Sequence[Task],
        sampling: Sampling,
        population: Any = None,
        iteration: int = 0,
    ) -> Iterator[Future[Rollout]]:
        records = []
        for request, task in zip(requests, tasks, strict=True):
            self._numbers += 1
            records.append(Record(self._numbers, iteration, task, request))
        if self._children is None:
            self._children = Children(self._craft, self._workshop, self._hear)
        context = min(self.config.max_tokens, engine.positions or self.config.max_tokens)
        rules = self._rules(engine.tokenizer, context, sampling)
        rows = min(len(records), self.config.at_once)
        feed = self._feed = EpisodeFeed(rules, self._children, len(records), context, rows)
        self._children.begin(records)
        try:
            for request, completion in engine.generate([], sampling, population, feed):
                feed.answer(request, completion)
                yield from feed.finished()
            yield from feed.finished()
        finally:
            self._feed = None
            if feed.open:
                self._end_children()

    def close(self) -> None:
        self._end_children()
        self._workshop.close()

    def _end_children(self) -> None:
        children, self._children = self._children, None
        if children is not None:
            children.close()

    def _hear(self, message: tuple[Any, ...]) -> None:
        if (feed := self._feed) is not None:
            feed.hear(message)

    def _rules(self, tokenizer: Any, max_tokens: int, sampling: Sampling) -> Rules:
        choice = self.config.template
        if choice == "chat" and not has_template(tokenizer):
            raise ConfigError(
                "Episodes.template = 'chat': the model's tokenizer has no chat template; "
                "(allowed: 'auto', 'plain')"
            )
        chat = ChatTemplate(tokenizer) if choice != "plain" and has_template(tokenizer) else None
        return Rules(
            Plain(tokenizer),
            chat,
            choice == "chat",
            self.config.system,
            self.config.max_turns,
            max_tokens,
            sampling.max_tokens,
        )


class EpisodeFeed:
    """Requests for the turns that episodes ask for. Used by the thread that generates."""

    def __init__(
        self, rules: Rules, children: Children, count: int, context: int, rows: int
    ) -> None:
        self.context, self.rows = context, rows
        self.conversations = self.open = count
        """Episodes, and those that are not over."""
        self._messages: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        self._bell: Callable[[], None] = lambda: None
        self._rules, self._children = rules, children
        self._under_way: dict[int, tuple[Record, Asked]] = {}
        self._finished: deque[Future[Rollout]] = deque()
        self._ended: list[tuple[tuple[int, ...], int]] = []

    def hear(self, message: tuple[Any, ...]) -> None:
        """What an episode asks or has come to; from any thread."""
        self._messages.put(message)
        self._bell()

    def ring(self, bell: Callable[[], None]) -> None:
        self._bell = bell

    def ended(self) -> list[tuple[tuple[int, ...], int]]:
        ended, self._ended = self._ended, []
        return ended

    def take(self, wait: bool) -> list[Request] | None:
        requests: list[Request] = []
        while self.open:
            pause = 0.0 if not wait else _GATHER_S if requests else None
            try:
                message = self._messages.get(pause != 0.0, pause or None)
            except queue.Empty:
                break
            requests += self._understand(*message)
        return requests if self.open or requests else None

    def answer(self, request: Request, completion: Completion) -> None:
        """What the engine gave."""
        record, asked = self._under_way.pop(id(request))
        asked.completion = completion
        self._give(record, asked)

    def finished(self) -> Iterator[Future[Rollout]]:
        """Attempts that have ended since the last call."""
        while self._finished:
            yield self._finished.popleft()

    def _understand(self, kind: str, *rest: Any) -> list[Request]:
        if kind == "broken":
            raise rest[0]
        if kind == "over":
            record, verdict = rest
            record.finish(verdict)
            self.open -= 1
            self._ended.append(record.request.conversation)
            self._finished.append(record.future)
            return []
        return self._asked(*rest)

    def _asked(self, record: Record, life: int, number: int, call: Any) -> list[Request]:
        if record.life != life:
            return []
        try:
            asked = self._rules.ask(record, life, call)
        except BudgetExceeded as error:
            self._children.answer(record, life, number, "budget", (str(error), error.budget))
            return []
        except Exception as error:  # a template is a program, and so is a tokenizer
            self._children.answer(record, life, number, "RuntimeError", str(error))
            return []
        new = asked.completion is None and asked.caller is None
        asked.caller = life, number
        if asked.completion is not None:
            self._give(record, asked)
        if not new:
            return []
        self._under_way[id(asked.request)] = record, asked
        return [asked.request]

    def _give(self, record: Record, asked: Asked) -> None:
        it, (life, number) = asked.completion, asked.caller
        assert it is not None
        value = {
            "text": it.text,
            "token_ids": it.token_ids,
            "logprobs": it.logprobs,
            "finish": it.finish,
        }
        self._children.answer(record, life, number, "value", value)


_GATHER_S = 0.005
"""For more to come, where the engine has nothing to do: many together are faster."""
