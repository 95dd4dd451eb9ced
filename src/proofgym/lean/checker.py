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
from typing import Any

from proofgym.errors import TaskError, VerifierError
from proofgym.lean.assembly import (
    Assembled,
    Baseline,
    Unsigned,
    assemble_alone,
    assemble_check,
    information,
    read_axioms,
    said,
)
from proofgym.lean.memory import Memory
from proofgym.lean.messages import Message, read_messages
from proofgym.lean.policy import scan
from proofgym.lean.runner import ColdRunner, Runner, ToolchainLike
from proofgym.lean.statement import Statement, parse_statement
from proofgym.lean.tokens import tokens
from proofgym.sandboxes import Limits, Outcome, Sandbox
from proofgym.sandboxes.limits import MIB
from proofgym.types import Status, Verdict

LEAN_LIMITS = Limits(wall_s=20.0, cpu_s=20.0, memory_bytes=2048 * MIB, output_bytes=1 * MIB)
ALLOWED_AXIOMS = ("propext", "Quot.sound", "Classical.choice")

_RETRIES = 2
_LONGEST = 2000  # characters of a message kept in a verdict


class LeanChecker:
    """Checks many proofs; safe to call from many threads.

    Args:
        toolchain: which Lean (see `toolchain.find_toolchain`).
        sandbox: where it runs (see `proofgym.sandboxes.choose_sandbox`).
        limits: of one check.
        header: trusted Lean text before every statement (imports, `open`, definitions).
        allowed_axioms: names that a proof may rest on, as the header's environment has them.
    """

    def __init__(
        self,
        toolchain: ToolchainLike,
        sandbox: Sandbox,
        limits: Limits = LEAN_LIMITS,
        header: str = "",
        allowed_axioms: Sequence[str] = ALLOWED_AXIOMS,
        runner: Runner | None = None,
    ) -> None:
        self._header = header.replace("\r\n", "\n")
        self._limits = limits
        self._allowed = tuple(allowed_axioms)
        self._runner = runner or ColdRunner(toolchain, sandbox)
        self._context = _digest(
            self._header,
            toolchain.kind,
            toolchain.version,
            *toolchain.argv,
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
        if early := _judge_text(proof):
            return early
        key = _digest(self._context, parsed.text, proof)
        verdict, known = self._verdicts.get_or_make(
            key, lambda: self._check(parsed, proof), _is_lasting
        )
        if not known:
            return verdict
        return Verdict(
            verdict.status, verdict.reward, verdict.message, 0.0, {**verdict.detail, "cached": True}
        )

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
        file = assemble_check(self._header, statement, proof, baseline)
        outcome = self._run(file)
        verdict = _judge(file, outcome, baseline, self._limits)
        return Verdict(
            verdict.status,
            verdict.reward,
            verdict.message,
            time.monotonic() - began,
            verdict.detail,
        )

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
        return _read_baseline(file, outcome, statement)

    def _run(self, file: Assembled) -> Outcome:
        """Run Lean; a fault of the machinery is tried again in a fresh sandbox, with a bound."""
        source = file.source.encode()
        for attempt in range(_RETRIES + 1):
            outcome = self._runner.run(source, self._limits)
            if outcome.ended_by != "infrastructure" and not _never_ran(outcome):
                return outcome
            if attempt < _RETRIES:
                time.sleep(0.1 * 4**attempt)
        return outcome


def _judge_text(proof: str) -> Verdict | None:
    """A verdict that needs no Lean."""
    if refusal := scan(proof):
        return _verdict(Status.REJECTED, f"{refusal}", policy=refusal.slug)
    if all(token.kind == "comment" for token in tokens(proof)):
        return _verdict(Status.FAILED, "the proof is empty")
    return None


def _never_ran(outcome: Outcome) -> bool:
    """Lean ended with an error status and without one word of its own: it never got to work."""
    spoke = (b"PANIC", b"uncaught exception", b"overflow", b"out of memory", b"bad_alloc")
    return (
        outcome.ended_by == "exit"
        and outcome.status != 0
        and not read_messages(outcome.stdout)
        and not any(word in outcome.stderr for word in spoke)
    )


def _judge(file: Assembled, outcome: Outcome, baseline: Baseline, limits: Limits) -> Verdict:
    """Turn how Lean ended, and what it said, into a verdict."""
    messages = read_messages(outcome.stdout)
    notes: dict[str, Any] = {
        "messages": [_shown(file, it) for it in messages if it.line < file.ending.first][:20],
        "peak_memory": outcome.peak_memory_bytes,
        "cpu_s": outcome.cpu_s,
        "cached": False,
    }
    errors = [message for message in messages if message.severity not in ("information", "warning")]
    if ending := _judge_ending(outcome, errors, limits):
        return _verdict(*ending, **notes)
    if errors:
        if file.place(errors[0]) == "the header":
            return _verdict(Status.INFRASTRUCTURE, _shown(file, errors[0]), **notes)
        return _verdict(Status.FAILED, _shown(file, _first(file, errors)), **notes)
    try:
        return _judge_claims(file, messages, outcome, baseline, notes)
    except Unsigned as error:
        return _verdict(Status.REJECTED, str(error), **notes)


def _judge_ending(
    outcome: Outcome, errors: Sequence[Message], limits: Limits
) -> tuple[Status, str] | None:
    """A verdict that follows from how the process ended alone."""
    match outcome.ended_by:
        case "infrastructure":
            return Status.INFRASTRUCTURE, outcome.reason
        case "wall" | "cpu":
            return Status.TIMEOUT, f"not done after {limits.wall_s:g} s ({outcome.ended_by} time)"
        case "memory":
            return Status.OUT_OF_MEMORY, f"more than {limits.memory_bytes // MIB} MiB needed"
        case "output":
            return Status.FAILED, "too much output"
    tail = outcome.stderr[-500:].decode(errors="replace").strip()
    if b"out of memory" in outcome.stderr or b"bad_alloc" in outcome.stderr:
        return Status.OUT_OF_MEMORY, tail
    for error in errors:
        if "excessive memory consumption" in error.text:
            return Status.OUT_OF_MEMORY, error.text[:_LONGEST]
        if "(deterministic) timeout" in error.text:
            return Status.TIMEOUT, error.text[:_LONGEST]
    if outcome.ended_by == "signal":
        return Status.CRASHED, f"Lean ended by signal {outcome.signal}: {tail}"
    if _never_ran(outcome):
        return Status.INFRASTRUCTURE, f"Lean could not start: {tail}"
    if outcome.status != 0 and not errors:
        return Status.CRASHED, f"Lean ended with status {outcome.status}: {tail}"
    return None


def _judge_claims(
    file: Assembled,
    messages: Sequence[Message],
    outcome: Outcome,
    baseline: Baseline,
    notes: dict[str, Any],
) -> Verdict:
    """No error: now the positive signs. Raises `Unsigned` where one is missing."""
    ending = file.ending
    by_line = said(ending, messages)
    if information(by_line, ending.type_line) != baseline.type_text:
        raise Unsigned("the theorem does not have the type of the statement")
    assert ending.axioms_line is not None
    axioms = read_axioms(information(by_line, ending.axioms_line) or "no answer")
    notes["axioms"] = list(axioms)
    for name, line in ending.axiom_lines.items():
        if information(by_line, line) != baseline.axioms[name]:
            raise Unsigned(f"the axiom {name} is not the header's")
    if outside := [name for name in axioms if name not in baseline.axioms]:
        what = "leaves something unproved" if "sorryAx" in outside else "rests on other axioms"
        return _verdict(Status.REJECTED, f"the proof {what}: {', '.join(outside)}", **notes)
    if outcome.status != 0:
        raise Unsigned(f"Lean ended with status {outcome.status} without an error")
    return _verdict(Status.PASSED, "", **notes)


def _read_baseline(
    file: Assembled, outcome: Outcome, statement: Statement
) -> Baseline | Verdict | TaskError:
    messages = read_messages(outcome.stdout)
    if outcome.ended_by == "infrastructure" or _never_ran(outcome):
        tail = outcome.reason or outcome.stderr[-500:].decode(errors="replace").strip()
        return _verdict(Status.INFRASTRUCTURE, f"Lean could not be run: {tail}")
    absent = set(file.ending.axiom_lines.values())
    errors = [it for it in messages if it.severity == "error" and it.line not in absent]
    if errors:
        return TaskError(
            f"Lean refuses the statement {statement.name!r}: {_shown(file, errors[0])}"
        )
    if outcome.ended_by != "exit":
        return TaskError(
            f"elaborating the statement {statement.name!r} alone ended by {outcome.ended_by}; "
            "raise the checker's limits or simplify it"
        )
    try:
        by_line = said(file.ending, messages)
    except Unsigned as error:
        return TaskError(f"Lean did not finish the statement {statement.name!r}: {error}")
    type_text = information(by_line, file.ending.type_line)
    if type_text is None:
        return TaskError(f"Lean gives no type for {statement.name!r}")
    known = {name: information(by_line, line) for name, line in file.ending.axiom_lines.items()}
    present = {name: text for name, text in known.items() if text and text.startswith("axiom ")}
    return Baseline(type_text, present)


def _first(file: Assembled, errors: Sequence[Message]) -> Message:
    """The error to show: the first that lies in the proof, else the first."""
    inside = [it for it in errors if file.proof_line <= it.line < file.ending.first]
    return min(inside or errors, key=lambda it: (it.line, it.column))


def _shown(file: Assembled, message: Message) -> str:
    text = message.text if len(message.text) <= _LONGEST else message.text[:_LONGEST] + " …"
    return f"{file.place(message)}: {message.severity}: {text}"


def _verdict(status: Status, message: str, **detail: Any) -> Verdict:
    reward = {Status.PASSED: 1.0, Status.INFRASTRUCTURE: None}.get(status, 0.0)
    return Verdict(status, reward, message, 0.0, {"cached": False, **detail})


def _is_lasting(verdict: Verdict) -> bool:
    """Whether the same check would say the same again: not so for faults of ours and the clock."""
    if verdict.status is Status.TIMEOUT:
        return "(deterministic)" in verdict.message
    return verdict.status is not Status.INFRASTRUCTURE


def _digest(*parts: str) -> str:
    joined = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(joined.encode()).hexdigest()
