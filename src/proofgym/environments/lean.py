"""Theorem proving: a completion is the tactic block of a Lean 4 proof, judged by Lean."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Protocol

from pydantic import Field

from proofgym.config import Config
from proofgym.environments.protected import Protections, SandboxName
from proofgym.errors import TaskError
from proofgym.formats import Format, format_named
from proofgym.tasks.tasks import Tasks
from proofgym.types import Level, Status, Task, Verdict


class Lean(Config):
    """Judge proofs with Lean 4 in a sandbox: 1 for a proof that counts, 0 for one that does not."""

    toolchain: str | None = None
    """A `lean` binary or a Lake project; None finds elan's `lean`, then the embedded library."""
    header: str = ""
    """Trusted Lean text before every statement, such as `import Mathlib`."""
    timeout: float = Field(10.0, gt=0, allow_inf_nan=False)
    """Processor seconds one proof may take; on a busy machine it may wait three times as long."""
    memory_mb: int = Field(2048, ge=64)
    """Memory one proof may take."""
    level: Level = "audit"
    """What a proof must pass: Lean's elaboration; also the audit of its type and axioms; also a
    replay through the kernel in a second process."""
    goals: bool = False
    """Tell the goals at a failed proof's first error, in the verdict's `detail["goals"]`."""
    heartbeats: int | None = Field(None, ge=1)
    """Lean's deterministic limit, in thousands of allocations; None is Lean's own (200,000)."""

    sandbox: SandboxName = None
    """`bubblewrap`, `namespaces` or `limits_only`; None takes the best that works here."""
    require: Protections = ()
    """Protections without which the job is refused, such as ("network", "memory"); `proofgym
    doctor` lists them."""

    def open(self, workers: int) -> LeanJudge:
        """Find Lean and a sandbox. Raises ToolchainError or SandboxError, saying what to do."""
        from proofgym.lean.checker import LeanChecker
        from proofgym.lean.toolchain import find_toolchain
        from proofgym.sandboxes import Limits
        from proofgym.sandboxes.choose import choose_sandbox

        toolchain = find_toolchain(self.toolchain)
        sandbox = choose_sandbox(self.require, self.sandbox)
        limits = Limits(
            wall_s=3 * self.timeout, cpu_s=self.timeout, memory_bytes=self.memory_mb << 20
        )

        def make(header: str) -> LeanChecker:
            return LeanChecker(
                toolchain,
                sandbox,
                limits,
                header,
                level=self.level,
                goals=self.goals,
                heartbeats=self.heartbeats,
            )

        description = f"{toolchain.describe()}, sandbox {sandbox.name}"
        return LeanJudge(make(self.header), description, self.header, make)


def require_statements(tasks: Iterable[Task]) -> None:
    """Refuse tasks that are not about Lean. Raises TaskError."""
    for task in tasks:
        if "statement" not in task.data:
            raise TaskError(f"task {task.name!r} has no Lean statement, which Lean() judges by")


class Checker(Protocol):
    """What `LeanChecker` and `RemoteChecker` have in common."""

    def check(self, statement: str, proof: str) -> Verdict: ...
    def check_statement(self, statement: str) -> None: ...
    def close(self) -> None: ...


class LeanJudge:
    """Hands the task's trusted statement and the model's proof to a checker.

    Args:
        checker: for tasks without a header of their own.
        description: of the Lean behind it.
        header: what that checker has before every statement.
        make: a checker with another header; without it, tasks with one are refused.
    """

    def __init__(
        self,
        checker: Checker,
        description: str,
        header: str = "",
        make: Callable[[str], Checker] | None = None,
    ) -> None:
        self.checker, self._description = checker, description
        self._make, self._lock = make, threading.Lock()
        self._checkers = {header.strip(): checker}

    def prepare(self, tasks: Tasks) -> None:
        """Have Lean elaborate every statement; the first it refuses is named with file and line."""
        for problem in tasks.chosen():
            data = problem.task.data
            if "statement" not in data:
                continue
            try:
                checker = self.checker_of(problem.task)
            except TaskError as error:
                raise problem.error(str(error)) from None
            if _format(problem.task).whole and not hasattr(checker, "check_answer"):
                raise problem.error(f"needs a Lean of this machine for format {data['format']!r}")
            try:
                checker.check_statement(data["statement"])
            except TaskError as error:
                raise problem.error(f"has a statement that Lean refuses: {error}") from None

    def judge(self, task: Task, text: str) -> Verdict:
        form, statement = _format(task), task.data["statement"]
        answer = form.read(text, task.data.get("header", ""))
        if answer is None:
            return Verdict(Status.FAILED, 0.0, "the thinking does not end; there is no answer")
        checker = self.checker_of(task)
        if form.whole:
            return checker.check_answer(statement, answer)  # type: ignore[attr-defined]
        return checker.check(statement, text if form.name == "plain" else answer)

    def checker_of(self, task: Task) -> Checker:
        """The checker with the task's own header, if it has one.

        Raises:
            TaskError: this Lean cannot have another header.
        """
        header = task.data.get("header")
        if header is None:
            return self.checker
        with self._lock:
            key = header.strip()
            if key not in self._checkers:
                if self._make is None:
                    raise TaskError(
                        f"has a header of its own, which this Lean has not: {key!r:.80}"
                    )
                self._checkers[key] = self._make(header)
            return self._checkers[key]

    def describe(self) -> str:
        return self._description

    def close(self) -> None:
        for checker in self._checkers.values():
            checker.close()


def _format(task: Task) -> Format:
    return format_named(task.data.get("format", "plain"))
