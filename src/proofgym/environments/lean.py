"""Theorem proving: a completion is the tactic block of a Lean 4 proof, judged by Lean."""

from __future__ import annotations

from pydantic import Field

from proofgym.config import Config
from proofgym.types import Task, Verdict


class Lean(Config):
    """Judge proofs with Lean 4 in a sandbox: 1 for a proof that counts, 0 for one that does not."""

    toolchain: str | None = None
    """A `lean` binary or a Lake project; None finds elan's `lean`, then the embedded library."""
    header: str = ""
    """Trusted Lean text before every statement, such as `import Mathlib`."""
    timeout: float = Field(10.0, gt=0)
    """Wall-clock seconds one proof may take."""
    memory_mb: int = Field(2048, ge=64)
    """Memory one proof may take."""

    def open(self, workers: int) -> LeanJudge:
        from proofgym.lean.checker import open_checker

        return LeanJudge(
            open_checker(
                toolchain=self.toolchain,
                header=self.header,
                wall_s=self.timeout,
                memory_bytes=self.memory_mb << 20,
                workers=workers,
            )
        )


class LeanJudge:
    """Hands the task's trusted statement and the model's proof to the checker."""

    def __init__(self, checker) -> None:  # type: ignore[no-untyped-def]
        self.checker = checker

    def judge(self, task: Task, text: str) -> Verdict:
        return self.checker.check(task.data["statement"], text)

    def describe(self) -> str:
        return self.checker.describe()

    def close(self) -> None:
        self.checker.close()
