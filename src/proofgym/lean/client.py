"""Checks proofs on a `proofgym lean serve` elsewhere; the same calls as `LeanChecker`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from proofgym.errors import TaskError, VerifierError
from proofgym.lean.judge import judge_text, verdict
from proofgym.lean.post import Poster, RemoteFault, Reply
from proofgym.lean.statement import parse_statement
from proofgym.types import Status, Verdict

_REWARDS: Mapping[Status, float | None] = {Status.PASSED: 1.0, Status.INFRASTRUCTURE: None}
_OWN = ("id", "status", "reward", "message", "line", "column", "seconds", "detail")


class RemoteChecker:
    """Hands statement and proof to the server, which has the header and the limits."""

    def __init__(self, poster: Poster) -> None:
        self._poster = poster

    def check(self, statement: str, proof: str) -> Verdict:
        """Judge one proof. A fault of the network or the server is status `infrastructure`.

        Raises:
            TaskError: the statement itself is wrong.
        """
        parsed = parse_statement(statement)
        if early := judge_text(proof):  # what needs no Lean need not travel
            return early
        began = time.monotonic()
        try:
            reply = self._poster.ask(
                "POST", "/v1/verify", {"statement": parsed.text, "proof": proof}
            )
        except RemoteFault as fault:
            return verdict(Status.INFRASTRUCTURE, str(fault))
        if reply.status == 422:
            raise TaskError(_detail(reply))
        found = _read(reply)
        if found is None:
            message = f"{self._poster.url} answers {reply.status}: {_detail(reply)[:500]}"
            return verdict(Status.INFRASTRUCTURE, message)
        waited = time.monotonic() - began - found.seconds
        return Verdict(
            found.status,
            found.reward,
            found.message,
            found.seconds,
            {**found.detail, "remote_wait_s": max(waited, 0.0)},
        )

    def check_statement(self, statement: str) -> None:
        """Elaborate a statement alone.

        Raises:
            TaskError: its form is wrong, or Lean refuses it.
            VerifierError: the server could not say.
        """
        text = parse_statement(statement).text
        try:
            reply = self._poster.ask("POST", "/v1/statement", {"statement": text})
        except RemoteFault as fault:
            raise VerifierError(f"the statement could not be checked: {fault}") from None
        if reply.status == 422:
            raise TaskError(_detail(reply))
        if reply.status != 200 or reply.body != {"accepted": True}:
            raise VerifierError(f"{self._poster.url} answers {reply.status}: {_detail(reply)}")

    def close(self) -> None:
        self._poster.close()


def _read(reply: Reply) -> Verdict | None:
    """The verdict in an answer; None if it is no whole and consistent one."""
    body = reply.body
    if reply.status != 200 or not isinstance(body, dict):
        return None
    try:
        status = Status(body["status"])
        reward, message, seconds = body["reward"], str(body["message"]), float(body["seconds"])
        detail = {key: value for key, value in body.items() if key not in _OWN}
        detail |= body["detail"]
        detail["messages"] = [_shown(item) for item in body["messages"]]
    except (KeyError, ValueError, TypeError):
        return None
    if reward != _REWARDS.get(status, 0.0):
        return None
    return Verdict(status, reward, message, seconds, detail)


def _shown(item: Mapping[str, Any]) -> str:
    place = f"{item['line']}:{item['column']}: " if item["line"] is not None else ""
    return f"{place}{item['severity']}: {item['text']}"


def _detail(reply: Reply) -> str:
    """What a refusal says, whether it is a sentence or a list of wrong fields."""
    detail = reply.body.get("detail", reply.body) if isinstance(reply.body, dict) else reply.body
    return detail if isinstance(detail, str) else f"{detail}"
