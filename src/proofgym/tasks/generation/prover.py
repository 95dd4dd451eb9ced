"""A small prover for intuitionistic first-order logic that finds short proofs in normal form.

Goal-directed natural deduction: take the goal apart, use a hypothesis along its spine, or split
on a disjunction or witness that a spine ends in. Iterative deepening on the number of steps makes
the first proof found a shortest one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from proofgym.tasks.generation.proof import (
    Absurd,
    Cases,
    Inject,
    Intro,
    Pair,
    Proof,
    Spine,
    Witness,
)
from proofgym.tasks.generation.terms import Term, substitute

FALSE = Term("False")
USED = Term("used")
VALUE_NAMES = ("a", "b", "c", "d", "e")
MAX_STEPS = 400


@dataclass(frozen=True)
class Context:
    """What may be used: hypotheses by name and the individuals in scope."""

    hypotheses: tuple[tuple[str, Term], ...] = ()
    individuals: tuple[Term, ...] = ()

    def name(self) -> str:
        """The next hypothesis name: h1, h2, … (`h` counts as the first)."""
        return f"h{len(self.hypotheses) + 1}"

    def value(self) -> Term | None:
        """A letter that no individual has yet; None once they have run out."""
        used = {part.head for item in self.individuals for part in item.walk()}
        free = [name for name in VALUE_NAMES if name not in used]
        return Term(free[0]) if free else None

    def assume(self, *facts: Term) -> Context:
        """Add hypotheses under the next names."""
        context = self
        for fact in facts:
            hypotheses = (*context.hypotheses, (context.name(), fact))
            context = Context(hypotheses, context.individuals)
        return context

    def without(self, spine: Spine) -> Context:
        """`cases h` uses h up: its name stays taken, what it said is gone."""
        if spine.steps:
            return self
        kept = ((name, USED if name == spine.head else fact) for name, fact in self.hypotheses)
        return Context(tuple(kept), self.individuals)

    def key(self) -> tuple[frozenset[Term], tuple[Term, ...]]:
        """What matters for provability."""
        return frozenset(fact for _, fact in self.hypotheses), self.individuals


@dataclass
class Search:
    """One proof search; `failed` remembers sequents and the budget they failed with."""

    failed: dict[tuple[object, Term], int] = field(default_factory=dict)
    nodes: int = 0
    max_nodes: int = MAX_STEPS

    def prove(self, context: Context, goal: Term, budget: int) -> tuple[Proof, int] | None:
        """A proof and its cost, at most `budget`; None where there is none that cheap."""
        key = (context.key(), goal)
        if budget <= self.failed.get(key, 0) or self.nodes > self.max_nodes:
            return None
        self.nodes += 1
        best = self._least(self._ways(context, goal, budget))
        if best is None:
            self.failed[key] = budget
        return best

    def _least(self, ways: Iterator[tuple[Proof, int]]) -> tuple[Proof, int] | None:
        return next(ways, None)

    def _ways(self, context: Context, goal: Term, budget: int) -> Iterator[tuple[Proof, int]]:
        yield from self._by_use(context, goal, budget)
        yield from self._by_goal(context, goal, budget - 1)
        if goal.head not in ("→", "¬", "∧", "↔", "∀"):
            yield from self._by_cases(context, goal, budget - 1)

    def _by_use(self, context: Context, goal: Term, budget: int) -> Iterator[tuple[Proof, int]]:
        for spine, fact, needs in _spines(context):
            if fact in (goal, FALSE):
                done = self._fill(context, spine, needs, budget - 1)
                if done:
                    filled, cost = done
                    yield (filled if fact == goal else Absurd(filled)), cost + 1

    def _fill(
        self, context: Context, spine: Spine, needs: tuple[Term, ...], budget: int
    ) -> tuple[Spine, int] | None:
        """Prove what the spine's premises (Terms `?`) ask for."""
        if len(needs) > budget:
            return None
        proofs: list[Proof] = []
        spent = 0
        for need in needs:
            found = self.prove(context, need, budget - spent)
            if found is None:
                return None
            proofs.append(found[0])
            spent += found[1]
        rest = iter(proofs)
        steps = tuple(next(rest) if step is OPEN else step for step in spine.steps)
        return Spine(spine.head, steps), spent

    def _by_goal(self, context: Context, goal: Term, budget: int) -> Iterator[tuple[Proof, int]]:
        if budget < 1:
            return
        match goal.head:
            case "True":
                yield Spine("True.intro"), 1
            case "=" if goal.args[0] == goal.args[1]:
                yield Spine("rfl"), 1
            case "→" | "¬":
                inner = context.assume(goal.args[0])
                body = goal.args[1] if goal.head == "→" else FALSE
                if found := self.prove(inner, body, budget):
                    yield Intro(context.name(), found[0]), found[1] + 1
            case "∀":
                value = context.value()
                if value is None:
                    return
                inner = Context(context.hypotheses, (*context.individuals, value))
                if found := self.prove(inner, substitute(goal.args[1], {goal.var: value}), budget):
                    yield Intro(value.head, found[0]), found[1] + 1
            case "∧" | "↔":
                yield from self._both(context, goal, budget)
            case "∨":
                for side, part in zip(("left", "right"), goal.args, strict=True):
                    if found := self.prove(context, part, budget):
                        yield Inject(side, found[0]), found[1] + 1
            case "∃":
                for value in context.individuals:
                    body = substitute(goal.args[1], {goal.var: value})
                    if found := self.prove(context, body, budget):
                        yield Witness(value, found[0]), found[1] + 1

    def _both(self, context: Context, goal: Term, budget: int) -> Iterator[tuple[Proof, int]]:
        left, right = goal.args
        if goal.head == "↔":
            left, right = Term("→", (left, right)), Term("→", (right, left))
        first = self.prove(context, left, budget - 1)
        second = first and self.prove(context, right, budget - first[1])
        if first and second:
            yield Pair(first[0], second[0]), first[1] + second[1] + 1

    def _by_cases(self, context: Context, goal: Term, budget: int) -> Iterator[tuple[Proof, int]]:
        known = {fact for _, fact in context.hypotheses}
        for spine, fact, needs in _spines(context):
            if fact.head == "∨" and not known & set(fact.args):
                done = self._fill(context, spine, needs, budget - 2)
                if done:
                    yield from self._split(context, goal, fact, done[0], budget - done[1])
            if fact.head == "∃" and not _witnessed(fact, context, known):
                done = self._fill(context, spine, needs, budget - 1)
                if done:
                    yield from self._open(context, goal, fact, done[0], budget - done[1])

    def _split(
        self, context: Context, goal: Term, fact: Term, on: Spine, budget: int
    ) -> Iterator[tuple[Proof, int]]:
        name, context = context.name(), context.without(on)
        first = self.prove(context.assume(fact.args[0]), goal, budget - 1)
        second = first and self.prove(context.assume(fact.args[1]), goal, budget - first[1])
        if first and second:
            alternatives = (("inl", (name,), first[0]), ("inr", (name,), second[0]))
            yield Cases(on, alternatives), first[1] + second[1] + 1

    def _open(
        self, context: Context, goal: Term, fact: Term, on: Spine, budget: int
    ) -> Iterator[tuple[Proof, int]]:
        value, name = context.value(), context.name()
        if value is None:
            return
        inner = Context(context.hypotheses, (*context.individuals, value)).without(on)
        inner = inner.assume(substitute(fact.args[1], {fact.var: value}))
        if found := self.prove(inner, goal, budget):
            yield Cases(on, (("intro", (value.head, name), found[0]),)), found[1] + 1


