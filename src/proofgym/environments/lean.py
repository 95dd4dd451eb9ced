"""Theorem proving: a completion is the tactic block of a Lean 4 proof, judged by Lean."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from pydantic import Field, field_validator

from proofgym.config import Config
from proofgym.errors import SandboxError, TaskError
from proofgym.tasks.tasks import Tasks, check_statements
from proofgym.types import Level, Task, Verdict


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

    sandbox: str | None = None
    """`bubblewrap`, `namespaces` or `limits_only`; None takes the best that works here."""
    require: tuple[str, ...] = ()
    """Protections without which the job is refused, such as ("network", "memory"); `proofgym
    doctor` lists them."""

    @field_validator("sandbox")
    @classmethod
    def _one_of_ours(cls, name: str | None) -> str | None:
        from proofgym.sandboxes.choose import check_name

        try:
            return None if name is None else check_name(name)
        except SandboxError as error:
            raise ValueError(str(error)) from None

    @field_validator("require", mode="before")
    @classmethod
    def _known(cls, names: Any) -> Any:
        from proofgym.sandboxes.choose import check_protections

        try:
            check_protections(names)
        except SandboxError as error:
            raise ValueError(str(error)) from None
        return names

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
        checker = LeanChecker(
            toolchain,
            sandbox,
            limits,
            self.header,
            level=self.level,
            goals=self.goals,
            heartbeats=self.heartbeats,
        )
        return LeanJudge(checker, f"{toolchain.describe()}, sandbox {sandbox.name}")


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
    """Hands the task's trusted statement and the model's proof to a checker."""

    def __init__(self, checker: Checker, description: str) -> None:
        self.checker, self._description = checker, description

    def prepare(self, tasks: Tasks) -> None:
        """Have Lean elaborate every statement; the first it refuses is named with file and line."""
        check_statements(tasks, self.checker)

    def judge(self, task: Task, text: str) -> Verdict:
        return self.checker.check(task.data["statement"], text)

    def describe(self) -> str:
        return self._description

    def close(self) -> None:
        self.checker.close()
