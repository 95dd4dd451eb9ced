"""Checks proofs of trusted statements with Lean, in a sandbox.

A proof passes only when the policy scan accepts it, Lean elaborates the file without any error,
the trusted commands after the proof answer (see `assembly.py`), the theorem has the type that the
trusted side elaborated from the statement alone, and it rests on allowed axioms only, which are
still those of the trusted header. Nothing is inferred from silence or an exit status.
"""

from __future__ import annotations

import hashlib
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, get_args

from proofgym.errors import TaskError, VerifierError, nearest
from proofgym.lean.answer import assemble_answer, read_answer
from proofgym.lean.assembly import Assembled, Baseline, assemble_alone, assemble_check
from proofgym.lean.goals import find_goals
from proofgym.lean.judge import (
    judge,
    judge_answer,
    judge_replay,
    judge_text,
    never_ran,
    read_baseline,
)
from proofgym.lean.kernel import Kernel, Replayed, Trusted
from proofgym.lean.memory import Memory
from proofgym.lean.messages import read_messages
from proofgym.lean.runner import ColdRunner, Runner, ToolchainLike, heartbeat_options, is_starved
from proofgym.lean.statement import Statement, parse_statement
from proofgym.lean.warm import Mode, WarmRunner, can_be_warm, checks_at_once, lean_pool_settings
from proofgym.sandboxes import Limits, Outcome, Sandbox
from proofgym.sandboxes.cancel import Cancel
from proofgym.sandboxes.cancellation import current
from proofgym.sandboxes.limits import MIB
from proofgym.sandboxes.pool_settings import PoolSettings
from proofgym.types import LEVELS, Level, Status, Verdict

LEAN_LIMITS = Limits(wall_s=60.0, cpu_s=20.0, memory_bytes=2048 * MIB, output_bytes=1 * MIB)
ALLOWED_AXIOMS = ("propext", "Quot.sound", "Classical.choice")

_RETRIES = 2


