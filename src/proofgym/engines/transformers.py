"""The embedded engine: samples from a transformers causal LM on CPU or one GPU.

One batch of rows decodes together. A row that ends is answered at once and a waiting request takes
its place, so short completions never wait for long ones. Requests with the same prompt (and, below
a population's first perturbed layer, the same prompt whatever the member) share one prompt pass.
Where members differ only above the decoder layers, those with the same draws are one row until
they part: a population then costs little more than one model.

A draw is a pure function of (seed, request key, position): the order of the requests and their
neighbours change nothing beyond the last bits that a matrix product's shape may round
differently.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from proofgym.engines.batch import Batch
from proofgym.engines.cache import RowCache
from proofgym.engines.decoder import Decoder
from proofgym.engines.engine import Feed, Population
from proofgym.engines.pipeline import Pipeline
from proofgym.engines.prefixes import Prefixes
from proofgym.engines.steps import FEWEST, Steps
from proofgym.engines.stops import end_tokens
from proofgym.engines.waiting import Waiting, share
from proofgym.errors import EngineError
from proofgym.memory import available, saying_when_full
from proofgym.types import Completion, Request, Sampling

if TYPE_CHECKING:
    from proofgym.models import LoadedModel

#: Steps for which fewer new requests than a wave are held back, for more to come.
_PATIENCE = 8
_KEPT = 3
"""How many caches, with their graphs, are kept for later calls, if they take no more than this
share of a GPU's memory, nor half of what others left; the last one is in any case."""
_KEPT_SHARE = 0.1
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
        self._kept: list[Steps] = []
        self.steps_done = 0
        """Steps of all calls: who watches from outside sees whether this goes on."""
        self._ends = end_tokens(loaded.model, loaded.tokenizer)

    @property
    def positions(self) -> int | None:
        return getattr(self.model.config, "max_position_embeddings", None)

    def generate(
        self,
        requests: Sequence[Request],
        sampling: Sampling,
        population: Population | None = None,
        feed: Feed | None = None,
    ) -> Iterator[tuple[Request, Completion]]:
        """Yield every request with its completion, in the order in which they finish."""
        pipelined = self._decoder.device.type in PIPELINED
        # A GPU's step takes little longer for many rows, and far longer where it may not run ahead.
        shared = (
            not pipelined
            and population is not None
            and population.first_layer >= len(self._decoder.layers)
        )
        waiting = Waiting(self.tokenizer, self._ends, self.seed, sampling, shared)
        waiting.add(requests)
        length = max(waiting.longest, feed.context if feed else 0)
        self._check_length(length)
        limit = min(self.max_batch, len(requests) + (feed.rows if feed else 0))
        if pipelined:
            with self._steps_for(limit, length, sampling, population) as steps:
                prefixes = self._prefixes(steps.cache, feed)
                ahead = Pipeline(self._decoder, sampling, steps, prefixes)
                yield from self._decode(ahead, waiting, limit, length, feed, prefixes)
        else:
            cache = RowCache(limit, length, len(self._decoder.layers))
            prefixes = self._prefixes(cache, feed)
            batch = Batch(self._decoder, sampling, population, cache, prefixes)
            yield from self._decode(batch, waiting, limit, length, feed, prefixes)

    def _prefixes(self, cache: RowCache, feed: Feed | None) -> Prefixes | None:
        """Where conversations are kept between their turns, if there may be later ones."""
        return None if feed is None else Prefixes(cache, self._may_keep)

    def _decode(
        self,
        batch: Batch,
        waiting: Waiting,
        limit: int,
        length: int,
        feed: Feed | None,
        prefixes: Prefixes | None,
    ) -> Iterator[tuple[Request, Completion]]:
        # Few large prompt passes are cheaper than many small ones, idle slots cost little.
        wave = max(1, limit // 8)
        steps = 0  # since the last prompt pass
        while True:
            self.steps_done += 1
            if feed is not None:
                more = feed.take(wait=not (waiting or batch.alive))
                if prefixes is not None:
                    prefixes.forget(feed.ended())
                feed = None if more is None else feed
                if more:
                    waiting.add(more)
                    self._check_feed(waiting.longest, length)
            if not waiting and not batch.alive:
                if feed is None:
                    return
                continue
            new = []
            patient = feed is not None and steps < _PATIENCE and batch.alive
            if waiting and (len(waiting) >= wave or not patient):
                room = limit - sum(share(row) for row in batch.rows if not row.over)
                new = waiting.take(room, wave if batch.alive else 0)
            steps = 0 if new else steps + 1
            with _boundary(self.max_batch):
                finished = batch.admit(new) if new else batch.step()
            waiting.put_back(batch.without_slot())
            yield from finished

    @contextmanager
    def _steps_for(
        self, rows: int, length: int, sampling: Sampling, population: Population | None
    ) -> Iterator[Steps]:
        """Those of an earlier call where some have room, with their cache and graphs: calls of
        different sizes take turns, as held-out tasks and probes do. They are not kept after a
        failure, nor lent twice at once."""
        rows = max(rows, FEWEST)
        fitting = [it for it in self._kept if it.fit(rows, length, sampling, population)]
        if fitting:
            steps = min(fitting, key=lambda it: it.cache.size)
            self._kept.remove(steps)
        else:
            if sum(it.cache.size for it in self._kept) > self._may_keep():
                self._kept.clear()
                torch.cuda.empty_cache()  # another process may need it
            cache = RowCache(_rounded(rows), _rounded(length + 1), len(self._decoder.layers))
            steps = Steps(self._decoder, cache, sampling, population)
            self._kept = [it for it in self._kept if not steps.replaces(it)]
        steps.begin(rows)
        yield steps
        self._kept = [steps, *self._kept][:_KEPT]

    def _may_keep(self) -> float:
        """Bytes of caches, or of parts of them, that may be kept beside one that is in use."""
        if self._decoder.device.type != "cuda":
            return available() / 4
        free, total = torch.cuda.mem_get_info(self._decoder.device)
        return min(_KEPT_SHARE * total, free / 2)

    @torch.no_grad()
    def score(
        self,
        prompt_ids: Sequence[int],
        token_ids: Sequence[int],
        population: Population | None = None,
        member: int = 0,
    ) -> tuple[float, ...]:
        """Log-probability of each of `token_ids` after `prompt_ids`, at temperature 1."""
        self._check_length(len(prompt_ids) + len(token_ids))
        if not prompt_ids:
            raise EngineError("the prompt is empty; the first token has no distribution")
        with _boundary(1):
            decoder = self._decoder
            if population is not None:
                population.select([member])
            ids_1T = torch.tensor([[*prompt_ids, *token_ids]], device=decoder.device)
            hidden_1TD = decoder.embed(ids_1T[:, :-1])
            hidden_1TD, _ = decoder.prompt(hidden_1TD, 0, len(decoder.layers))
            logits_TV = decoder.logits(hidden_1TD[:, len(prompt_ids) - 1 :])[0].float()
            chosen_T1 = ids_1T[0, len(prompt_ids) :, None]
            logprobs_T1 = logits_TV.log_softmax(-1).gather(-1, chosen_T1)
            return tuple(logprobs_T1[:, 0].tolist())

    def _check_feed(self, length: int, most: int) -> None:
        if length > most:
            raise EngineError(f"a request needs {length} positions, its feed said {most} at most")

    def _check_length(self, length: int) -> None:
        most = self.positions or length
        if length > most:
            raise EngineError(
                f"prompt and completion need {length} positions, the model has {most}; "
                "shorten the prompts or lower Sampling.max_tokens"
            )


def _rounded(length: int) -> int:
    """Up to a multiple of 64: attention kernels read aligned masks, and lengths recur."""
    return -(-length // 64) * 64


@contextmanager
def _boundary(max_batch: int) -> Iterator[None]:
    """Everything that torch raises becomes an EngineError that says what to do."""
    advice = f"out of memory; lower max_batch (now {max_batch}) or Sampling.max_tokens"
    try:
        with saying_when_full(EngineError(advice)):
            yield
    except EngineError:
        raise
    except (RuntimeError, ValueError, IndexError, TypeError, KeyError) as error:
        raise EngineError(f"generation failed: {error}") from error
