"""Lean terms as plain trees: parse them, print them, substitute in them.

Only the notation that the task statements use is known here: connectives, quantifiers, equality,
order, arithmetic, lists and application. `parse_term(str(t)) == t` for every term built here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from proofgym.errors import TaskError

# operator: (level, least level on the left, least level on the right), as Lean's core declares.
INFIX = {
    "↔": (20, 26, 26),  # 21 in Lean; brackets around → read better
    "→": (25, 26, 25),
    "∨": (30, 31, 30),
    "∧": (35, 36, 35),
    "=": (50, 51, 51),
    "≠": (50, 51, 51),
    "<": (50, 51, 51),
    "≤": (50, 51, 51),
    "∈": (50, 51, 51),
    "++": (65, 65, 66),
    "+": (65, 65, 66),
    "-": (65, 65, 66),
    "::": (67, 68, 67),
    "*": (70, 70, 71),
    "^": (75, 76, 75),
    "∘": (90, 91, 90),
}
BINDERS = ("∀", "∃", "fun")
HOLE = "_"
_TOKEN = re.compile(
    r"\s*(:=|=>|::|\+\+|[()\[\]{},:=≠<≤∈+*^∘\-∀∃∧∨¬↔→⟨⟩]|\.[\w']+|\d+"
    r"|[^\W\d][\w'₀-₉]*(?:\.[^\W\d][\w'₀-₉]*)*)"
)


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A head with arguments: `f x y`, `p ∧ q`, `[1, 2]` (head `[]`), `xs.map f` (head `.map`).

    A binder (`∀`, `∃`, `fun`) has its bound name in `var` and (type, body) as arguments; the type
    is a hole where the text leaves it out. `@` applies a first argument that is no plain name.
    """

    head: str
    args: tuple[Term, ...] = ()
    var: str = ""
    digest: int = field(init=False, repr=False)
    """A hash kept with the term: equality and look-ups in tables are most of a search's work."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", hash((self.head, self.var, self.args)))

    def __hash__(self) -> int:
        return self.digest

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Term)
            and self.digest == other.digest
            and self.head == other.head
            and self.var == other.var
            and self.args == other.args
        )

    def __str__(self) -> str:
        return _show(self, 0)

    def walk(self) -> list[Term]:
        """This term and all below it, parents first and left to right."""
        out = [self]
        for arg in self.args:
            out += arg.walk() if arg.args else (arg,)
        return out

    def names(self) -> set[str]:
        """Every head in the term, bound ones included."""
        return {part.head for part in self.walk()}


def op(symbol: str, *args: Term) -> Term:
    """An operator or function applied to arguments."""
    return Term(symbol, args)


def bind(kind: str, var: str, body: Term, type_: Term | None = None) -> Term:
    """A quantifier or function; without a type the text leaves it out."""
    return Term(kind, (type_ or Term(HOLE), body), var)


def substitute(term: Term, values: Mapping[str, Term]) -> Term:
    """Replace free names. Bound names are never reused by callers, so nothing is captured."""
    if term.var:
        values = {name: value for name, value in values.items() if name != term.var}
    if not values:
        return term
    args = tuple(substitute(arg, values) for arg in term.args)
    value = values.get(term.head)
    if value is None:
        return Term(term.head, args, term.var)
    if not args:
        return value
    if value.head in INFIX or value.var or value.head == "@":
        return Term("@", (value, *args))
    return Term(value.head, (*value.args, *args))


def _show(term: Term, least: int) -> str:
    text, level = _plain(term)
    return f"({text})" if level < least else text


def _plain(term: Term) -> tuple[str, int]:
    head, args = term.head, term.args
    if term.var:
        return _binder(term), 25 if head != "fun" else 0
    if head in INFIX and len(args) == 2:
        level, left, right = INFIX[head]
        return f"{_show(args[0], left)} {head} {_show_right(args[1], head, right)}", level
    if head == "¬":
        return f"¬{_show(args[0], 1023 if args[0].head != '¬' else 0)}", 100
    if head == "[]":
        return "[" + ", ".join(map(str, args)) + "]", 1024
    if head.startswith("."):
        rest = "".join(" " + _show(arg, 1024) for arg in args[1:])
        return _show(args[0], 1024) + head + rest, 1023 if rest else 1024
    if head == "@":
        return " ".join(_show(arg, 1024) for arg in args), 1023
    if args:
        return " ".join([head, *(_show(arg, 1024) for arg in args)]), 1023
    return head, 1024


def _show_right(term: Term, head: str, least: int) -> str:
    """A quantifier needs no brackets at the right of an arrow only; elsewhere they help readers."""
    return _show(term, 26 if term.var and head != "→" else least)


def _binder(term: Term) -> str:
    names = [term.var]
    body = term.args[1]
    while body.head == term.head and body.args[0] == term.args[0]:
        names.append(body.var)
        body = body.args[1]
    type_ = "" if term.args[0].head == HOLE else f" : {term.args[0]}"
    if term.head == "fun":
        return f"fun {' '.join(names)}{type_} => {body}"
    return f"{term.head} {' '.join(names)}{type_}, {body}"


def tokens(text: str) -> list[str]:
    """Cut Lean text into tokens; `xs.length` of a lower-case name comes apart, `Nat.succ` not."""
    out: list[str] = []
    at = 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if not match:
            raise TaskError(f"cannot read Lean text at {text[at : at + 20]!r}")
        head, *fields = match[1].split(".") if match[1][0].islower() else [match[1]]
        out += [head, *(f".{field}" for field in fields)]
        at = match.end()
    return out


def parse_term(text: str) -> Term:
    """Read one term; TaskError where the text is outside the notation known here."""
    reader = Reader(tokens(text))
    term = reader.term(0)
    reader.end()
    return term


class Reader:
    """A precedence-climbing reader over a list of tokens."""

    def __init__(self, items: list[str]) -> None:
        self.items = items
        self.at = 0

    def peek(self) -> str:
        return self.items[self.at] if self.at < len(self.items) else ""

    def take(self, expected: str = "") -> str:
        item = self.peek()
        if not item or (expected and item != expected):
            raise TaskError(f"expected {expected or 'more'!r}, found {item or 'the end'!r}")
        self.at += 1
        return item

    def end(self) -> None:
        if self.peek():
            raise TaskError(f"unexpected {self.peek()!r}")

    def term(self, least: int) -> Term:
        left = self._prefix()
        while (infix := INFIX.get(self.peek())) and infix[0] >= least:
            symbol = self.take()
            left = Term(symbol, (left, self.term(infix[2])))
        return left

    def _prefix(self) -> Term:
        if self.peek() == "¬":
            self.take()
            return Term("¬", (self.term(40),))
        if self.peek() in BINDERS:
            return self._bound()
        return self._application()

    def _bound(self) -> Term:
        kind = self.take()
        names = [self.take()]
        while self.peek() not in (",", ":", "=>"):
            names.append(self.take())
        type_ = Term(HOLE)
        if self.peek() == ":":
            self.take()
            type_ = self.term(0)
        self.take("=>" if kind == "fun" else ",")
        body = self.term(0)
        for name in reversed(names):
            body = Term(kind, (type_, body), name)
        return body

    def _application(self) -> Term:
        head = self._atom()
        if not self._starts_atom():
            return head
        args = []
        while self._starts_atom():
            args.append(self._atom())
        if head.var or head.head in INFIX or head.head in ("[]", "¬", "@"):
            return Term("@", (head, *args))
        return Term(head.head, (*head.args, *args))

    def _starts_atom(self) -> bool:
        item = self.peek()
        return item in ("(", "[") or (bool(item) and (item[0].isalnum() or item[0] == "_"))

    def _atom(self) -> Term:
        item = self.take()
        if item == "(":
            inner = self.term(0)
            self.take(")")
        elif item == "[":
            items = []
            while self.peek() != "]":
                items.append(self.term(0))
                if self.peek() == ",":
                    self.take()
            self.take("]")
            inner = Term("[]", tuple(items))
        elif item[0].isalnum() or item[0] == "_":
            inner = Term(item)
        else:
            raise TaskError(f"unexpected {item!r}")
        while self.peek().startswith("."):
            inner = Term(self.take(), (inner,))
        return inner
