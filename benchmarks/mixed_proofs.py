"""The mixed proofs that `verify_throughput.py` and `faults.py` check, and what must come out."""

from __future__ import annotations

import random
from dataclasses import dataclass

from proofgym.tasks.lean_core import lean_core
from proofgym.types import Status

# Elaborates for ever, in little memory. The unfolding is lazy, so no depth limit ends it.
HANG = "  have h : ∀ n : Nat, n = n := fun n => rfl\n  repeat (first | rw [h] at h | skip)\n"
# Doubles the context's size with every step.
GREEDY = "  repeat (have : True := trivial)\n  trivial"


@dataclass(frozen=True)
class Case:
    """One proof; `kind` is right, wrong, hang or greedy."""

    statement: str
    proof: str
    kind: str


EXPECTED: dict[str, set[Status]] = {
    "right": {Status.PASSED},
    "wrong": {Status.FAILED, Status.REJECTED},
    "hang": {Status.TIMEOUT},
    "greedy": {Status.OUT_OF_MEMORY},
}


def mixed(count: int, statements: int = 240, bad: float = 0.02, seed: int = 0) -> list[Case]:
    """`count` different proofs of `statements` theorems: 2 % hang, 2 % take all memory, a fifth of
    the rest is wrong (another theorem's proof). In random order; the same for the same seed."""
    chooser = random.Random(seed)
    tasks = chooser.sample(list(lean_core("warmup").load()), statements)
    cases = []
    for number in range(count):
        kind = _kind(number, count, bad)
        task, other = tasks[number % statements], tasks[(number * 7 + 1) % statements]
        proof = {
            "right": task.data.get("proof", ""),
            "wrong": other.data.get("proof", ""),
            "hang": HANG,
            "greedy": GREEDY,
        }[kind]
        cases.append(Case(task.data["statement"], f"{proof.rstrip()}\n  -- {number}", kind))
    chooser.shuffle(cases)
    return cases


def _kind(number: int, count: int, bad: float) -> str:
    share = number / count
    if share < bad:
        return "hang"
    if share < 2 * bad:
        return "greedy"
    return "wrong" if number % 5 == 0 else "right"
