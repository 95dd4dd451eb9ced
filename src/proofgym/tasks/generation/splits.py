"""Choose the theorems of `warmup`, `train` and `heldout` from everything the sources make.

A proof shape is either common or reserved. Reserved shapes occur in `heldout` only and fill most of
it; `train` and `heldout` use no tactic and no lemma that `warmup` does not show.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from proofgym.tasks.generation import (
    equations,
    first_order,
    handwritten,
    induction,
    mixing,
    order,
    propositional,
)
from proofgym.tasks.generation.draft import Draft
from proofgym.tasks.generation.draw import Draw
from proofgym.tasks.generation.proof import NoStyle
from proofgym.tasks.generation.shape import proof_tactics
from proofgym.tasks.generation.theorem import Theorem, theorem

SEED = 0
SIZES = {"warmup": 300, "train": 24, "heldout": 16}
"""Theorems of each topic in each split, where there are enough."""
SHOWN = 24
"""How many of `warmup` are chosen before the other splits, which use only what these show."""
NOVEL = 10
"""How many of those in `heldout` have a shape that no other split has, where there are enough."""
POOL = 700
"""Theorems of each topic to choose from, no two of one kind."""
TRIES = 6000
MORE_SEED = 1
MORE_POOL = 1500
MORE_TRIES = 12000
"""A second, larger draw that only adds to `warmup`: a small model needs many proofs to start."""
RESERVED = 45
"""Percentage of shapes kept for `heldout`."""
DIFFICULTIES = (0, 16, 22, 20, 14, 11, 7, 5, 3, 1, 1)
"""Wished share in percent of difficulty 1, 2, …, 10."""
STATEMENT_LIMIT = 120
PROOF_LIMIT = 64

Source = Callable[[str, Draw], Iterator[Theorem]]


def _from_drafts(drafts: Callable[[str, Draw], Iterator[Draft]]) -> Source:
    def source(topic: str, draw: Draw) -> Iterator[Theorem]:
        for draft in drafts(topic, draw):
            try:
                yield theorem(topic, *draft.finish())
            except NoStyle:
                continue

    return source


SOURCES: dict[str, Source] = {
    "implication": propositional.theorems,
    "conjunction": propositional.theorems,
    "disjunction": propositional.theorems,
    "negation": propositional.theorems,
    "iff": propositional.theorems,
    "forall": first_order.theorems,
    "exists": first_order.theorems,
    "equality": _from_drafts(equations.drafts),
    "arithmetic": _from_drafts(equations.drafts),
    "order": _from_drafts(order.drafts),
    "lists": _from_drafts(equations.drafts),
    "induction": _from_drafts(induction.drafts),
    "mixed": _from_drafts(mixing.drafts),
}


@dataclass
class Candidate:
    """A theorem with what the choice looks at, computed once."""

    theorem: Theorem
    by_hand: bool = False

    @cached_property
    def shape(self) -> str:
        return self.theorem.shape

    @cached_property
    def needs(self) -> set[str]:
        """Tactics and library names that the proof uses."""
        proof = self.theorem.proof
        return proof_tactics(proof) | set(re.findall(r"\b[A-Z]\w*(?:\.\w+)+", proof))


def pool() -> list[Candidate]:
    """Different theorems of every topic, hand-written ones first."""
    by_hand = {item.kind: Candidate(item, by_hand=True) for item in handwritten.theorems()}
    seen = set(by_hand)
    out = list(by_hand.values())
    for topic in SOURCES:
        out += map(Candidate, _distinct(topic, seen, SEED, POOL, TRIES))
    return out


def more(candidates: list[Candidate], splits: dict[str, list[Theorem]]) -> list[Theorem]:
    """Further theorems for `warmup`: of no kind that a split has, in no reserved shape, proved
    with nothing that `warmup` does not show.
    """
    shown = set().union(*(Candidate(item).needs for item in splits["warmup"]))
    taken = {item.kind for part in splits.values() for item in part}

    def fits(item: Candidate) -> bool:
        usable = item.needs <= shown and not _reserved(item.shape)
        return usable and not equations.doubtful(item.theorem.statement)

    found = [item for item in candidates if item.theorem.kind not in taken and fits(item)]
    seen = taken | {item.theorem.kind for item in found}
    for topic in SOURCES:
        drawn = map(Candidate, _distinct(topic, seen, MORE_SEED, MORE_POOL, MORE_TRIES))
        found += filter(fits, drawn)
    return [item.theorem for item in found]


def _distinct(topic: str, seen: set[str], seed: int, pool: int, most: int) -> Iterator[Theorem]:
    found = 0
    texts: set[str] = set()
    for tries, item in enumerate(SOURCES[topic](topic, Draw(seed, topic))):
        if found == pool or tries == most:
            return
        text = item.statement.show("t0000")
        if text in texts or len(text) > STATEMENT_LIMIT or len(item.proof) > 6 * PROOF_LIMIT:
            continue
        texts.add(text)
        if item.kind not in seen:
            seen.add(item.kind)
            found += 1
            yield item


def choose(candidates: list[Candidate]) -> dict[str, list[Theorem]]:
    """The theorems of each split."""
    generated = set().union(*(item.needs for item in candidates if not item.by_hand))
    only_warmup = [item for item in candidates if item.by_hand and not item.needs <= generated]
    rest = [item for item in candidates if item.by_hand is False or item.needs <= generated]
    reserved = [item for item in rest if _reserved(item.shape)]
    common = [item for item in rest if not _reserved(item.shape)]
    wished = Chooser(common)
    warmup = wished.take(SHOWN, only_warmup)
    shown = set().union(*(item.needs for item in warmup))
    heldout_wish = Chooser([item for item in reserved if item.needs <= shown])
    heldout = heldout_wish.take(NOVEL, [])
    wished.limit(shown)
    train = wished.take(SIZES["train"], [])
    heldout = wished.take(SIZES["heldout"], heldout)
    warmup = wished.take(SIZES["warmup"], warmup)
    parts = {"warmup": warmup, "train": train, "heldout": heldout}
    return {name: [item.theorem for item in part] for name, part in parts.items()}


def _reserved(shape: str) -> bool:
    return Draw(SEED, "reserved", shape).chance(RESERVED)


class Chooser:
    """Takes candidates topic by topic: rare shapes and missing difficulties first."""

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        self.left: dict[str, list[Candidate]] = {topic: [] for topic in SOURCES}
        for item in candidates:
            self.left[item.theorem.topic].append(item)

    def limit(self, shown: set[str]) -> None:
        """From here on, only proofs that need nothing else."""
        for topic, items in self.left.items():
            self.left[topic] = [item for item in items if item.needs <= shown]

    def take(self, size: int, start: list[Candidate]) -> list[Candidate]:
        """Fill every topic up to the size, as far as the candidates reach."""
        chosen = list(start)
        shapes = Counter(item.shape for item in chosen)
        for topic, items in self.left.items():
            mine = [item for item in chosen if item.theorem.topic == topic]
            levels = Counter(item.theorem.difficulty for item in mine)
            while len(mine) < size and items:
                best = min(items, key=lambda item: _cost(item, shapes, levels, size))
                items.remove(best)
                mine.append(best)
                chosen.append(best)
                shapes[best.shape] += 1
                levels[best.theorem.difficulty] += 1
        return chosen


def _cost(
    item: Candidate, shapes: Counter[str], levels: Counter[int], size: int
) -> tuple[bool, float]:
    level = item.theorem.difficulty
    fullness = levels[level] / (DIFFICULTIES[level] * size / 100)
    return shapes[item.shape] > 12, fullness + 0.25 * shapes[item.shape]
