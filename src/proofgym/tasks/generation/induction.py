"""Random theorems by induction on a number or a list.

Most are about an unknown function given by its recursion: `f 0 = 0` and `f (n + 1) = f n + 2` make
`f n = n * 2`. So the laws differ from theorem to theorem, and no lemma of the library is the goal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from proofgym.tasks.generation.draft import Draft
from proofgym.tasks.generation.draw import Draw
from proofgym.tasks.generation.proof import Tactics
from proofgym.tasks.generation.statement import Argument
from proofgym.tasks.generation.terms import Term, parse_term

TYPES = {
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
    "β": "Type",
    "P": "List α → Prop",
    "Q": "List α → Prop",
    "f": "List α → Nat",
    "F": "List α → List α",
    "k": "α → α",
    "a": "Nat",
    "ys": "List α",
    "xs": "List α",
}


ADD_ASSOCIATES = "rw [Nat.add_succ, ih, Nat.add_succ, Nat.add_succ]"
LEFT_DISTRIBUTES = "rw [Nat.add_succ, Nat.mul_succ, ih, Nat.mul_succ, Nat.add_assoc]"


def drafts(topic: str, draw: Draw) -> Iterator[Draft]:
    """An endless stream; repeats are the caller's to drop."""
    assert topic == "induction"
    while True:
        yield draw.choice(MAKERS)(draw)


def _build(types: dict[str, str], facts: list[str], goal: str, lines: list[str]) -> Draft:
    """Facts are hypotheses #0, #1, …, which the lines name; their bound names get out of the way."""
    apart = [re.sub(r"\bn\b", "m", re.sub(r"\bxs\b", "l", fact)) for fact in facts]
    hypotheses = tuple(Argument(f"#{i}", parse_term(fact)) for i, fact in enumerate(apart))
    values = tuple(Argument(name, parse_term(type_)) for name, type_ in types.items())
    return Draft(values, hypotheses, parse_term(goal), Tactics(tuple(lines)))


def _nat(facts: list[str], goal: str, zero: str, step: str) -> Draft:
    lines = ["induction n with", f"| zero => {zero}", f"| succ n ih => {step}"]
    return _build(TYPES, facts, goal, lines)


def _list(facts: list[str], goal: str, nil: str, step: str) -> Draft:
    lines = ["induction xs with", f"| nil => {nil}", f"| cons x xs ih => {step}"]
    return _build(LIST_TYPES, facts, goal, lines)


def _linear(draw: Draw) -> Draft:
    """f (n + 1) = f n + c makes f n = f 0 + n * c."""
    c = draw.choice(("a", "b", "2", "3"))
    start = draw.choice(("b", "a", "1", "5"))
    kind = draw.below(6)
    if kind == 0:
        facts = [f"f 0 = {start}", "∀ n, f (n + 1) = f n + 1"]
        return _nat(facts, f"f n = {start} + n", "exact #0", "rw [#1, ih, Nat.add_assoc]")
    if kind == 1:
        facts = ["f 0 = 0", "∀ n, f (n + 1) = f n + 1"]
        return _nat(facts, "f n = n", "exact #0", "rw [#1, ih]")
    if kind == 2:
        facts = ["f 0 = 0", "∀ n, f (n + 1) = 1 + f n"]
        return _nat(facts, "f n = n", "exact #0", "rw [#1, ih, Nat.add_comm]")
    zero = "rw [#0, Nat.zero_mul]"
    if kind == 3:
        facts = ["f 0 = 0", f"∀ n, f (n + 1) = f n + {c}"]
        return _nat(facts, f"f n = n * {c}", zero, "rw [#1, ih, Nat.succ_mul]")
    if kind == 4:
        facts = ["f 0 = 0", f"∀ n, f (n + 1) = {c} + f n"]
        return _nat(facts, f"f n = n * {c}", zero, "rw [#1, ih, Nat.succ_mul, Nat.add_comm]")
    facts = [f"f 0 = {start}", f"∀ n, f (n + 1) = f n + {c}"]
    zero = "rw [#0, Nat.zero_mul, Nat.add_zero]"
    step = "rw [#1, ih, Nat.succ_mul, Nat.add_assoc]"
    return _nat(facts, f"f n = {start} + n * {c}", zero, step)


