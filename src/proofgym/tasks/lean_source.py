"""Takes Lean text as data sets have it apart: header, words, statement, and a proof if any.

What comes before the last theorem is its header and is trusted: it may define what the statement
speaks of, but may leave nothing unproved.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from proofgym.errors import TaskError
from proofgym.lean.policy import UNPROVED
from proofgym.lean.statement import parse_statement
from proofgym.lean.tokens import Ambiguous, Token, words

_OPENING, _CLOSING = "([{⟨", ")]}⟩"
_DOCSTRING = re.compile(r"/--(.*?)-/\s*\Z", re.S)
_BEFORE = re.compile(r"(?:@\[[^\]\n]*\]|private|protected|nonrec|noncomputable)\s*\Z")


@dataclass(frozen=True, slots=True)
class Source:
    """A theorem's parts."""

    name: str
    header: str
    informal: str
    statement: str
    proof: str | None
    """What follows `:= by`, each line as it is; None where it is nothing or `sorry`."""


def read_source(text: str) -> Source:
    """The last theorem of a Lean text.

    Raises:
        TaskError: there is none, or its form is wrong; says where.
    """
    text = text.replace("\r\n", "\n")
    try:
        read = words(text)
    except Ambiguous as error:
        raise TaskError(f"the Lean text cannot be read: {error.why}") from None
    starts = [at for at, token in enumerate(read) if _starts(text, token)]
    if not starts:
        raise TaskError("the Lean text has no theorem")
    at = starts[-1]
    before, informal = _before(text[: read[at].start])
    end = _end(text, read[at + 1 :])
    statement = text[read[at].start : end].rstrip()
    statement = "theorem" + statement.removeprefix("theorem").removeprefix("lemma")
    for token in read[:at]:
        if token.text in UNPROVED or token.text == "axiom":
            raise TaskError(f"`{token.text}` before the theorem: a header must prove what it says")
    parsed = parse_statement(statement)
    return Source(parsed.name, before, informal, parsed.text, _proof(text[end:]))


def _starts(text: str, token: Token) -> bool:
    """A theorem begins a line, but for attributes and the like."""
    line = text[text.rfind("\n", 0, token.start) + 1 : token.start]
    while found := _BEFORE.search(line):
        line = line[: found.start()]
    return token.text in ("theorem", "lemma") and not line.strip()


def _before(text: str) -> tuple[str, str]:
    """(header, the docstring's words) of what precedes a theorem."""
    while found := _BEFORE.search(text):
        text = text[: found.start()]
    if not (found := _DOCSTRING.search(text)):
        return text.strip(), ""
    # The last opening mark: one comment may stand before another.
    start = text.rindex("/--")
    return text[:start].strip(), text[start + 3 : found.end(1)].strip()


def _end(text: str, read: list[Token]) -> int:
    """Where the statement ends: at the `:=` that only `by` and `sorry` follow, else at the first
    one; `:=` in brackets belongs to the statement."""
    found, depth = [], 0
    for place, token in enumerate(read):
        if token.kind == "symbol":
            depth += (token.text in _OPENING) - (token.text in _CLOSING)
            if depth == 0 and token.text == ":" and text.startswith(":=", token.start):
                found.append(place)
    if not found:
        return len(text)
    last = found[-1]
    rest = [token.text for token in read[last + 1 :] if token.text != "="]
    place = last if set(rest) <= {"by", "sorry", "admit"} else found[0]
    return read[place].start


def _proof(text: str) -> str | None:
    """The tactic block in what follows a statement; a term becomes one."""
    text = text.removeprefix(":=").strip("\n ")
    if {token.text for token in words(text, strict=False)} <= {"by", "sorry", "admit"}:
        return None
    if not re.match(r"by\b", text):
        return f"  exact {text}"
    return text.removeprefix("by").lstrip(" ").removeprefix("\n")
