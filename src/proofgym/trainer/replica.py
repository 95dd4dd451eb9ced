"""Trained weights in several processes: what they are told, and what they make of it.

A process loads the weights that the run was started with. After an update it is told what changed,
and holds the run's bits again, as a checksum shows. Of weights in less than 4 bytes few change
their bits with an update, and only those are told. In float32 all do, and go whole. Of a LoRA the
factors are told, and merged into the unchanged weights just as the run does; where a device merges
them to other bits, the checksum shows that, too, and from then on the merged matrices are told.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from proofgym.engines.parcels import Parcel
from proofgym.trainer.checksum import checksum
from proofgym.trainer.difference import difference, put
from proofgym.trainer.lora import merged
from proofgym.trainer.policy import Policy

_KEPT = 8
"""Updates that a process may be behind, to be told them one by one."""
_ALIGNED = 8
log = logging.getLogger("proofgym")


@dataclass(frozen=True)
class Part:
    """What became of one tensor. Its bytes are the next ones of the parcel."""

    name: str
    form: str
    """A difference's, or `factors`."""
    values: int
    """Bytes: of the difference, or of B."""
    where: int
    """Bytes: of the difference, or of A."""
    scale: float = 1.0
    """Of the product of the factors."""


@dataclass(frozen=True)
class News:
    """What became of the tensors since a version; all that they are now if that does not matter."""

    since: int
    parts: tuple[Part, ...]
    parcel: Parcel


class TrainedSource:
    """What the processes of a run are told of a policy's weights, as they were published."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._tensors = policy.published
        self.everything = sum(map(_size, self._tensors.values()))
        """Bytes of all tensors that training changes."""
        factors = sum(_size(a) + _size(b) for a, b, _ in policy.factors().values())
        self._by_factors = 0 < factors < self.everything
        self._marked: tuple[int, str] = (-1, "")
        self._present: News | None = None
        self._moved = self._asked = 0
        self._hold()

    @property
    def version(self) -> int:
        return self._policy.version

    def opening(self) -> Opening:
        news = [self._all()] if self.version else []
        return Opening(tuple(self._tensors), self._told(news))

    def news(self, since: int | None) -> Sequence[News]:
        return self._told(self._since(since) or [self._all()])

    def astray(self) -> bool:
        if not self._policy.factors():
            return False
        if self._by_factors:
            log.warning("an engine merges LoRA factors to other bits; it is sent the matrices")
            self._by_factors, self._present = False, None
            self._hold()
        return True

    def mark(self) -> str:
        if self._marked[0] != self.version:
            self._marked = self.version, checksum(self._tensors)
        return self._marked[1]

    def report(self) -> dict[str, float]:
        """Megabytes that the processes were told since the last call, all together, and those that
        all tensors would have been."""
        moved, whole = self._moved / 1e6, self._asked * self.everything / 1e6
        self._moved = self._asked = 0
        return {"weights_moved_mb": round(moved, 6), "weights_whole_mb": round(whole, 6)}

    def _told(self, news: Sequence[News]) -> Sequence[News]:
        self._moved += sum(it.parcel.size for it in news)
        self._asked += bool(news)
        return news

    def _hold(self) -> None:
        """Keep the tensors as they are, to know later what has changed."""
        short = {} if self._by_factors else self._tensors
        self._held = {n: it.detach().clone() for n, it in short.items() if it.element_size() < 4}
        self._held_at = self.version
        self._changes: deque[News] = deque()

    def _since(self, version: int | None) -> list[News]:
        """The changes since then, one after the other; empty where they are not kept."""
        if not self._held:
            return []
        if self._held_at != self.version:
            self._changes.append(self._changed())
            while self._is_long():
                self._changes.popleft()
        versions = [it.since for it in self._changes]
        return list(self._changes)[versions.index(version) :] if version in versions else []

    def _is_long(self) -> bool:
        size = sum(it.parcel.size for it in self._changes)
        return size > self.everything or len(self._changes) > _KEPT

    def _changed(self) -> News:
        news = _pack(self._held_at, self._differences())
        self._held_at = self.version
        return news

    def _differences(self) -> Iterator[_Told]:
        for name, tensor in self._tensors.items():
            before = self._held.get(name)
            found = difference(tensor, before)
            if found is not None:
                yield name, found.form, found.values, found.where, 1.0
                if before is not None:
                    before.copy_(tensor.detach())

    def _all(self) -> News:
        """All that the tensors are now."""
        if self._present is None or self._present.since != self.version:
            self._present = None  # give its memory back first
            self._present = _pack(
                self.version, self._factors() if self._by_factors else self._whole()
            )
        return self._present

    def _factors(self) -> Iterator[_Told]:
        for name, (left, right, scale) in self._policy.factors().items():
            values, where = (it.detach().cpu().numpy() for it in (left, right))
            yield name, "factors", values, where, scale

    def _whole(self) -> Iterator[_Told]:
        for name, tensor in self._tensors.items():
            found = difference(tensor, None)
            assert found is not None
            yield name, found.form, found.values, found.where, 1.0


#: Name, form, values, where and scale of a part.
_Told = tuple[str, str, Any, Any, float]


def _pack(since: int, told: Iterable[_Told]) -> News:
    """Written as it comes, since it may be as much as the model."""
    parts: list[Part] = []

    def pieces() -> Iterator[Any]:
        for name, form, values, where, scale in told:
            parts.append(Part(name, form, values.nbytes, where.nbytes, scale))
            for piece in (values, where):
                yield piece
                yield bytes(-piece.nbytes % _ALIGNED)

    parcel = Parcel.of(pieces())
    return News(since, tuple(parts), parcel)


@dataclass(frozen=True)
class Opening:
    """Makes a replica from a model with the weights that the run was started with."""

    names: tuple[str, ...]
    news: Sequence[News]

    def open(self, model: Any) -> TrainedReplica:
        parameters = dict(model.named_parameters())
        replica = TrainedReplica({name: parameters[name] for name in self.names})
        replica.follow(self.news)
        return replica


class TrainedReplica:
    """The tensors of a model that follows a run."""

    def __init__(self, tensors: dict[str, Tensor]) -> None:
        self._tensors = tensors
        self._bases: dict[str, Tensor] = {}
        """Those that factors are added to, as they were before any."""

    @torch.no_grad()
    def follow(self, news: Sequence[News]) -> None:
        for each in news:
            rest = memoryview(each.parcel.read())
            for part in each.parts:
                values, rest = _cut(rest, part.values)
                where, rest = _cut(rest, part.where)
                if part.form == "factors":
                    self._merge(part, values, where)
                else:
                    put(self._tensors[part.name], part.form, values, where)

    def mark(self) -> str:
        return checksum(self._tensors)

    @contextmanager
    def lay(self, weights: None) -> Iterator[None]:
        yield

    def _merge(self, part: Part, values: memoryview, where: memoryview) -> None:
        tensor = self._tensors[part.name]
        if part.name not in self._bases:
            self._bases[part.name] = tensor.detach().clone()
        left, right = (
            torch.frombuffer(it, dtype=torch.float32).to(tensor.device) for it in (values, where)
        )
        rows, columns = tensor.shape
        left, right = left.view(rows, -1), right.view(-1, columns)
        tensor.copy_(merged(self._bases[part.name], left, right, part.scale))


def _size(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _cut(rest: memoryview, size: int) -> tuple[memoryview, memoryview]:
    return rest[:size], rest[size + -size % _ALIGNED :]
