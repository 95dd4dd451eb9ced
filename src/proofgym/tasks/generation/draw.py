"""Random choices as a pure function of a key, the same on every machine and Python version."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from struct import Struct
from typing import TypeVar

T = TypeVar("T")
_WORDS = Struct("<16I")


class Draw:
    """A counter-based stream: draw number i depends on the key and i only."""

    def __init__(self, *key: object) -> None:
        self.key = "/".join(map(str, key)).encode()
        self.count = 0
        self.block: tuple[int, ...] = ()

    def below(self, bound: int) -> int:
        """A number from 0 to bound - 1."""
        at = self.count % 16
        if not at:
            counter = self.count.to_bytes(8, "little")
            self.block = _WORDS.unpack(blake2b(self.key + counter).digest())
        self.count += 1
        return self.block[at] % bound

    def choice(self, items: Sequence[T]) -> T:
        """One item."""
        return items[self.below(len(items))]

    def chance(self, percent: int) -> bool:
        """True in that many of a hundred."""
        return self.below(100) < percent

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """Different items in random order."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in range(min(count, len(left)))]
