"""A whole file as a model prints it: a target theorem, helper lemmas, often in a fenced block.

The file may import (which is passed over: the trusted header stands), `open` namespaces, and prove
theorems. Every declaration is read by the policy scan of proofs, and may define nothing beside
itself: what `where` and `let rec` define is no proof but data, which a later theorem could have
Lean run as a tactic. The file need not repeat the statement
in the statement's own words: what counts is that Lean gives the target the type that the trusted
statement has.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from proofgym.lean.assembly import KEPT, Assembled, ask_axioms, header_text, make_ending
from proofgym.lean.policy import CODE, COMMANDS, UNPROVED, Refusal, check_characters, defines, scan
from proofgym.lean.scopes import full_name_after
from proofgym.lean.statement import Statement
from proofgym.lean.tokens import Ambiguous, Token, readings, words

DECLARATIONS = ("theorem", "lemma")

_NOT_OPENED = (COMMANDS | CODE | UNPROVED) - {"scoped"}

_FENCE = re.compile(r"^[ ]*```[ ]*(\w*)[^\n]*$", re.M)
_IMPORT = re.compile(r"^import [^\n]*$", re.M)


@dataclass(frozen=True, slots=True)
class Answer:
    """The Lean text in what the model wrote, and how many lines come before it."""

    text: str
    before: int


def read_answer(written: str, name: str) -> Answer:
    """The fenced block that has the target (else the last one, else everything). A block that is
    not closed goes to the end. Import lines are made blank, so that every line keeps its number."""
    marks, blocks = list(_FENCE.finditer(written)), list[tuple[int, int]]()
    for at in range(0, len(marks), 2):
        end = marks[at + 1].start() if at + 1 < len(marks) else len(written)
        if marks[at].group(1).lower() in ("", "lean", "lean4"):
            blocks.append((marks[at].end() + 1, end))
    named = re.compile(rf"\b(?:theorem|lemma)\s+{re.escape(name)}(?![\w.'])")
    having = [it for it in blocks if named.search(written, *it)]
    start, end = (having or blocks or [(0, len(written))])[-1]
    return Answer(_IMPORT.sub("", written[start:end]), written.count("\n", 0, start))


def scan_answer(answer: Answer) -> Refusal | None:
    """The first reason to refuse the file; positions are those of its Lean text."""
    text = answer.text
    if found := next(check_characters(text), None):
        return found
    try:
        read = words(text)
    except Ambiguous as error:
        return _refuse(text, error.start, error.slug, error.why)
    begins = [token for token in read if _begins(text, token)]
    if read and (not begins or begins[0] is not read[0]):
        return _refuse(text, read[0].start, "command", f"`{read[0].text}` begins no theorem")
    ends = [token.start for token in begins[1:]] + [len(text)]
    for token, end in zip(begins, ends, strict=True):
        inside = [it for it in read if token.start < it.start < end]
        if refusal := _scan_command(text, token, end, inside):
            return refusal
    return None


def has_target(answer: Answer, name: str) -> bool:
    """Whether a theorem of this name is declared at all, read loosely."""
    read = words(answer.text, strict=False)
    return any(one.text in DECLARATIONS and two.text == name for one, two in pairwise(read))


def _begins(text: str, token: Token) -> bool:
    return (*DECLARATIONS, "open").count(token.text) > 0 and text[: token.start][-1:] in ("", "\n")


def _scan_command(text: str, token: Token, end: int, inside: list[Token]) -> Refusal | None:
    """`inside`: what is read between the command's first word and its end."""
    if token.text == "open":
        for other in inside:
            is_word = other.kind == "name" and not any(readings(text, other, _NOT_OPENED))
            if not (is_word or other.text in "()"):
                what = f"`open` takes names alone, not `{other.text}`"
                return _refuse(text, other.start, "command", what)
        return None
    # The scan sees one declaration, at the place that it has in the file.
    rest = token.start + len(token.text)
    blank = re.sub(r"[^\n]", " ", text[:rest])
    if refusal := scan(blank + text[rest:end]):
        return refusal
    for other in inside:
        if defines(text, other):
            what = f"`{other.text}` defines something beside the theorem"
            return _refuse(text, other.start, "definition", what)
    return None


def _refuse(text: str, offset: int, slug: str, message: str) -> Refusal:
    before = text[:offset]
    return Refusal(slug, message, before.count("\n") + 1, offset - (before.rfind("\n") + 1))


def assemble_answer(header: str, statement: Statement, answer: Answer) -> Assembled:
    """The file that checks an answer: places are lines and columns of what the model wrote."""
    before = header_text(header)
    first = before.count("\n") + 1
    body = "\n" * answer.before + answer.text.rstrip()
    # By its whole name: the answer may have opened a namespace with a like name in it.
    name = "_root_." + full_name_after(header, statement.name)
    at = first + body.count("\n") + 2
    ending = make_ending(name, at, [ask_axioms(name)])
    return Assembled(f"{before}{body}\n\n{ending.source}", first, first, KEPT, ending)
