"""The Lean that the server keeps: a checker for proofs, whose Lean runs whole snippets too."""

from __future__ import annotations

from typing import Any

from proofgym.errors import FieldError, Problem, TaskError, VerifierError
from proofgym.lean.checker import LeanChecker, patient
from proofgym.lean.server.settings import Serving
from proofgym.lean.server.snippet import Answer, run_snippet
from proofgym.lean.toolchain import find_toolchain
from proofgym.lean.warm import lean_pool_settings
from proofgym.sandboxes import choose_sandbox
from proofgym.sandboxes.cancellation import CANCELLED, cancelled
from proofgym.types import Verdict

_STATEMENT = "theorem proofgym_header : True"


class Service:
    """What the endpoints ask; everything here blocks and is safe for threads.

    Raises:
        ConfigError: Lean refuses the header.
        ToolchainError, SandboxError, VerifierError: there is no Lean here that works.
    """

    def __init__(self, settings: Serving) -> None:
        self.settings = settings
        toolchain, sandbox = find_toolchain(settings.toolchain), choose_sandbox()
        self.lean = toolchain.describe()
        self.sandbox = sandbox.name
        # One pool for proofs and snippets. A snippet that begins with the header's text starts
        # behind it; any other is elaborated from its own start and sees nothing of the header.
        longest = patient(settings.limits(settings.longest))
        self.checker = LeanChecker(
            toolchain,
            sandbox,
            settings.limits(settings.timeout),
            settings.header,
            pool=lean_pool_settings(longest, settings.workers),
        )
        self._try()

    def _try(self) -> None:
        """Start Lean now, so that the first request finds it ready and a broken one is seen."""
        answer = self.snippet("#check Prop", self.settings.longest)
        if answer.status != "valid":
            self.close()
            raise VerifierError(f"{self.lean} does not work here: {answer.error or answer}")
        if self.settings.header.strip():
            try:
                self._try_header()
            except BaseException:
                self.close()
                raise

    def _try_header(self) -> None:
        """Refuse a header that Lean refuses, or behind which no statement can stand."""
        limits = self.settings.limits(self.settings.longest)
        answer = run_snippet(self.checker.runner, self.settings.header, limits)
        wrong = [_shown(it) for it in answer.messages if it["severity"] == "error"]
        if answer.error or wrong:
            more = f"\nand {len(wrong) - 1} more" if len(wrong) > 1 else ""
            raise FieldError(Problem("Serving", "header", answer.error or wrong[0] + more))
        try:
            self.checker.check_statement(_STATEMENT)
        except TaskError as error:
            message = f"a statement cannot stand behind it: `{_STATEMENT}`: {error}"
            raise FieldError(Problem("Serving", "header", message)) from None

    def snippet(self, code: str, seconds: float) -> Answer:
        """Run a whole text, for at most so long."""
        size = len(code.encode(errors="replace"))
        if size > self.settings.snippet_kb * 1024:
            bound = (
                f"a snippet may have {self.settings.snippet_kb:g} KiB, this has {size / 1024:.1f}"
            )
            return Answer("too_large", 0.0, bound)
        if seconds <= 0:
            return Answer("timeout", 0.0, "Lean timed out: not done after 0 seconds")
        seconds = min(seconds, self.settings.longest)
        return run_snippet(self.checker.runner, code, self.settings.limits(seconds))

    def check(self, statement: str, proof: str, seconds: float | None = None) -> Verdict:
        """Judge a proof, in at most so long (None: the server's `timeout`).

        Raises:
            TaskError: Lean refuses the statement, or so long is not allowed.
        """
        if seconds is None:
            return self.checker.check(statement, proof)
        if seconds > self.settings.longest:
            bound = f"timeout = {seconds:g}: this server allows at most {self.settings.longest:g} s"
            raise TaskError(bound)
        return self.checker.check(statement, proof, limits=self.settings.limits(seconds))

    def check_statement(self, statement: str) -> None:
        """Raises TaskError where Lean refuses the statement, VerifierError for a fault of ours."""
        while True:
            try:
                return self.checker.check_statement(statement)
            except VerifierError as error:
                if CANCELLED not in str(error) or cancelled():
                    raise

    def close(self) -> None:
        self.checker.close()


def _shown(message: dict[str, Any]) -> str:
    """One of Lean's messages, with its place."""
    place = message["pos"]
    return f"{place['line']}:{place['column']}: {message['severity']}: {message['data'].strip()}"
