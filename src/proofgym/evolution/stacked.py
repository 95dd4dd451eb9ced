"""Evaluate several members of any kind of noise in one batch: their whole weights side by side.

A member's step reads its weights once, and for a small model that takes far less time than
launching the step. So the weights of many members lie in memory together, exactly as they would be
written out one by one, and a layer's products for all of them are one batched product: rows are
laid out by member, multiplied, and put back. Costs a member's chosen weights for every member held
at once; where few of them fit, members are written out in turn instead.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from proofgym.errors import EngineError
from proofgym.evolution import reach
from proofgym.evolution.modules import first_layer, uses
from proofgym.evolution.perturbed import is_known
from proofgym.evolution.side_by_side import lay, lay_rows
from proofgym.evolution.state import State, named
from proofgym.evolution.swapped import restore

_ALIGNED = 128
"""Bytes: where a member's weights begin in a stack, so that kernels write it as any tensor."""
_SHARE = 0.5
"""Of the memory that is free, what stacks may take unless a number of members is given."""


class Stacked:
    """Some members of a population laid over a model, a group at a time. A context manager; outside
    it the model is untouched. Inside, modules have other classes and more buffers: a model is not
    to be copied, saved or loaded then.

    `most` members at once; None: as many as fit into half of the memory that is free.
    """

    def __init__(self, model: nn.Module, state: State, most: int | None = None) -> None:
        self.model, self._state = model, state
        tensors = named(model, state.manifest)
        population = state.specification.population
        parts = math.ceil(population / min(population, most or room(tensors.values())))
        self.size = math.ceil(population / parts)
        """Members at once."""
        self._stacks = {name: _stack(tensor, self.size) for name, tensor in tensors.items()}
        device = next(iter(tensors.values())).device
        self._places = torch.zeros(population, dtype=torch.long, device=device)
        """Of each member in the stacks."""
        self._held: set[int] = set()
        self.layout = 1
        """Rows that every member has room for."""
        self.first_layer = first_layer(model, state.manifest)
        self._modules: dict[nn.Module, dict[str, Tensor]] = {}
        """Those that use chosen tensors, with the stacks of these, by parameter."""
        for module, name, tensor in uses(model, state.manifest):
            self._modules.setdefault(module, {})[name] = self._stacks[tensor.name]
        self.compilable = all(map(is_known, self._modules))

    def prepare(self, iteration: int, members: Sequence[int]) -> None:
        """Write the weights of these members, at most `size`; `select` and `follow` refer to them.

        Raises EngineError.
        """
        if len(members) > self.size:
            raise EngineError(f"{len(members)} members do not fit into stacks of {self.size}")
        for place, member in enumerate(members):
            self._state.write_member(member, iteration, self._slice(place))
        self._hold(members)

    def unreached(
        self, iteration: int, answers: Callable[[Sequence[int]], Sequence[Any]]
    ) -> Iterator[str | None]:
        """`reach.unreached` for what `answers` has an engine compute for members, which are as many
        as are held at once."""
        held = [self._slice(place) for place in range(self.size)]
        self._state.write_current(held[0])
        for stack in self._stacks.values():
            stack[1:] = stack[0]
        members = range(self.size)
        self._hold(members)
        yield from reach.unreached_weights(self._state, held, iteration, lambda: answers(members))
        self._held = set()

    def expect(self, members: Sequence[int]) -> None:
        """Members of all rows that passes from now on may have together."""
        most = max(Counter(members).values(), default=1)
        if most > self.layout:
            self.layout = 1 << (most - 1).bit_length()

    def select(self, members: Tensor | Iterable[int] | None) -> None:
        """Member of each batch row, shape [B]; None for the unperturbed policy."""
        if members is None:
            self._lay_rows(None)
            return
        listed = [int(member) for member in members]
        strange = set(listed) - self._held
        if strange:
            raise EngineError(f"member {min(strange)} is not among those whose weights are held")
        chosen = torch.tensor(listed, dtype=torch.long, device=self._places.device)
        most = max(Counter(listed).values(), default=1)
        self._lay_rows(_laid(self._places[chosen], len(listed), self.size, most))

    def follow(self, members: Tensor, rows: int) -> None:
        """Member of each batch row, [≥ rows] on the model's device, as it is when a pass runs. Rows
        in use come first, and are at most `layout` for a member."""
        self._lay_rows(_laid(self._places[members], rows, self.size, self.layout))

    def __enter__(self) -> Stacked:
        self.detach()
        for module, stacks in self._modules.items():
            lay(module, stacks)
        return self

    def __exit__(self, *_: object) -> None:
        self.detach()

    def detach(self) -> None:
        """Leave the model as it was; harmless where nothing is attached."""
        for module in self._modules:
            restore(module)

    def _lay_rows(self, laid: tuple[Tensor, Tensor, Tensor] | None) -> None:
        for module in self._modules:
            lay_rows(module, laid)

    def _slice(self, place: int) -> dict[str, Tensor]:
        return {name: stack[place] for name, stack in self._stacks.items()}

    def _hold(self, members: Sequence[int]) -> None:
        self._held = set(members)
        places = torch.arange(len(members), device=self._places.device)
        self._places.zero_()
        self._places[torch.tensor(list(members), device=self._places.device)] = places


def _laid(places: Tensor, rows: int, members: int, room: int) -> tuple[Tensor, Tensor, Tensor]:
    """How the first `rows` rows, which read the stacks `places` [≥ rows], are laid out by member:
    the places, the row at each place of [members, room], and the place of each row [≥ rows]. Rows
    beyond a member's room, the last ones of the batch, get nothing of use; a place that no row is
    for holds some row."""
    own = torch.arange(members, device=places.device)[:, None] == places[:rows]
    # Among the member's rows. Along the last axis, and in int32, a GPU sums this much faster.
    rank = (own.cumsum(1, dtype=torch.int32) * own).sum(0) - 1
    most = members * room
    found = torch.where(rank < room, places[:rows] * room + rank, most)
    sources = torch.zeros(most + 1, dtype=torch.long, device=places.device)
    sources[found] = torch.arange(rows, device=places.device)
    targets = torch.zeros_like(places)
    targets[:rows] = found.clamp(max=most - 1)
    return places, sources[:most].view(members, room), targets


def _stack(like: Tensor, members: int) -> Tensor:
    """[members, …], each aligned."""
    step = math.ceil(like.numel() * like.element_size() / _ALIGNED) * _ALIGNED
    flat = torch.empty(members, step // like.element_size(), dtype=like.dtype, device=like.device)
    return flat[:, : like.numel()].unflatten(1, like.shape)


def room(tensors: Iterable[Tensor]) -> int:
    """How many members' weights fit into half of the free memory; at least 1."""
    listed = list(tensors)
    size = sum(tensor.numel() * tensor.element_size() for tensor in listed)
    device = listed[0].device
    if device.type == "cuda":
        free = torch.cuda.mem_get_info(device)[0]
    else:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, int(_SHARE * free / size))
