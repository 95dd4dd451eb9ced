"""What the loop asks of an engine: completions for requests, each as soon as it exists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from proofgym.types import Completion, Request, Sampling


class Population(Protocol):
    """Many perturbed models evaluated over one set of weights.

    The engine says which member each row of the next forward pass belongs to; the population
    patches the model's modules so that every row gets its member's correction.
    """

    @property
    def first_layer(self) -> int:
        """Index of the first decoder layer that any member perturbs (embeddings count as 0).

        Below it all members agree, so the engine computes those layers once for a prompt.
        """
        ...

    @property
    def compilable(self) -> bool:
        """Whether passes that `follow` members depend on tensors alone."""
        ...

    @property
    def layout(self) -> int:
        """Passes that follow members and were captured must be captured anew when it changes."""
        ...

    def expect(self, members: Sequence[int]) -> None:
        """The members of all rows that passes from now on may have together."""
        ...

    def select(self, members: Any | None) -> None:
        """Set the members (N,) int64 of the rows to come, in order; None means no perturbation."""
        ...

    def follow(self, members: Any, rows: int) -> None:
        """The same for the first `rows` of members on the model's device, whose values may change
        until the passes run, or are replayed: none of them is read before."""
        ...


class Feed(Protocol):
    """Requests that come while others are being answered: the later turns of conversations."""

    @property
    def context(self) -> int:
        """Most tokens, prompt and completion, that any request may need."""
        ...

    @property
    def rows(self) -> int:
        """About how many requests there may be at once."""
        ...

    @property
    def conversations(self) -> int:
        """How many there will be, all together."""
        ...

    def take(self, wait: bool) -> list[Request] | None:
        """What has come since the last call; None: no more will come. With `wait`, which the
        engine says when it has nothing to do, at least one where there will be any."""
        ...

    def ring(self, bell: Callable[[], None]) -> None:
        """From now on call `bell`, from any thread, when there may be something to take."""
        ...

    def ended(self) -> list[tuple[tuple[int, ...], int]]:
        """The conversations (`Request.conversation`) that are over since the last call."""
        ...


class Engine(Protocol):
    """Samples completions from a policy and scores given ones."""

    model: Any
    tokenizer: Any

    @property
    def positions(self) -> int | None:
        """Most tokens of a prompt and its completion; None: no bound."""
        ...

    def generate(
        self,
        requests: Sequence[Request],
        sampling: Sampling,
        population: Population | None = None,
        feed: Feed | None = None,
    ) -> Iterator[tuple[Request, Completion]]:
        """Yield every request, those that `feed` supplies included, with its completion, in the
        order in which they finish.

        Raises EngineError. Closing the iterator early stops the work.
        """
        ...

    def score(
        self,
        prompt_ids: Sequence[int],
        token_ids: Sequence[int],
        population: Population | None = None,
        member: int = 0,
    ) -> tuple[float, ...]:
        """Log-probability of each of `token_ids` after `prompt_ids`, at temperature 1, by one pass
        over all of them; of a member where a population is laid over the model."""
        ...