class LeanChecker:
    """Checks many proofs; safe to call from many threads.

    Args:
        toolchain: which Lean (see `toolchain.find_toolchain`).
        sandbox: where it runs (see `proofgym.sandboxes.choose_sandbox`); None only with `runner`.
        limits: of one check.
        header: trusted Lean text before every statement (imports, `open`, definitions).
        allowed_axioms: names that a proof may rest on, as the header's environment has them.
        warm: keep a Lean started (see `warm.py`) or start one for each check; None: the former
            wherever one check cannot reach another through it.
        workers: checks under way at once in a warm Lean; None: one more than there are
            processors, which so have work while a verdict is read.
        mode: `attempt` keeps a warm Lean for many thousand checks, `batch` for `batch` of them.
        pool: sizes and budgets of the pool of warm Leans, in place of the three above.
        level: what a proof must pass. `elaborate`: the policy scan, and Lean's elaboration without
            an error. `audit`: also its type and axioms. `kernel`: also a replay through the kernel
            in a process that never ran the candidate's code (see `kernel.py`).
        goals: tell the goals at a failed proof's first error (one more check where Lean's message
            does not have them), in `detail["goals"]`.
        heartbeats: Lean's deterministic limit, in thousands of allocations a declaration; None
            is Lean's own (200,000).
        runner: another way to run Lean, such as on another machine; then no sandbox is used.

    Raises:
        VerifierError: a choice that there is not: names it, and the nearest that there is.
        ToolchainError: level `kernel` is not possible with this Lean.
    """

    def __init__(
        self,
        toolchain: ToolchainLike,
        sandbox: Sandbox | None,
        limits: Limits = LEAN_LIMITS,
        header: str = "",
        allowed_axioms: Sequence[str] = ALLOWED_AXIOMS,
        warm: bool | None = None,
        workers: int | None = None,
        mode: Mode = "attempt",
        batch: int = 64,
        pool: PoolSettings | None = None,
        level: Level = "audit",
        goals: bool = False,
        heartbeats: int | None = None,
        runner: Runner | None = None,
    ) -> None:
        _check_parts(toolchain, sandbox, limits, header)
        _check_choices(level=level, mode=mode, workers=workers, batch=batch, heartbeats=heartbeats)
        self._level, self._goals = level, goals
        options = heartbeat_options(heartbeats)
        kernel = level == "kernel"
        if kernel and (sandbox is None or runner is not None):
            raise VerifierError("LeanChecker.level = 'kernel': needs a Lean and a sandbox here")
        self._kernel = Kernel(toolchain, sandbox, limits, options) if kernel and sandbox else None
        self._header = header.replace("\r\n", "\n")
        self._limits = limits
        self._allowed = tuple(allowed_axioms)
        self._runner = runner or _local_runner(
            toolchain,
            sandbox,
            limits,
            can_be_warm(toolchain, sandbox) if warm is None and sandbox is not None else warm,
            pool or lean_pool_settings(patient(limits), workers or checks_at_once(), mode, batch),
            self._header,
            options,
        )
        self._context = _digest(
            self._header,
            toolchain.kind,
            toolchain.version,
            *toolchain.argv,
            repr(sorted(toolchain.env.items())),
            repr((limits, level, goals, options)),
            *self._allowed,
        )
        self._verdicts = Memory[Verdict]()
        self._baselines = Memory[Baseline | Verdict | TaskError]()
        self._compiled = Memory[Trusted | Replayed]()

    @property
    def runner(self) -> Runner:
        """What runs Lean here; others may run files with it until this checker is closed."""
        return self._runner

    def check(
        self,
        statement: str,
        proof: str,
        cancel: Cancel | None = None,
        limits: Limits | None = None,
    ) -> Verdict:
        """Judge one proof: the tactic block that follows `statement := by` and a new line.

        `cancel` ends it from another thread; then it has no score. Equal checks share one
        computation: the others repeat it if whoever was first cancels it. `limits` are this
        proof's, in place of the checker's, which still hold for the statement alone.

        Raises:
            TaskError: the statement itself is wrong (its form, or Lean refuses it).
        """
        _check_texts(statement=statement, proof=proof)
        parsed = parse_statement(statement)
        proof = proof.replace("\r\n", "\n")
        if early := judge_text(proof):
            return early
        return self._remember(
            parsed,
            "proof",
            proof,
            lambda text: assemble_check(self._header, parsed, text),
            cancel,
            limits or self._limits,
        )

    def check_answer(self, statement: str, text: str, cancel: Cancel | None = None) -> Verdict:
        """Judge a whole file that a model printed, with or without a fenced block around it: the
        theorem of the statement's name must have the statement's type. See `answer.py` for what
        else may be in it.

        Raises:
            TaskError: the statement itself is wrong (its form, or Lean refuses it).
        """
        _check_texts(statement=statement, text=text)
        parsed = parse_statement(statement)
        text = text.replace("\r\n", "\n")
        answer = read_answer(text, parsed.name)
        if early := judge_answer(answer, parsed.name):
            return early
        return self._remember(
            parsed,
            "answer",
            text,
            lambda it: assemble_answer(self._header, parsed, read_answer(it, parsed.name)),
            cancel,
            self._limits,
        )

    def _remember(
        self,
        statement: Statement,
        form: str,
        written: str,
        assemble: Callable[[str], Assembled],
        cancel: Cancel | None,
        limits: Limits,
    ) -> Verdict:
        """The verdict, made now or known already."""
        key = _digest(self._context, statement.text, form, written, repr(limits))
        known, cancel = True, cancel or current()
        while known:
            verdict, known = self._verdicts.get_or_make(
                key, lambda: self._check(statement, written, assemble, cancel, limits), _is_lasting
            )
            if "cancelled" not in verdict.detail or (cancel is not None and cancel.cancelled):
                break
        if not known:
            return verdict
        return replace(verdict, seconds=0.0, detail={**verdict.detail, "cached": True})

    def check_statement(self, statement: str) -> None:
        """Elaborate a statement alone.

        Raises:
            TaskError: its form is wrong, or Lean refuses it; says what and where.
            VerifierError: Lean could not be run.
        """
        _check_texts(statement=statement)
        known = self._baseline(parse_statement(statement))
        if isinstance(known, Verdict):
            raise VerifierError(f"the statement could not be checked: {known.message}")

    def check_many(
        self, pairs: Iterable[tuple[str, str]], threads: int | None = None
    ) -> list[Verdict]:
        """Judge many (statement, proof) pairs at once; verdicts in the order of the pairs."""
        pairs = list(pairs)
        for place, pair in enumerate(pairs):
            if isinstance(pair, str) or len(pair) != 2:
                raise VerifierError(
                    f"check_many: pairs[{place}] is no (statement, proof): {pair!r}"
                )
        count = threads or checks_at_once()
        with ThreadPoolExecutor(count, thread_name_prefix="lean-check") as pool:
            return list(pool.map(lambda pair: self.check(*pair), pairs))

    def metrics(self) -> dict[str, Any]:
        """What the pool of warm Leans counted (see `WarmRunner.metrics`); empty without one."""
        return self._runner.metrics() if isinstance(self._runner, WarmRunner) else {}

    def prepare(self) -> None:
        """Start a warm Lean now, so that the first check need not wait for it."""
        if isinstance(self._runner, WarmRunner):
            self._runner.prepare()

    def close(self) -> None:
        """End any process kept warm."""
        self._runner.close()

    def __enter__(self) -> LeanChecker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check(
        self,
        statement: Statement,
        written: str,
        assemble: Callable[[str], Assembled],
        cancel: Cancel | None,
        limits: Limits,
    ) -> Verdict:
        began = time.monotonic()
        verdict = self._judge(statement, assemble(written), cancel, limits)
        if self._goals and verdict.status is Status.FAILED:
            goals = find_goals(
                written, verdict.message, lambda text: self._ask(assemble(text), limits)
            )
            verdict = replace(verdict, detail={**verdict.detail, "goals": goals})
        return replace(verdict, seconds=time.monotonic() - began)

    def _judge(
        self, statement: Statement, file: Assembled, cancel: Cancel | None, limits: Limits
    ) -> Verdict:
        baseline = None if self._level == "elaborate" else self._baseline(statement)
        if isinstance(baseline, Verdict):
            return baseline
        outcome = self._run(file, limits, cancel)
        verdict = judge(file, outcome, baseline, limits)
        if never_ran(outcome) and isinstance(self._elaborate_alone(statement), Baseline):
            # Lean starts for the statement but not for this proof: then the proof ended it.
            why = f"Lean ended with status {outcome.status} before it said a word"
            return replace(verdict, status=Status.CRASHED, reward=0.0, message=why)
        if self._kernel is None or verdict.status is not Status.PASSED or baseline is None:
            return verdict
        return judge_replay(verdict, self._replay(self._kernel, statement, file), baseline)

    def _replay(self, kernel: Kernel, statement: Statement, file: Assembled) -> Replayed:
        trusted, _ = self._compiled.get_or_make(
            statement.text,
            lambda: kernel.compile(self._header, statement),
            lambda it: isinstance(it, Trusted),
        )
        if isinstance(trusted, Replayed):
            return trusted
        return kernel.replay(file.source.encode(), trusted)

    def _ask(self, file: Assembled, limits: Limits) -> list[tuple[str, str]]:
        """What Lean says of another proof: (place, text) of each message."""
        messages = read_messages(self._run(file, limits).stdout)
        return [(file.place(message), message.text) for message in messages]

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
        outcome = self._run(file, self._limits)
        return read_baseline(file, outcome, statement, self._allowed)

    def _run(self, file: Assembled, limits: Limits, cancel: Cancel | None = None) -> Outcome:
        """Run Lean. Tried again, with a bound: a fault of the machinery, in a fresh sandbox, and a
        wall-clock timeout that left processor time unused, with twice as long a wait. A busy
        machine is not the proof's fault; the turn in the queue is taken anew, so that the others
        go on meanwhile."""
        source = file.source.encode()
        for attempt in range(_RETRIES + 1):
            outcome = self._runner.run(source, limits, cancel or current())
            if is_starved(outcome, limits):
                limits = replace(limits, wall_s=2 * limits.wall_s)
                continue
            if outcome.pointless or not _is_doubtful(outcome):
                break
            if attempt < _RETRIES:
                time.sleep(0.1 * 4**attempt)
        return outcome


