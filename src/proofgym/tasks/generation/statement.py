"""A theorem statement: named arguments and a goal."""

from __future__ import annotations

from dataclasses import dataclass

from proofgym.tasks.generation.terms import Reader, Term, parse_term, tokens

SORTS = ("Prop", "Type")


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a theorem: a type, a value or a hypothesis."""

    name: str
    type: Term


@dataclass(frozen=True, slots=True)
class Statement:
    """`theorem NAME (arguments) : goal`."""

    arguments: tuple[Argument, ...]
    goal: Term

    def show(self, name: str) -> str:
        """The Lean text, with neighbouring arguments of one type in one bracket."""
        groups: list[tuple[list[str], str]] = []
        for argument in self.arguments:
            type_ = str(argument.type)
            if groups and groups[-1][1] == type_:
                groups[-1][0].append(argument.name)
            else:
                groups.append(([argument.name], type_))
        shown = [f"({' '.join(names)} : {type_})" for names, type_ in groups]
        return " ".join(["theorem", name, *shown, ":", str(self.goal)])


def parse_statement(text: str) -> tuple[str, Statement]:
    """Read `theorem NAME (a b : T) … : goal`; returns the name and the statement."""
    reader = Reader(tokens(text))
    reader.take("theorem")
    name = reader.take()
    arguments: list[Argument] = []
    while reader.peek() in ("(", "{"):
        close = ")" if reader.take() == "(" else "}"
        names = [reader.take()]
        while reader.peek() != ":":
            names.append(reader.take())
        reader.take(":")
        type_ = reader.term(0)
        reader.take(close)
        arguments += [Argument(item, type_) for item in names]
    reader.take(":")
    goal = reader.term(0)
    reader.end()
    return name, Statement(tuple(arguments), goal)


def statement(arguments: str, goal: str) -> Statement:
    """Build one from text, as in `statement("(p q : Prop) (h : p ∧ q)", "q ∧ p")`."""
    parsed = parse_statement(f"theorem t {arguments} : True")[1]
    return Statement(parsed.arguments, parse_term(goal))
