"""Renamed copies of a theorem with its proof: the same mathematics in other letters.

They multiply what a small model sees of a few thousand reference proofs. A bijection inside each
family of letters keeps every statement and proof what it was, up to bound names.
"""

from __future__ import annotations

import re

from proofgym.random import shuffled

#: Letters that stand for things of one sort in `lean_core`; a name outside them is left alone.
FAMILIES = (
    ("p", "q", "r", "s"),
    ("a", "b", "c", "d"),
    ("m", "n"),
    ("x", "y", "z"),
    ("f", "g"),
    ("P", "Q"),
    ("xs", "ys", "zs"),
)
_WORD = re.compile(r"(?<![\w.'])[A-Za-z]\w*(?![\w'])")


def renamed(prompt: str, proof: str, seed: int, copy: int) -> tuple[str, str]:
    """Copy number `copy` of a (prompt, proof) pair; its letters follow from the arguments alone.

    A name after a dot (`h.1`, `Nat.succ`) or before one (`xs.map`) is renamed only as a whole word.
    """
    new: dict[str, str] = {}
    for number, family in enumerate(FAMILIES):
        new |= zip(family, shuffled(family, seed, "renaming", copy, number), strict=True)

    def replace(text: str) -> str:
        return _WORD.sub(lambda word: new.get(word[0], word[0]), text)

    return replace(prompt), replace(proof)
