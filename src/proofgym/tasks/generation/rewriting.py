"""Equations as rewrite rules, with the same effect on a goal as Lean's `rw`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from proofgym.tasks.generation.terms import Term, parse_term, substitute


@dataclass(frozen=True, slots=True)
class Rule:
    """`name variables : left = right`. Only explicit variables may be written as arguments."""

    name: str
    variables: tuple[str, ...]
    left: Term
    right: Term
    explicit: bool = True


@dataclass(frozen=True, slots=True)
class Step:
    """One item of `rw [...]`: a rule, its direction, and its arguments where they are written."""

    rule: Rule
    back: bool = False
    arguments: tuple[Term, ...] = ()

    def __str__(self) -> str:
        shown = "".join(f" ({a})" if " " in str(a) else f" {a}" for a in self.arguments)
        return ("← " if self.back else "") + self.rule.name + shown


def rule(name: str, variables: str, equation: str, explicit: bool = True) -> Rule:
    """Build one from text: `rule("Nat.add_comm", "n m", "n + m = m + n")`."""
    left, right = parse_term(equation).args
    return Rule(name, tuple(variables.split()), left, right, explicit)


def match(pattern: Term, term: Term, variables: tuple[str, ...]) -> dict[str, Term] | None:
    """Values of the variables that make the pattern the term."""
    values: dict[str, Term] = {}
    return values if _match(pattern, term, variables, values) else None


def _match(pattern: Term, term: Term, variables: tuple[str, ...], values: dict[str, Term]) -> bool:
    if pattern.head in variables and not pattern.args:
        return values.setdefault(pattern.head, term) == term
    if pattern.head != term.head or len(pattern.args) != len(term.args):
        return False
    if pattern.var or term.var:
        return pattern == term
    return all(
        _match(p, t, variables, values) for p, t in zip(pattern.args, term.args, strict=True)
    )


def replace_all(goal: Term, old: Term, new: Term) -> Term:
    """Every occurrence at once, outermost first, as `rw` does."""
    if goal == old:
        return new
    return Term(goal.head, tuple(replace_all(arg, old, new) for arg in goal.args), goal.var)


def places(goal: Term, step_rule: Rule, back: bool) -> Iterator[dict[str, Term]]:
    """Ways in which a rule applies somewhere in the goal, in the order in which `rw` looks."""
    pattern = step_rule.right if back else step_rule.left
    seen: list[dict[str, Term]] = []
    for part in goal.walk():
        values = match(pattern, part, step_rule.variables)
        if values is not None and values not in seen:
            seen.append(values)
            yield values


def rewrite(goal: Term, step: Step) -> Term | None:
    """The goal after one step; None where the pattern is nowhere or its variables stay open."""
    given = dict(zip(step.rule.variables, step.arguments, strict=False))
    found = iter([given]) if given else places(goal, step.rule, step.back)
    values = next(found, None)
    if values is None or len(values) < len(step.rule.variables):
        return None
    old, new = sides(step.rule, step.back, values)
    after = replace_all(goal, old, new)
    return None if after == goal else after


def sides(step_rule: Rule, back: bool, values: Mapping[str, Term]) -> tuple[Term, Term]:
    """The rule's two sides with values for its variables, in the direction of use."""
    left, right = substitute(step_rule.left, values), substitute(step_rule.right, values)
    return (right, left) if back else (left, right)


def closes(goal: Term) -> bool:
    """`rw` ends by trying reflexivity."""
    return goal.head == "=" and goal.args[0] == goal.args[1]


def run(goal: Term, steps: list[Step]) -> bool:
    """Whether `rw [steps]` closes the goal."""
    for step in steps:
        after = rewrite(goal, step)
        if after is None:
            return False
        goal = after
    return closes(goal)


def shorten(goal: Term, steps: list[Step]) -> list[Step]:
    """The fewest of the steps that close the goal, with arguments only where they matter."""
    fewer = (
        list(chosen)
        for size in range(1, len(steps) + 1)
        for chosen in itertools.combinations(steps, size)
    )
    steps = next((chosen for chosen in fewer if run(goal, chosen)), steps)
    for index, step in enumerate(steps):
        bare = [*steps[:index], Step(step.rule, step.back), *steps[index + 1 :]]
        if run(goal, bare):
            steps = bare
    return steps


def symmetric(law: Rule) -> bool:
    """Commutativity and its like, which going backwards adds nothing to."""
    return match(law.left, law.right, law.variables) is not None


def walk_steps(goal: Term, rules: list[Rule]) -> list[tuple[Step, Term]]:
    """All single rewrites of an equation's left side, with the equation each leads to."""
    out = []
    for law in rules:
        for back in (False, True) if law.explicit and not symmetric(law) else (False,):
            for step in _steps(goal.args[0], law, back):
                after = rewrite(goal, step)
                if after is not None:
                    out.append((step, after))
    return out


def _steps(side: Term, law: Rule, back: bool) -> list[Step]:
    pattern, other = (law.right, law.left) if back else (law.left, law.right)
    open_variables = (other.names() - pattern.names()) & set(law.variables)
    if open_variables or pattern.head in law.variables:
        return []
    if not law.explicit:
        return [Step(law, back)]
    found = places(side, law, back)
    return [Step(law, back, tuple(values[name] for name in law.variables)) for values in found]
