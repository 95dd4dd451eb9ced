"""Turns how Lean ended, and what it said, into a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from proofgym.errors import TaskError
from proofgym.lean.answer import Answer, has_target, scan_answer
from proofgym.lean.assembly import Assembled, Baseline, Unsigned, is_axiom, read_axioms
from proofgym.lean.kernel import Replayed
from proofgym.lean.messages import Message, read_messages
from proofgym.lean.policy import scan
from proofgym.lean.statement import Statement
from proofgym.lean.tokens import tokens
from proofgym.sandboxes import Limits, Outcome
from proofgym.sandboxes.cancellation import CANCELLED
from proofgym.sandboxes.limits import MIB
from proofgym.types import Status, Verdict

_LONGEST = 2000  # characters of a message kept in a verdict
_NO_MEMORY = (b"out of memory", b"bad_alloc", b"Cannot allocate memory")
_SHOWN = 20  # messages kept in a verdict


def judge_text(proof: str) -> Verdict | None:
    """A verdict that needs no Lean."""
    if refusal := scan(proof):
        return verdict(Status.REJECTED, f"{refusal}", policy=refusal.slug)
    if all(token.kind == "comment" for token in tokens(proof)):
        return verdict(Status.FAILED, "the proof is empty")
    return None


def judge_answer(answer: Answer, name: str) -> Verdict | None:
    """The same for a whole file."""
    if name not in answer.text:
        return verdict(Status.FAILED, f"there is no theorem {name} in the answer")
    if refusal := scan_answer(answer):
        shown = f"{refusal.line + answer.before}:{refusal.column}: {refusal.message}"
        return verdict(Status.REJECTED, shown, policy=refusal.slug)
    if not has_target(answer, name):
        return verdict(Status.FAILED, f"there is no theorem {name} in the answer")
    return None


def never_ran(outcome: Outcome) -> bool:
    """Lean ended with an error status and without one word of its own: it never got to work."""
    spoke = (b"PANIC", b"uncaught exception", b"overflow", *_NO_MEMORY)
    return (
        outcome.ended_by == "exit"
        and outcome.status != 0
        and not read_messages(outcome.stdout)
        and not any(word in outcome.stderr for word in spoke)
    )


def judge(file: Assembled, outcome: Outcome, baseline: Baseline | None, limits: Limits) -> Verdict:
    """Turn how Lean ended, and what it said, into a verdict. Without a baseline nothing is asked
    of the type and the axioms but that the theorem has some."""
    messages = read_messages(outcome.stdout)
    notes: dict[str, Any] = {
        "messages": [_shown(file, it) for it in messages if it.line < file.ending.first][:_SHOWN],
        "peak_memory": outcome.peak_memory_bytes,
        "cpu_s": outcome.cpu_s,
        "cached": False,
    }
    errors = [message for message in messages if message.severity not in ("information", "warning")]
    if ending := judge_ending(outcome, errors, limits):
        if outcome.ended_by == "cancelled":
            notes["cancelled"] = True
        return verdict(*ending, **notes)
    if errors:
        if file.place(errors[0]) == "the header":
            return verdict(Status.INFRASTRUCTURE, _shown(file, errors[0]), **notes)
        return verdict(Status.FAILED, _shown(file, _first(file, errors)), **notes)
    try:
        return _judge_claims(file, messages, outcome, baseline, notes)
    except Unsigned as error:
        return verdict(Status.REJECTED, str(error), **notes)


def judge_ending(
    outcome: Outcome, errors: Sequence[Message], limits: Limits
) -> tuple[Status, str] | None:
    """A verdict that follows from how the process ended alone."""
    too_much = f"more than {limits.memory_bytes // MIB} MiB needed"
    match outcome.ended_by:
        case "infrastructure":
            return Status.INFRASTRUCTURE, outcome.reason
        case "cancelled":
            return Status.INFRASTRUCTURE, CANCELLED
        case "cpu":
            return Status.TIMEOUT, f"not done after {limits.cpu_s:g} s (cpu time)"
        case "wall":
            return Status.TIMEOUT, f"not done after {limits.wall_s:g} s (wall time)"
        case "memory":
            return Status.OUT_OF_MEMORY, too_much
        case "output":
            return Status.FAILED, "too much output"
    tail = outcome.stderr[-500:].decode(errors="replace").strip()
    if outcome.status != 0 and any(word in outcome.stderr for word in _NO_MEMORY):
        return Status.OUT_OF_MEMORY, too_much
    for error in errors:
        if "excessive memory consumption" in error.text:
            return Status.OUT_OF_MEMORY, error.text[:_LONGEST]
        if "(deterministic) timeout" in error.text:
            return Status.TIMEOUT, error.text[:_LONGEST]
    if outcome.ended_by == "signal":
        return Status.CRASHED, f"Lean ended by signal {outcome.signal}: {tail}"
    if never_ran(outcome):
        return Status.INFRASTRUCTURE, f"Lean could not start: {tail}"
    if outcome.status != 0 and not errors:
        return Status.CRASHED, f"Lean ended with status {outcome.status}: {tail}"
    return None


def _judge_claims(
    file: Assembled,
    messages: Sequence[Message],
    outcome: Outcome,
    baseline: Baseline | None,
    notes: dict[str, Any],
) -> Verdict:
    """No error: now the positive signs. Raises `Unsigned` where one is missing."""
    answers = file.ending.answers(messages)
    type_text = file.ending.type_text(answers)
    if baseline is not None and type_text != baseline.type_text:
        raise Unsigned("the theorem does not have the type of the statement")
    axioms = read_axioms(answers.get(file.ending.last, ""))
    notes["axioms"] = list(axioms)
    if baseline is not None and (refusal := _outside(axioms, baseline)):
        return verdict(Status.REJECTED, refusal, **notes)
    if outcome.status != 0:
        raise Unsigned(f"Lean ended with status {outcome.status} without an error")
    return verdict(Status.PASSED, "", **notes)


def _outside(axioms: Sequence[str], baseline: Baseline) -> str:
    """What is wrong with the axioms of a proof; nothing if they are all allowed."""
    outside = [name for name in axioms if name not in baseline.axioms]
    if not outside:
        return ""
    what = "leaves something unproved" if "sorryAx" in outside else "rests on other axioms"
    return f"the proof {what}: {', '.join(outside)}"


def judge_replay(audited: Verdict, replayed: Replayed, baseline: Baseline) -> Verdict:
    """The verdict of level `kernel` on a proof that passed the audit. What did not replay does not
    pass, and says so."""
    detail = {**audited.detail, "cpu_s": audited.detail["cpu_s"] + replayed.cpu_s}
    status, message = replayed.status, replayed.message
    if status is Status.PASSED:
        refusal = _outside(replayed.axioms, baseline)
        status, message = (Status.REJECTED, refusal) if refusal else (status, "")
    if status is Status.PASSED:
        detail |= {"replayed": replayed.declarations, "axioms": list(replayed.axioms)}
        return verdict(status, "", **detail)
    return verdict(status, f"passed the audit, but not the kernel's replay: {message}", **detail)


def read_baseline(
    file: Assembled, outcome: Outcome, statement: Statement, allowed: Sequence[str]
) -> Baseline | Verdict | TaskError:
    """What elaborating the statement alone says; see `assemble_alone`."""
    messages = read_messages(outcome.stdout)
    if outcome.ended_by == "infrastructure" or never_ran(outcome):
        tail = outcome.reason or outcome.stderr[-500:].decode(errors="replace").strip()
        return verdict(Status.INFRASTRUCTURE, f"Lean could not be run: {tail}")
    # An allowed axiom need not exist here; that is an error on its own line only.
    errors = [it for it in messages if it.severity == "error" and it.line <= file.ending.first]
    if errors:
        shown = _shown(file, errors[0])
        return TaskError(f"Lean refuses the statement {statement.name!r}: {shown}")
    if outcome.ended_by != "exit":
        return TaskError(
            f"elaborating the statement {statement.name!r} alone ended by {outcome.ended_by}; "
            "raise the checker's limits or simplify it"
        )
    try:
        answers = file.ending.answers(messages)
        type_text = file.ending.type_text(answers)
    except Unsigned as error:
        return TaskError(f"Lean did not finish the statement {statement.name!r}: {error}")
    if file.ending.last not in answers:
        return TaskError(f"Lean refuses the statement {statement.name!r}: it is no proposition")
    lines = zip(allowed, range(file.ending.first + 1, file.ending.last), strict=True)
    declared = [name for name, line in lines if is_axiom(name, answers.get(line, ""))]
    return Baseline(type_text, frozenset(declared))


def _first(file: Assembled, errors: Sequence[Message]) -> Message:
    """The error to show: the first that lies in the proof, else the first."""
    inside = [it for it in errors if file.proof_line <= it.line < file.ending.first]
    return min(inside or errors, key=lambda it: (it.line, it.column))


def _shown(file: Assembled, message: Message) -> str:
    return f"{file.place(message)}: {shown(message)}"


def shown(message: Message) -> str:
    """A message without its place, cut to a length worth keeping."""
    text = message.text if len(message.text) <= _LONGEST else message.text[:_LONGEST] + " …"
    return f"{message.severity}: {text}"


def verdict(status: Status, message: str, **detail: Any) -> Verdict:
    """A verdict with the reward that its status has."""
    reward = {Status.PASSED: 1.0, Status.INFRASTRUCTURE: None}.get(status, 0.0)
    return Verdict(status, reward, message, 0.0, {"cached": False, **detail})
