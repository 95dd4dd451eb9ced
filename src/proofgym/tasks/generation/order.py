"""Random theorems about ≤ and < on Nat: derivations grown step by step from the left side.

What a step needs and cannot derive becomes a hypothesis, so the proof is known by construction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from proofgym.tasks.generation.draft import Draft
from proofgym.tasks.generation.draw import Draw
from proofgym.tasks.generation.proof import Spine
from proofgym.tasks.generation.statement import Argument
from proofgym.tasks.generation.terms import Term, op, parse_term

NAT = Term("Nat")
ONE = Term("1")
MONOTONE = parse_term("∀ x y, x ≤ y → f x ≤ f y")
GROWING = parse_term("∀ x, x ≤ f x")
F = Argument("f", op("→", NAT, NAT))
VALUES = (F, *(Argument(name, NAT) for name in "abcdkmn"))


@dataclass
class Growth:
    """One derivation in progress: the variables still unused, and the hypotheses so far."""

    draw: Draw
    hypotheses: list[Argument] = field(default_factory=list)
    fresh: list[str] = field(default_factory=lambda: list("bcdmn"))

    def variable(self) -> Term:
        return Term(self.fresh.pop(0)) if self.fresh else Term("a")

    def given(self, fact: Term) -> Spine:
        """A hypothesis that says so, shared if it is there already."""
        for item in self.hypotheses:
            if item.type == fact:
                return Spine(item.name)
        self.hypotheses.append(Argument(f"#{len(self.hypotheses)}", fact))
        return Spine(self.hypotheses[-1].name)

    def at_most(self, left: Term, depth: int) -> tuple[Term, Spine]:
        """Some right side and a proof of `left ≤ right`."""
        draw = self.draw
        if depth > 0 and draw.chance(75):
            return self._deeper(left, depth - 1)
        match draw.below(7):
            case 0:
                other = self.variable()
                return op("+", left, other), Spine("Nat.le_add_right", (left, other))
            case 1:
                other = self.variable()
                return op("+", other, left), Spine("Nat.le_add_left", (left, other))
            case 2:
                return op("+", left, ONE), Spine("Nat.le_succ", (left,))
            case 3:
                right = op("f", left)
                return right, Spine(self.given(GROWING).head, (left,))
        right = self.variable()
        return right, self.given(op("≤", left, right))

    def _deeper(self, left: Term, depth: int) -> tuple[Term, Spine]:
        choices = ["trans", "trans", "trans", "of_lt"]
        if left.head == "+":
            choices += ["add", "add_left", "add_right"] * 2
        if left.head == "*":
            choices += ["mul_left", "mul_right"] * 4
        if left.head == "f":
            choices += ["mono"] * 6
        choice = self.draw.choice(choices)
        if choice == "trans":
            middle, first = self.at_most(left, depth)
            right, second = self.at_most(middle, depth)
            return right, Spine("Nat.le_trans", (first, second))
        if choice == "of_lt":
            right, proof = self.below(left, depth)
            return right, Spine("Nat.le_of_lt", (proof,))
        if choice == "mono":
            right, proof = self.at_most(left.args[0], depth)
            given = self.given(MONOTONE)
            return op("f", right), Spine(given.head, (left.args[0], right, proof))
        return self._sided(left, depth, choice)

    def _sided(self, left: Term, depth: int, choice: str) -> tuple[Term, Spine]:
        one, two = left.args
        if choice == "add":
            first, p = self.at_most(one, depth)
            second, q = self.at_most(two, depth)
            return op("+", first, second), Spine("Nat.add_le_add", (p, q))
        if choice.endswith("left"):
            right, p = self.at_most(two, depth)
            end, fixed = op(left.head, one, right), one
        else:
            right, p = self.at_most(one, depth)
            end, fixed = op(left.head, right, two), two
        side = choice.removeprefix("add_").removeprefix("mul_")
        if left.head == "+":
            return end, Spine(f"Nat.add_le_add_{side}", (p, fixed))
        return end, Spine(f"Nat.mul_le_mul_{side}", (fixed, p))

    def below(self, left: Term, depth: int) -> tuple[Term, Spine]:
        """Some right side and a proof of `left < right`."""
        if depth > 0 and self.draw.chance(70):
            return self._below_deeper(left, depth - 1)
        if self.draw.chance(30):
            return op("+", left, ONE), Spine("Nat.lt_succ_self", (left,))
        right = self.variable()
        return right, self.given(op("<", left, right))

    def _below_deeper(self, left: Term, depth: int) -> tuple[Term, Spine]:
        if left.head == "+" and self.draw.chance(45):
            one, two = left.args
            if self.draw.chance(50):
                right, p = self.below(two, depth)
                return op("+", one, right), Spine("Nat.add_lt_add_left", (p, one))
            right, p = self.below(one, depth)
            return op("+", right, two), Spine("Nat.add_lt_add_right", (p, two))
        match self.draw.below(4):
            case 0:
                middle, first = self.below(left, depth)
                right, second = self.at_most(middle, depth)
                return right, Spine("Nat.lt_of_lt_of_le", (first, second))
            case 1:
                middle, first = self.at_most(left, depth)
                right, second = self.below(middle, depth)
                return right, Spine("Nat.lt_of_le_of_lt", (first, second))
            case 2:
                right, proof = self.at_most(left, depth)
                return op("+", right, ONE), Spine("Nat.lt_succ_of_le", (proof,))
        middle, first = self.below(left, depth)
        right, second = self.below(middle, depth)
        return right, Spine("Nat.lt_trans", (first, second))


STARTS = ("a", "a", "a", "a + k", "k + a", "a * k", "k * a", "f a", "0", "a + 1")


def drafts(topic: str, draw: Draw) -> Iterator[Draft]:
    """An endless stream; repeats are the caller's to drop."""
    assert topic == "order"
    while True:
        found = _attempt(draw)
        if found:
            yield found


def _attempt(draw: Draw) -> Draft | None:
    growth = Growth(draw)
    start = parse_term(draw.choice(STARTS))
    depth = draw.choice((0, 1, 1, 2, 2, 3))
    if draw.chance(65):
        end, proof = growth.at_most(start, depth)
        relation = "≤"
    else:
        end, proof = growth.below(start, depth)
        relation = "<"
    goal = op(relation, start, end)
    proof_goal = _twist(draw, growth, goal, proof)
    if proof_goal is None or len(growth.hypotheses) > 3:
        return None
    goal, proof = proof_goal
    if any(item.type == goal for item in growth.hypotheses):
        return None
    return Draft(VALUES, tuple(growth.hypotheses), goal, proof)


def _twist(draw: Draw, growth: Growth, goal: Term, proof: Spine) -> tuple[Term, Spine] | None:
    """Now and then conclude something else than the inequality itself."""
    left, right = goal.args
    if not draw.chance(35):
        return goal, proof
    if goal.head == "≤":
        if draw.chance(60):
            back = growth.given(op("≤", right, left))
            return op("=", left, right), Spine("Nat.le_antisymm", (proof, back))
        return Term("¬", (op("<", right, left),)), Spine("Nat.not_lt_of_le", (proof,))
    match draw.below(3):
        case 0:
            return op("≠", left, right), Spine("Nat.ne_of_lt", (proof,))
        case 1:
            return Term("¬", (op("≤", right, left),)), Spine("Nat.not_le_of_lt", (proof,))
    return op("≤", op("+", left, ONE), right), Spine("Nat.succ_le_of_lt", (proof,))
