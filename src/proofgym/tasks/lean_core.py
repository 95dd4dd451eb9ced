"""The task family `lean_core`: short theorems of ordinary Lean 4 that need no library but core.

Three splits of different theorems: `warmup` for a supervised start, `train` for reinforcement,
`heldout` for measuring; more than half of `heldout` needs proof shapes that the others lack.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal, get_args

from proofgym.errors import ConfigError, nearest
from proofgym.tasks.jsonl import JsonlTasks
from proofgym.tasks.tasks import Problem, Tasks

DATA = Path(__file__).parent / "data" / "lean_core"
Split = Literal["warmup", "train", "heldout"]
SPLITS: tuple[Split, ...] = get_args(Split)


class LeanCoreTasks(Tasks):
    """Theorems of one split. It is named, not its file: a run may go on on another machine."""

    split: Split = "train"
    """`warmup`, `train` or `heldout`."""

    def describe(self) -> str:
        return f"lean_core:{self.split}"

    def files(self) -> list[Path]:
        return [DATA / f"{self.split}.jsonl"]

    def problems(self) -> list[Problem]:
        (path,) = self.files()
        return JsonlTasks(path=str(path)).problems()


def lean_core(
    split: str = "train",
    topics: Iterable[str] | None = None,
    difficulty: tuple[int, int] = (1, 10),
    limit: int | None = None,
    seed: int = 0,
) -> LeanCoreTasks:
    """Theorems of one split, by topic and difficulty; `limit` keeps a random choice of them."""
    if split not in SPLITS:
        raise ConfigError(f"lean_core has no split {split!r}; {nearest(split, SPLITS)}")
    chosen = tuple(topics) if topics is not None else None
    return LeanCoreTasks(
        split=split,  # type: ignore[arg-type]
        topics=chosen,
        difficulty=difficulty,
        limit=limit,
        seed=seed,
    )
