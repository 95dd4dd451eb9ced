"""The nouns that every part shares. Plain data: no behaviour, no heavy imports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, get_args

from pydantic import Field

from proofgym.config import Config


class Status(StrEnum):
    """What became of an attempt. Only INFRASTRUCTURE is our fault, and it is never a reward."""

    PASSED = "passed"
    FAILED = "failed"
    REJECTED = "rejected"  # a cheat
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    CRASHED = "crashed"
    INFRASTRUCTURE = "infrastructure"


Level = Literal["elaborate", "audit", "kernel"]
"""What a Lean proof must pass; see `lean/checker.py`."""
LEVELS: tuple[str, ...] = get_args(Level)


@dataclass(frozen=True, slots=True)
class Task:
    """One problem. Only `prompt` ever reaches the model; `data` is for the verifier."""

    name: str
    prompt: str
    topic: str = ""
    difficulty: int = 0
    data: Mapping[str, Any] = field(default_factory=dict)


class Sampling(Config):
    """How completions are drawn."""

    temperature: float = Field(1.0, ge=0, le=100, allow_inf_nan=False)
    """Softmax temperature; 0 is greedy decoding."""
    top_p: float = Field(1.0, gt=0, le=1)
    """Keep the smallest set of tokens with at least this much probability."""
    max_tokens: int = Field(64, ge=1, le=1 << 20)
    """Longest completion, in tokens."""
    stop: tuple[str, ...] = ()
    """Strings that end a completion; the text is cut before them."""


@dataclass(frozen=True, slots=True)
class Request:
    """One completion to sample.

    `key` names the random stream: equal keys under one run seed give equal draws, whatever the
    batch. `member` says which perturbed model answers (0 where there is only one).
    """

    key: tuple[int, ...]
    prompt: str
    member: int = 0
    prompt_ids: tuple[int, ...] | None = None
    """The prompt's tokens where they are known (a later turn); then `prompt` is for readers."""
    max_tokens: int | None = None
    """In place of the sampling's."""
    stop: tuple[str, ...] | None = None
    """In place of the sampling's."""
    turn_of: tuple[int, ...] | None = None
    """Of a turn of a conversation: the key of the attempt that all its turns belong to."""

    @property
    def conversation(self) -> tuple[tuple[int, ...], int]:
        """Names the attempt, and the member that makes it."""
        return self.key if self.turn_of is None else self.turn_of, self.member


@dataclass(frozen=True, slots=True)
class Completion:
    """One sampled answer: exactly the tokens that were drawn, and their log-probabilities.

    `token_ids` and `logprobs` (natural log, under the sampling temperature 1 distribution of the
    policy) have equal length and include the end-of-sequence token if it was drawn. `text` is
    cut before the stop string.
    """

    prompt_ids: tuple[int, ...]
    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    text: str
    finish: Literal["stop", "length"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a verifier says of one completion. `reward` is None exactly when there is no score."""

    status: Status
    reward: float | None
    message: str = ""
    seconds: float = 0.0
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Message:
    """What an environment put into a conversation, for readers: its tokens are in the prompts."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Rollout:
    """One attempt from prompt to verdict, as kept in the run directory.

    `turns` are what the model wrote, each with the tokens it was given: one in a single-turn task;
    in an episode any number, those of branches after those of the conversation they left.
    """

    iteration: int
    task: Task
    request: Request
    turns: tuple[Completion, ...]
    verdict: Verdict
    messages: tuple[tuple[Message, ...], ...] = ()
    """For each turn of an episode, what was put into the conversation before it."""

    @property
    def tokens(self) -> int:
        """Tokens that the model wrote."""
        return sum(len(turn.token_ids) for turn in self.turns)
