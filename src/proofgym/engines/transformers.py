"""The embedded engine: samples from a transformers causal LM on CPU or one GPU.

One batch of rows decodes together. A row that ends leaves at once and a waiting request takes its
place, so short completions never wait for long ones. Requests with the same prompt (and, below a
population's first perturbed layer, the same prompt whatever the member) share one prompt pass.
Where members differ only above the decoder layers, those with the same draws are one row until
they part: a population then costs little more than one model.

A draw is a pure function of (seed, request key, position): the order of the requests and their
neighbours change nothing beyond the last bits that a matrix product's shape may round
differently.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from proofgym.engines.cache import RowCache
from proofgym.engines.decoder import Decoder
from proofgym.engines.engine import Population
from proofgym.engines.sampler import sample
from proofgym.engines.stops import Stops, end_tokens
from proofgym.errors import EngineError
from proofgym.random import stream, uniforms
from proofgym.types import Completion, Request, Sampling

if TYPE_CHECKING:
    from proofgym.models import LoadedModel

#: Most tokens in one prompt pass: bounds its memory.
_PROMPT_TOKENS = {"cpu": 8192, "cuda": 65536}
#: Most logits computed at once: a row of many members has as many times the vocabulary.
_LOGITS = 2**24
#: How many slots a row shared by many members is expected to part into.
_PARTS = 4


@dataclass(slots=True)
class _Row:
    """A sequence being decoded, for one request or for all members that wrote the same so far.

    Its index in the batch is its slot in the cache.
    """

    requests: list[Request]
    prompt_ids: tuple[int, ...]
    stream: int
    token_ids: list[int] = field(default_factory=list)
    logprobs: list[list[float]] = field(default_factory=list)
    """Of the tokens, for each request: members give the same token different probabilities."""

    @property
    def position(self) -> int:
        """Where the newest token goes."""
        return len(self.prompt_ids) + len(self.token_ids) - 1

    @property
    def text_ids(self) -> tuple[int, ...]:
        """All there is to read before the next token."""
        return (*self.prompt_ids, *self.token_ids)

    @property
    def member(self) -> int:
        return self.requests[0].member

    def take(self, tokens: Sequence[int], logprobs: Sequence[float]) -> list[_Row]:
        """Append each request's token; requests that part from most others leave as new rows."""
        for known, new in zip(self.logprobs, logprobs, strict=True):
            known.append(new)
        parties: dict[int, list[int]] = {}
        for index, token in enumerate(tokens):
            parties.setdefault(token, []).append(index)
        largest = max(parties, key=lambda token: len(parties[token]))
        leaving = [
            _Row(
                [self.requests[index] for index in indices],
                self.prompt_ids,
                self.stream,
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


class TransformersEngine:
    """Samples from `loaded.model`, whose weights may be edited in place between calls.

    `max_batch` is the most rows decoded together.
    """

    def __init__(self, loaded: LoadedModel, *, seed: int = 0, max_batch: int = 128) -> None:
        self.model = loaded.model
        self.tokenizer = loaded.tokenizer
        self.seed = seed
        self.max_batch = max_batch
        self._decoder = Decoder(loaded.model)
        self._ends = end_tokens(loaded.model, loaded.tokenizer)

    def generate(
        self,
        requests: Sequence[Request],
        sampling: Sampling,
        population: Population | None = None,
    ) -> Iterator[tuple[Request, Completion]]:
        """Yield every request with its completion, in the order in which they finish."""
        waiting = self._rows(requests, population)
        length = max((len(row.prompt_ids) for row in waiting), default=0) + sampling.max_tokens
        self._check_length(length)
        limit = min(self.max_batch, len(requests))
        cache = RowCache(limit, length)
        stops = Stops(self.tokenizer, self._ends, sampling)
        batch = _Batch(self._decoder, self.seed, sampling, population, stops, cache)
        # Few large prompt passes are cheaper than many small ones, idle slots cost little.
        wave = max(1, limit // 8)
        while waiting or batch.rows:
            new = _fitting(waiting, limit - sum(map(_share, batch.rows)), wave if batch.rows else 0)
            with _boundary(self.max_batch):
                finished = batch.admit(new) if new else batch.step()
            waiting += batch.without_slot()
            yield from finished

    @torch.no_grad()
    def score(self, prompt_ids: Sequence[int], token_ids: Sequence[int]) -> tuple[float, ...]:
        """Log-probability of each of `token_ids` after `prompt_ids`, at temperature 1."""
        self._check_length(len(prompt_ids) + len(token_ids))
        if not prompt_ids:
            raise EngineError("the prompt is empty; the first token has no distribution")
        with _boundary(1):
            decoder = self._decoder
            ids_1T = torch.tensor([[*prompt_ids, *token_ids]], device=decoder.device)
            hidden_1TD = decoder.embed(ids_1T[:, :-1])
            hidden_1TD, _ = decoder.prompt(hidden_1TD, 0, len(decoder.layers))
            logits_TV = decoder.logits(hidden_1TD[:, len(prompt_ids) - 1 :])[0].float()
            chosen_T1 = ids_1T[0, len(prompt_ids) :, None]
            logprobs_T1 = logits_TV.log_softmax(-1).gather(-1, chosen_T1)
            return tuple(logprobs_T1[:, 0].tolist())

    def _rows(self, requests: Sequence[Request], population: Population | None) -> list[_Row]:
        """Rows with equal prompts side by side, to be taken from the end: longest prompts first."""
        shared = population is not None and population.first_layer >= len(self._decoder.layers)
        known: dict[str, tuple[int, ...]] = {}
        for request in requests:
            if request.prompt not in known:
                known[request.prompt] = tuple(self.tokenizer.encode(request.prompt))
                if not known[request.prompt]:
                    raise EngineError("a prompt is empty; give at least one character")
        parties: dict[Any, list[Request]] = {}
        for index, request in enumerate(requests):
            same = (request.prompt, request.key) if shared else index
            parties.setdefault(same, []).append(request)
        rows = [
            _Row(
                party,
                known[party[0].prompt],
                stream(self.seed, "sample", *party[0].key),
                logprobs=[[] for _ in party],
            )
            for party in parties.values()
        ]
        rows.sort(key=lambda row: (len(row.prompt_ids), row.prompt_ids, row.member))
        return rows

    def _check_length(self, length: int) -> None:
        most = getattr(self.model.config, "max_position_embeddings", None) or length
        if length > most:
            raise EngineError(
                f"prompt and completion need {length} positions, the model has {most}; "
                "shorten the prompts or lower Sampling.max_tokens"
            )


class _Batch:
    """The rows decoding now. `admit` and `step` return what finished."""

    def __init__(
        self,
        decoder: Decoder,
        seed: int,
        sampling: Sampling,
        population: Population | None,
        stops: Stops,
        cache: RowCache,
    ) -> None:
        self.rows: list[_Row] = []
        self._homeless: list[_Row] = []
        self._decoder, self._seed, self._sampling = decoder, seed, sampling
        self._population, self._stops, self._cache = population, stops, cache

    def without_slot(self) -> list[_Row]:
        """Take the rows that parted when no slot was left: they must be admitted again."""
        rows, self._homeless = self._homeless, []
        return rows

    def admit(self, new: list[_Row]) -> list[tuple[Request, Completion]]:
        """Run the new rows' prompts (and what they have written) and draw their next tokens."""
        budget = _PROMPT_TOKENS.get(self._decoder.device.type, 8192)
        slot = len(self.rows)
        self.rows += new
        hidden = []
        for part in self._parts(new, budget):
            hidden.append(self._prompts(part, slot))
            slot += len(part)
        self._draw(new, torch.cat(hidden))
        return self._leave()

    def _parts(self, rows: list[_Row], budget: int) -> Iterator[list[_Row]]:
        """Consecutive rows whose distinct prompt passes together stay within `budget` tokens."""
        part: list[_Row] = []
        passes: set[Any] = set()
        longest = 0
        for row in rows:
            longest = max(longest, len(row.text_ids))
            passes.add(self._pair(row))
            if part and len(passes) * longest > budget:
                yield part
                part, passes, longest = [], {self._pair(row)}, len(row.text_ids)
            part.append(row)
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

    def _prompts(self, rows: list[_Row], first_slot: int) -> Tensor:
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

    def _pair(self, row: _Row) -> tuple[tuple[int, ...], int]:
        """What a prompt pass depends on."""
        return row.text_ids, 0 if self._population is None else row.member

    def _fill(self, prompts: Any, source_R: Tensor, first_slot: int) -> None:
        for layer, keys in prompts.keys.items():
            self._cache.fill(layer, first_slot, keys[source_R], prompts.values[layer][source_R])

    def _select(self, rows: list[_Row]) -> None:
        if self._population is not None:
            self._population.select(torch.tensor([row.member for row in rows]))

    def _draw(self, rows: list[_Row], hidden_ND: Tensor) -> None:
        """Append one token to every row; rows whose requests part become several."""
        sampling = self._sampling
        owner_R = np.repeat(np.arange(len(rows)), [len(row.requests) for row in rows])
        members = [request.member for row in rows for request in row.requests]
        draws_N = uniforms(
            np.array([row.stream for row in rows], np.uint64), [len(row.token_ids) for row in rows]
        )
        tokens: list[int] = []
        logprobs: list[float] = []
        size = max(1, _LOGITS // self._decoder.config.vocab_size)
        for first in range(0, len(owner_R), size):
            chosen = slice(first, first + size)
            logits_RV = self._logits(hidden_ND, owner_R[chosen], members[chosen])
            uniforms_R = torch.from_numpy(draws_N[owner_R[chosen]]).to(logits_RV.device)
            drawn = sample(logits_RV, uniforms_R, sampling.temperature, sampling.top_p)
            tokens += drawn[0].tolist()
            logprobs += drawn[1].tolist()
        if not np.isfinite(logprobs).all():
            raise EngineError(
                "the policy's probabilities are not finite; the weights have diverged "
                "(lower sigma or the learning rate, or use dtype bfloat16 or float32)"
            )
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
        """Take out the rows that are over; the last rows move into their slots."""
        finished = self._over_without_slot()
        reasons = [self._stops.finished(row.token_ids) for row in self.rows]
        done = [slot for slot, reason in enumerate(reasons) if reason]
        if not done:
            return finished
        finished += [
            each for slot in done for each in self._complete(self.rows[slot], reasons[slot])
        ]
        left = len(self.rows) - len(done)
        targets = [slot for slot in done if slot < left]
        sources = [slot for slot in range(left, len(self.rows)) if not reasons[slot]]
        if sources:
            length = max(self.rows[slot].position for slot in sources)
            self._cache.move(sources, targets, length)
        for source, target in zip(sources, targets, strict=True):
            self.rows[target] = self.rows[source]
        del self.rows[left:]
        return finished

    def _over_without_slot(self) -> list[tuple[Request, Completion]]:
        reasons = [self._stops.finished(row.token_ids) for row in self._homeless]
        both = list(zip(self._homeless, reasons, strict=True))
        self._homeless = [row for row, reason in both if not reason]
        return [each for row, reason in both if reason for each in self._complete(row, reason)]

    def _part(self, slot: int, leaving: list[_Row]) -> None:
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

    def _complete(self, row: _Row, reason: Any) -> Iterator[tuple[Request, Completion]]:
        text = self._stops.text(row.token_ids)
        for request, logprobs in zip(row.requests, row.logprobs, strict=True):
            yield (
                request,
                Completion(row.prompt_ids, tuple(row.token_ids), tuple(logprobs), text, reason),
            )


def _share(row: _Row) -> int:
    """Slots to count on: a row of many requests parts into a few, seldom into all of them."""
    return min(len(row.requests), _PARTS)


def _fitting(waiting: list[_Row], room: int, wave: int) -> list[_Row]:
    """Take from `waiting` what the room holds, at least one row if nothing else is under way."""
    count = 0
    for row in reversed(waiting):
        if _share(row) > room and (count or wave):
            break
        room -= _share(row)
        count += 1
    taken = waiting[len(waiting) - count :]
    if count < len(waiting) and sum(map(_share, taken)) < wave:
        return []
    del waiting[len(waiting) - count :]
    return taken[::-1]


def _padded(prompts: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """Token ids (P, T), padded on the right. The pad is never read, so any id will do."""
    longest = max(map(len, prompts))
    return torch.tensor([[*ids, *[0] * (longest - len(ids))] for ids in prompts], device=device)


@contextmanager
def _boundary(max_batch: int) -> Iterator[None]:
    """Everything that torch raises becomes an EngineError that says what to do."""
    try:
        yield
    except EngineError:
        raise
    except torch.OutOfMemoryError as error:
        raise EngineError(
            f"out of memory; lower max_batch (now {max_batch}) or Sampling.max_tokens"
        ) from error
    except (RuntimeError, ValueError, IndexError, TypeError, KeyError) as error:
        raise EngineError(f"generation failed: {error}") from error
