"""Which GPUs each run of a comparison sees, so that runs at a time share all of them."""

from __future__ import annotations

import os
from itertools import takewhile
from pathlib import Path
from typing import Any

VISIBLE = "CUDA_VISIBLE_DEVICES"


class Gpus:
    """Lends the least used ones of `names`, by default those that this process may use."""

    def __init__(self, names: list[str] | None = None) -> None:
        self._users = dict.fromkeys(_names() if names is None else names, 0)

    def take(self, count: int) -> tuple[str, ...]:
        """So many, for one more run; none where there are fewer, or nothing to choose from: the run
        sees what we see, and says itself what it lacks."""
        if len(self._users) < 2 or count > len(self._users):
            return ()
        chosen = sorted(self._users, key=lambda name: self._users[name])[:count]
        for name in chosen:
            self._users[name] += 1
        return tuple(chosen)

    def give_back(self, names: tuple[str, ...]) -> None:
        for name in names:
            self._users[name] -= 1


def wanted(cluster: Any) -> int:
    """How many a run on this cluster uses on its own machine."""
    return max(getattr(cluster, "engines", 1), getattr(cluster, "ranks", 1))


def _names() -> list[str]:
    """Found without loading CUDA, which forked processes could not use any more."""
    listed = os.environ.get(VISIBLE)
    if listed is not None:
        names = [name.strip() for name in listed.split(",")]
        # CUDA reads the list up to the first that there cannot be, such as -1.
        valid = list(takewhile(lambda name: name and not name.startswith("-"), names))
        return [str(int(name)) if name.isdigit() else name for name in valid]
    return [str(number) for number, _ in enumerate(Path("/dev").glob("nvidia[0-9]*"))]
