"""The file that Lean is given: trusted header, trusted statement, the proof, a trusted ending.

The ending makes Lean say, in messages whose positions lie after the proof, which type the theorem
has and which axioms it rests on, between two marks that hold a random word. Messages get their
positions from the parser, and the word is made anew for each check, so a proof can neither
produce these messages itself nor end the file before them.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from proofgym.lean.messages import Message
from proofgym.lean.statement import Statement

_INDENT = 2
_AXIOMS = re.compile(
    r"'[^\n]+' (?:(does not depend on any axioms)|depends on axioms: \[(.*)\])", re.DOTALL
)


class Unsigned(Exception):
    """The trusted ending did not speak as it must: what is wrong."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """What the trusted side knows of a statement, from elaborating it alone."""

    type_text: str
    axioms: Mapping[str, str]
    """The allowed axioms that exist here: name to how Lean prints it."""


@dataclass(frozen=True, slots=True)
class Ending:
    """Trusted commands and the lines they stand on."""

    source: str
    first: int
    last: int
    type_line: int
    axioms_line: int | None
    axiom_lines: Mapping[str, int]
    mark: str


def make_ending(name: str, first: int, axioms: Iterable[str], list_axioms: bool) -> Ending:
    """The trusted commands, the first of them on line `first`."""
    mark = f"proofgym_{secrets.token_hex(12)}"
    signed = f"#check (fun {mark} : Prop => {mark})"
    lines = [signed, f"set_option pp.all true in #check @{name}"]
    type_line, axioms_line = first + 1, None
    if list_axioms:
        axioms_line = first + len(lines)
        lines.append(f"#print axioms {name}")
    axiom_lines = {}
    for axiom in axioms:
        axiom_lines[axiom] = first + len(lines)
        lines.append(f"set_option pp.all true in #print {axiom}")
    lines.append(signed)
    return Ending(
        "\n".join(lines) + "\n",
        first,
        first + len(lines) - 1,
        type_line,
        axioms_line,
        axiom_lines,
        mark,
    )


def said(ending: Ending, messages: Iterable[Message]) -> dict[int, Message]:
    """What the ending said, by line, once both marks are found.

    Raises:
        Unsigned: a mark is missing, or a line spoke twice.
    """
    by_line: dict[int, Message] = {}
    for message in messages:
        if message.line >= ending.first:
            if message.line in by_line or message.line > ending.last:
                raise Unsigned("unexpected messages after the proof")
            by_line[message.line] = message
    expected = f"fun {ending.mark} => {ending.mark} : Prop → Prop"
    for line in (ending.first, ending.last):
        if information(by_line, line) != expected:
            raise Unsigned("the commands after the proof did not run")
    return by_line


def information(by_line: Mapping[int, Message], line: int) -> str | None:
    """The text that a line of the ending said, unless it was an error or nothing."""
    message = by_line.get(line)
    return message.text if message is not None and message.severity == "information" else None


def read_axioms(text: str) -> tuple[str, ...]:
    """The names in the answer to `#print axioms`.

    Raises:
        Unsigned: it is no such answer.
    """
    match = _AXIOMS.fullmatch(text)
    if match is None:
        raise Unsigned(f"the axioms could not be listed: {text[:200]}")
    if match.group(1):
        return ()
    return tuple(name.strip() for name in match.group(2).split(",") if name.strip())


@dataclass(frozen=True, slots=True)
class Assembled:
    """A whole file, and how to find the model's own lines in it."""

    source: str
    statement_line: int
    proof_line: int
    removed: int
    ending: Ending

    def place(self, message: Message) -> str:
        """Where a message is, in terms of what the model wrote."""
        if message.line >= self.ending.first:
            return "after the proof"
        if message.line >= self.proof_line:
            column = max(message.column - _INDENT + self.removed, 0)
            return f"{message.line - self.proof_line + 1}:{column}"
        return "the theorem" if message.line >= self.statement_line else "the header"


def assemble_check(header: str, statement: Statement, proof: str, baseline: Baseline) -> Assembled:
    """The file that checks one proof."""
    block, removed = indent(proof)
    before = _header(header)
    head = f"{before}{statement.text} := by\n"
    proof_line = head.count("\n") + 1
    first = proof_line + block.count("\n") + 2
    ending = make_ending(statement.name, first, baseline.axioms, list_axioms=True)
    source = f"{head}{block}\n\n{ending.source}"
    return Assembled(source, before.count("\n") + 1, proof_line, removed, ending)


def assemble_alone(header: str, statement: Statement, axioms: Iterable[str]) -> Assembled:
    """The file in which the trusted side elaborates a statement without any proof."""
    before = _header(header)
    head = f"{before}{statement.as_axiom}\n"
    first = head.count("\n") + 1
    ending = make_ending(statement.name, first, axioms, list_axioms=False)
    return Assembled(head + ending.source, before.count("\n") + 1, first, 0, ending)


def indent(proof: str) -> tuple[str, int]:
    """The block with its common indentation made two spaces, and how much was removed."""
    lines = proof.rstrip().split("\n")
    depths = [len(line) - len(line.lstrip(" ")) for line in lines if line.strip()]
    removed = min(depths, default=0)
    shifted = [" " * _INDENT + line[removed:] if line.strip() else "" for line in lines]
    return "\n".join(shifted), removed


def _header(header: str) -> str:
    return f"{header.rstrip()}\n\n" if header.strip() else ""
