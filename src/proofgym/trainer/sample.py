"""What is trained on: exactly the tokens that were given and drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proofgym.types import Completion


@dataclass(slots=True)
class Sample:
    """One sequence: a prompt, then tokens of which the model drew those where `drawn` is true.

    `values` holds numbers for each of the N drawn tokens, by name, such as their advantage; the
    trainer hands them to the loss beside the tokens that they belong to.
    """

    prompt_ids: tuple[int, ...]
    token_ids: tuple[int, ...]
    drawn: NDArray[np.bool_]
    """(tokens,)"""
    values: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    """Each (N,)."""

    @property
    def count(self) -> int:
        """N, the tokens that the model drew."""
        return int(self.drawn.sum())

    def fill(self, name: str, value: float) -> None:
        """Give every drawn token the same value."""
        self.values[name] = np.full(self.count, value, np.float32)

    def mask(self) -> None:
        """Leave its tokens out of what is trained on."""
        self.drawn = np.zeros_like(self.drawn)
        self.values = {name: value[:0] for name, value in self.values.items()}

    @property
    def length(self) -> int:
        return len(self.prompt_ids) + len(self.token_ids)


def reference(prompt: str, answer: str, tokenizer: Any) -> Sample:
    """An answer to imitate, with the end token: as if the model had drawn it.

    Prompt and answer are tokenised apart and joined as ids, exactly as generation sees them: one
    string of both would merge tokens across the border that sampling can never produce.
    """
    ids = (*tokenizer.encode(answer, add_special_tokens=False), tokenizer.eos_token_id)
    return Sample(tuple(tokenizer.encode(prompt)), ids, np.ones(len(ids), bool))


def even(samples: Sequence[Sample]) -> None:
    """Give every drawn token its `share` of a mean over all of them."""
    count = sum(sample.count for sample in samples)
    for sample in samples:
        sample.fill("share", 1 / max(1, count))


def sequences(turns: Sequence[Completion]) -> Iterator[Sample]:
    """The turns of one attempt as few sequences: a turn whose prompt is another's prompt, tokens
    and something inserted continues it; any other (of a branch) begins a sequence of its own.

    `values["engine"]` is what the engine said of each drawn token's log-probability.
    """
    open_: list[list[Completion]] = []
    for turn in turns:
        for parts in open_:
            last = parts[-1]
            before = last.prompt_ids + last.token_ids
            if turn.prompt_ids[: len(before)] == before:
                parts.append(turn)
                break
        else:
            open_.append([turn])
    yield from map(_join, open_)


def _join(parts: Sequence[Completion]) -> Sample:
    first = parts[0]
    ids: list[int] = []
    drawn: list[bool] = []
    for turn in parts:
        inserted = turn.prompt_ids[len(first.prompt_ids) + len(ids) :]
        ids += [*inserted, *turn.token_ids]
        drawn += [False] * len(inserted) + [True] * len(turn.token_ids)
    engine = np.array([value for turn in parts for value in turn.logprobs], np.float32)
    return Sample(first.prompt_ids, tuple(ids), np.array(drawn, bool), {"engine": engine})
