"""Runs attacks and valid proofs against the real checker."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from attack import Attack

from proofgym.lean.checker import LEAN_LIMITS, LeanChecker
from proofgym.lean.file import check_file
from proofgym.lean.toolchain import Toolchain
from proofgym.sandboxes import Limits, Sandbox
from proofgym.types import Status, Verdict


class Checkers:
    """A checker for each header and set of limits that the corpus needs."""

    def __init__(self, toolchain: Toolchain, sandbox: Sandbox, warm: bool | None = None) -> None:
        self._toolchain, self._sandbox, self._warm = toolchain, sandbox, warm
        self._made: dict[tuple[str, Limits, int | None], LeanChecker] = {}

    def __enter__(self) -> Checkers:
        return self

    def __exit__(self, *_: object) -> None:
        for checker in self._made.values():
            checker.close()

    def get(
        self, header: str = "", limits: Limits = LEAN_LIMITS, heartbeats: int | None = None
    ) -> LeanChecker:
        key = header, limits, heartbeats
        if key not in self._made:
            self._made[key] = LeanChecker(
                self._toolchain,
                self._sandbox,
                limits,
                header,
                warm=self._warm,
                workers=2,
                heartbeats=heartbeats,
            )
        return self._made[key]

    def judge(self, attack: Attack) -> Verdict:
        """What the checker says to an attack."""
        if attack.form == "file":
            report = check_file(
                attack.raw if attack.raw is not None else attack.proof,
                toolchain=self._toolchain.kind,
                sandbox=self._sandbox,
            )
            passed = [it for _, it in report.theorems if it.status is Status.PASSED]
            bad = next((it for name, it in report.theorems if name == "no"), None)
            # The theorem in question must not count, whatever else the file proves.
            return bad if bad is not None and passed and bad in passed else report.verdict
        limits = replace(LEAN_LIMITS, **attack.limits)
        checker = self.get(attack.header, limits, attack.heartbeats)
        check = checker.check_answer if attack.form == "answer" else checker.check
        return check(attack.statement, attack.proof)

    def judge_all(self, attacks: Iterable[Attack], threads: int = 2) -> list[Verdict]:
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(self.judge, attacks))


def every(classes: dict[str, list[Attack]]) -> Sequence[tuple[str, Attack]]:
    """(class, attack) of the whole corpus."""
    return [(name, attack) for name, attacks in classes.items() for attack in attacks]