def _check_parts(toolchain: Any, sandbox: Any, limits: Any, header: Any) -> None:
    if not hasattr(toolchain, "kind"):
        why = "needs what `find_toolchain(…)` returns"
        raise VerifierError(f"LeanChecker.toolchain = {toolchain!r}: {why}")
    if sandbox is not None and not hasattr(sandbox, "protections"):
        why = "needs what `choose_sandbox(…)` returns"
        raise VerifierError(f"LeanChecker.sandbox = {sandbox!r}: {why}")
    if not isinstance(limits, Limits):
        raise VerifierError(f"LeanChecker.limits = {limits!r}: needs a Limits(…)")
    if not isinstance(header, str):
        raise VerifierError(f"LeanChecker.header = {header!r}: needs a str")


def _check_choices(
    level: str, mode: str, workers: int | None, batch: int, heartbeats: int | None
) -> None:
    for name, value, allowed in (("level", level, LEVELS), ("mode", mode, get_args(Mode))):
        if value not in allowed:
            raise VerifierError(f"LeanChecker.{name} = {value!r}: {nearest(value, allowed)}")
    for name, number in (("workers", workers), ("batch", batch), ("heartbeats", heartbeats)):
        if number is not None and (type(number) is not int or number < 1):
            raise VerifierError(f"LeanChecker.{name} = {number!r}: needs a whole number, 1 or more")


