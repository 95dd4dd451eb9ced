"""The form of a statement: what is accepted, and errors that say what is wrong."""

from __future__ import annotations

import pytest

from proofgym.errors import TaskError
from proofgym.lean.statement import parse_statement

GOOD = [
    ("theorem foo : True", "foo"),
    ("theorem Foo.bar' (p q : Prop) {r : Prop} [Decidable p] : p ∧ q → r", "Foo.bar'"),
    ("theorem foo.{u} (α : Sort u) (a : α) : a = a", "foo"),
    ("theorem «odd name» : True", "«odd name»"),
    ("  theorem foo (p : Prop)\n    (h : p) :\n    p\n", "foo"),
    ("theorem foo : (let x := 1; x) = 1", "foo"),
    ("theorem foo : ∀ x : Nat, x = x -- sorry is fine here", "foo"),
    ("theorem foo (end1 : Nat) : end1 = end1", "foo"),
]

BAD = [
    ("", "empty"),
    ("lemma foo : True", "must begin with `theorem`"),
    ("theorem", "followed by a name"),
    ("theorem : True", "followed by a name"),
    ("theorem theorem : True", "followed by a name"),
    ("theorem foo", "no `: TYPE`"),
    ("theorem foo :", "nothing follows the colon"),
    ("theorem foo : True := trivial", "`:=`"),
    ("theorem foo : True := by", "`:=`"),
    ("theorem foo : True by", "`by`"),
    ("theorem foo : True theorem bar : False", "exactly one declaration"),
    ("theorem foo : True\naxiom bar : False", "exactly one declaration"),
    ("theorem foo (p : Prop : p", "never closed"),
    ("theorem foo : p)", "closes nothing"),
    ("theorem foo : True /- open", "never closed"),
    ("theorem foo : sorry", "not allowed"),
    ("-- note\ntheorem foo : True", "must begin"),
]


@pytest.mark.parametrize(("text", "name"), GOOD)
def test_good(text: str, name: str) -> None:
    statement = parse_statement(text)
    assert statement.name == name
    assert statement.text == text.partition("--")[0].strip()
    assert statement.alone("").startswith(f"axiom {name}")
    assert statement.alone("variable (p : Prop)") == f"{statement.text} := by\n  sorry"


@pytest.mark.parametrize(("text", "words"), BAD)
def test_bad(text: str, words: str) -> None:
    with pytest.raises(TaskError, match=words):
        parse_statement(text)


def test_the_place_is_named() -> None:
    with pytest.raises(TaskError, match="2:4: `:=`"):
        parse_statement("theorem foo :\n  p := h")
