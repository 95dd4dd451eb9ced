"""Judges Python functions by hidden tests: the candidate answers calls, the trusted side compares.

The candidate's code runs alone in a sandbox, which holds the arguments of the tests and nothing of
what is expected. So there is nothing to read, to forge or to patch that would make a wrong function
pass: an exit status, printed text and objects that equal everything mean nothing here.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import Field

from proofgym.config import Config
from proofgym.environments.json_values import same
from proofgym.environments.protected import Protections, SandboxName
from proofgym.environments.python_code import find_code
from proofgym.errors import TaskError
from proofgym.lean.runner import is_starved
from proofgym.sandboxes.limits import MIB, Limits
from proofgym.sandboxes.sandbox import SYSTEM_PATHS, Outcome, Sandbox
from proofgym.tasks.tasks import Tasks
from proofgym.types import Status, Task, Verdict

_INSIDE = Path(__file__).parent / "inside"
_RETRIES = 2


class Python(Config):
    """Judge Python functions by hidden tests in a sandbox: 1 where all pass, else 0."""

    partial: bool = False
    """Give the share of tests that pass as the reward. A candidate that runs out of time or memory
    or ends itself gets 0 either way."""
    timeout: float = Field(5.0, gt=0, allow_inf_nan=False)
    """Processor seconds for all tests of one candidate; on a busy machine it may wait three times
    as long."""
    memory_mb: int = Field(256, ge=32)
    """Memory one candidate may take."""
    tolerance: float = Field(1e-6, ge=0, lt=1)
    """Relative and absolute difference that an expected fraction allows."""
    sandbox: SandboxName = None
    """`bubblewrap`, `namespaces` or `limits_only`; None takes the best that works here."""
    require: Protections = ("filesystem", "network", "process_tree", "processes_hidden")
    """Protections without which the job is refused; `proofgym doctor` lists them."""

    def open(self, workers: int) -> PythonJudge:
        """Find a sandbox. Raises SandboxError, saying what to do."""
        from proofgym.sandboxes.choose import choose_sandbox

        return PythonJudge(self, choose_sandbox(self.require, self.sandbox))


class PythonJudge:
    """Runs each candidate in a sandbox of its own and compares what its function returns."""

    def __init__(self, config: Python, sandbox: Sandbox) -> None:
        self.config, self._sandbox = config, sandbox
        self._limits = Limits(
            wall_s=3 * config.timeout,
            cpu_s=config.timeout,
            memory_bytes=config.memory_mb * MIB,
            processes=16,
            output_bytes=MIB,
            scratch_bytes=MIB,
        )

    def describe(self) -> str:
        version = ".".join(map(str, sys.version_info[:3]))
        return f"hidden tests, Python {version}, sandbox {self._sandbox.name}"

    def close(self) -> None:
        """Nothing is kept between candidates."""

    def prepare(self, tasks: Tasks) -> None:
        """Refuse tasks without tests, and tests where the candidate could read them."""
        for problem in tasks.chosen():
            try:
                check_tests(problem.task.data)
            except ValueError as error:
                raise problem.error(str(error)) from None
        if "filesystem" not in self._sandbox.protections:
            return
        for file in tasks.files():
            for seen in map(Path, (*SYSTEM_PATHS, *map(str, _read_only()))):
                if file.resolve().is_relative_to(seen.resolve()):
                    raise TaskError(
                        f"the hidden tests in {file} lie under {seen}, which candidates can read; "
                        "move the file, or install proofgym in a virtual environment elsewhere"
                    )

    def judge(self, task: Task, text: str) -> Verdict:
        began = time.monotonic()
        function, tests = task.data["function"], task.data["tests"]
        source = find_code(text, function, task.data.get("stub", task.prompt))
        request = {
            "function": function,
            "source": source.encode(errors="replace").decode(),
            "calls": [arguments for arguments, _ in tests],
        }
        outcome = self._run(json.dumps(request).encode())
        status, message, share = self._read(outcome, tests)
        reward = share if self.config.partial else float(status is Status.PASSED)
        return Verdict(
            status,
            None if status is Status.INFRASTRUCTURE else reward,
            message,
            time.monotonic() - began,
            {"components": {"tests": share}},
        )

    def _run(self, request: bytes) -> Outcome:
        limits, patient = self._limits, True
        for attempt in range(_RETRIES + 1):
            outcome = self._sandbox.run(
                [os.path.realpath(sys.executable), "-I", "-S", str(_INSIDE / "calls.py")],
                read_only=_read_only(),
                limits=limits,
                stdin=request,
            )
            if patient and is_starved(outcome, limits):  # the machine may be busy: once more
                limits, patient = replace(limits, wall_s=2 * limits.wall_s), False
                continue
            if outcome.ended_by != "infrastructure" or outcome.pointless or attempt == _RETRIES:
                break
            time.sleep(0.1 * 4**attempt)
        return outcome

    def _read(self, outcome: Outcome, tests: Sequence[Any]) -> tuple[Status, str, float]:
        """Status, a message without anything of the tests' values, and the share that passes."""
        if ending := self._ending(outcome):
            return *ending, 0.0
        try:
            lines = list(_lines(outcome.stdout))
        except ValueError as error:
            return Status.REJECTED, f"it wrote among the answers: {error}", 0.0
        if lines and "load" in lines[0]:
            return Status.FAILED, str(lines[0]["load"])[:300], 0.0
        answers = lines[1:]
        if len(answers) < len(tests):
            tail = outcome.stderr[-300:].decode(errors="replace").strip()
            how = f"signal {outcome.signal}" if outcome.signal else f"status {outcome.status}"
            said = f"it ended with {how} after {len(answers)} of {len(tests)} calls; {tail}"
            if b"MemoryError" in outcome.stderr:
                return Status.OUT_OF_MEMORY, said, 0.0
            return Status.CRASHED, said, 0.0
        right = [
            "value" in answer and same(expected, answer["value"], self.config.tolerance)
            for answer, (_, expected) in zip(answers, tests, strict=False)
        ]
        share = sum(right) / len(right)
        if all(right):
            return Status.PASSED, "", 1.0
        first = right.index(False)
        why = str(answers[first].get("error", "a wrong value"))[:300]
        message = f"{sum(right)} of {len(right)} tests pass; test {first + 1}: {why}"
        if why.startswith("MemoryError"):
            return Status.OUT_OF_MEMORY, message, 0.0
        return Status.FAILED, message, share

    def _ending(self, outcome: Outcome) -> tuple[Status, str] | None:
        match outcome.ended_by:
            case "infrastructure" | "cancelled":
                return Status.INFRASTRUCTURE, outcome.reason or "cancelled"
            case "cpu":
                return Status.TIMEOUT, f"not done after {self._limits.cpu_s:g} s (cpu time)"
            case "wall":
                return Status.TIMEOUT, f"not done after {self._limits.wall_s:g} s (wall time)"
            case "memory":
                return Status.OUT_OF_MEMORY, f"more than {self.config.memory_mb} MiB needed"
            case "output":
                return Status.FAILED, "too much output"
        return None


