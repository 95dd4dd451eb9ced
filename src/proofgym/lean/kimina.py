"""Runs Lean on a kimina-lean-server elsewhere, as `ColdRunner` does on this machine.

What the server says is read as what Lean printed, and judged by the same rules: a proof passes
when the trusted commands after it answered with the statement's own type and allowed axioms, never
because an answer holds no error. Whatever did not come from Lean is a fault of the machinery.
"""

from __future__ import annotations

import json
import secrets
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from proofgym.lean.post import Poster, RemoteFault
from proofgym.sandboxes import Limits, Outcome
from proofgym.sandboxes.cancel import Cancel
from proofgym.sandboxes.sandbox import infrastructure

_SEVERITIES = {"info": "information"}
_MEMORY = ("out of memory", "memory limit", "bad_alloc")


@dataclass(frozen=True)
class RemoteToolchain:
    """Stands for the Lean that the server has."""

    version: str
    kind: str = "kimina"
    argv: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict, hash=False)
    read_only_paths: Sequence[Path] = ()


class KiminaRunner:
    """Sends each file as one snippet."""

    def __init__(self, poster: Poster) -> None:
        self._poster = poster

    def run(self, source: bytes, limits: Limits, cancel: Cancel | None = None) -> Outcome:
        """Only `limits.wall_s` is sent on, in whole seconds; the server has the others."""
        anchor, code = _anchored(source.decode(errors="replace"))
        request = {
            "snippets": [{"id": anchor, "code": code}],
            "timeout": max(1, round(limits.wall_s)),
            "debug": True,
            "reuse": True,
        }
        try:
            reply = self._poster.ask("POST", "/api/check", request)
        except RemoteFault as fault:
            return infrastructure(str(fault))
        if reply.status != 200:
            return infrastructure(f"{self._poster.url} answers {reply.status}: {reply.body}"[:500])
        try:
            [result] = [it for it in reply.body["results"] if str(it["id"]) == anchor]
            return _outcome(result, anchor, code.count("\n"))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            return infrastructure(f"{self._poster.url} answers in no known form: {error!r}")

    def close(self) -> None:
        self._poster.close()


def _anchored(text: str) -> tuple[str, str]:
    """(word, the text with a last line that makes Lean say the word).

    Servers differ in whether they count lines from the text's first or from the first one after
    its imports; where the word is said tells which.
    """
    word = f"proofgym_{secrets.token_hex(12)}"
    end = "" if text.endswith("\n") else "\n"
    return word, f"{text}{end}#check (fun ({word} : Prop) => {word})\n"


def _outcome(result: Mapping[str, Any], anchor: str, anchor_line: int) -> Outcome:
    """How Lean ended, from one result. Raises KeyError and the like where it is malformed."""
    seconds = float(result.get("time") or 0.0)
    if (error := result.get("error")) is not None:
        return _failure(str(error), seconds)
    response = result["response"]
    if "message" in response:  # the REPL's own error: Lean never came to speak
        why = f"the REPL failed: {response['message']}"[:500]
        return replace(infrastructure(why), wall_s=seconds)
    messages = [_message(it) for it in response.get("messages") or ()]
    said = [it for it in messages if anchor in it["data"] and it["severity"] == "information"]
    shift = anchor_line - said[0]["pos"]["line"] if len(said) == 1 else 0
    rest = [it for it in messages if it not in said]
    rest += [_unproved(it) for it in response.get("sorries") or ()]
    for message in rest:
        message["pos"]["line"] += shift
    failed = any(it["severity"] == "error" for it in rest)
    usage = result.get("diagnostics") or {}
    return Outcome(
        "exit",
        status=int(failed),
        stdout="".join(f"{json.dumps(it)}\n" for it in rest).encode(),
        wall_s=seconds,
        peak_memory_bytes=int(usage.get("memory_max") or 0),
    )


def _failure(error: str, seconds: float) -> Outcome:
    """The server's word for why there is no answer of Lean's."""
    if "timed out" in error and "header" not in error:  # the header is not the attempt's
        return Outcome("wall", wall_s=seconds)
    if "stack overflow" in error.lower():
        return Outcome("signal", signal=signal.SIGABRT, stderr=error.encode(errors="replace"))
    if any(word in error.lower() for word in _MEMORY):
        return Outcome("memory", wall_s=seconds)
    return replace(infrastructure(f"the server failed: {error}"[:500]), wall_s=seconds)


def _message(item: Mapping[str, Any]) -> dict[str, Any]:
    severity, place = str(item["severity"]), item["pos"]
    return {
        "severity": _SEVERITIES.get(severity, severity),
        "pos": {"line": int(place["line"]), "column": int(place["column"])},
        "data": str(item["data"]),
    }


def _unproved(item: Mapping[str, Any]) -> dict[str, Any]:
    """A place that the REPL reports as unproved is an error, whatever else is said of it."""
    return _message({"severity": "error", "data": "`sorry` is not a proof", **item})
