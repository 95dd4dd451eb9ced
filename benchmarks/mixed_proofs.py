"""The mixed proofs that `verify_throughput.py` and `faults.py` check, and what must come out."""

from __future__ import annotations

import random
from dataclasses import dataclass

from proofgym.sandboxes import Limits
from proofgym.sandboxes.limits import MIB
from proofgym.tasks.lean_core import lean_core
from proofgym.types import Status

HANG = "  repeat (have : True := trivial)\n  trivial"  # for ever, in little memory
GREEDY = (  # numbers of 500 MB
    "  have h : Nat.shiftLeft 1 4000000000 = Nat.shiftLeft 1 4000000001 := by rfl\n  trivial"
)
HANG_CPU_S = 2.0

LIMITS = Limits(wall_s=60.0, cpu_s=HANG_CPU_S, memory_bytes=256 * MIB, output_bytes=MIB)
"""A hanging proof is ended by its processor time, so that other work on the machine changes how
long that takes but not the verdict."""

EXPECTED: dict[str, set[Status]] = {
    "right": {Status.PASSED},
    "wrong": {Status.PASSED, Status.FAILED, Status.REJECTED},  # may happen to fit
    "hang": {Status.TIMEOUT},
    "greedy": {Status.OUT_OF_MEMORY},
}


@dataclass(frozen=True)
class Case:
    """One proof; `kind` is right, wrong, hang or greedy."""

    statement: str
    proof: str
    kind: str


def mixed(count: int, statements: int = 240, bad: float = 0.02, seed: int = 0) -> list[Case]:
    """`count` different proofs of `statements` theorems: a share `bad` hangs, as many take all
    memory, a fifth of the rest is another theorem's proof. Shuffled; a function of the seed."""
    chooser = random.Random(seed)
    family = lean_core("warmup")
    proofs = family.reference_proofs()
    tasks = chooser.sample(family.load(), min(statements, count))
    cases = []
    for number in range(count):
        kind = _kind(number, count, bad)
        task, other = tasks[number % len(tasks)], tasks[(number * 7 + 1) % len(tasks)]
        proof = {
            "right": proofs[task.name],
            "wrong": proofs[other.name],
            "hang": HANG,
            "greedy": GREEDY,
        }[kind]
        cases.append(Case(task.data["statement"], f"{proof.rstrip()}\n  -- {number}", kind))
    chooser.shuffle(cases)
    return cases


def _kind(number: int, count: int, bad: float) -> str:
    if number < round(count * bad):
        return "hang"
    if number < 2 * round(count * bad):
        return "greedy"
    return "wrong" if number % 5 == 0 else "right"
