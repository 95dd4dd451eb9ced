"""Decodes while the host reads: each step is launched before the last one's tokens are looked at.

A row that ends is noticed one step late, and keeps its slot: steps are made for some numbers of
rows only, so that a slot more costs nothing until fewer would do, while moving rows holds up the
steps. What is drawn for rows that are over is dropped. Which tokens come out does not change: draws
depend on the row and the position alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from proofgym.engines.batch import Batch
from proofgym.engines.prefixes import Prefixes
from proofgym.engines.rows import Row
from proofgym.engines.steps import Drawn, Steps
from proofgym.errors import EngineError
from proofgym.random import uniforms
from proofgym.types import Completion, Request, Sampling


class Pipeline(Batch):
    """A batch whose rows have one request each, stepped by `steps`."""

    def __init__(
        self, decoder: Any, sampling: Sampling, steps: Steps, prefixes: Prefixes | None = None
    ) -> None:
        super().__init__(decoder, sampling, steps.population, steps.cache, prefixes)
        self._steps = steps
        rows = steps.cache.rows
        self._streams_R = np.zeros(rows, np.uint64)
        self._prompts_R = np.zeros(rows, np.int64)
        self._most_R = np.zeros(rows, np.int64)
        """Tokens to draw for each row at most; 0 once it is over."""
        self._drawn_R = np.zeros(rows, np.int64)
        """Tokens of each row, those under way included."""
        self._under_way: tuple[list[Row], Drawn] | None = None

    def step(self) -> list[tuple[Request, Completion]]:
        """Launch a step; take in what the one before drew."""
        before, self._under_way = self._under_way, self._launch()
        if before is None:
            return []
        rows, drawn = before
        taken = [it for it in zip(rows, *drawn.wait(len(rows)), strict=True) if not it[0].over]
        if not np.isfinite([logprob for _, _, logprob in taken]).all():
            raise EngineError(self.DIVERGED)
        for row, token, logprob in taken:
            row.token_ids.append(token)
            row.logprobs[0].append(logprob)
        return self._leave()

    def _launch(self) -> tuple[list[Row], Drawn] | None:
        count = len(self.rows)
        drawn_N = self._drawn_R[:count]
        going_N = drawn_N < self._most_R[:count]
        if not going_N.any():
            return None
        # With rows whose last token is under way: what they have read may be kept afterwards.
        here_N = self._most_R[:count] > 0
        span = int((self._prompts_R[:count] + drawn_N)[here_N].max())
        under_way = self._steps.launch(uniforms(self._streams_R[:count], drawn_N), span)
        drawn_N += going_N
        return list(self.rows), under_way

    def _draw(self, rows: list[Row], hidden_ND: Tensor) -> None:
        """The first token of new rows, and their state to go on from."""
        super()._draw(rows, hidden_ND)
        end = len(self.rows)
        first = end - len(rows)
        self._streams_R[first:end] = [row.stream for row in rows]
        self._prompts_R[first:end] = [len(row.prompt_ids) for row in rows]
        self._most_R[first:end] = [row.most for row in rows]
        self._drawn_R[first:end] = [len(row.token_ids) for row in rows]
        self._steps.place(
            first,
            [row.token_ids[-1] for row in rows],
            [row.position for row in rows],
            [row.member for row in rows],
        )

    def _vacate(self, slots: list[int]) -> None:
        """The rows in these slots are over; the others move where that makes for smaller steps."""
        # Populations have made room for all rows that are in slots: none has come since `expect`.
        self._over += len(slots)
        self._most_R[slots] = 0
        if self._steps.bucket(self.alive) < self._steps.bucket(len(self.rows)):
            self._compact()

    def _move(self, sources: list[int], targets: list[int], length: int) -> None:
        # The step under way has written one position more.
        self._steps.move(sources, targets, min(length + 1, self._cache.length))
        for state in (self._streams_R, self._prompts_R, self._most_R, self._drawn_R):
            state[targets] = state[sources]
