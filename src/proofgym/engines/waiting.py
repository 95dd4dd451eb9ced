"""Requests that wait for a place in the batch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from proofgym.engines.rows import Row
from proofgym.engines.stops import Stops
from proofgym.errors import EngineError
from proofgym.random import stream
from proofgym.types import Request, Sampling

#: How many slots a row shared by many members is expected to part into.
_PARTS = 4


class Waiting:
    """Rows with equal prompts side by side, to be taken longest prompts first.

    `shared`: requests that differ in nothing but the member wait, and begin, as one row.
    """

    def __init__(
        self, tokenizer: Any, ends: frozenset[int], seed: int, sampling: Sampling, shared: bool
    ) -> None:
        self._tokenizer, self._ends, self._seed = tokenizer, ends, seed
        self._sampling, self._shared = sampling, shared
        self._rows: list[Row] = []
        self._parties: dict[Any, Row] = {}
        self._known: dict[str, tuple[int, ...]] = {}
        self._stops: dict[tuple[str, ...], Stops] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Any:
        return iter(self._rows)

    @property
    def longest(self) -> int:
        """Most tokens, prompt and completion, that any may need."""
        return max((len(row.prompt_ids) + row.most for row in self._rows), default=0)

    def add(self, requests: Iterable[Request]) -> None:
        """Raises EngineError for an empty prompt."""
        for request in requests:
            row = self._row(request)
            same = (row.prompt_ids, request.key, row.most, request.stop)
            if self._shared and same in self._parties:
                party = self._parties[same]
                party.requests.append(request)
                party.logprobs.append([])
                continue
            if self._shared:
                self._parties[same] = row
            self._rows.append(row)
        self._rows.sort(key=lambda row: (len(row.prompt_ids), row.prompt_ids, row.member))

    def put_back(self, rows: list[Row]) -> None:
        """Rows that have begun and lost their place: they are the next to be taken."""
        self._rows += rows

    def take(self, room: int, wave: int) -> list[Row]:
        """What the room holds, and at least one row where nothing else is under way (`wave` 0);
        nothing while it would be less than a wave and others wait."""
        count = 0
        for row in reversed(self._rows):
            if share(row) > room and (count or wave):
                break
            room -= share(row)
            count += 1
        taken = self._rows[len(self._rows) - count :]
        if count < len(self._rows) and sum(map(share, taken)) < wave:
            return []
        del self._rows[len(self._rows) - count :]
        if self._shared:
            begun = set(map(id, taken))
            self._parties = {k: row for k, row in self._parties.items() if id(row) not in begun}
        return taken[::-1]

    def _row(self, request: Request) -> Row:
        strings = self._sampling.stop if request.stop is None else request.stop
        if strings not in self._stops:
            self._stops[strings] = Stops(self._tokenizer, self._ends, strings)
        return Row(
            [request],
            self._prompt(request),
            stream(self._seed, "sample", *request.key),
            self._stops[strings],
            request.max_tokens or self._sampling.max_tokens,
            logprobs=[[]],
        )

    def _prompt(self, request: Request) -> tuple[int, ...]:
        if request.prompt_ids is not None:
            ids = request.prompt_ids
        else:
            ids = self._known.get(request.prompt, ())
            if not ids:
                ids = self._known[request.prompt] = tuple(self._tokenizer.encode(request.prompt))
        if not ids:
            raise EngineError("a prompt is empty; give at least one character")
        return ids


def share(row: Row) -> int:
    """Slots to count on: a row of many requests parts into a few, seldom into all of them."""
    return min(len(row.requests), _PARTS)
