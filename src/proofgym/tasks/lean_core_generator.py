"""Writes the data files of the task family `lean_core`, the same bytes on every machine.

python -m proofgym.tasks.lean_core_generator [directory]
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from proofgym.tasks.generation.draw import Draw
from proofgym.tasks.generation.equations import doubtful
from proofgym.tasks.generation.splits import SEED, choose, more, pool
from proofgym.tasks.generation.theorem import Theorem

DATA = Path(__file__).parent / "data" / "lean_core"


def build() -> dict[str, str]:
    """The text of each split's file.

    Doubtful theorems are left out last, so that no other choice depends on them.
    """
    candidates = pool()
    splits = choose(candidates)
    names = _names(splits)
    extra = more(candidates, splits)
    names |= _names({"more": extra}, first=len(names) + 1)
    splits["warmup"] += extra
    splits = {
        split: [item for item in items if not doubtful(item.statement) and not _misread(item)]
        for split, items in splits.items()
    }
    return {split: _lines(items, names) for split, items in splits.items()}


def _misread(item: Theorem) -> bool:
    """Whether Lean reads the theorem otherwise than its source did.

    An outer variable is hidden by an inner one of its name, or `rw` meets `0 + n` beside other
    numbers, which Lean may take for an offset.
    """
    text = item.statement.show("t0000").split(maxsplit=2)[2]
    numbers = set(re.findall(r"(?<![\w.])\d+", text))
    offsets = "0" in numbers and len(numbers) > 1 and "Nat.add_right_comm" in item.proof
    return offsets or re.search(r"[∀∃] (?:\w+ )*?(\w+) (?:\w+ )*?\1\b", text) is not None


def _names(splits: dict[str, list[Theorem]], first: int = 1) -> dict[int, str]:
    """Numbers in random order over all splits, so that a name says nothing."""
    items = [item for part in splits.values() for item in part]
    order = Draw(SEED, "names").sample(range(len(items)), len(items))
    return {id(item): f"t{number + first:04d}" for item, number in zip(items, order, strict=True)}


def _lines(items: list[Theorem], names: dict[int, str]) -> str:
    rows = [_row(item, names[id(item)]) for item in items]
    rows.sort(key=lambda row: str(row["name"]))
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _row(item: Theorem, name: str) -> dict[str, str | int]:
    return {
        "name": name,
        "statement": item.statement.show(name),
        "topic": item.topic,
        "difficulty": item.difficulty,
        "proof": item.proof,
    }


def main(directory: Path = DATA) -> None:
    """Write all files and say how many theorems each has."""
    directory.mkdir(parents=True, exist_ok=True)
    for split, text in build().items():
        (directory / f"{split}.jsonl").write_text(text, encoding="utf-8")
        print(f"{split}: {text.count(chr(10))} theorems in {directory / split}.jsonl")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
