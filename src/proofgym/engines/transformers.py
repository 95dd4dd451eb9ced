"""The embedded engine: samples from a transformers causal LM on CPU or one GPU.

One batch of rows decodes together. A row that ends leaves at once and a waiting request takes its
place, so short completions never wait for long ones. Requests with the same prompt (and, below a
population's first perturbed layer, the same prompt whatever the member) share one prompt pass.

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


@dataclass(slots=True)
class _Row:
    """One request being decoded. Its index in the batch is its slot in the cache."""

    request: Request
    prompt_ids: tuple[int, ...]
    stream: int
    token_ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)

    @property
    def position(self) -> int:
        """Where the newest token goes."""
        return len(self.prompt_ids) + len(self.token_ids) - 1


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
        waiting = self._rows(requests)
        length = max((len(row.prompt_ids) for row in waiting), default=0) + sampling.max_tokens
        self._check_length(length)
        limit = min(self.max_batch, len(waiting))
        cache = RowCache(limit, length)
        stops = Stops(self.tokenizer, self._ends, sampling)
        batch = _Batch(self._decoder, self.seed, sampling, population, stops, cache)
        # Few large prompt passes are cheaper than many small ones, idle slots cost little.
        wave = max(1, limit // 8)
        while waiting or batch.rows:
            room = limit - len(batch.rows)
            with _boundary(self.max_batch):
                if waiting and room >= min(wave, len(waiting)):
                    finished = batch.admit([waiting.pop() for _ in range(min(room, len(waiting)))])
                else:
                    finished = batch.step()
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

    def _rows(self, requests: Sequence[Request]) -> list[_Row]:
        """Rows with equal prompts side by side, to be taken from the end: longest prompts first."""
        known: dict[str, tuple[int, ...]] = {}
        for request in requests:
            if request.prompt not in known:
                known[request.prompt] = tuple(self.tokenizer.encode(request.prompt))
                if not known[request.prompt]:
                    raise EngineError("a prompt is empty; give at least one character")
        rows = [
            _Row(request, known[request.prompt], stream(self.seed, "sample", *request.key))
            for request in requests
        ]
        rows.sort(key=lambda row: (len(row.prompt_ids), row.prompt_ids, row.request.member))
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
        self._decoder, self._seed, self._sampling = decoder, seed, sampling
        self._population, self._stops, self._cache = population, stops, cache

    def admit(self, new: list[_Row]) -> list[tuple[Request, Completion]]:
        """Run the new rows' prompts and draw their first tokens."""
        budget = _PROMPT_TOKENS.get(self._decoder.device.type, 8192)
        slot = len(self.rows)
        self.rows += new
        logits = []
        for part in self._parts(new, budget):
            logits.append(self._prompts(part, slot))
            slot += len(part)
        self._draw(new, torch.cat(logits))
        return self._leave()

    def _parts(self, rows: list[_Row], budget: int) -> Iterator[list[_Row]]:
        """Consecutive rows whose distinct prompt passes together stay within `budget` tokens."""
        part: list[_Row] = []
        passes: set[Any] = set()
        longest = 0
        for row in rows:
            longest = max(longest, len(row.prompt_ids))
            passes.add(self._pair(row))
            if part and len(passes) * longest > budget:
                yield part
                part, passes, longest = [], {self._pair(row)}, len(row.prompt_ids)
            part.append(row)
        yield part

    def step(self) -> list[tuple[Request, Completion]]:
        """Feed every row's newest token and draw the next one."""
        device = self._decoder.device
        newest_N = torch.tensor([row.token_ids[-1] for row in self.rows], device=device)
        positions = [row.position for row in self.rows]
        positions_N = torch.tensor(positions, device=device)
        self._select(self.rows)
        logits_NV = self._decoder.step(newest_N, positions_N, max(positions) + 1, self._cache)
        self._draw(self.rows, logits_NV)
        return self._leave()

    def _prompts(self, rows: list[_Row], first_slot: int) -> Tensor:
        """Prompt pass of `rows` into slots from `first_slot`; logits (rows, V) at their ends."""
        decoder, population = self._decoder, self._population
        depth = len(decoder.layers)
        shared = depth if population is None else min(population.first_layer, depth)
        prompts = list(dict.fromkeys(row.prompt_ids for row in rows))
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
            self._fill(below, index([prompt_index[row.prompt_ids] for row in rows]), first_slot)
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
        last_U1D = hidden_UTD[torch.arange(len(pairs), device=device), ends_U][:, None]
        return decoder.logits(last_U1D)[pair_of_row_R, 0]

    def _pair(self, row: _Row) -> tuple[tuple[int, ...], int]:
        """What a prompt pass depends on."""
        return row.prompt_ids, 0 if self._population is None else row.request.member

    def _fill(self, prompts: Any, source_R: Tensor, first_slot: int) -> None:
        for layer, keys in prompts.keys.items():
            self._cache.fill(layer, first_slot, keys[source_R], prompts.values[layer][source_R])

    def _select(self, rows: list[_Row]) -> None:
        if self._population is not None:
            self._population.select(torch.tensor([row.request.member for row in rows]))

    def _draw(self, rows: list[_Row], logits_NV: Tensor) -> None:
        """Append one token to every row."""
        sampling = self._sampling
        draws = uniforms(
            np.array([row.stream for row in rows], np.uint64), [len(row.token_ids) for row in rows]
        )
        uniforms_N = torch.from_numpy(draws).to(logits_NV.device)
        tokens_N, logprobs_N = sample(logits_NV, uniforms_N, sampling.temperature, sampling.top_p)
        logprobs = logprobs_N.tolist()
        if not np.isfinite(logprobs).all():
            raise EngineError(
                "the policy's probabilities are not finite; the weights have diverged "
                "(lower sigma or the learning rate, or use dtype bfloat16 or float32)"
            )
        for row, token, logprob in zip(rows, tokens_N.tolist(), logprobs, strict=True):
            row.token_ids.append(token)
            row.logprobs.append(logprob)

    def _leave(self) -> list[tuple[Request, Completion]]:
        """Take out the rows that are over; the last rows move into their slots."""
        reasons = [self._stops.finished(row.token_ids) for row in self.rows]
        done = [slot for slot, reason in enumerate(reasons) if reason]
        if not done:
            return []
        finished = [self._complete(self.rows[slot], reasons[slot]) for slot in done]
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

    def _complete(self, row: _Row, reason: Any) -> tuple[Request, Completion]:
        completion = Completion(
            prompt_ids=row.prompt_ids,
            token_ids=tuple(row.token_ids),
            logprobs=tuple(row.logprobs),
            text=self._stops.text(row.token_ids),
            finish=reason,
        )
        return row.request, completion


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