OPEN = Spine("?")
"""Stands in a spine for a premise not yet proved."""


def _witnessed(fact: Term, context: Context, known: set[Term]) -> bool:
    return any(substitute(fact.args[1], {fact.var: v}) in known for v in context.individuals)


def _spines(context: Context) -> Iterator[tuple[Spine, Term, tuple[Term, ...]]]:
    for name, fact in context.hypotheses:
        yield from _along(Spine(name), fact, (), context)


def _along(
    spine: Spine, fact: Term, needs: tuple[Term, ...], context: Context
) -> Iterator[tuple[Spine, Term, tuple[Term, ...]]]:
    """Every fact that a hypothesis yields by taking it apart, with the premises that needs."""
    yield spine, fact, needs
    if len(spine.steps) > 5:
        return
    match fact.head:
        case "∧":
            for step, part in zip((".1", ".2"), fact.args, strict=True):
                yield from _along(Spine(spine.head, (*spine.steps, step)), part, needs, context)
        case "↔":
            for step, (premise, part) in ((".mp", fact.args), (".mpr", fact.args[::-1])):
                steps = (*spine.steps, step, OPEN)
                yield from _along(Spine(spine.head, steps), part, (*needs, premise), context)
        case "→" | "¬":
            part = fact.args[1] if fact.head == "→" else FALSE
            steps = (*spine.steps, OPEN)
            yield from _along(Spine(spine.head, steps), part, (*needs, fact.args[0]), context)
        case "∀":
            for value in context.individuals:
                steps = (*spine.steps, value)
                part = substitute(fact.args[1], {fact.var: value})
                yield from _along(Spine(spine.head, steps), part, needs, context)


def prove(context: Context, goal: Term, budget: int) -> tuple[Proof, int] | None:
    """A shortest proof with at most `budget` steps, and its number of steps."""
    search = Search()
    for limit in range(1, budget + 1):
        if found := search.prove(context, goal, limit):
            return found
    return None
