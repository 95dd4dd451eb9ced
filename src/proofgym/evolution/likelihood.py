"""How likely each member of a population finds given tokens: forward passes alone, no draws.

The members read the same rows of tokens, each prompt once for all of its completions
(`trainer/rows.py`). What a pass needs is put on the device once; a pass picks its rows there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from proofgym.engines.cache import sent
from proofgym.engines.decoder import Decoder
from proofgym.engines.decoder import likelihood as plain_likelihood
from proofgym.engines.engine import Population
from proofgym.errors import EngineError
from proofgym.evolution.ways import Way, groups
from proofgym.memory import saying_when_full
from proofgym.products import fast_products
from proofgym.trainer.rows import Row, lay_out
from proofgym.trainer.sample import Sample
from proofgym.trainer.scorer import MOST_LOGITS
from proofgym.trainer.tokens import seen

FUSED = {"cuda"}
"""Devices on which passes are compiled."""
_READERS = 1024
"""Rows of a pass at most; compilers take the shapes of buffers as fixed."""
_ALIGNED = 8
"""Lengths are multiples of it, as attention kernels want masks to be."""


class Reader:
    """Has the members of populations read, with a model of the Llama, Qwen2 or Qwen3 family."""

    def __init__(self, model: Any, most_tokens: int) -> None:
        """`most_tokens`: of a pass, padding included; a longer row goes alone."""
        self._width = model.config.hidden_size
        self._decoder, self._most = Decoder(model), most_tokens
        device = self._decoder.device
        self._readers_R = torch.zeros(_READERS, dtype=torch.long, device=device)
        self._fused = False

    @torch.no_grad()
    def weighted_likelihoods(
        self,
        way: Way,
        iteration: int,
        members: Sequence[int],
        samples: Sequence[Sample],
        temperature: float,
        advance: Callable[[int], None] = lambda count: None,
    ) -> NDArray[np.float64]:
        """Σ weight·log π_m over the drawn tokens of `samples`, for each of these members m:
        (members,).

        `weight` is one of the samples' values. log π is natural, in float32 under softmax(logits /
        temperature), and summed in float64, always in the same order. `advance` is told how many
        members were done. Raises EngineError where memory runs out.
        """
        rows = lay_out(samples, self._width)
        texts = Texts(rows, samples, self._decoder.device)
        sums_M = np.zeros(len(members))
        places_M = {member: place for place, member in enumerate(members)}
        for group in groups(len(members), way.size):
            together = [members[place] for place in group]
            with way.lay(iteration, together) as laid:
                self._fused = self._decoder.device.type in FUSED and (
                    laid is None or laid.compilable
                )
                if self._fused:
                    self._decoder.compile()
                found = [
                    (readers, self._read(texts, places, readers, laid, temperature))
                    for places, readers in _passes(rows, together, self._most)
                ]
                for readers, sums_B in found:
                    np.add.at(sums_M, [places_M[it] for it in readers], sums_B.cpu().numpy())
            advance(len(together))
        return sums_M

    def _read(
        self,
        texts: Texts,
        places: list[int],
        readers: list[int],
        laid: Population | None,
        heat: float,
    ) -> Tensor:
        advice = f"out of memory with passes of {self._most} tokens: lower ES.micro_tokens"
        with saying_when_full(EngineError(advice)):
            while True:
                with self._decoder.uncompiled_if_that_fails():
                    return self._pass(texts, places, readers, laid, heat)
                self._fused = False

    def _pass(
        self,
        every: Texts,
        places: list[int],
        readers: list[int],
        laid: Population | None,
        heat: float,
    ) -> Tensor:
        """(B,) in float64: Σ weight·log π over the drawn tokens of each row as its reader finds
        them: a member, or without a population what the model holds."""
        decoder, texts = self._decoder, every.part(places)
        if laid is not None and laid.first_layer >= len(decoder.layers):
            # Members agree up to the last norm: a row is read once for all of them.
            distinct = list(dict.fromkeys(places))
            laid.select(None)
            hidden_BCD = self._hidden(every.part(distinct))
            hidden_BCD = hidden_BCD[sent([distinct.index(it) for it in places], decoder.device)]
            self._turn(laid, readers)
        else:
            self._turn(laid, readers)
            hidden_BCD = self._hidden(texts)
        few = max(1, MOST_LOGITS // (texts.targets.shape[1] * decoder.config.vocab_size))
        sums = []
        for start in range(0, len(readers), few):
            part = slice(start, start + few)
            many = self._fused and len(readers[part]) > 1
            likelihood = decoder.likelihood if many else plain_likelihood
            if few < len(readers):
                self._turn(laid, readers[part])
            with fast_products([decoder.head]):
                sums.append(
                    likelihood(
                        decoder.body.norm,
                        decoder.head,
                        hidden_BCD[part],
                        texts.targets[part],
                        texts.weights[part],
                        heat,
                    )
                )
        return torch.cat(sums)

    def _hidden(self, texts: Texts) -> Tensor:
        """(B, C, D): final hidden states where the drawn tokens are predicted."""
        mask = None if texts.alone else seen(texts.owners)
        # One row is a case of its own to a compiler, and would be compiled for itself.
        fused = self._fused and len(texts.ids) > 1
        hidden_BTD = self._decoder.read(texts.ids, texts.positions, mask, fused)
        return hidden_BTD.gather(1, texts.columns[..., None].expand(-1, -1, self._width))

    def _turn(self, laid: Population | None, readers: list[int]) -> None:
        """The rows that come are these members'."""
        if laid is None:
            return
        if not self._fused:
            laid.select(readers)
            return
        self._readers_R[: len(readers)] = sent(readers, self._readers_R.device)
        laid.follow(self._readers_R, len(readers))