def _constant(draw: Draw) -> Draft:
    """A function whose steps keep the value (or a law) keeps it from 0 on."""
    start = draw.choice(("a", "0", "1", "2", "b"))
    kind = draw.below(5)
    if kind == 0:
        return _nat(
            [f"f 0 = {start}", "∀ n, f (n + 1) = f n"], f"f n = {start}", "exact #0", "rw [#1, ih]")
    if kind == 1:
        return _nat(["∀ n, f (n + 1) = f n"], "f n = f 0", "rfl", "rw [#0, ih]")
    if kind == 2:
        c = draw.choice(("a", "b", "0 + a"))
        return _nat(
            [f"f 0 = {c}", f"∀ n, f n = {c} → f (n + 1) = {c}"],
            f"f n = {c}",
            "exact #0",
            "exact #1 n ih")
    if kind == 3:
        return _nat(
            ["f 0 = g 0", "∀ n, f (n + 1) = f n", "∀ n, g (n + 1) = g n"],
            "f n = g n",
            "exact #0",
            "rw [#1, #2, ih]")
    c = draw.choice(("1", "2", "a", "b"))
    symbol = draw.choice("+*")
    return _nat(
        ["f 0 = g 0", f"∀ n, f (n + 1) = f n {symbol} {c}", f"∀ n, g (n + 1) = g n {symbol} {c}"],
        "f n = g n",
        "exact #0",
        "rw [#1, #2, ih]")


def _grow(draw: Draw) -> Draft:
    """Monotone sequences, bounds and invariants in the form of inequalities."""
    c = draw.choice(("1", "2", "3", "a", "b"))
    kind = draw.below(7)
    if kind == 0:
        return _nat(
            ["∀ n, f n ≤ f (n + 1)"],
            "f 0 ≤ f n",
            "exact Nat.le_refl (f 0)",
            "exact Nat.le_trans ih (#0 n)")
    if kind == 1:
        return _nat(
            ["∀ n, f (n + 1) ≤ f n"],
            "f n ≤ f 0",
            "exact Nat.le_refl (f 0)",
            "exact Nat.le_trans (#0 n) ih")
    if kind == 2:
        return _nat(
            [f"f 0 ≤ {c}", "∀ n, f (n + 1) ≤ f n"],
            f"f n ≤ {c}",
            "exact #0",
            "exact Nat.le_trans (#1 n) ih")
    if kind == 3:
        return _nat(
            [f"{c} ≤ f 0", "∀ n, f n ≤ f (n + 1)"],
            f"{c} ≤ f n",
            "exact #0",
            "exact Nat.le_trans ih (#1 n)")
    if kind == 4:
        return _nat(
            ["∀ n, f n < f (n + 1)"],
            "n ≤ f n",
            "exact Nat.zero_le (f 0)",
            "exact Nat.lt_of_le_of_lt ih (#0 n)")
    if kind == 5:
        return _nat(
            [f"f 0 < {c}", "∀ n, f (n + 1) ≤ f n"],
            f"f n < {c}",
            "exact #0",
            "exact Nat.lt_of_le_of_lt (#1 n) ih")
    return _nat(
        ["f 0 ≤ g 0", "∀ n, f (n + 1) ≤ f n", "∀ n, g n ≤ g (n + 1)"],
        "f n ≤ g n",
        "exact #0",
        "exact Nat.le_trans (#1 n) (Nat.le_trans ih (#2 n))")


