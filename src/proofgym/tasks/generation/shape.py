"""A proof's shape: what is left when every name and constant is erased.

Tactic words, constructor patterns, brackets and projections stay, so two proofs have one shape
exactly when one becomes the other by swapping names, lemmas and numbers.
"""

from __future__ import annotations

import re

KEYWORDS = frozenset(
    (
        "exact",
        "intro",
        "apply",
        "constructor",
        "cases",
        "with",
        "rw",
        "at",
        "have",
        "left",
        "right",
        "refine",
        "rfl",
        "induction",
        "fun",
        "by",
        "exfalso",
        "contradiction",
        "assumption",
        "show",
        "decide",
        "exists",
        "subst",
        "obtain",
        "calc",
        "simp",
        "omega",
    )
)
_TOKEN = re.compile(r"\.[12]\b|[\w'₀-₉]+(?:\.[^\W\d][\w'₀-₉]*)*|=>|:=|\?_|\S|\n *")


def proof_shape(proof: str) -> str:
    """Erase names and constants, keep the layout of lines."""
    return " ".join(_shape_of(item) for item in _TOKEN.findall(proof.strip()) if item != " ")


def proof_size(proof: str) -> int:
    """How many tokens a proof has, line ends not counted."""
    return sum(not item.isspace() for item in _TOKEN.findall(proof))


def proof_tactics(proof: str) -> set[str]:
    """The tactic words that a proof uses."""
    return {item for item in _TOKEN.findall(proof) if item in KEYWORDS}


def _shape_of(item: str) -> str:
    if item.startswith("\n"):
        return item.replace("\n", "/").replace(" ", "·")
    if item in KEYWORDS or not (item[0].isalnum() or item[0] == "_"):
        return item
    return "_"
