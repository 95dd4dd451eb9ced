"""Random theorems with quantifiers over one type, its predicates and two of its values."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from proofgym.tasks.generation.draw import Draw
from proofgym.tasks.generation.proof import NoStyle
from proofgym.tasks.generation.prover import Context, prove
from proofgym.tasks.generation.statement import Argument, Statement
from proofgym.tasks.generation.terms import Term, bind, op
from proofgym.tasks.generation.theorem import Theorem, theorem

ALPHA = Term("α")
PREDICATE = op("→", ALPHA, Term("Prop"))
RELATION = op("→", ALPHA, PREDICATE)
VALUES = (
    Argument("α", Term("Type")),
    Argument("P", PREDICATE),
    Argument("Q", PREDICATE),
    Argument("R", RELATION),
    Argument("p", Term("Prop")),
    Argument("a", ALPHA),
    Argument("b", ALPHA),
)
BUDGET = 11
MODELS = 24
Model = Mapping[str, object]


def theorems(topic: str, draw: Draw) -> Iterator[Theorem]:
    """An endless stream for topic `forall` or `exists`; repeats are the caller's to drop."""
    models = tuple(_model(draw) for _ in range(MODELS))
    while True:
        found = _attempt(topic, draw, models)
        if found:
            yield found


def _attempt(topic: str, draw: Draw, models: tuple[Model, ...]) -> Theorem | None:
    count = draw.choice((1, 1, 2, 2, 2, 3))
    symbol = "∀" if topic == "forall" else "∃"
    facts = [_fact(draw, symbol) for _ in range(count)]
    goal = _fact(draw, symbol)
    heads = goal.names().union(*(fact.names() for fact in facts))
    if symbol not in heads or goal in facts or len(set(facts)) < len(facts):
        return None
    if not all(_plain(fact) for fact in (goal, *facts)):
        return None
    if "R" in heads and draw.chance(60):
        return None
    if not _worthwhile([_mask(fact, models) for fact in facts], _mask(goal, models)):
        return None
    names = ["h"] if count == 1 else [f"h{number + 1}" for number in range(count)]
    individuals = tuple(Term(name) for name in "ab" if name in heads)
    context = Context(tuple(zip(names, facts, strict=True)), individuals)
    found = prove(context, goal, BUDGET)
    if not found:
        return None
    values = [value for value in VALUES if value.name in heads | {"α"}]
    facts_named = [Argument(name, fact) for name, fact in zip(names, facts, strict=True)]
    try:
        return theorem(topic, Statement((*values, *facts_named), goal), found[0])
    except NoStyle:
        return None


def _plain(fact: Term) -> bool:
    """Each quantifier binds something, or Lean could not tell the type; no `P a ∧ P a`."""
    return all(
        part.args[1].names() >= {part.var} if part.var else len(set(part.args)) == len(part.args)
        for part in fact.walk()
        if part.head != "R"
    )


def _fact(draw: Draw, symbol: str) -> Term:
    kind = draw.below(10)
    if kind < 3:
        return _closed(draw)
    if kind < 4:
        return op(draw.choice("→∧∨"), _closed(draw), _quantified(draw, symbol))
    if kind < 5:
        return op(draw.choice("→∧∨"), _quantified(draw, symbol), _closed(draw))
    if kind < 6:
        return Term("¬", (_quantified(draw, symbol),))
    return _quantified(draw, symbol)


def _quantified(draw: Draw, symbol: str) -> Term:
    kind = symbol if draw.chance(75) else draw.choice("∀∃")
    if draw.chance(18):
        inner = bind(draw.choice((kind, kind, "∀", "∃")), "y", _matrix(draw, "xy", kind))
        return bind(kind, "x", inner)
    return bind(kind, "x", _matrix(draw, "x", kind))


def _matrix(draw: Draw, names: str, kind: str) -> Term:
    first = _atom(draw, names)
    if draw.chance(30):
        return first
    symbol = draw.choice("→→→∧¬" if kind == "∀" else "∧∧∧∨¬")
    if symbol == "¬":
        return Term("¬", (first,))
    return op(symbol, first, _atom(draw, names))


def _closed(draw: Draw) -> Term:
    atom = _atom(draw, "ab")
    match draw.below(8):
        case 0:
            return Term("p")
        case 1:
            return Term("¬", (atom,))
        case 2:
            return op(draw.choice("∧∨"), atom, _atom(draw, "ab"))
    return atom


def _atom(draw: Draw, names: str) -> Term:
    kind = draw.below(12)
    if kind == 0:
        return Term("p")
    if kind < (5 if len(names) > 1 and names[0] == "x" else 3):
        return op("R", Term(draw.choice(names)), Term(draw.choice(names)))
    return op(draw.choice("PPQ"), Term(draw.choice(names)))


def _model(draw: Draw) -> Model:
    """Random meanings over two individuals."""
    pairs = itertools.product((0, 1), repeat=2)
    return {
        "P": {(i,): draw.chance(50) for i in (0, 1)},
        "Q": {(i,): draw.chance(50) for i in (0, 1)},
        "R": {pair: draw.chance(50) for pair in pairs},
        "p": {(): draw.chance(50)},
        "a": draw.below(2),
        "b": draw.below(2),
    }


def _worthwhile(facts: list[int], goal: int) -> bool:
    """No model at hand refutes it, but one does without any one of the hypotheses."""
    rest = [facts[:index] + facts[index + 1 :] for index in range(len(facts))]
    return _holds(facts, goal) and not any(_holds(others, goal) for others in rest)


def _holds(facts: list[int], goal: int) -> bool:
    given = -1
    for fact in facts:
        given &= fact
    return not given & ~goal & ((1 << MODELS) - 1)


def _mask(fact: Term, models: tuple[Model, ...]) -> int:
    """In which of the models it is true, one bit for each."""
    return sum(_true(fact, model) << index for index, model in enumerate(models))


def _true(term: Term, model: Model) -> bool:
    match term.head:
        case "∀" | "∃":
            judge = all if term.head == "∀" else any
            return judge(_true(term.args[1], {**model, term.var: i}) for i in (0, 1))
        case "¬":
            return not _true(term.args[0], model)
        case "∧":
            return _true(term.args[0], model) and _true(term.args[1], model)
        case "∨":
            return _true(term.args[0], model) or _true(term.args[1], model)
        case "→":
            return not _true(term.args[0], model) or _true(term.args[1], model)
    table = model[term.head]
    assert isinstance(table, dict)
    return bool(table[tuple(model[arg.head] for arg in term.args)])
