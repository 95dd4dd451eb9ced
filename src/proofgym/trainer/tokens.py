"""The drawn tokens of some sequences, as a model sees them: what losses are functions of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from proofgym.trainer.rows import Row
from proofgym.trainer.sample import Sample
from proofgym.trainer.scorer import Scorer


@dataclass(slots=True)
class Tokens:
    """The drawn tokens of some whole sequences, K of them, as a loss sees them."""

    logprobs: Tensor
    """(K,) under the model in training, at the sampling temperature; differentiable."""
    entropy: Tensor
    """(K,) of the distribution each token was drawn from, in nats; differentiable if the trainer
    was asked for that."""
    sequence: Tensor
    """(K,) int64: which sequence each belongs to, from 0."""
    sequences: int
    values: dict[str, Tensor]
    """`Sample.values`, each (K,)."""

    def __getitem__(self, name: str) -> Tensor:
        return self.values[name]


def read(
    scorer: Scorer,
    batch: Sequence[Row],
    samples: Sequence[Sample],
    temperature: float,
    device: torch.device,
) -> Tokens:
    """One forward pass over the rows of `batch`, which hold some of `samples`."""
    places = [(number, column) for number, row in enumerate(batch) for column in row.columns]
    targets = [target for row in batch for target in row.targets]
    logprobs_K, entropy_K = scorer(
        *_inputs(batch, device),
        torch.tensor(places, device=device),
        torch.tensor(targets, device=device),
        temperature,
    )
    held = [samples[place] for row in batch for place in row.samples]
    counts = torch.tensor([sample.count for sample in held])
    values = {
        name: torch.from_numpy(np.concatenate([it.values[name] for it in held]))
        for name in held[0].values
    }
    return Tokens(
        logprobs_K,
        entropy_K,
        torch.repeat_interleave(torch.arange(len(held)), counts).to(device),
        len(held),
        {name: value.to(device) for name, value in values.items()},
    )


def _inputs(batch: Sequence[Row], device: torch.device) -> tuple[Tensor, Tensor, Tensor | None]:
    """Ids and positions (B, T), padded on the right, and what each token sees, (B, 1, T, T): None
    where that is every token before it."""
    longest = len(batch[0].ids)
    ids = torch.tensor([row.ids + [0] * (longest - len(row.ids)) for row in batch])
    positions = torch.tensor([row.positions + [0] * (longest - len(row.ids)) for row in batch])
    ids_BT, positions_BT = ids.to(device), positions.to(device)
    if all(len(row.samples) == 1 for row in batch):
        return ids_BT, positions_BT, None
    owners = torch.tensor([row.owners + [-1] * (longest - len(row.ids)) for row in batch])
    return ids_BT, positions_BT, seen(owners.to(device))


def seen(owners_BT: Tensor) -> Tensor:
    """(B, 1, T, T): whether a token sees another, which is of the prompt (owner 0) or of its own
    completion and not after it."""
    keys_B1T, queries_BT1 = owners_BT[:, None, :], owners_BT[:, :, None]
    length = owners_BT.shape[1]
    causal = torch.ones(length, length, dtype=torch.bool, device=owners_BT.device).tril()
    return (((keys_B1T == 0) | (keys_B1T == queries_BT1)) & causal)[:, None]
