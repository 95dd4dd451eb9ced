"""Checks proofs of trusted statements with Lean, in a sandbox.

A proof passes only when the policy scan accepts it, Lean elaborates the file without any error,
the trusted commands after the proof answer (see `assembly.py`), the theorem has the type that the
trusted side elaborated from the statement alone, and it rests on allowed axioms only, which are
still those of the trusted header. Nothing is inferred from silence or an exit status.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from proofgym.errors import TaskError, VerifierError
from proofgym.lean.assembly import Assembled, Baseline, assemble_alone, assemble_check
from proofgym.lean.judge import judge, judge_text, never_ran, read_baseline
from proofgym.lean.memory import Memory
from proofgym.lean.runner import ColdRunner, Runner, ToolchainLike
from proofgym.lean.statement import Statement, parse_statement
from proofgym.lean.warm import WarmRunner, can_be_warm
from proofgym.sandboxes import Limits, Outcome, Sandbox
from proofgym.sandboxes.cancellation import CANCELLED, cancelled
from proofgym.sandboxes.limits import MIB
from proofgym.sandboxes.sandbox import infrastructure
from proofgym.types import Status, Verdict

LEAN_LIMITS = Limits(wall_s=20.0, cpu_s=20.0, memory_bytes=2048 * MIB, output_bytes=1 * MIB)
ALLOWED_AXIOMS = ("propext", "Quot.sound", "Classical.choice")

_RETRIES = 2


class LeanChecker:
    """Checks many proofs; safe to call from many threads.

    Args:
        toolchain: which Lean (see `toolchain.find_toolchain`).
        sandbox: where it runs (see `proofgym.sandboxes.choose_sandbox`); None only with `runner`.
        limits: of one check.
        header: trusted Lean text before every statement (imports, `open`, definitions).
        allowed_axioms: names that a proof may rest on, as the header's environment has them.
        warm: keep a Lean started (see `warm.py`) or start one for each check; None: the former
            wherever one check cannot reach another through it.
        workers: checks under way at once in a warm Lean; None: one a processor.
        runner: another way to run Lean, such as on another machine; then no sandbox is used.
    """

    def __init__(
        self,
        toolchain: ToolchainLike,
        sandbox: Sandbox | None,
        limits: Limits = LEAN_LIMITS,
        header: str = "",
        allowed_axioms: Sequence[str] = ALLOWED_AXIOMS,
        warm: bool | None = None,
        workers: int | None = None,
        runner: Runner | None = None,
    ) -> None:
        self._header = header.replace("\r\n", "\n")
        self._limits = limits
        self._allowed = tuple(allowed_axioms)
        self._runner = runner or _local_runner(toolchain, sandbox, limits, warm, workers)
        self._context = _digest(
            self._header,
            toolchain.kind,
            toolchain.version,
            *toolchain.argv,
            repr(sorted(toolchain.env.items())),
            repr(limits),
            *self._allowed,
        )
        self._verdicts = Memory[Verdict]()
        self._baselines = Memory[Baseline | Verdict | TaskError]()

    def check(self, statement: str, proof: str) -> Verdict:
        """Judge one proof: the tactic block that follows `statement := by` and a new line.

        Raises:
            TaskError: the statement itself is wrong (its form, or Lean refuses it).
        """
        parsed = parse_statement(statement)
        proof = proof.replace("\r\n", "\n")
        if early := judge_text(proof):
            return early
        key = _digest(self._context, parsed.text, proof)
        verdict, known = self._verdicts.get_or_make(
            key, lambda: self._check(parsed, proof), _is_lasting
        )
        if not known:
            return verdict
        return replace(verdict, seconds=0.0, detail={**verdict.detail, "cached": True})

    def check_statement(self, statement: str) -> None:
        """Elaborate a statement alone.

        Raises:
            TaskError: its form is wrong, or Lean refuses it; says what and where.
            VerifierError: Lean could not be run.
        """
        known = self._baseline(parse_statement(statement))
        if isinstance(known, Verdict):
            raise VerifierError(f"the statement could not be checked: {known.message}")

    def check_many(
        self, pairs: Iterable[tuple[str, str]], threads: int | None = None
    ) -> list[Verdict]:
        """Judge many (statement, proof) pairs at once; verdicts in the order of the pairs."""
        count = threads or os.cpu_count() or 1
        with ThreadPoolExecutor(count, thread_name_prefix="lean-check") as pool:
            return list(pool.map(lambda pair: self.check(*pair), pairs))

    def close(self) -> None:
        """End any process kept warm."""
        self._runner.close()

    def __enter__(self) -> LeanChecker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check(self, statement: Statement, proof: str) -> Verdict:
        began = time.monotonic()
        baseline = self._baseline(statement)
        if isinstance(baseline, Verdict):
            return baseline
        file = assemble_check(self._header, statement, proof)
        outcome = self._run(file)
        verdict = judge(file, outcome, baseline, self._limits)
        return replace(verdict, seconds=time.monotonic() - began)

    def _baseline(self, statement: Statement) -> Baseline | Verdict:
        """What the statement means alone; a verdict if the machinery failed.

        Raises:
            TaskError: Lean refuses the statement.
        """
        key = _digest(self._context, statement.text)
        known, _ = self._baselines.get_or_make(
            key, lambda: self._elaborate_alone(statement), lambda it: not isinstance(it, Verdict)
        )
        if isinstance(known, TaskError):
            raise TaskError(str(known))
        return known

    def _elaborate_alone(self, statement: Statement) -> Baseline | Verdict | TaskError:
        file = assemble_alone(self._header, statement, self._allowed)
        outcome = self._run(file)
        return read_baseline(file, outcome, statement, self._allowed)

    def _run(self, file: Assembled) -> Outcome:
        """Run Lean; a fault of the machinery is tried again in a fresh sandbox, with a bound."""
        source = file.source.encode()
        for attempt in range(_RETRIES + 1):
            outcome = self._runner.run(source, self._limits)
            if cancelled():
                return infrastructure(CANCELLED)
            if outcome.ended_by != "infrastructure" and not never_ran(outcome):
                return outcome
            if attempt < _RETRIES:
                time.sleep(0.1 * 4**attempt)
        return outcome


def _local_runner(
    toolchain: ToolchainLike,
    sandbox: Sandbox | None,
    limits: Limits,
    warm: bool | None,
    workers: int | None,
) -> Runner:
    if sandbox is None:
        raise VerifierError("LeanChecker.sandbox = None: needed where Lean runs on this machine")
    if can_be_warm(toolchain, sandbox) if warm is None else warm:
        return WarmRunner(toolchain, sandbox, limits, workers)
    return ColdRunner(toolchain, sandbox)


def _is_lasting(verdict: Verdict) -> bool:
    """Whether the same check would say the same again: not so for faults of ours and the clock."""
    if verdict.status is Status.TIMEOUT:
        return "(deterministic)" in verdict.message
    return verdict.status is not Status.INFRASTRUCTURE


def _digest(*parts: str) -> str:
    joined = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(joined.encode()).hexdigest()
