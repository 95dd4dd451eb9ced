"""Random propositional theorems: implication, conjunction, disjunction, negation, equivalence."""

from __future__ import annotations

from collections.abc import Iterator

from proofgym.tasks.generation.draw import Draw
from proofgym.tasks.generation.proof import NoStyle
from proofgym.tasks.generation.prover import Context, prove
from proofgym.tasks.generation.statement import Argument, Statement
from proofgym.tasks.generation.terms import Term
from proofgym.tasks.generation.theorem import Theorem, theorem

PROP = Term("Prop")
ATOMS = ("p", "q", "r", "s")
# Truth tables over four atoms, one bit for each of the 16 assignments.
TABLES = {"p": 0xAAAA, "q": 0xCCCC, "r": 0xF0F0, "s": 0xFF00, "True": 0xFFFF, "False": 0}
CONNECTIVES = {
    "implication": "→→→",
    "conjunction": "∧∧∧∧→",
    "disjunction": "∨∨∨∨∧→",
    "negation": "¬¬¬¬→∧∨",
    "iff": "↔↔↔∧∨→¬",
    "mixed": "∧∧∨∨→→↔¬",
}
BUDGET = 15


def theorems(topic: str, draw: Draw) -> Iterator[Theorem]:
    """An endless stream; repeats are the caller's to drop."""
    while True:
        found = _attempt(topic, draw)
        if found:
            yield found


def _attempt(topic: str, draw: Draw) -> Theorem | None:
    atoms = ATOMS[: draw.choice((2, 2, 3, 3, 3, 4))]
    connectives = CONNECTIVES[topic]
    count = draw.choice((0, 1, 1, 1, 2, 2, 3))
    facts = [_formula(draw, atoms, connectives, draw.choice((0, 1, 1, 2))) for _ in range(count)]
    size = draw.choice((0, 1, 1, 2, 3)) + (0 if count else 2)
    goal = _formula(draw, atoms, connectives, size)
    if not _worthwhile(topic, facts, goal):
        return None
    names = ["h"] if count == 1 else [f"h{number + 1}" for number in range(count)]
    found = prove(Context(tuple(zip(names, facts, strict=True))), goal, BUDGET)
    if not found:
        return None
    used = goal.names().union(*(fact.names() for fact in facts))
    arguments = [Argument(atom, PROP) for atom in ATOMS if atom in used]
    arguments += [Argument(name, fact) for name, fact in zip(names, facts, strict=True)]
    try:
        return theorem(topic, Statement(tuple(arguments), goal), found[0])
    except NoStyle:
        return None


def _formula(draw: Draw, atoms: tuple[str, ...], connectives: str, size: int) -> Term:
    if size <= 0:
        false = connectives[0] == "¬" and draw.chance(4)
        return Term("False" if false else draw.choice(atoms))
    head = draw.choice(connectives)
    if head == "¬":
        return Term("¬", (_formula(draw, atoms, connectives, size - 1),))
    left = draw.below(size)
    return Term(
        head,
        (
            _formula(draw, atoms, connectives, left),
            _formula(draw, atoms, connectives, size - 1 - left),
        ),
    )


def _worthwhile(topic: str, facts: list[Term], goal: Term) -> bool:
    """True classically, with every hypothesis needed and the topic's connective in sight."""
    heads = goal.names().union(*(fact.names() for fact in facts))
    if topic != "mixed" and CONNECTIVES[topic][0] not in heads:
        return False
    if goal in facts or len(set(facts)) < len(facts) or any(map(_silly, (goal, *facts))):
        return False
    tables = [_table(fact) for fact in facts]
    wanted = _table(goal)
    if not _follows(tables, wanted):
        return False
    rest = [tables[:index] + tables[index + 1 :] for index in range(len(tables))]
    return not any(_follows(others, wanted) for others in rest)


def _silly(formula: Term) -> bool:
    """`p ∧ p` and its like."""
    return any(len(part.args) == 2 and part.args[0] == part.args[1] for part in formula.walk())


def _follows(tables: list[int], wanted: int) -> bool:
    given = 0xFFFF
    for table in tables:
        given &= table
    return not given & ~wanted


def _table(formula: Term) -> int:
    if not formula.args:
        return TABLES[formula.head]
    left = _table(formula.args[0])
    if formula.head == "¬":
        return 0xFFFF & ~left
    right = _table(formula.args[1])
    match formula.head:
        case "∧":
            return left & right
        case "∨":
            return left | right
        case "→":
            return (0xFFFF & ~left) | right
    return 0xFFFF & ~(left ^ right)
