"""A finished theorem of the task family."""

from __future__ import annotations

import re
from dataclasses import dataclass

from proofgym.tasks.generation.canonical import canonical
from proofgym.tasks.generation.proof import Proof, write
from proofgym.tasks.generation.shape import proof_shape, proof_size
from proofgym.tasks.generation.statement import Statement

STEPS = (4, 6, 9, 12, 16, 21, 27, 34, 42)
"""Longest proof, in tokens, of difficulty 1, 2, …, 9; anything longer is 10."""


@dataclass(frozen=True)
class Theorem:
    """A statement, its topic and a reference proof (a tactic block)."""

    topic: str
    statement: Statement
    proof: str

    @property
    def canonical(self) -> str:
        """Equal for theorems that differ in names and argument order only."""
        return canonical(self.statement)

    @property
    def kind(self) -> str:
        """As `canonical`, with all numbers above 1 alike: two of one kind are near-copies."""
        return re.sub(r"\b([2-9]|[1-9]\d+)\b", "N", self.canonical)

    @property
    def shape(self) -> str:
        """The proof with names and constants erased."""
        return proof_shape(self.proof)

    @property
    def difficulty(self) -> int:
        """1 to 10, by the length of the reference proof."""
        size = proof_size(self.proof)
        return 1 + sum(size > limit for limit in STEPS)


def theorem(topic: str, statement: Statement, proof: Proof) -> Theorem:
    """Write the proof down; NoStyle where the uniform style has no way to."""
    return Theorem(topic, statement, write(proof))