def _check_texts(**texts: Any) -> None:
    for name, text in texts.items():
        if not isinstance(text, str):
            raise VerifierError(f"{name} must be a str, not {type(text).__name__}: {text!r:.80}")


def patient(limits: Limits) -> Limits:
    """These limits with the longest wall-clock time that one run may have on a busy machine."""
    return replace(limits, wall_s=limits.wall_s * 2**_RETRIES)


def _is_doubtful(outcome: Outcome) -> bool:
    """Whether this may be the machinery's doing: no run, no word of Lean, or killed by nobody
    that we know of. Whoever really kills itself does so each time, and is judged by that."""
    killed = outcome.ended_by == "signal" and outcome.signal == signal.SIGKILL
    return outcome.ended_by == "infrastructure" or killed or never_ran(outcome)


def _local_runner(
    toolchain: ToolchainLike,
    sandbox: Sandbox | None,
    limits: Limits,
    warm: bool | None,
    pool: PoolSettings,
    header: str,
    options: Sequence[str],
) -> Runner:
    if sandbox is None:
        raise VerifierError("LeanChecker.sandbox = None: needed where Lean runs on this machine")
    if warm:
        return WarmRunner(toolchain, sandbox, limits, header=header, pool=pool, options=options)
    return ColdRunner(toolchain, sandbox, options)


def _is_lasting(verdict: Verdict) -> bool:
    """Whether the same check would say the same again: not so for faults of ours and the clock."""
    if verdict.status is Status.TIMEOUT:
        return "(deterministic)" in verdict.message
    return verdict.status is not Status.INFRASTRUCTURE


def _digest(*parts: str) -> str:
    joined = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(joined.encode()).hexdigest()
