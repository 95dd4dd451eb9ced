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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from proofgym.errors import EngineError
from proofgym.evolution import reach
from proofgym.evolution.manifest import Manifest
from proofgym.evolution.modules import first_layer, for_rows, kind, uses, with_gain
from proofgym.evolution.state import State, named

_ALIGNED = 128
"""Bytes: where a member's weights begin in a stack, so that kernels write it as any tensor."""
_SHARE = 0.5
"""Of the memory that is free, what stacks may take unless a number of members is given."""


class Stacked:
    """Some members of a population laid over a model, a group at a time. A context manager; outside
    it the model is untouched.

    `most` members at once; None: as many as fit into half of the memory that is free.
    """

    compilable = False

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
        self.rows: Rows | None = None
        self.first_layer = first_layer(model, state.manifest)
        self._patches = list(_patches(self, state.manifest, self._stacks))
        self._handles: list[Callable[[], None]] = []

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
            self.rows = None
            return
        listed = [int(member) for member in members]
        strange = set(listed) - self._held
        if strange:
            raise EngineError(f"member {min(strange)} is not among those whose weights are held")
        chosen = torch.tensor(listed, dtype=torch.long, device=self._places.device)
        most = max(Counter(listed).values(), default=1)
        self.rows = Rows(self._places[chosen], self.size, most)

    def follow(self, members: Tensor) -> None:
        """Member of each batch row, [≥ B] on the model's device, as it is when a pass runs. Rows in
        use come first, and are at most `layout` for a member."""
        self.rows = Rows(self._places[members], self.size, self.layout)

    def __enter__(self) -> Stacked:
        self.detach()
        self._handles = [patch.attach() for patch in self._patches]
        return self

    def __exit__(self, *_: object) -> None:
        self.detach()

    def detach(self) -> None:
        """Leave the model as it was; harmless where nothing is attached."""
        for undo in self._handles:
            undo()
        self._handles, self.rows = [], None

    def _slice(self, place: int) -> dict[str, Tensor]:
        return {name: stack[place] for name, stack in self._stacks.items()}

    def _hold(self, members: Sequence[int]) -> None:
        self._held, self.rows = set(members), None
        places = torch.arange(len(members), device=self._places.device)
        self._places.zero_()
        self._places[torch.tensor(list(members), device=self._places.device)] = places


class Rows:
    """Which stack each row of a batch reads, `places` [≥ B], and how rows are laid out by member:
    [members, room]. Rows beyond a member's room, the last ones of the batch, get nothing of use."""

    def __init__(self, places: Tensor, members: int, room: int) -> None:
        self._places, self._members, self._room = places, members, room
        self._known: dict[int, tuple[Tensor, Tensor]] = {}

    def places(self, rows: int) -> Tensor:
        """[B]."""
        if rows > len(self._places):
            raise EngineError(f"a batch of {rows} rows met {len(self._places)} selected members")
        return self._places[:rows]

    def by_member(self, x: Tensor) -> Tensor:
        """[members, room, …] of x [B, …]; what no row is for holds some row."""
        sources, _ = self._layout(len(x))
        return x[sources].unflatten(0, (self._members, self._room))

    def by_row(self, y: Tensor, rows: int) -> Tensor:
        """[B, …] of y [members, room, …]."""
        _, targets = self._layout(rows)
        return y.flatten(0, 1)[targets]

    def _layout(self, rows: int) -> tuple[Tensor, Tensor]:
        """The row at each place of [members · room], and the place of each row."""
        if rows not in self._known:
            places = self.places(rows)
            own = places[:, None] == torch.arange(self._members, device=places.device)
            rank = (own.cumsum(0) * own).sum(1) - 1  # among the member's rows
            most = self._members * self._room
            targets = torch.where(rank < self._room, places * self._room + rank, most)
            sources = torch.zeros(most + 1, dtype=torch.long, device=places.device)
            sources[targets] = torch.arange(rows, device=places.device)
            self._known[rows] = sources[:most], targets.clamp(max=most - 1)
        return self._known[rows]


class _Patch:
    """A module that reads stacks [members, …] in the place of some of its parameters."""

    def __init__(self, owner: Stacked, module: Any, stacks: Mapping[str, Tensor]) -> None:
        self.owner, self.module, self.stacks = owner, module, stacks

    def attach(self) -> Callable[[], None]:
        module, original = self.module, self.module.forward

        def forward(x: Tensor) -> Tensor:
            rows = self.owner.rows
            return original(x) if rows is None else self.compute(rows, original, x)

        module.forward = forward
        return lambda: module.__dict__.pop("forward", None)

    def compute(self, rows: Rows, original: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        raise NotImplementedError

    def of_rows(self, name: str, rows: Rows, like: Tensor) -> Tensor:
        """[B, 1…, N] of a vector's stack, for rows like [B, …, N]."""
        return for_rows(self.stacks[name], rows.places(len(like)), like)


class _Linear(_Patch):
    def compute(self, rows: Rows, original: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        """y [B, …, M] for x [B, …, N]."""
        weight = self.stacks.get("weight")
        if weight is None:
            y = nn.functional.linear(x, self.module.weight)
        else:
            grouped = rows.by_member(x)
            product = torch.bmm(grouped.flatten(1, -2), weight.transpose(1, 2))
            y = rows.by_row(product.unflatten(1, grouped.shape[1:-1]), len(x))
        if "bias" in self.stacks:
            return y + self.of_rows("bias", rows, y)
        return y if self.module.bias is None else y + self.module.bias


class _Embedding(_Patch):
    def compute(self, rows: Rows, original: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        """[B, T, N] for tokens x [B, T]."""
        return self.stacks["weight"][rows.places(len(x))[:, None], x]


class _Norm(_Patch):
    def compute(self, rows: Rows, original: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        return with_gain(self.module, original, self.of_rows("weight", rows, x), x)


def _patches(owner: Stacked, manifest: Manifest, stacks: Mapping[str, Tensor]) -> Iterator[_Patch]:
    """One for each module that uses chosen tensors. Raises ModelError."""
    by_module: dict[nn.Module, dict[str, Tensor]] = {}
    for module, name, tensor in uses(owner.model, manifest):
        by_module.setdefault(module, {})[name] = stacks[tensor.name]
    for module, found in by_module.items():
        yield {"linear": _Linear, "embedding": _Embedding, "norm": _Norm}[kind(module)](
            owner, module, found
        )


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
