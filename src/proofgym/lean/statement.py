"""A task's statement: exactly one `theorem NAME binders : TYPE`, without a proof."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from proofgym.errors import TaskError
from proofgym.lean.policy import CODE, COMMANDS, UNPROVED
from proofgym.lean.tokens import Ambiguous, Token, words

_OPENING, _CLOSING = "([{⟨", ")]}⟩"


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that has the right form; whether Lean accepts its type is not yet known."""

    name: str
    text: str

    def alone(self, header: str) -> str:
        """The same name and type without a proof: how the trusted side elaborates it. An axiom, or
        where the header has variables, which an axiom takes up by other rules, an unproved
        theorem."""
        if "variable" in header:
            return f"{self.text} := by\n  sorry"
        return "axiom" + self.text.removeprefix("theorem")


@lru_cache(4096)  # the same statements come with every proof
def parse_statement(text: str) -> Statement:
    """Read a statement; comments behind it are left out.

    Raises:
        TaskError: names what is wrong, and where.
    """
    text = text.replace("\r\n", "\n").strip()
    try:
        read = words(text)
    except Ambiguous as error:
        raise _error(text, error.start, error.why) from None
    if not read:
        raise TaskError("the statement is empty; write `theorem NAME binders : TYPE`")
    if read[0].text != "theorem" or read[0].start != 0:
        raise _error(text, 0, f"it must begin with `theorem`, not {read[0].text!r}")
    if len(read) < 2 or read[1].kind != "name" or read[1].text in COMMANDS:
        raise _error(text, len("theorem"), "`theorem` must be followed by a name")
    _check_body(text, read[2:])
    # Without a comment at the end: it would swallow what comes behind.
    return Statement(read[1].text, text[: read[-1].start + len(read[-1].text)])


def _check_body(text: str, read: list[Token]) -> None:
    depth, colon = 0, None
    for token in read:
        if token.kind == "name":
            _check_word(text, token, depth)
        elif token.kind == "symbol":
            depth += (token.text in _OPENING) - (token.text in _CLOSING)
            if depth < 0:
                raise _error(text, token.start, f"`{token.text}` closes nothing")
            if depth == 0 and token.text == ":":
                if text.startswith(":=", token.start):
                    raise _error(text, token.start, "`:=`: a statement has no proof; remove it")
                colon = colon or token
    if depth:
        raise _error(text, len(text), "a bracket is never closed")
    if colon is None:
        raise _error(text, len(text), "there is no `: TYPE`")
    if read[-1] is colon:
        raise _error(text, colon.start, "nothing follows the colon")


def _check_word(text: str, token: Token, depth: int) -> None:
    if token.text in COMMANDS:
        raise _error(text, token.start, f"`{token.text}`: exactly one declaration is allowed")
    if token.text in UNPROVED | CODE:
        raise _error(text, token.start, f"`{token.text}` is not allowed in a statement")
    if token.text == "by" and depth == 0:
        raise _error(text, token.start, "`by`: a statement has no proof; remove it")


def _error(text: str, offset: int, why: str) -> TaskError:
    before = text[:offset]
    line, column = before.count("\n") + 1, offset - (before.rfind("\n") + 1)
    first = text.splitlines()[0][:80] if text else ""
    return TaskError(f"statement {first!r}, {line}:{column}: {why}")
