"""A prompt format: from a theorem to a prompt, and from a completion to what Lean checks.

The statement in a prompt is the trusted one. A completion either goes on with its proof, or is a
whole file in which the model wrote the statement again; then Lean compares the types
(`lean/answer.py`), so that a model which proves something easier gains nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Theorem:
    """What a prompt is made of."""

    statement: str
    """`theorem NAME … : TYPE`, without a proof."""
    header: str = ""
    """Imports, `open` and the like."""
    informal: str = ""
    """The problem in words."""

    def source(self, ending: str) -> str:
        """The Lean text that a model sees: header, the words as a docstring, statement, ending."""
        header = f"{self.header.strip()}\n\n" if self.header.strip() else ""
        words = f"/-- {self.informal} -/\n" if self.informal else ""
        return f"{header}{words}{self.statement}{ending}"


@dataclass(frozen=True, slots=True)
class Format:
    """How one family of provers is asked, and answers."""

    name: str
    models: str
    """Which models it is for."""
    prompt: Callable[[Theorem], str]
    whole: bool
    """Whether the answer is a whole file, with the statement in it."""
    source: str
    """Where the wording is from."""

    def read(self, text: str, header: str = "") -> str | None:
        """The proof (or, where `whole`, the file) in a completion; None where there is none."""
        if not self.whole:
            return text.partition("```")[0]
        answer = after_thinking(text)
        return None if answer is None else without_header(answer, header)


def after_thinking(text: str) -> str | None:
    """What follows the last thought; None where the thinking does not end."""
    answer = text.rpartition("</think>")[2]
    return None if "<think>" in answer else answer


_HEARTBEATS = re.compile(r"set_option maxHeartbeats \d+(?: in)?")


def without_header(answer: str, header: str) -> str:
    """The answer without its copy of the trusted header, which stands anyway, and without limits
    of its own; lines keep their numbers."""
    known = {line.strip() for line in header.splitlines()} - {""}

    def kept(line: str) -> str:
        repeated = line[:1].strip() and line.strip() in known
        return "" if repeated or _HEARTBEATS.fullmatch(line.strip()) else line

    return "\n".join(map(kept, answer.split("\n")))
