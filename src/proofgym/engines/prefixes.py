"""What conversations have read so far, kept from one turn to the next.

A later turn's prompt is the whole conversation before it. All but its newest message was read, or
written, in turns before; with their keys and values kept only that message is read.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from torch import Tensor

from proofgym.engines.cache import RowCache
from proofgym.engines.rows import Row

Name = tuple[tuple[int, ...], int]
"""`Request.conversation`."""
_EACH = 4
"""Most that are kept of one conversation: its branches."""


@dataclass(frozen=True, slots=True, eq=False)
class Prefix:
    """A sequence and what attention needs of it, as `RowCache.copy` gives it."""

    ids: tuple[int, ...]
    blocks: tuple[Tensor, ...]
    names: tuple[Name, ...]
    """The conversations that it is of: several where members wrote the same."""

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(block.nbytes for block in self.blocks)


class Prefixes:
    """Copies out of `cache`, for one call of `generate`; all together are at most as large as it,
    and as `room`, asked for once. Whatever was used longest ago goes first."""

    def __init__(self, cache: RowCache, room: Callable[[], float]) -> None:
        self._cache, self._room = cache, room
        self._most: float | None = None
        self._size = 0
        self._kept: OrderedDict[Prefix, None] = OrderedDict()
        self._of: dict[Name, list[Prefix]] = {}

    def keep(self, row: Row, slot: int) -> None:
        """What a row that is over has read: all but its last token."""
        if self._most is None:
            self._most = min(self._cache.size, self._room())
        names = tuple(request.conversation for request in row.requests)
        blocks = self._cache.copy(slot, row.position)
        prefix = Prefix(row.text_ids[: row.position], blocks, names)
        self._kept[prefix] = None
        self._size += prefix.size
        for name in names:
            mine = self._of.setdefault(name, [])
            mine.append(prefix)
            if len(mine) > _EACH:
                self._drop(mine[0])
        while self._size > self._most:
            self._drop(next(iter(self._kept)))

    def find(self, row: Row) -> tuple[Prefix, int] | None:
        """What is best known of a row, and how many of its tokens, if that is half of them; its
        last one is always to be read."""
        ids = row.text_ids
        known = [(_common(it.ids, ids[:-1]), it) for it in self._of.get(_name(row), ())]
        count, prefix = max(known, key=lambda both: both[0], default=(0, None))
        if prefix is None or 2 * count < len(ids):
            return None
        self._kept.move_to_end(prefix)
        return prefix, count

    def put(self, prefix: Prefix, slot: int, count: int) -> None:
        """The first `count` tokens of what is kept, as if a row had read them."""
        self._cache.put(slot, prefix.blocks, count)

    def forget(self, names: Iterable[Name]) -> None:
        """These conversations are over."""
        for name in names:
            for prefix in tuple(self._of.get(name, ())):
                self._drop(prefix)

    def _drop(self, prefix: Prefix) -> None:
        del self._kept[prefix]
        self._size -= prefix.size
        for name in prefix.names:
            self._of[name].remove(prefix)
            if not self._of[name]:
                del self._of[name]


def _name(row: Row) -> Name:
    return row.requests[0].conversation


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens two sequences begin with alike."""
    most = min(len(one), len(other))
    if one[:most] == other[:most]:  # as it is but for branches
        return most
    return next(at for at in range(most) if one[at] != other[at])
