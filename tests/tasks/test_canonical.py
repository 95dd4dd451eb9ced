"""Theorems that differ in names and argument order are one theorem; others are not."""

import itertools

import pytest

from proofgym.tasks.generation.canonical import canonical
from proofgym.tasks.generation.draw import Draw
from proofgym.tasks.generation.statement import Argument, Statement, parse_statement
from proofgym.tasks.generation.terms import Term, substitute
from proofgym.tasks.lean_core import SPLITS, lean_core


def form(text: str) -> str:
    return canonical(parse_statement(f"theorem t {text}")[1])


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("(p q : Prop) (h : p ∧ q) : q", "(a b : Prop) (k : a ∧ b) : b"),
        ("(p q : Prop) (h : p ∧ q) : q", "(q p : Prop) (h : p ∧ q) : q"),
        ("(p q : Prop) (h : p ∧ q) : p", "(p q : Prop) (h : q ∧ p) : q"),
        ("(p q : Prop) (h1 : p) (h2 : q) : p ∧ q", "(p q : Prop) (h1 : p) (h2 : q) : q ∧ p"),
        ("(p : Prop) (h : p) : p", "(p : Prop) : p → p"),
        ("(p : Prop) (h : p) : False", "(p : Prop) : ¬p"),
        ("(P : Nat → Prop) (h : ∀ x, P x) : P 0", "(Q : Nat → Prop) (h : ∀ y, Q y) : Q 0"),
        (
            "(α : Type) (P : α → Prop) (h : ∀ x, P x) (a : α) : P a",
            "(β : Type) (a : β) (Q : β → Prop) (h : ∀ x, Q x) : Q a",
        ),
        ("(a b c : Nat) : a + b + c = c + a + b", "(x y z : Nat) : z + x + y = y + z + x"),
        (
            "(p q r s : Prop) (h1 : p ∧ q) (h2 : r ∧ s) : q ∧ s",
            "(p q r s : Prop) (h1 : p ∧ q) (h2 : r ∧ s) : s ∧ q",
        ),
    ],
)
def test_same(one: str, two: str) -> None:
    assert form(one) == form(two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("(p q : Prop) (h : p ∧ q) : p", "(p q : Prop) (h : p ∧ q) : q"),
        ("(p q : Prop) (h : p ∧ q) : q ∧ p", "(p q : Prop) (h : p ∧ q) : p ∧ q"),
        ("(p q : Prop) (h : p) : p ∨ q", "(p q : Prop) (h : p) : q ∨ p"),
        (
            "(p q r : Prop) (h1 : p → q) (h2 : q → r) : p → r",
            "(p q r : Prop) (h1 : p → q) (h2 : q → r) : r → p",
        ),
        ("(a b : Nat) : a + b = b + a", "(a b : Nat) : a * b = b * a"),
        ("(a : Nat) (h : a = 1) : a = 1", "(a : Nat) (h : a = 2) : a = 2"),
        (
            "(R : Nat → Nat → Prop) (h : ∀ x, ∃ y, R x y) : True",
            "(R : Nat → Nat → Prop) (h : ∃ y, ∀ x, R x y) : True",
        ),
    ],
)
def test_different(one: str, two: str) -> None:
    assert form(one) != form(two)


def scrambled(statement: Statement, draw: Draw) -> Statement:
    """Rename every argument, and put them in another order that their types allow."""
    count = len(statement.arguments)
    fresh = draw.sample([f"z{index}" for index in range(count)], count)
    values = {a.name: Term(new) for a, new in zip(statement.arguments, fresh, strict=True)}
    left = [Argument(values[a.name].head, substitute(a.type, values)) for a in statement.arguments]
    done: list[Argument] = []
    while left:
        names = {item.name for item in left}
        ready = [item for item in left if not item.type.names() & names]
        done.append(draw.choice(ready))
        left.remove(done[-1])
    return Statement(tuple(done), substitute(statement.goal, values))


@pytest.mark.parametrize("split", SPLITS)
def test_scrambling_a_task_keeps_its_form(split: str) -> None:
    for task in lean_core(split).load()[::4]:
        _, statement = parse_statement(task.data["statement"])
        assert canonical(scrambled(statement, Draw(task.name))) == canonical(statement), task.name


def test_hypotheses_in_any_order() -> None:
    facts = ["p → q", "q → r", "r → s", "¬s"]
    forms = {
        form(
            "(p q r s : Prop) "
            + " ".join(f"(h{index} : {fact})" for index, fact in enumerate(order))
            + " : ¬p"
        )
        for order in itertools.permutations(facts)
    }
    assert len(forms) == 1