def _passes(
    rows: Sequence[Row], members: Sequence[int], most: int
) -> Iterator[tuple[list[int], list[int]]]:
    """Every row for every member, the longest rows first: the rows of each pass and who reads
    them."""
    pairs = [(place, member) for place in range(len(rows)) for member in members]
    start = 0
    while start < len(pairs):
        count = min(_READERS, max(1, most // len(rows[pairs[start][0]].ids)))
        chosen = pairs[start : start + count]
        yield [place for place, _ in chosen], [member for _, member in chosen]
        start += count


class Texts:
    """Rows of tokens on a device, longest first, in tensors padded on the right."""

    def __init__(self, rows: Sequence[Row], samples: Sequence[Sample], device: Any) -> None:
        self.alone = all(len(row.samples) == 1 for row in rows)
        """Whether a token sees all that is before it in its row."""
        self._lengths = [-(-len(row.ids) // _ALIGNED) * _ALIGNED for row in rows]
        self._counts = [len(row.columns) for row in rows]
        length, count = self._lengths[0], max(self._counts)

        def table(
            lists: Sequence[Sequence[float]], width: int, fill: float, kind: torch.dtype
        ) -> Tensor:
            full = [[*values, *[fill] * (width - len(values))] for values in lists]
            return torch.tensor(full, dtype=kind).to(device)

        weights = [[w for it in row.samples for w in samples[it].values["weight"]] for row in rows]
        self.ids = table([row.ids for row in rows], length, 0, torch.long)
        self.positions = table([row.positions for row in rows], length, 0, torch.long)
        self.owners = table([row.owners for row in rows], length, -1, torch.long)
        self.columns = table([row.columns for row in rows], count, 0, torch.long)
        self.targets = table([row.targets for row in rows], count, 0, torch.long)
        self.weights = table(weights, count, 0.0, torch.float64)

    def part(self, places: Sequence[int]) -> Texts:
        """Some of the rows, in order and as often as they are named, no longer than they need."""
        made = object.__new__(Texts)
        made.alone = self.alone
        length, count = self._lengths[places[0]], max(self._counts[it] for it in places)
        chosen = sent(places, self.ids.device)
        for name, width in (
            ("ids", length),
            ("positions", length),
            ("owners", length),
            ("columns", count),
            ("targets", count),
            ("weights", count),
        ):
            setattr(made, name, getattr(self, name)[chosen, :width])
        return made
