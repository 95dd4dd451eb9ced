"""A sequence being decoded, for one request or for several that wrote the same so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from proofgym.engines.stops import Stops
from proofgym.types import Request


@dataclass(slots=True)
class Row:
    """A sequence being decoded, for one request or for all members that wrote the same so far.

    Its index in the batch is its slot in the cache.
    """

    requests: list[Request]
    prompt_ids: tuple[int, ...]
    stream: int
    stops: Stops
    most: int
    """Tokens to write at most."""
    token_ids: list[int] = field(default_factory=list)
    logprobs: list[list[float]] = field(default_factory=list)
    """Of the tokens, for each request: members give the same token different probabilities."""
    over: bool = False

    @property
    def position(self) -> int:
        """Where the newest token goes."""
        return len(self.prompt_ids) + len(self.token_ids) - 1

    @property
    def text_ids(self) -> tuple[int, ...]:
        """All there is to read before the next token."""
        return (*self.prompt_ids, *self.token_ids)

    @property
    def finished(self) -> Literal["stop", "length"] | None:
        """Why it ends here; None while it goes on."""
        if self.stops.ended(self.token_ids):
            return "stop"
        return "length" if len(self.token_ids) >= self.most else None

    @property
    def member(self) -> int:
        return self.requests[0].member

    def take(self, tokens: Sequence[int], logprobs: Sequence[float]) -> list[Row]:
        """Append each request's token; requests that part from most others leave as new rows."""
        for known, new in zip(self.logprobs, logprobs, strict=True):
            known.append(new)
        parties: dict[int, list[int]] = {}
        for index, token in enumerate(tokens):
            parties.setdefault(token, []).append(index)
        largest = max(parties, key=lambda token: len(parties[token]))
        leaving = [
            Row(
                [self.requests[index] for index in indices],
                self.prompt_ids,
                self.stream,
                self.stops,
                self.most,
                [*self.token_ids, token],
                [self.logprobs[index] for index in indices],
            )
            for token, indices in parties.items()
            if token != largest
        ]
        if leaving:
            self.requests = [self.requests[index] for index in parties[largest]]
            self.logprobs = [self.logprobs[index] for index in parties[largest]]
        self.token_ids.append(largest)
        return leaving
