"""Whole answers whose theorem has the right name and another type, made to look the same."""

from __future__ import annotations

from attack import REJECTED, Attack


def _deep(depth: int, last: str) -> str:
    return last if depth == 0 else f"True ∧ ({_deep(depth - 1, last)})"


def _wide(depth: int) -> str:
    return "True" if depth == 0 else f"({_wide(depth - 1)} ∧ {_wide(depth - 1)})"


def _attack(
    name: str, trick: str, by: str, wanted: str, proved: str, header: str = "", before: str = ""
) -> Attack:
    """The task wants `wanted`; the answer proves `proved`, with `before` written above it."""
    proof = f"{before}theorem no : {proved} := by\n  repeat' constructor\n"
    return Attack(
        name, trick, proof, by, f"theorem no : {wanted}", header, form="answer", ends=REJECTED
    )


ATTACKS: list[Attack] = [
    _attack(
        "easier", "an easier theorem under the name that is asked for", "type", "False", "True"
    ),
    _attack(
        "opened_number",
        "a numeral that means another number, by an instance that the answer opens",
        "whole",
        "(5 : Nat) = 6",
        "(5 : Nat) = 6",
        "namespace Foo\nscoped instance (priority := high) : OfNat Nat 5 := ⟨6⟩\nend Foo",
        "open Foo\n",
    ),
    _attack(
        "opened_instance",
        "another sum, printed alike, by an instance that the answer opens",
        "whole",
        "1 + 1 = 1",
        "1 + 1 = 1",
        "namespace Foo\nscoped instance (priority := high) : Add Nat := ⟨fun a _ => a⟩\nend Foo",
        "open Foo\n",
    ),
    _attack(
        "too_deep",
        "the difference so deep that Lean prints dots for it",
        "whole",
        _deep(80, "1 = 2"),
        _deep(80, "1 = 1"),
    ),
    _attack(
        "too_wide",
        "the difference after as many terms as Lean prints",
        "whole",
        f"({_wide(12)}) ∧ 1 = 2",
        f"({_wide(12)}) ∧ 1 = 1",
    ),
    _attack(
        "header_shows_one_line",
        "a header that has only a type's first line printed",
        "whole",
        _deep(20, "1 = 2"),
        _deep(20, "1 = 1"),
        "set_option pp.oneline true",
    ),
    _attack(
        "header_shows_few_terms",
        "a header that has only a type's first terms printed",
        "whole",
        _deep(12, "1 = 2"),
        _deep(12, "1 = 1"),
        "set_option pp.maxSteps 20",
    ),
]
