"""Decoding steps on memory that stays where it is, so that a GPU can replay them as one graph.

A step reads each row's newest token and position, runs the model, draws the next token and puts it
where the following step looks for it: a step needs nothing from the host but its draws. Launching
hundreds of kernels one by one takes longer than running them; captured once as a CUDA graph for a
number of rows, they are launched together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from proofgym.engines.cache import RowCache, sent
from proofgym.engines.decoder import Decoder, draw
from proofgym.engines.engine import Population
from proofgym.types import Sampling

FEWEST = 8
"""Graphs are made for all rows of a call, half of them, and so on, but not for fewer."""
_LOGITS = 2**28
_MEMBERS = 8192
"""The rows' members are kept in a tensor of a multiple of this size: a compiler may take it, as
part of a module, for fixed."""
_ODD = FEWEST - 1, 8
"""Rows, and positions beyond the span, of a step that is run to be compiled: sizes that equal no
other, nor 1, which a compiler would take for the same, and compile again for the next."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """One step's tokens and log-probabilities (rows,), under way to the host."""

    tokens: Tensor
    logprobs: Tensor
    done: Any
    """The event after which they are there; None: they are."""

    def wait(self, count: int) -> tuple[list[int], list[float]]:
        if self.done is not None:
            self.done.synchronize()
        return self.tokens[:count].tolist(), self.logprobs[:count].tolist()


class Steps:
    """The state of the rows in `cache` on the device, and the steps over it. On a GPU they are
    captured; elsewhere the same work is done operation by operation."""

    def __init__(
        self,
        decoder: Decoder,
        cache: RowCache,
        sampling: Sampling,
        population: Population | None,
    ) -> None:
        self.cache, self.population = cache, population
        self._decoder, self._sampling = decoder, sampling
        device, rows = decoder.device, cache.rows
        self._most = rows
        self._newest_R = torch.zeros(rows, dtype=torch.long, device=device)
        self._positions_R = torch.zeros(rows, dtype=torch.long, device=device)
        padded = -(-rows // _MEMBERS) * _MEMBERS
        self._members_R = torch.zeros(padded, dtype=torch.long, device=device)
        self._uniforms_R = torch.zeros(rows, dtype=torch.float64, device=device)
        self._tokens_R = torch.zeros(rows, dtype=torch.long, device=device)
        self._logprobs_R = torch.zeros(rows, dtype=torch.float32, device=device)
        self._fused = population is None or population.compilable
        if self._fused and self._newest_R.is_cuda:
            decoder.compile()
        self._captured: dict[tuple[int, int], torch.cuda.CUDAGraph] = {}
        self._pool: Any = None

    def fit(
        self, rows: int, length: int, sampling: Sampling, population: Population | None
    ) -> bool:
        """Whether these have room for `rows` rows that grow to `length` positions."""
        same = self.population is population and (
            self._sampling.temperature,
            self._sampling.top_p,
        ) == (sampling.temperature, sampling.top_p)
        return same and self.cache.rows >= rows and self.cache.length > length

    def replaces(self, other: Steps) -> bool:
        """Whether these have room for all that the others have."""
        return self.fit(other.cache.rows, other.cache.length - 1, other._sampling, other.population)

    def begin(self, rows: int) -> None:
        """For a call of at most so many rows, which may be fewer than there is room for."""
        self._most = rows

    def place(
        self, first: int, newest: list[int], positions: list[int], members: list[int]
    ) -> None:
        """Set the state of new rows in the slots from `first` on."""
        end = first + len(newest)
        for state, values in (
            (self._newest_R, newest),
            (self._positions_R, positions),
            (self._members_R, members),
        ):
            state[first:end] = sent(values, state.device)

    def move(self, sources: list[int], targets: list[int], length: int) -> None:
        """Copy rows, with `length` positions of their cache, to other slots."""
        self.cache.move(sources, targets, length)
        source_N, target_N = (sent(it, self._newest_R.device) for it in (sources, targets))
        for state in (self._newest_R, self._positions_R, self._members_R):
            state[target_N] = state[source_N]

    def launch(self, uniforms_N: np.ndarray, span: int) -> Drawn:
        """Start one step of the first rows, with a uniform draw for each; the newest of their
        positions is below `span`."""
        count = len(uniforms_N)
        cuda = self._newest_R.is_cuda
        self._uniforms_R[:count] = sent(uniforms_N, self._uniforms_R.device)
        if not cuda:
            self._step(count, span)
            return Drawn(self._tokens_R[:count].clone(), self._logprobs_R[:count].clone(), None)
        self._replay(self.bucket(count))
        tokens, logprobs = (
            torch.empty(count, dtype=it.dtype, pin_memory=True).copy_(it[:count], non_blocking=True)
            for it in (self._tokens_R, self._logprobs_R)
        )
        done = torch.cuda.Event()
        done.record()
        return Drawn(tokens, logprobs, done)

    def bucket(self, count: int) -> int:
        """The fewest rows, of those that graphs are made for, that hold `count`."""
        rows = self._most
        while rows // 2 >= max(count, FEWEST):
            rows //= 2
        return rows

    @torch.no_grad()
    def _step(self, rows: int, span: int) -> None:
        population = self.population
        if population is not None:
            population.follow(self._members_R, rows)
        # Copies, since views tie the number of rows to the size of what they are views of. Slots
        # that are not in use step along; they may not write beyond what is seen.
        positions = self._positions_R[:rows].clamp(max=span - 1)
        uniforms = self._uniforms_R[:rows].clone()
        newest, decoder = self._newest_R[:rows], self._decoder
        hidden_RD = decoder.step(newest, positions, span, self.cache, self._fused)
        drawn = decoder.draw if self._fused else draw
        size = max(1, _LOGITS // decoder.config.vocab_size)
        for first in range(0, rows, size):
            part = slice(first, min(first + size, rows))
            if population is not None and size < rows:
                population.follow(self._members_R[first:], part.stop - first)
            tokens_N, logprobs_N = drawn(
                decoder.body.norm,
                decoder.head,
                hidden_RD[part, None],
                uniforms[part],
                self._sampling.temperature,
                self._sampling.top_p,
            )
            self._tokens_R[part] = tokens_N
            self._logprobs_R[part] = logprobs_N
        self._newest_R[:rows] = self._tokens_R[:rows]
        self._positions_R[:rows] = positions + 1

    def _replay(self, rows: int) -> None:
        key = rows, 0 if self.population is None else self.population.layout
        graph = self._captured.get(key)
        if graph is None:
            graph = self._captured[key] = self._capture(rows, self.cache.length)
        graph.replay()

    def _capture(self, rows: int, span: int) -> torch.cuda.CUDAGraph:
        """Record the step, without any effect on the rows."""
        kept = self._newest_R.clone(), self._positions_R.clone()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self._warm(rows, span)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool):
            self._step(rows, span)
        self._pool = self._pool or graph.pool()
        self._restore(kept)
        return graph

    def _warm(self, rows: int, span: int) -> None:
        """Run first steps, in which code is compiled and libraries make their workspaces."""
        kept = self._newest_R.clone(), self._positions_R.clone()
        for sizes in (_ODD[0], span + _ODD[1]), (rows, span):
            with self._decoder.uncompiled_if_that_fails():
                self._step(*sizes)
            self._restore(kept)

    def _restore(self, kept: tuple[Tensor, Tensor]) -> None:
        self._newest_R.copy_(kept[0])
        self._positions_R.copy_(kept[1])
