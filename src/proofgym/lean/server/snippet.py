"""Runs a whole Lean text and says what Lean said, in the words of Lean's REPL.

This is what the text does, not whether it proves anything: a text may redefine what it says. To
judge a proof, send its statement and the proof apart (`proofs.py`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from proofgym.lean.file import Lines, Theorem, find_theorems
from proofgym.lean.judge import judge_ending, never_ran
from proofgym.lean.runner import Runner
from proofgym.lean.tokens import Token, tokens
from proofgym.sandboxes import Limits, Outcome
from proofgym.sandboxes.cancellation import cancelled
from proofgym.types import Status

_RETRIES = 2
_SEVERITIES = {"information": "info"}
_UNPROVED = ("sorry", "admit")


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one snippet: an `error` of ours or of its limits, or what Lean said."""

    status: str
    """`valid`, `sorry`, `lean_error`, or a status of `proofgym.types.Status`."""
    seconds: float
    error: str | None = None
    messages: list[dict[str, Any]] = field(default_factory=list)
    sorries: list[dict[str, Any]] = field(default_factory=list)
    cpu_s: float = 0.0
    peak_memory_bytes: int = 0

    @property
    def size(self) -> int:
        """Letters of what Lean said, and some for each message."""
        return sum(len(it["data"]) + 200 for it in self.messages) + 200 * len(self.sorries)


def run_snippet(runner: Runner, code: str, limits: Limits) -> Answer:
    """Run Lean on a text. Never raises for anything that the text did."""
    began = time.monotonic()
    text = code.replace("\r\n", "\n")
    # Lean warns of every declaration that uses `sorry`, unless the text tells it not to.
    theorems = list(find_theorems(text)) if "warn" in text else []
    questions = [f"#print axioms {theorem.name}" for theorem in theorems]
    first = text.count("\n") + 2
    source = "\n".join([text, *questions]) if questions else text
    outcome = _run(runner, source.encode(errors="replace"), limits)
    messages = list(_messages(outcome.stdout))
    answer = Answer(
        "valid",
        time.monotonic() - began,
        cpu_s=outcome.cpu_s,
        peak_memory_bytes=outcome.peak_memory_bytes,
    )
    if ending := _ending(outcome, messages, limits):
        return replace(answer, status=ending[0].value, error=ending[1])
    own = [it for it in messages if not questions or it["pos"]["line"] < first]
    unproved = _unproved(theorems, first, messages)
    sorries = [_sorry(*place) for place in _places(text, own, unproved)]
    return replace(answer, status=_status(own, sorries), messages=own, sorries=sorries)


def _run(runner: Runner, source: bytes, limits: Limits) -> Outcome:
    """Faults of the machinery are tried again, with a bound."""
    for attempt in range(_RETRIES + 1):
        outcome = runner.run(source, limits)
        fault = outcome.ended_by == "infrastructure" or never_ran(outcome)
        if not fault or attempt == _RETRIES or cancelled():
            break
        time.sleep(0.1 * 4**attempt)
    return outcome


def _ending(
    outcome: Outcome, messages: Sequence[dict[str, Any]], limits: Limits
) -> tuple[Status, str] | None:
    """How it ended, if not as Lean itself ends: with 0, or with 1 after an error."""
    ending = judge_ending(outcome, [], limits)
    if ending is None or not (ending[0] is Status.CRASHED and outcome.ended_by == "exit"):
        # The words "timed out" are what clients of kimina-lean-server look for.
        timed_out = f"Lean timed out: not done after {limits.wall_s:g} seconds"
        return (ending[0], timed_out) if ending and ending[0] is Status.TIMEOUT else ending
    return None if any(it["severity"] == "error" for it in messages) else ending


def _messages(output: bytes) -> Iterator[dict[str, Any]]:
    """Lean's messages as its REPL gives them; other lines are passed over."""
    for line in output.split(b"\n"):
        if not line.startswith(b"{"):
            continue
        try:
            item = json.loads(line.decode(errors="replace"))
            severity = str(item["severity"])
            yield {
                "severity": _SEVERITIES.get(severity, severity),
                "pos": _position(item["pos"]),
                "endPos": _position(item["endPos"]) if item.get("endPos") else None,
                "data": plain(str(item["data"])),
            }
        except (ValueError, KeyError, TypeError):
            continue


def _position(place: dict[str, Any]) -> dict[str, int]:
    return {"line": int(place["line"]), "column": int(place["column"])}


def plain(text: str) -> str:
    """The text without halves of surrogate pairs, which no encoding can carry."""
    return text.encode(errors="replace").decode()


def _unproved(
    theorems: Sequence[Theorem], first: int, messages: Sequence[dict[str, Any]]
) -> list[tuple[int, int]]:
    """Where theorems begin whose axioms include `sorryAx`, or for which Lean has no answer."""
    answers = {it["pos"]["line"]: it["data"] for it in messages if it["severity"] == "info"}
    return [
        (theorem.first, 0)
        for line, theorem in enumerate(theorems, start=first)
        if line not in answers or "sorryAx" in answers[line]
    ]


def _places(
    text: str, messages: Sequence[dict[str, Any]], unproved: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Where something is left unproved: at the words that do so, else at Lean's warnings."""
    warned = [(it["pos"]["line"], it["pos"]["column"]) for it in messages if _warns(it)]
    if not warned and not unproved and "warn" not in text:
        return []
    lines = Lines(text)
    words = [lines.place(it.start) for it in tokens(text, strict=False) if _leaves_open(it)]
    return words or warned or list(unproved)


def _warns(message: dict[str, Any]) -> bool:
    text = message["data"].replace("'sorry'", "`sorry`")
    return message["severity"] == "warning" and "declaration uses `sorry`" in text


def _leaves_open(token: Token) -> bool:
    return token.kind == "name" and token.text in _UNPROVED


def _sorry(line: int, column: int) -> dict[str, Any]:
    end = {"line": line, "column": column + len("sorry")}
    return {"pos": {"line": line, "column": column}, "endPos": end, "goal": ""}


def _status(messages: Sequence[dict[str, Any]], sorries: Sequence[dict[str, Any]]) -> str:
    if any(it["severity"] == "error" for it in messages):
        return "lean_error"
    return "sorry" if sorries else "valid"
