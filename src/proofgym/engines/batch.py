"""The rows that decode together now: prompt passes, steps, and who leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from proofgym.engines.cache import RowCache
from proofgym.engines.decoder import Decoder
from proofgym.engines.engine import Population
from proofgym.engines.prefixes import Prefix, Prefixes
from proofgym.engines.rows import Row
from proofgym.engines.sampler import sample
from proofgym.errors import EngineError
from proofgym.random import uniforms
from proofgym.types import Completion, Request, Sampling

Known = tuple[Row, Prefix, int]
"""A row, what is kept of its conversation, and how many of the row's tokens that has."""
#: Most tokens in one prompt pass: bounds its memory. On a CPU, activations beyond 32 MB are slower.
_PROMPT_TOKENS = {"cpu": 2048, "cuda": 65536}
#: Most logits computed at once: a row of many members has as many times the vocabulary. On a CPU
#: 24 MB, which malloc keeps: larger blocks come as new pages every time.
_LOGITS = {"cpu": 3 * 2**21, "cuda": 2**26}


class Batch:
    """The rows decoding now. `admit` and `step` return what finished."""

    DIVERGED = (
        "the policy's probabilities are not finite; the weights have diverged "
        "(lower sigma or the learning rate, or use dtype bfloat16 or float32)"
    )

    def __init__(
        self,
        decoder: Decoder,
        sampling: Sampling,
        population: Population | None,
        cache: RowCache,
        prefixes: Prefixes | None = None,
    ) -> None:
        self.rows: list[Row] = []
        self._over = 0
        """How many of the rows are over, and only hold their slots."""
        self._homeless: list[Row] = []
        self._decoder, self._sampling = decoder, sampling
        self._population, self._cache, self._prefixes = population, cache, prefixes

    @property
    def alive(self) -> int:
        """How many rows go on."""
        return len(self.rows) - self._over

    def without_slot(self) -> list[Row]:
        """Take the rows that parted when no slot was left: they must be admitted again."""
        rows, self._homeless = self._homeless, []
        return rows

    def admit(self, new: list[Row]) -> list[tuple[Request, Completion]]:
        """Run the new rows' prompts (and what they have written) and draw their next tokens."""
        budget = _PROMPT_TOKENS.get(self._decoder.device.type, 8192)
        self._compact()
        slot = len(self.rows)
        known, unknown = self._known(new)
        new = [*unknown, *(row for row, _, _ in known)]
        self.rows += new
        if self._population is not None:
            self._population.expect([row.member for row in self.rows])
        hidden = []
        for part in self._parts(unknown, budget):
            hidden.append(self._prompts(part, slot))
            slot += len(part)
        for some in _within(known, budget):
            hidden.append(self._more(some, slot))
            slot += len(some)
        self._draw(new, torch.cat(hidden))
        return self._leave()

    def _known(self, rows: list[Row]) -> tuple[list[Known], list[Row]]:
        """Those whose conversations are kept, those with the most to read first, and the others."""
        known, unknown = [], []
        for row in rows:
            found = self._prefixes.find(row) if self._prefixes is not None else None
            if found is None:
                unknown.append(row)
            else:
                known.append((row, *found))
        return sorted(known, key=_unread, reverse=True), unknown

    def _parts(self, rows: list[Row], budget: int) -> Iterator[list[Row]]:
        """Consecutive rows whose distinct prompt passes together stay within `budget` tokens."""
        part: list[Row] = []
        passes: set[Any] = set()
        longest = 0
        for row in rows:
            longest = max(longest, len(row.text_ids))
            passes.add(self._pair(row))
            if part and len(passes) * longest > budget:
                yield part
                part, passes, longest = [], {self._pair(row)}, len(row.text_ids)
            part.append(row)
        if part:
            yield part

    def step(self) -> list[tuple[Request, Completion]]:
        """Feed every row's newest token and draw the next one."""
        device = self._decoder.device
        newest_N = torch.tensor([row.token_ids[-1] for row in self.rows], device=device)
        positions = [row.position for row in self.rows]
        positions_N = torch.tensor(positions, device=device)
        self._select(self.rows)
        hidden_ND = self._decoder.step(newest_N, positions_N, max(positions) + 1, self._cache)
        self._draw(self.rows, hidden_ND)
        return self._leave()

    def _prompts(self, rows: list[Row], first_slot: int) -> Tensor:
        """Prompt pass of `rows` into slots from `first_slot`; last hidden states (rows, D)."""
        decoder, population = self._decoder, self._population
        depth = len(decoder.layers)
        shared = depth if population is None else min(population.first_layer, depth)
        prompts = list(dict.fromkeys(row.text_ids for row in rows))
        pairs = list(dict.fromkeys(self._pair(row) for row in rows))
        prompt_index = {prompt: index for index, prompt in enumerate(prompts)}
        pair_index = {pair: index for index, pair in enumerate(pairs)}
        device = decoder.device

        def index(values: list[int]) -> Tensor:
            return torch.tensor(values, device=device)

        prompt_of_pair_U = index([prompt_index[prompt] for prompt, _ in pairs])
        ids_PT = _padded(prompts, device)
        members = [member for _, member in pairs]
        if shared:
            if population is not None:
                population.select(None)
            hidden, below = decoder.prompt(decoder.embed(ids_PT), 0, shared)
            hidden = hidden[prompt_of_pair_U]
            self._fill(below, index([prompt_index[row.text_ids] for row in rows]), first_slot)
            if population is not None:
                population.select(torch.tensor(members))
        else:
            assert population is not None
            population.select(torch.tensor(members))
            hidden = decoder.embed(ids_PT[prompt_of_pair_U])
        hidden_UTD, above = decoder.prompt(hidden, shared, depth)
        pair_of_row_R = index([pair_index[self._pair(row)] for row in rows])
        self._fill(above, pair_of_row_R, first_slot)
        ends_U = index([len(prompt) - 1 for prompt, _ in pairs])
        return hidden_UTD[torch.arange(len(pairs), device=device), ends_U][pair_of_row_R]

    def _more(self, known: list[Known], first_slot: int) -> Tensor:
        """The same for rows that go on from what is kept: only the rest is read."""
        assert self._prefixes is not None
        device = self._decoder.device
        for slot, (_, prefix, count) in enumerate(known, first_slot):
            self._prefixes.put(prefix, slot, count)
        self._select([row for row, _, _ in known])
        ids_NT = _padded([row.text_ids[count:] for row, _, count in known], device)
        starts = [count for _, _, count in known]
        hidden_NTD = self._decoder.more(ids_NT, starts, first_slot, self._cache)
        ends_N = torch.tensor([_unread(it) - 1 for it in known], device=device)
        return hidden_NTD[torch.arange(len(known), device=device), ends_N]

    def _pair(self, row: Row) -> tuple[tuple[int, ...], int]:
        """What a prompt pass depends on."""
        return row.text_ids, 0 if self._population is None else row.member

    def _fill(self, prompts: Any, source_R: Tensor, first_slot: int) -> None:
        for layer, keys in prompts.keys.items():
            self._cache.fill(layer, first_slot, keys[source_R], prompts.values[layer][source_R])

    def _select(self, rows: list[Row]) -> None:
        if self._population is not None:
            self._population.select(torch.tensor([row.member for row in rows]))

    def _draw(self, rows: list[Row], hidden_ND: Tensor) -> None:
        """Append one token to every row; rows whose requests part become several."""
        sampling = self._sampling
        owner_R = np.repeat(np.arange(len(rows)), [len(row.requests) for row in rows])
        members = [request.member for row in rows for request in row.requests]
        draws_N = uniforms(
            np.array([row.stream for row in rows], np.uint64), [len(row.token_ids) for row in rows]
        )
        tokens: list[int] = []
        logprobs: list[float] = []
        most = _LOGITS.get(self._decoder.device.type, 2**24) // self._decoder.config.vocab_size
        size = _even(len(owner_R), max(1, most))
        for first in range(0, len(owner_R), size):
            chosen = slice(first, first + size)
            logits_RV = self._logits(hidden_ND, owner_R[chosen], members[chosen])
            uniforms_R = torch.from_numpy(draws_N[owner_R[chosen]]).to(logits_RV.device)
            drawn = sample(logits_RV, uniforms_R, sampling.temperature, sampling.top_p)
            tokens += drawn[0].tolist()
            logprobs += drawn[1].tolist()
        if not np.isfinite(logprobs).all():
            raise EngineError(self.DIVERGED)
        start = 0
        for slot, row in enumerate(list(rows), len(self.rows) - len(rows)):
            end = start + len(row.requests)
            self._part(slot, row.take(tokens[start:end], logprobs[start:end]))
            start = end

    def _logits(self, hidden_ND: Tensor, owner_R: np.ndarray, members: list[int]) -> Tensor:
        """Logits (R, V) of requests, from the hidden states of the rows that they belong to."""
        if self._population is not None:
            self._population.select(torch.tensor(members))
        hidden_RD = hidden_ND[torch.from_numpy(owner_R).to(hidden_ND.device)]
        return self._decoder.logits(hidden_RD[:, None])[:, 0]

    def _leave(self) -> list[tuple[Request, Completion]]:
        """Complete the rows that ended."""
        finished = self._over_without_slot()
        ended = []
        for slot, row in enumerate(self.rows):
            if not row.over and (reason := row.finished):
                finished += self._complete(row, reason)
                ended.append(slot)
                if self._prefixes is not None:
                    self._prefixes.keep(row, slot)
        if ended:
            self._vacate(ended)
        return finished

    def _vacate(self, slots: list[int]) -> None:
        """Take out the rows in these slots, which are over: here every row costs."""
        self._over += len(slots)
        self._compact()

    def _compact(self) -> None:
        """The last rows move into the slots of those that are over."""
        if not self._over:
            return
        left = self.alive
        targets = [slot for slot in range(left) if self.rows[slot].over]
        sources = [slot for slot in range(left, len(self.rows)) if not self.rows[slot].over]
        if sources:
            length = max(self.rows[slot].position for slot in sources)
            self._move(sources, targets, length)
        for source, target in zip(sources, targets, strict=True):
            self.rows[target] = self.rows[source]
        del self.rows[left:]
        self._over = 0

    def _move(self, sources: list[int], targets: list[int], length: int) -> None:
        """Copy rows to other slots, up to `length` positions."""
        self._cache.move(sources, targets, length)

    def _over_without_slot(self) -> list[tuple[Request, Completion]]:
        reasons = [row.finished for row in self._homeless]
        both = list(zip(self._homeless, reasons, strict=True))
        self._homeless = [row for row, reason in both if not reason]
        return [each for row, reason in both if reason for each in self._complete(row, reason)]

    def _part(self, slot: int, leaving: list[Row]) -> None:
        """Give rows that left the one in `slot` slots of their own, with what it has read."""
        if not leaving:
            return
        first = len(self.rows)
        room = self._cache.rows - first
        self._homeless += leaving[room:]
        leaving = leaving[:room]
        if not leaving:
            return
        self.rows += leaving
        read = leaving[0].position
        self._cache.move([slot] * len(leaving), list(range(first, len(self.rows))), read)

    def _complete(self, row: Row, reason: Any) -> Iterator[tuple[Request, Completion]]:
        row.over = True
        text = row.stops.text(row.token_ids)
        for request, logprobs in zip(row.requests, row.logprobs, strict=True):
            yield (
                request,
                Completion(row.prompt_ids, tuple(row.token_ids), tuple(logprobs), text, reason),
            )


def _unread(known: Known) -> int:
    """How many of a row's tokens are to be read."""
    row, _, count = known
    return len(row.text_ids) - count


def _within(known: list[Known], budget: int) -> Iterator[list[Known]]:
    """Parts that stay within so many tokens, padded ones included; those with most come first."""
    while known:
        size = max(1, budget // _unread(known[0]))
        yield known[:size]
        known = known[size:]


def _even(count: int, most: int) -> int:
    """The size of the fewest equal parts of at most `most`."""
    return -(-count // -(-count // most))


def _padded(prompts: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """Token ids (P, T), padded on the right. The pad is never read, so any id will do."""
    longest = max(map(len, prompts))
    return torch.tensor([[*ids, *[0] * (longest - len(ids))] for ids in prompts], device=device)
