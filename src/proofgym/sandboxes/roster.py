"""Which workers a pool has, what they are doing, and which of them are worn out. No threads."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from proofgym.sandboxes.limits import MIB
from proofgym.sandboxes.pool_settings import PoolSettings


class Worker(Protocol):
    """What a pool keeps."""

    def healthy(self) -> bool:
        """Whether it can take a job now. Called before each job, so it must be quick."""
        ...

    def memory_bytes(self) -> int:
        """What it holds apart from its jobs; 0 if unknown. Quick, too."""
        ...

    def close(self) -> None:
        """End it and everything in it. May be called twice, and while it works."""
        ...


W = TypeVar("W", bound=Worker)


@dataclass(eq=False, slots=True)
class Kept(Generic[W]):
    """One worker and what is known of it."""

    worker: W
    born: float
    uses: int = 0
    first_bytes: int = 0
    retiring: str = ""
    deadlines: dict[int, float] = field(default_factory=dict)
    """When each job under way is over its budget, by the job's number."""


class Roster(Generic[W]):
    """Not safe for threads by itself: the pool calls it under its own lock."""

    def __init__(self, settings: PoolSettings) -> None:
        self._settings = settings
        self.all: list[Kept[W]] = []
        self.leased = 0

    @property
    def usable(self) -> list[Kept[W]]:
        """Those that may get new jobs."""
        return [kept for kept in self.all if not kept.retiring]

    def free(self, among: Iterable[Kept[W]]) -> int:
        """Slots of these that nobody holds."""
        return sum(self._settings.slots - len(kept.deadlines) for kept in among)

    def fresh(self, now: float) -> int:
        """How many have a good part of their uses and life left. The others are replaced while
        they still work, so that nobody waits for the one that comes after them."""
        uses, life = 0.75 * self._settings.uses, 0.9 * self._settings.life_s
        return sum(kept.uses < uses and now - kept.born < life for kept in self.usable)

    def take(self, job: int, now: float) -> Kept[W] | None:
        """A slot for a job: of the oldest worker that has one, so that the newest fall idle."""
        if self.leased >= self._settings.jobs:
            return None
        for kept in self.all:
            if not kept.retiring and len(kept.deadlines) < self._settings.slots:
                kept.uses += 1
                kept.deadlines[job] = now + self._settings.job_s
                self.leased += 1
                if kept.uses >= self._settings.uses:
                    kept.retiring = "uses"
                return kept
        return None

    def give_back(self, kept: Kept[W], job: int, now: float) -> None:
        """A job is done; look at what it left."""
        del kept.deadlines[job]
        self.leased -= 1
        if kept.retiring:
            return
        held = kept.worker.memory_bytes()
        kept.first_bytes = kept.first_bytes or held
        if held > kept.first_bytes + self._settings.growth_mb * MIB:
            kept.retiring = "memory"
        elif now - kept.born >= self._settings.life_s:
            kept.retiring = "age"

    def lacks(self, slots: int, starting: int, now: float) -> bool:
        """Whether one more should be started for so many slots in all."""
        if self._settings.buffer is None:
            return self.fresh(now) + starting < self.wanted(slots)
        coming = self.leased + self.free(self.usable) + starting * self._settings.slots
        return len(self.all) + starting < self._settings.largest and coming < slots

    def wanted(self, slots: int) -> int:
        """Workers that so many slots take, within the bounds."""
        number = math.ceil(slots / self._settings.slots)
        return min(max(number, self._settings.smallest), self._settings.largest)

    def leave(self, slots: int, now: float) -> list[tuple[Kept[W], str]]:
        """Take out the workers that should end now, each with the reason."""
        out = [(kept, kept.retiring) for kept in self.all if kept.retiring and not kept.deadlines]
        for kept in self.usable:
            if not kept.worker.healthy():
                out.append((kept, "dead"))
            elif now - kept.born >= self._settings.life_s:
                kept.retiring = "age"
                out += [] if kept.deadlines else [(kept, "age")]
        for kept in self.all:
            if any(now >= deadline for deadline in kept.deadlines.values()):
                out.append((kept, "overdue"))
        gone = {id(kept) for kept, _ in out}
        staying = [kept for kept in self.usable if id(kept) not in gone]
        idle = [kept for kept in staying if not kept.deadlines]  # the oldest first
        out += [(kept, "idle") for kept in idle[: self._spare(staying, slots)]]
        for kept, why in out:
            kept.retiring = kept.retiring or why
            if kept in self.all:
                self.all.remove(kept)
        return out

    def _spare(self, staying: list[Kept[W]], slots: int) -> int:
        """How many of these are too many for so many slots in all."""
        if self._settings.buffer is None:
            return max(0, len(staying) - self.wanted(slots))
        return max(0, self.leased + self.free(staying) - slots) // self._settings.slots
