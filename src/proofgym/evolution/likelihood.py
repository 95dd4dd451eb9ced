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
from torch import Tensor, nn

from proofgym.engines.engine import Population
from proofgym.errors import EngineError
from proofgym.evolution.ways import Way, groups
from proofgym.memory import saying_when_full
from proofgym.products import fast_products
from proofgym.trainer.rows import Row, lay_out
from proofgym.trainer.sample import Sample
from proofgym.trainer.scorer import MOST_LOGITS
from proofgym.trainer.tokens import seen

#: A row of each pass, and the member that reads it.
Pass = tuple[list[int], list[int]]


@torch.no_grad()
def weighted_likelihoods(
    model: Any,
    way: Way,
    iteration: int,
    population: int,
    samples: Sequence[Sample],
    *,
    temperature: float,
    most_tokens: int,
    advance: Callable[[int], None] = lambda count: None,
) -> NDArray[np.float64]:
    """Σ weight·log π_m over the drawn tokens of `samples`, for each member m: (population,).

    `weight` is one of the samples' values. log π is natural, in float32 under softmax(logits /
    temperature), and summed in float64, always in the same order. A pass has at most `most_tokens`
    tokens, padding included, or one row. `advance` is told how many members were done. Raises
    EngineError where memory runs out.
    """
    texts = Texts(model, samples)
    linears = [it for it in model.modules() if isinstance(it, nn.Linear)]
    advice = f"out of memory with passes of {most_tokens} tokens: lower ES.micro_tokens"
    sums_M = np.zeros(population)
    for members in groups(population, way.size):
        with way.lay(iteration, members) as laid:
            found: list[tuple[list[int], Tensor]] = []
            with saying_when_full(EngineError(advice)), fast_products(linears):
                for rows, readers in _passes(texts.rows, members, most_tokens):
                    found.append((readers, texts.read(rows, readers, laid, temperature)))
                for readers, sums_B in found:
                    np.add.at(sums_M, readers, sums_B.cpu().numpy())
        advance(len(members))
    return sums_M


def _passes(rows: Sequence[Row], members: Sequence[int], most: int) -> Iterator[Pass]:
    """Every row for every member, the longest rows first."""
    pairs = [(place, member) for place in range(len(rows)) for member in members]
    start = 0
    while start < len(pairs):
        count = max(1, most // len(rows[pairs[start][0]].ids))
        chosen = pairs[start : start + count]
        yield [place for place, _ in chosen], [member for _, member in chosen]
        start += count


class Texts:
    """Rows of tokens on a model's device, and what is read of them. R rows, longest first."""

    def __init__(self, model: Any, samples: Sequence[Sample]) -> None:
        self._model, self._head = model, model.get_output_embeddings()
        self.rows = lay_out(samples, model.config.hidden_size)
        device = next(model.parameters()).device
        self._lengths = [len(row.ids) for row in self.rows]
        self._counts = [len(row.columns) for row in self.rows]
        self._alone = all(len(row.samples) == 1 for row in self.rows)

        def table(lists: Sequence[Sequence[float]], fill: float, dtype: torch.dtype) -> Tensor:
            widest = max(map(len, lists), default=0)
            full = [[*values, *[fill] * (widest - len(values))] for values in lists]
            return torch.tensor(full, dtype=dtype).to(device)

        weights = [
            [x for s in row.samples for x in samples[s].values["weight"]] for row in self.rows
        ]
        self._ids_RT = table([row.ids for row in self.rows], 0, torch.long)
        self._positions_RT = table([row.positions for row in self.rows], 0, torch.long)
        self._owners_RT = table([row.owners for row in self.rows], -1, torch.long)
        self._columns_RC = table([row.columns for row in self.rows], 0, torch.long)
        self._targets_RC = table([row.targets for row in self.rows], 0, torch.long)
        self._weights_RC = table(weights, 0.0, torch.float64)

    def read(
        self, rows: Sequence[int], readers: Sequence[int], laid: Population | None, heat: float
    ) -> Tensor:
        """(B,) in float64: Σ weight·log π over the drawn tokens of each of these rows, longest
        first, as its reader finds them: a member, or without a population what the model holds."""
        length = self._lengths[rows[0]]
        count = max(self._counts[row] for row in rows)
        rows_B = torch.tensor(rows, device=self._ids_RT.device)
        if laid is not None:
            laid.select(readers)
        owners_BT = self._owners_RT[rows_B, :length]
        hidden_BTD = self._model.model(
            self._ids_RT[rows_B, :length],
            attention_mask=None if self._alone else seen(owners_BT),
            position_ids=self._positions_RT[rows_B, :length],
            use_cache=False,
        ).last_hidden_state
        columns_BC1 = self._columns_RC[rows_B, :count, None]
        hidden_BCD = hidden_BTD.gather(1, columns_BC1.expand(-1, -1, hidden_BTD.shape[-1]))
        few = max(1, MOST_LOGITS // (count * self._head.weight.shape[0]))
        sums = []
        for start in range(0, len(rows), few):
            part = slice(start, start + few)
            if laid is not None and few < len(rows):
                laid.select(readers[part])
            logits_BCV = self._head(hidden_BCD[part]).float()
            if heat != 1:
                logits_BCV = logits_BCV / heat
            targets_BC1 = self._targets_RC[rows_B[part], :count, None]
            chosen_BC = logits_BCV.gather(-1, targets_BC1)[..., 0] - logits_BCV.logsumexp(-1)
            sums.append((chosen_BC.double() * self._weights_RC[rows_B[part], :count]).sum(-1))
        return torch.cat(sums)
