"""Lays samples out in rows of tokens for a forward pass, each prompt as seldom as pays.

Samples with the same prompt can share a row: the prompt once, then their completions side by
side, none of which sees another. A group of 8 short completions of one prompt so costs a fraction
of 8 sequences. Attention in a row grows with the square of its length, so a completion joins a
row only where that costs less than writing the prompt again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from proofgym.trainer.sample import Sample


@dataclass(slots=True)
class Row:
    """One row: token ids, the position of each in its own sequence, and whose it is."""

    ids: list[int]
    positions: list[int]
    owners: list[int]
    """0 for the prompt, else the number of the completion in the row, from 1."""
    samples: list[int] = field(default_factory=list)
    """Places of the samples, in the order of their completions."""
    columns: list[int] = field(default_factory=list)
    """Where in the row the model predicts each drawn token, sample by sample."""
    targets: list[int] = field(default_factory=list)
    """The drawn tokens."""


def lay_out(samples: Sequence[Sample], width: int, share: bool = True) -> list[Row]:
    """Rows that hold every sample with a drawn token once, longest first.

    `width` is the model's hidden size, which says what attention costs beside the rest.
    """
    groups: dict[tuple[int, ...], list[int]] = {}
    for place, sample in enumerate(samples):
        if sample.count:
            groups.setdefault(sample.prompt_ids, []).append(place)
    rows: list[Row] = []
    for prompt_ids, places in groups.items():
        row: Row | None = None
        for place in places:
            more = len(samples[place].token_ids)
            if row is None or not (share and _pays(len(row.ids), len(prompt_ids), more, width)):
                row = Row(list(prompt_ids), list(range(len(prompt_ids))), [0] * len(prompt_ids))
                rows.append(row)
            _add(row, place, samples[place])
    return sorted(rows, key=lambda row: -len(row.ids))


def microbatches(rows: Sequence[Row], tokens: int) -> list[list[Row]]:
    """Consecutive rows, padded to the longest, of at most `tokens` tokens together (or one row)."""
    batches: list[list[Row]] = []
    for row in rows:
        if batches and (len(batches[-1]) + 1) * len(batches[-1][0].ids) <= tokens:
            batches[-1].append(row)
        else:
            batches.append([row])
    return batches


def _add(row: Row, place: int, sample: Sample) -> None:
    row.samples.append(place)
    start, prompt = len(row.ids), len(sample.prompt_ids)
    for offset, (token, drawn) in enumerate(zip(sample.token_ids, sample.drawn, strict=True)):
        if drawn:
            row.columns.append(start + offset - 1 if offset else prompt - 1)
            row.targets.append(token)
    row.ids += sample.token_ids
    row.positions += range(prompt, prompt + len(sample.token_ids))
    row.owners += [len(row.samples)] * len(sample.token_ids)


def _pays(row: int, prompt: int, completion: int, width: int) -> bool:
    joined = _cost(row + completion, width) - _cost(row, width)
    return joined < _cost(prompt + completion, width)


def _cost(length: int, width: int) -> float:
    """Work of a row, in tokens: about 12·width² multiplications a token and layer, and 4·width for
    each pair of tokens."""
    return length + length * length / (3 * width)