def _read_only() -> list[Path]:
    return [_INSIDE, Path(sys.base_prefix)]


def _lines(output: bytes) -> Iterator[Mapping[str, Any]]:
    """The lines of `inside/calls.py`, in their order; a torn last one is left out.

    Raises:
        ValueError: a line is none of its own.
    """
    *whole, _ = output.split(b"\n")
    for number, raw in enumerate(whole):
        try:
            line = json.loads(raw)
        except (ValueError, RecursionError):
            raise ValueError("not JSON") from None
        expected = ["ready", "load"] if number == 0 else ["call"]
        if not isinstance(line, dict) or not any(key in line for key in expected):
            raise ValueError("not in its turn")
        if number and (line["call"] != number - 1 or type(line["call"]) is not int):
            raise ValueError("not in its turn")
        yield line


def check_tests(data: Mapping[str, Any]) -> None:
    """Raises ValueError where a task's data has no function or no tests, saying which form it
    must have."""
    name = data.get("function")
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"has function = {name!r:.80}; must be the name of a Python function")
    tests = data.get("tests")
    form = "must be a list of [[argument, ...], expected value], not empty"
    if not isinstance(tests, list | tuple) or not tests:
        raise ValueError(f"has tests = {tests!r:.80}; {form}")
    for number, test in enumerate(tests):
        if not (isinstance(test, list | tuple) and len(test) == 2 and isinstance(test[0], list)):
            raise ValueError(f"has tests[{number}] = {test!r:.80}; {form}")
