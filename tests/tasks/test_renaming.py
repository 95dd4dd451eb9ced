"""Renamed copies are still theorems, with proofs that Lean accepts."""

from proofgym.lean.checker import LeanChecker
from proofgym.lean.toolchain import find_toolchain
from proofgym.sandboxes.choose import choose_sandbox
from proofgym.tasks import lean_core
from proofgym.tasks.renaming import renamed
from proofgym.tasks.tasks import PROMPT_END


def test_letters_change_and_names_with_dots_stay():
    prompt, proof = renamed("theorem t1 (p q : Prop) (h : q ∧ p) : p", "  exact h.2", 0, 4)
    assert prompt != "theorem t1 (p q : Prop) (h : q ∧ p) : p"
    assert (prompt.count("h"), proof) == (2, "  exact h.2")
    text = "  rw [Nat.add_comm, xs.map_id]"
    assert {renamed("", text, 0, copy)[1].split(", ")[0] for copy in range(9)} == {
        "  rw [Nat.add_comm"
    }


def test_copies_are_a_function_of_seed_and_number():
    pair = ("theorem t1 (a b c : Nat) : a = b", "  exact b")
    assert renamed(*pair, 3, 1) == renamed(*pair, 3, 1)
    assert len({renamed(*pair, 3, copy) for copy in range(20)}) > 5


def test_lean_accepts_renamed_proofs():
    tasks = lean_core("warmup", limit=60)
    proofs = tasks.reference_proofs()
    pairs = []
    for number, task in enumerate(tasks.load()):
        prompt, proof = renamed(task.prompt, proofs[task.name], 0, number)
        pairs.append((prompt.removesuffix(PROMPT_END), proof))
    with LeanChecker(find_toolchain(None), choose_sandbox()) as checker:
        verdicts = checker.check_many(pairs)
    assert [v.message for v in verdicts if v.reward != 1.0] == []
