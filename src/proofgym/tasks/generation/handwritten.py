"""Theorems written by hand: classics and forms that no generator here makes."""

from __future__ import annotations

from pathlib import Path

from proofgym.tasks.generation.statement import parse_statement
from proofgym.tasks.generation.theorem import Theorem

TEXT = Path(__file__).with_name("handwritten.txt")
"""Entries between blank lines: topic, arguments and goal on one line, then the proof."""


def theorems() -> list[Theorem]:
    """All of them."""
    return [_read(entry) for entry in TEXT.read_text(encoding="utf-8").strip("\n").split("\n\n")]


def _read(entry: str) -> Theorem:
    head, proof = entry.split("\n", 1)
    topic, rest = head.split(" ", 1)
    return Theorem(topic, parse_statement(f"theorem t {rest}")[1], proof)
