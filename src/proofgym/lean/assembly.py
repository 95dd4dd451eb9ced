"""The file that Lean is given: trusted header, trusted statement, the proof, a trusted ending.

The ending makes Lean say, in messages whose positions lie after the proof, which type the theorem
has and which axioms it rests on. The first of these messages also holds a random word, the second
comes last in the file. Messages get their positions from the parser, and the word is made anew
for each check, so a proof can neither produce these messages itself nor end the file before them.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap

from proofgym.lean.messages import Message
from proofgym.lean.statement import Statement
from proofgym.lean.tokens import tokens

_INDENT = 2
KEPT = _INDENT
"""`Assembled.removed` where the columns are those of the text as written."""
_AXIOMS = re.compile(
    r"'[^\n]+' (?:(does not depend on any axioms)|depends on axioms: \[(.*)\])", re.DOTALL
)


_OPTIONS = {
    "pp.all": "true",
    # Whatever could make two types look alike, also where the header set it itself.
    **{f"pp.{name}": "true" for name in ("explicit", "universes", "fullNames", "proofs")},
    **{f"pp.{name}": "true" for name in ("letVarTypes", "funBinderTypes", "piBinderTypes")},
    **{f"pp.{name}": "true" for name in ("instances", "privateNames", "deepTerms")},
    **{f"pp.{name}": "false" for name in ("notation", "coercions", "structureInstances")},
    **{f"pp.{name}": "false" for name in ("oneline", "exprSizes", "unicode.fun", "beta")},
    "pp.maxSteps": "1000000000",
}
_WHOLE = "".join(f"set_option {name} {value} in " for name, value in _OPTIONS.items())
"""Has a term printed with nothing left out or shortened."""
_SHORTENED = ("⋯", "[...]")


class Unsigned(Exception):
    """The trusted ending did not speak as it must: what is wrong."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """What the trusted side knows of a statement, from elaborating it alone."""

    type_text: str
    axioms: frozenset[str]
    """The allowed axioms that the header's own environment declares as axioms. A check has the
    same header before its proof, and no name can be declared twice, so a proof that rests on one
    of these names rests on the header's axiom."""


@dataclass(frozen=True, slots=True)
class Ending:
    """Trusted commands and the lines they stand on, `first` to `last`."""

    source: str
    first: int
    last: int
    mark: str

    def answers(self, messages: Iterable[Message]) -> dict[int, str]:
        """What each line said; warnings and errors are no answers.

        Raises:
            Unsigned: a line spoke twice, or a line that is not ours spoke.
        """
        by_line: dict[int, str] = {}
        for message in messages:
            if message.line < self.first or message.severity != "information":
                continue
            if message.line > self.last or message.line in by_line:
                raise Unsigned("unexpected messages after the proof")
            by_line[message.line] = message.text
        return by_line

    def type_text(self, answers: Mapping[int, str]) -> str:
        """The theorem with its type, as Lean prints it with nothing hidden.

        Raises:
            Unsigned: there is no such answer, or it lacks this check's random word.
        """
        text = answers.get(self.first, "")
        if any(word in text for word in _SHORTENED):
            raise Unsigned("the type of the theorem is too large to be compared")
        if not " ".join(text.split()).startswith(f"fun ({self.mark} : Prop) => "):
            raise Unsigned("the commands after the proof did not run")
        return text.replace(self.mark, "_")


def make_ending(name: str, first: int, rest: Sequence[str]) -> Ending:
    """The type question, on line `first`, and the commands `rest` after it."""
    mark = f"proofgym_{secrets.token_hex(12)}"
    lines = [f"{_WHOLE}#check (fun {mark} : Prop => @{name})", *rest]
    return Ending("\n".join(lines) + "\n", first, first + len(lines) - 1, mark)


def ask_axioms(name: str) -> str:
    """The command that lists a theorem's axioms; `read_axioms` reads the answer.

    With full names: inside a namespace `Foo`, Lean would print `Foo.propext` as `propext`.
    """
    return f"set_option pp.fullNames true in #print axioms {name}"


def ask_axiom(name: str) -> str:
    """The command that prints an allowed axiom; `is_axiom` reads the answer.

    From the root: a namespace that is open must not lend its own axiom of the same name.
    """
    return f"set_option pp.fullNames true in #print _root_.{name}"


def is_axiom(name: str, answer: str) -> bool:
    """Whether the answer says that `name`, in full, is an axiom."""
    return re.match(rf"axiom {re.escape(name)}(\.\{{|\s|:)", answer) is not None


def read_axioms(text: str) -> tuple[str, ...]:
    """The names in the answer to `#print axioms`.

    Raises:
        Unsigned: it is no such answer.
    """
    match = _AXIOMS.fullmatch(text)
    if match is None:
        raise Unsigned(f"the axioms could not be listed: {text[:200] or 'no answer'}")
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


def assemble_check(header: str, statement: Statement, proof: str) -> Assembled:
    """The file that checks one proof."""
    block, removed = indent(proof)
    before = header_text(header)
    head = f"{before}{statement.text} := by\n"
    proof_line = head.count("\n") + 1
    first = proof_line + block.count("\n") + 2
    ending = make_ending(statement.name, first, [ask_axioms(statement.name)])
    source = f"{head}{block}\n\n{ending.source}"
    return Assembled(source, before.count("\n") + 1, proof_line, removed, ending)


def assemble_alone(header: str, statement: Statement, axioms: Sequence[str]) -> Assembled:
    """The file in which the trusted side elaborates a statement without any proof.

    Its ending prints the allowed `axioms`, one a line from the second line on, and last asks for
    the type as a proposition, to which an error is no answer.
    """
    before = header_text(header)
    head = f"{before}{statement.alone(header)}\n"
    first = head.count("\n") + 1
    proposition = f"#check (type_of% @{statement.name} : Prop)"
    rest = [*(ask_axiom(name) for name in axioms), proposition]
    ending = make_ending(statement.name, first, rest)
    return Assembled(head + ending.source, before.count("\n") + 1, first, 0, ending)


def indent(proof: str) -> tuple[str, int]:
    """The block with its common indentation made two spaces, and how much was removed. Lines that
    begin inside a string stay as they are."""
    lines, within = proof.rstrip().split("\n"), _within_strings(proof)
    own = [line for number, line in enumerate(lines) if line.strip() and number not in within]
    removed = min((len(line) - len(line.lstrip(" ")) for line in own), default=0)

    def shift(number: int, line: str) -> str:
        if number in within:
            return line
        return " " * _INDENT + line[removed:] if line.strip() else ""

    return "\n".join(starmap(shift, enumerate(lines))), removed


def _within_strings(proof: str) -> set[int]:
    """Lines, from 0, that begin inside a string."""
    if '"' not in proof:
        return set()
    found: set[int] = set()
    for token in tokens(proof, strict=False):
        if token.kind == "text" and (more := token.text.count("\n")):
            first = proof.count("\n", 0, token.start) + 1
            found.update(range(first, first + more))
    return found


def header_text(header: str) -> str:
    """A trusted header as a file begins with it."""
    return f"{header.rstrip()}\n\n" if header.strip() else ""
