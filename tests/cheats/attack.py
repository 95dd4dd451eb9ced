"""What one attack of the corpus is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from proofgym.types import Status

NO = "theorem no : False"
YES = "theorem yes : True"
CHEAT = "axiom cheat : False"
"""A header with an axiom that nobody allowed: what an attack rests on that hides its axioms."""
BARE = "prelude\ninductive Never : Prop\ninductive Sure : Prop where | sure"
"""A header without any library: no `sorryAx`, none of the allowed axioms."""


@dataclass(frozen=True)
class Full:
    """The same trick for a toolchain with a standard library."""

    proof: str
    header: str = "import Lean\nopen Lean Elab Meta Tactic"
    statement: str = NO


@dataclass(frozen=True)
class Attack:
    """One attack: what a prover writes, which defence stops it, how it must end."""

    name: str
    trick: str
    """What it hopes for; no two attacks hope for the same."""
    proof: str
    by: str
    """The defence that stops it first (a key of `switches.DEFENCES`), or a limit of Lean's."""
    statement: str = NO
    header: str = ""
    form: Literal["proof", "file", "answer"] = "proof"
    """A proof of `statement`, or a whole file (then `proof` is the file), or a whole answer that
    must prove `statement` (then `proof` is the answer)."""
    ends: tuple[Status, ...] = (Status.REJECTED,)
    """The statuses that it may end with."""
    past_scan: Literal["stopped", "passes"] = "stopped"
    """What becomes of it with the policy scan off. `passes`: the scan alone stands against it."""
    limits: dict[str, Any] = field(default_factory=dict)
    """Tighter limits than the usual ones, so that the attack is cheap to run."""
    heartbeats: int | None = None
    """Lean's own limit, in thousands of allocations; None: Lean's default."""
    full: Full | None = None
    raw: bytes | None = None
    """For a whole file: its bytes, where they are no text."""


FAILED = (Status.FAILED,)
REJECTED = (Status.REJECTED,)
OVER = (Status.TIMEOUT, Status.OUT_OF_MEMORY, Status.CRASHED, Status.FAILED)
"""Over some limit, or refused by Lean itself on the way there."""
