"""Whether noise on a tensor changes what an engine computes.

An engine may hold a copy of a weight, fuse it with another, or never use it; training would then
perturb something that answers nothing, and learn nothing from it. So each chosen tensor is
perturbed alone, loudly, and the engine is asked again. A batch asks about as many as it has
members: each has noise in another tensor. A product rounds by its shape and a row's place in it,
so every batch has the same rows, and each is compared with its own of a batch without noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import torch

from proofgym.evolution.state import State
from proofgym.evolution.weights import Tensors

LOUD = 64.0
"""How many σ the noise has for this: enough to show after rounding to bfloat16."""

#: Has an engine answer something for each of a batch's places, in their order.
Answers = Callable[[], Sequence[Any]]


def unreached(
    names: Sequence[str],
    loud: Callable[[int, int], AbstractContextManager[None]],
    places: int,
    answers: Answers,
) -> Iterator[str | None]:
    """For each name, itself if noise there, and nowhere else, leaves its place's answer as it is
    without; else None. There is none but while a `loud(number, place)` is entered, which puts that
    of the name so numbered into this place."""
    without = answers()
    for first in range(0, len(names), places):
        batch = names[first : first + places]
        with ExitStack() as noises:
            for place in range(len(batch)):
                noises.enter_context(loud(first + place, place))
            found = answers()
        for place, name in enumerate(batch):
            yield name if found[place] == without[place] else None


def unreached_weights(
    state: State, held: Sequence[Tensors], iteration: int, answers: Answers
) -> Iterator[str | None]:
    """`unreached` for all tensors, where each place has whole weights of its own in `held`: those
    of the policy."""
    noisy = {name: torch.empty_like(tensor) for name, tensor in held[0].items()}
    state.write_member(0, iteration, noisy)
    names = list(noisy)

    @contextmanager
    def loud(number: int, place: int) -> Iterator[None]:
        name = names[number]
        weight = held[place][name].data
        kept = weight.clone()
        try:
            weight.copy_(kept + LOUD * (noisy[name] - kept))
            yield
        finally:
            weight.copy_(kept)

    return unreached(names, loud, len(held), answers)
