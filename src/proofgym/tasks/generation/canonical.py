"""A theorem's canonical text: equal for two theorems that differ in names and argument order only.

Premises and leading ∀ of the goal count as arguments, because `(h : p) : q` and `: p → q` are the
same theorem. Nothing else is identified: `p ∧ q` and `q ∧ p` stay apart.
"""

from __future__ import annotations

from hashlib import blake2b

from proofgym.tasks.generation.statement import Argument, Statement
from proofgym.tasks.generation.terms import Term, substitute


def canonical(statement: Statement) -> str:
    """The least text over all ways to name and order the arguments that their uses allow."""
    arguments, goal = _uncurry(statement)
    names = [argument.name for argument in arguments]
    return _best(arguments, goal, dict.fromkeys(names, ""))


def _uncurry(statement: Statement) -> tuple[list[Argument], Term]:
    """Give arguments names that nothing else uses, and move premises of the goal to them."""
    fresh = (f"#{index}" for index in range(1000))
    arguments: list[Argument] = []
    values: dict[str, Term] = {}
    for argument in statement.arguments:
        name = next(fresh)
        arguments.append(Argument(name, substitute(argument.type, values)))
        values[argument.name] = Term(name)
    goal = substitute(statement.goal, values)
    while goal.head in ("→", "∀", "¬"):
        name = next(fresh)
        if goal.head == "∀":
            arguments.append(Argument(name, goal.args[0]))
            goal = substitute(goal.args[1], {goal.var: Term(name)})
        else:
            arguments.append(Argument(name, goal.args[0]))
            goal = goal.args[1] if goal.head == "→" else Term("False")
    return arguments, goal


def _best(arguments: list[Argument], goal: Term, colours: dict[str, str]) -> str:
    """Refine colours by use; where twins remain, try each as the first of them."""
    colours = _refine(arguments, goal, colours)
    classes: dict[str, list[str]] = {}
    for name, colour in colours.items():
        classes.setdefault(colour, []).append(name)
    used = goal.names().union(*(argument.type.names() for argument in arguments))
    for colour in sorted(classes):
        # Unused twins (hypotheses of one type) are alike, whichever comes first.
        twins = [name for name in classes[colour] if name in used]
        if len(twins) > 1:
            return min(_best(arguments, goal, colours | {name: colour + "!"}) for name in twins)
    order = sorted(arguments, key=lambda argument: colours[argument.name])
    values = {argument.name: f"v{index}" for index, argument in enumerate(order)}
    lines = sorted(
        (values[item.name] if item.name in used else "_") + ":" + _text(item.type, values, ())
        for item in arguments
    )
    return "; ".join(lines) + " ⊢ " + _text(goal, values, ())


def _refine(arguments: list[Argument], goal: Term, colours: dict[str, str]) -> dict[str, str]:
    parts = [(argument.name, argument.type) for argument in arguments] + [("⊢", goal)]
    for _ in range(len(arguments) + 1):
        new = {}
        for argument in arguments:
            uses = sorted(
                f"{colours.get(owner, owner)}:{_text(term, colours | {argument.name: '•'}, ())}"
                for owner, term in parts
                if argument.name in term.names()
            )
            own = _text(argument.type, colours, ())
            new[argument.name] = _digest("|".join([colours[argument.name], own, *uses]))
        if len(set(new.values())) == len(set(colours.values())):
            return new
        colours = new
    return colours


def _text(term: Term, values: dict[str, str], bound: tuple[str, ...]) -> str:
    """Print with bound variables as distances, so that their names do not matter."""
    if term.var:
        type_ = _text(term.args[0], values, bound)
        return f"({term.head} {type_} {_text(term.args[1], values, (term.var, *bound))})"
    head = f"^{bound.index(term.head)}" if term.head in bound else term.head
    head = values.get(term.head, head)
    if not term.args:
        return head
    return f"({' '.join([head, *(_text(arg, values, bound) for arg in term.args)])})"


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()
