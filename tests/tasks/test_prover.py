"""The generator's prover and its simulation of `rw`."""

import pytest

from proofgym.tasks.generation.proof import write
from proofgym.tasks.generation.prover import Context, prove
from proofgym.tasks.generation.rewriting import Step, rewrite, rule, run, shorten
from proofgym.tasks.generation.terms import Term, parse_term


def proof_of(facts: list[str], goal: str, individuals: str = "") -> str | None:
    names = ["h"] if len(facts) == 1 else [f"h{index + 1}" for index in range(len(facts))]
    hypotheses = tuple(zip(names, map(parse_term, facts), strict=True))
    context = Context(hypotheses, tuple(map(Term, individuals.split())))
    found = prove(context, parse_term(goal), 12)
    return write(found[0]) if found else None


@pytest.mark.parametrize(
    ("facts", "goal", "proof"),
    [
        (["p ∧ q"], "q ∧ p", "  exact ⟨h.2, h.1⟩"),
        (["p ∧ q ∧ r"], "r ∧ q ∧ p", "  exact ⟨h.2.2, h.2.1, h.1⟩"),
        (["p"], "q ∨ p", "  exact Or.inr h"),
        (["p → q", "p"], "q", "  exact h1 h2"),
        (["¬p", "p"], "q", "  exact absurd h2 h1"),
        (["∀ x, P x"], "P a", "  exact h a"),
        (["P a"], "∃ x, P x", "  exact ⟨a, h⟩"),
        (["p ∨ q"], "q ∨ p",
         "  cases h with\n  | inl h2 => exact Or.inr h2\n  | inr h2 => exact Or.inl h2"),
        ([], "p → q → p", "  intro h1 h2\n  exact h1"),
        (["∃ x, P x ∧ Q x"], "∃ x, Q x",
         "  cases h with\n  | intro a h2 => exact ⟨a, h2.2⟩"),
    ],
)  # fmt: skip
def test_short_proofs(facts: list[str], goal: str, proof: str) -> None:
    individuals = "a" if "a" in goal or "P a" in facts else ""
    assert proof_of(facts, goal, individuals) == proof


@pytest.mark.parametrize(
    ("facts", "goal"),
    [
        ([], "p ∨ ¬p"),
        ([], "((p → q) → p) → p"),
        (["¬¬p"], "p"),
        (["p ∨ q"], "p"),
        (["∀ x, ∃ y, R x y"], "∃ y, ∀ x, R x y"),
    ],
)
def test_no_proof_of_what_intuitionistic_logic_lacks(facts: list[str], goal: str) -> None:
    assert proof_of(facts, goal) is None


def test_a_split_hypothesis_is_used_up() -> None:
    """After `cases h` Lean knows no `h`, so `⟨h, _⟩` inside would be refused."""
    text = proof_of(["p ∨ q"], "p ∨ (p ∨ q) ∧ q")
    assert text is not None
    assert "⟨h," not in text


COMM = rule("Nat.add_comm", "n m", "n + m = m + n")
ZERO = rule("Nat.add_zero", "n", "n + 0 = n")


def test_rewrite_takes_the_first_match_and_all_its_copies() -> None:
    goal = parse_term("a + b + (a + b) = c")
    assert str(rewrite(parse_term("a + b + c = c"), Step(COMM))) == "c + (a + b) = c"
    given = Step(COMM, arguments=(Term("a"), Term("b")))
    assert str(rewrite(goal, given)) == "b + a + (b + a) = c"


def test_rewrite_without_effect_or_match_fails() -> None:
    assert rewrite(parse_term("a = b"), Step(COMM)) is None
    assert rewrite(parse_term("a * b = b"), Step(ZERO)) is None


def test_shorten_drops_steps_and_arguments() -> None:
    goal = parse_term("a + b = b + a")
    there_and_back = [Step(COMM, arguments=(Term(x), Term(y))) for x, y in ("ab", "ba", "ab")]
    assert run(goal, [there_and_back[0]])
    assert shorten(goal, there_and_back) == [Step(COMM)]