def _predicate(draw: Draw) -> Draft:
    """Induction for abstract predicates, with the step in several logical forms."""
    base = draw.choice(("P 0", "P 0", "P 0 ∧ Q 0", "∀ m, P m ↔ Q m"))
    kind = draw.below(9)
    if kind == 0:
        return _nat(["P 0", "∀ n, P n → P (n + 1)"], "P n", "exact #0", "exact #1 n ih")
    if kind == 1:
        return _nat(["P 0", "∀ n, P (n + 1)"], "P n", "exact #0", "exact #1 n")
    if kind == 2:
        return _nat(
            ["P 0 ∧ Q 0", "∀ n, P n ∧ Q n → P (n + 1) ∧ Q (n + 1)"],
            "P n ∧ Q n",
            "exact #0",
            "exact #1 n ih")
    if kind == 3:
        return _nat(
            ["P 0", "∀ n, Q n", "∀ n, P n → Q n → P (n + 1)"],
            "P n",
            "exact #0",
            "exact #2 n ih (#1 n)")
    if kind == 4:
        return _nat(
            ["P 0 ∧ Q 0", "∀ n, P n → P (n + 1)", "∀ n, Q n → Q (n + 1)"],
            "P n ∧ Q n",
            "exact #0",
            "exact ⟨#1 n ih.1, #2 n ih.2⟩")
    if kind == 5:
        return _nat(
            ["P 0 ∧ Q 0", "∀ n, P n → Q (n + 1)", "∀ n, Q n → P (n + 1)"],
            "P n ∧ Q n",
            "exact #0",
            "exact ⟨#2 n ih.2, #1 n ih.1⟩")
    if kind == 6:
        return _nat(
            ["P 0", "∀ n, P (n + 1) ↔ P n"], "P n", "exact #0", "exact (#1 n).mpr ih")
    if kind == 7:
        other = "Q n ∧ " if base != "P 0" else ""
        facts = [f"{'Q 0 ∧ ' if other else ''}P 0", f"∀ n, P n → {'Q (n + 1) ∧ ' if other else ''}P (n + 1)"]
        step = "exact #1 n ih.2" if other else "exact #1 n ih"
        return _nat(facts, f"{other}P n", "exact #0", step)
    return _nat(["¬P 0", "∀ n, P (n + 1) → P n"], "¬P n", "exact #0", "exact fun h => ih (#1 n h)")


def _law(draw: Draw) -> Draft:
    """Known laws of + and *, proved from their recursion."""
    return draw.choice(
        (
            _nat([], "0 + n = n", "rfl", "rw [Nat.add_succ, ih]"),
            _nat([], "0 * n = 0", "rfl", "rw [Nat.mul_succ, ih]"),
            _nat([], "a + b + n = a + (b + n)", "rfl", ADD_ASSOCIATES),
            _nat([], "a * (b + n) = a * b + a * n", "rfl", LEFT_DISTRIBUTES),
        )
    )


def _on_lists(draw: Draw) -> Draft:
    """Functions and predicates on lists, given by their recursion."""
    c = draw.choice(("1", "2", "a", "3"))
    kind = draw.below(10)
    if kind == 0:
        return _list(["P []", "∀ x xs, P xs → P (x :: xs)"], "P xs", "exact #0", "exact #1 x xs ih")
    if kind == 1:
        return _list(["P []", "∀ x xs, P (x :: xs)"], "P xs", "exact #0", "exact #1 x xs")
    if kind == 2:
        return _list(
            ["f [] = 0", "∀ x xs, f (x :: xs) = f xs + 1"], "f xs = xs.length", "exact #0",
            "rw [#1, ih, List.length_cons]",
        )
    if kind == 3:
        return _list(
            [f"f [] = {c}", "∀ x xs, f (x :: xs) = f xs"], f"f xs = {c}", "exact #0", "rw [#1, ih]"
        )
    if kind == 4:
        return _list(
            ["F [] = []", "∀ x xs, F (x :: xs) = x :: F xs"], "F xs = xs", "exact #0", "rw [#1, ih]"
        )
    if kind == 5:
        return _list(
            ["F [] = []", "∀ x xs, F (x :: xs) = k x :: F xs"], "F xs = xs.map k", "exact #0",
            "rw [#1, ih, List.map_cons]",
        )
    if kind == 6:
        return _list(
            ["F [] = ys", "∀ x xs, F (x :: xs) = x :: F xs"], "F xs = xs ++ ys", "exact #0",
            "rw [#1, ih, List.cons_append]",
        )
    if kind == 7:
        return _list(
            ["P []", "∀ xs, Q xs", "∀ x xs, P xs → Q xs → P (x :: xs)"], "P xs", "exact #0",
            "exact #2 x xs ih (#1 xs)",
        )
    if kind == 8:
        return _list(
            ["F [] = []", "∀ x xs, F (x :: xs) = F xs ++ [x]"], "F xs = xs.reverse", "exact #0",
            "rw [#1, ih, List.reverse_cons]",
        )
    return _list(
        ["P [] ∧ Q []", "∀ x xs, P xs ∧ Q xs → P (x :: xs) ∧ Q (x :: xs)"], "P xs ∧ Q xs",
        "exact #0", "exact #1 x xs ih",
    )


MAKERS: tuple[Callable[[Draw], Draft], ...] = (
    _linear,
    _linear,
    _constant,
    _grow,
    _predicate,
    _law,
    _on_lists,
)
