"""Theorems by induction on a number or a list, from a table of forms with open constants.

Most are about an unknown function given by its recursion: `f 0 = 0` and `f (m + 1) = f m + 2` make
`f n = n * 2`. So the laws differ from theorem to theorem, and no lemma of the library is the goal.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from proofgym.tasks.generation.draft import Draft
from proofgym.tasks.generation.draw import Draw
from proofgym.tasks.generation.proof import Tactics
from proofgym.tasks.generation.statement import Argument
from proofgym.tasks.generation.terms import parse_term

NAT_TYPES = {
    "P": "Nat → Prop",
    "Q": "Nat → Prop",
    "f": "Nat → Nat",
    "g": "Nat → Nat",
    "a": "Nat",
    "b": "Nat",
    "n": "Nat",
}
LIST_TYPES = {
    "α": "Type",
    "P": "List α → Prop",
    "Q": "List α → Prop",
    "f": "List α → Nat",
    "g": "List α → Nat",
    "F": "List α → List α",
    "G": "List α → List α",
    "k": "α → α",
    "a": "Nat",
    "ys": "List α",
    "xs": "List α",
}
CONSTANTS = ("a", "b", "1", "2", "3")

NAT_FORMS = Path(__file__).with_name("induction_nat.txt")
LIST_FORMS = Path(__file__).with_name("induction_list.txt")
"""A line is: hypotheses #0; #1; … | goal | base case | step, with constants C and D open."""


def drafts(topic: str, draw: Draw) -> Iterator[Draft]:
    """An endless stream; repeats are the caller's to drop."""
    assert topic == "induction"
    forms = [(line, True) for line in NAT_FORMS.read_text(encoding="utf-8").splitlines()]
    forms += [(line, False) for line in LIST_FORMS.read_text(encoding="utf-8").splitlines()]
    while True:
        line, on_nat = draw.choice(forms)
        c, d = draw.sample(CONSTANTS if on_nat else ("a", "1", "2", "3"), 2)
        yield _draft(line.replace("C", c).replace("D", d), on_nat)


def _draft(form: str, on_nat: bool) -> Draft:
    facts, goal, base, step = (part.strip() for part in form.split("|"))
    types = NAT_TYPES if on_nat else LIST_TYPES
    hypotheses = (parse_term(fact) for fact in facts.split(";") if fact)
    if on_nat:
        lines = ("induction n with", f"| zero => {base}", f"| succ n ih => {step}")
    else:
        lines = ("induction xs with", f"| nil => {base}", f"| cons x xs ih => {step}")
    return Draft(
        tuple(Argument(name, parse_term(type_)) for name, type_ in types.items()),
        tuple(Argument(f"#{index}", fact) for index, fact in enumerate(hypotheses)),
        parse_term(goal),
        Tactics(lines),
    )
