"""The generator's own reading and printing of Lean text."""

import pytest

from proofgym.errors import TaskError
from proofgym.tasks.generation.shape import proof_shape, proof_size, proof_tactics
from proofgym.tasks.generation.statement import parse_statement
from proofgym.tasks.generation.terms import Term, bind, op, parse_term, substitute
from proofgym.tasks.lean_core import SPLITS, lean_core


@pytest.mark.parametrize(
    "text",
    [
        "p → q → p",
        "(p → q) → p",
        "p ∧ q ∧ r ∨ ¬p",
        "(p ∧ q) ∧ r",
        "¬¬p",
        "¬(p ∧ q)",
        "¬P a",
        "(p → q) ↔ ¬p",
        "∀ x y, R x y → R y x",
        "p → ∃ x, P x",
        "(∃ x, P x) → p",
        "∀ x : Nat, ∃ y, x < y",
        "a + b + c = a + (b + c)",
        "(a + b) * c = a * c + b * c",
        "x :: xs ++ ys = x :: (xs ++ ys)",
        "(xs ++ ys).length = xs.length + ys.length",
        "(xs.map f).map g = xs.map (fun x => g (f x))",
        "[1, 2] ++ [3] = [1, 2, 3]",
        "f (g (f a)) ≠ b",
        "Nat.succ n = n + 1",
    ],
)
def test_print_inverts_parse(text: str) -> None:
    assert str(parse_term(text)) == text


@pytest.mark.parametrize("text", ["p ∧", "(p", "p q)", "p ? q", "∀ x"])
def test_bad_text_is_refused(text: str) -> None:
    with pytest.raises(TaskError):
        parse_term(text)


@pytest.mark.parametrize("split", SPLITS)
def test_every_statement_is_read_and_printed_back(split: str) -> None:
    for task in lean_core(split).load():
        name, parsed = parse_statement(task.data["statement"])
        assert parsed.show(name) == task.data["statement"]


def test_substitute_applies_functions() -> None:
    term = op("P", op("f", Term("a")))
    assert str(substitute(term, {"a": Term("b"), "f": parse_term("g c")})) == "P (g c b)"


def test_substitute_spares_bound_names() -> None:
    term = bind("∀", "x", op("P", Term("x")))
    assert substitute(term, {"x": Term("a")}) == term


def test_shape_erases_names_lemmas_and_numbers() -> None:
    one = "  rw [Nat.add_comm a b, h1]\n  exact ⟨h.1, 2⟩"
    two = "  rw [List.append_nil xs c, h2]\n  exact ⟨k.1, n⟩"
    assert proof_shape(one) == proof_shape(two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("  exact h.1", "  exact h.2"),
        ("  exact h1 h2", "  exact h1"),
        ("  intro h1\n  exact h1", "  apply h1\n  exact h1"),
        ("  rw [h]", "  rw [← h]"),
        ("  constructor\n  · exact h", "  constructor\n  exact h"),
    ],
)
def test_shape_keeps_structure(one: str, two: str) -> None:
    assert proof_shape(one) != proof_shape(two)


def test_size_and_tactics() -> None:
    proof = "  intro h1\n  exact ⟨h1.2, h1.1⟩"
    assert proof_tactics(proof) == {"intro", "exact"}
    assert proof_size(proof) == 10
