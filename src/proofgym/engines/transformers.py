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
from typing import TYPE_CHECKING, Any

import torch

from proofgym.engines.batch import Batch
from proofgym.engines.cache import RowCache
from proofgym.engines.decoder import Decoder
from proofgym.engines.engine import Population
from proofgym.engines.pipeline import Pipeline
from proofgym.engines.rows import Row
from proofgym.engines.steps import Steps
from proofgym.engines.stops import Stops, end_tokens
from proofgym.errors import EngineError
from proofgym.random import stream
from proofgym.types import Completion, Request, Sampling

if TYPE_CHECKING:
    from proofgym.models import LoadedModel

#: How many slots a row shared by many members is expected to part into.
_PARTS = 4


PIPELINED = {"cuda"}
"""Devices on which a step is launched before the last one's tokens are looked at."""


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
        self._steps: Steps | None = None
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
        stops = Stops(self.tokenizer, self._ends, sampling)
        if self._decoder.device.type in PIPELINED and all(
            len(row.requests) == 1 for row in waiting
        ):
            with self._steps_for(limit, length, sampling, population) as steps:
                batch = Pipeline(self._decoder, sampling, stops, steps)
                yield from self._decode(batch, waiting, limit)
        else:
            cache = RowCache(limit, length)
            rows = Batch(self._decoder, sampling, population, stops, cache)
            yield from self._decode(rows, waiting, limit)

    def _decode(
        self, batch: Batch, waiting: list[Row], limit: int
    ) -> Iterator[tuple[Request, Completion]]:
        # Few large prompt passes are cheaper than many small ones, idle slots cost little.
        wave = max(1, limit // 8)
        while waiting or batch.rows:
            new = _fitting(waiting, limit - sum(map(_share, batch.rows)), wave if batch.rows else 0)
            with _boundary(self.max_batch):
                finished = batch.admit(new) if new else batch.step()
            waiting += batch.without_slot()
            yield from finished

    @contextmanager
    def _steps_for(
        self, rows: int, length: int, sampling: Sampling, population: Population | None
    ) -> Iterator[Steps]:
        """Those of the last call where they fit, with their cache and graphs. They are not kept
        after a failure, nor lent twice at once."""
        kept, self._steps = self._steps, None
        if kept is None or not kept.fit(rows, length, sampling, population):
            kept = None  # give its memory back first
            cache = RowCache(rows, _rounded(length + 1))
            kept = Steps(self._decoder, cache, sampling, population)
        yield kept
        self._steps = kept

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

    def _rows(self, requests: Sequence[Request], population: Population | None) -> list[Row]:
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
            Row(
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


def _rounded(length: int) -> int:
    """Up to a multiple of 64: attention kernels read aligned masks, and lengths recur."""
    return -(-length // 64) * 64


def _share(row: Row) -> int:
    """Slots to count on: a row of many requests parts into a few, seldom into all of them."""
    return min(len(row.requests), _PARTS)


def _fitting(waiting: list[Row], room: int, wave: int) -> list[Row]:
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
