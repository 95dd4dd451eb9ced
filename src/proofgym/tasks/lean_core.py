"""The task family `lean_core`: short theorems of ordinary Lean 4 that need no library but core.

Three splits of different theorems: `warmup` for a supervised start, `train` for reinforcement,
`heldout` for measuring; more than half of `heldout` needs proof shapes that the others lack.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from proofgym.errors import ConfigError, nearest
from proofgym.tasks.jsonl import JsonlTasks, from_jsonl

DATA = Path(__file__).parent / "data" / "lean_core"
SPLITS = ("warmup", "train", "heldout")


def lean_core(
    split: str = "train",
    topics: Iterable[str] | None = None,
    difficulty: tuple[int, int] = (1, 10),
    limit: int | None = None,
    seed: int = 0,
) -> JsonlTasks:
    """Theorems of one split, by topic and difficulty; `limit` keeps a random choice of them."""
    if split not in SPLITS:
        raise ConfigError(f"lean_core has no split {split!r}; {nearest(split, SPLITS)}")
    return from_jsonl(DATA / f"{split}.jsonl", topics, difficulty, limit, seed)
