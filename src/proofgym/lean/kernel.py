"""The level `kernel`: a proof that passed the audit is checked again by a kernel it never met.

Two sandboxes, one after the other. In the first Lean compiles the candidate's file and the proof
is written out as text (`inside/exporter.py`). In the second a fresh process, in which no code or
text of the candidate's is ever elaborated, builds the terms from that text and has Lean's kernel
check them against the statement that the trusted side compiled alone (`inside/replayer.py`).
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from proofgym.errors import ToolchainError
from proofgym.lean import embedded
from proofgym.lean.inside.replayer import SUPPORTED
from proofgym.lean.runner import ToolchainLike, is_starved, lean_options, preloaded
from proofgym.lean.scopes import full_name_after
from proofgym.lean.statement import Statement
from proofgym.sandboxes import Limits, Outcome, Sandbox
from proofgym.sandboxes.limits import MIB
from proofgym.types import Status

_INSIDE = Path(__file__).parent / "inside"
EXPORTER, REPLAYER = _INSIDE / "exporter.py", _INSIDE / "replayer.py"

_MODULE = "Statement"
_OUTPUT_BYTES = 64 * MIB
_RETRIES = 2


@dataclass(frozen=True, slots=True)
class Trusted:
    """The header and the statement, compiled without any proof."""

    module: bytes
    name: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Replayed:
    """What became of a replay. `status` PASSED: the kernel accepted all of it."""

    status: Status
    message: str
    axioms: tuple[str, ...] = ()
    declarations: int = 0
    cpu_s: float = 0.0


class Kernel:
    """Replays proofs; safe to call from many threads.

    Raises:
        ToolchainError: this Lean's library cannot be called from here.
    """

    def __init__(
        self,
        toolchain: ToolchainLike,
        sandbox: Sandbox,
        limits: Limits,
        options: Sequence[str] = (),
    ) -> None:
        if not toolchain.version.startswith(SUPPORTED):
            known = ", ".join(f"{it}*" for it in SUPPORTED)
            raise ToolchainError(
                f"level 'kernel' knows Lean {known}, and this is {toolchain.version}. Use the "
                "level 'audit', or the embedded Lean."
            )
        self._toolchain, self._sandbox = toolchain, sandbox
        self._preloaded = preloaded(toolchain, options)
        self._limits = replace(limits, output_bytes=_OUTPUT_BYTES)
        self._library, self._path = _library(toolchain)

    def compile(self, header: str, statement: Statement) -> Trusted | Replayed:
        """Compile the trusted side's own file."""
        source = f"{header.rstrip()}\n\n{statement.alone(header)}\n".lstrip()
        outcome = self._export(source.encode(), None)
        if problem := _problem(outcome, "the statement could not be compiled"):
            return replace(problem, status=Status.INFRASTRUCTURE)
        answer = json.loads(outcome.stdout)
        name = full_name_after(header, statement.name).replace("«", "").replace("»", "")
        found = [it for it in answer["statements"] if _spelled(it) == name]
        if len(found) != 1:
            why = f"{len(found)} theorems are called {name}; rename the theorem"
            return Replayed(Status.INFRASTRUCTURE, why)
        return Trusted(base64.b64decode(answer["module"]), tuple(found[0]))

    def replay(self, source: bytes, trusted: Trusted) -> Replayed:
        """Compile the candidate's file, and have the kernel check what came out of it."""
        exported = self._export(source, trusted.name)
        if problem := _problem(exported, "it could not be written out"):
            return problem
        result = self.replay_lines(exported.stdout, trusted)
        return replace(result, cpu_s=exported.cpu_s + result.cpu_s)

    def replay_lines(self, lines: bytes, trusted: Trusted) -> Replayed:
        """Have the kernel check an export, whoever wrote it."""
        replayed = self._run(
            [str(REPLAYER), self._library, _MODULE, json.dumps(trusted.name)],
            {f"{_MODULE}.olean": trusted.module},
            lines,
        )
        if problem := _problem(replayed, "the replay did not end well"):
            return problem
        return replace(_read(replayed.stdout), cpu_s=replayed.cpu_s)

    def _export(self, source: bytes, root: tuple[str | int, ...] | None) -> Outcome:
        lean = [*self._toolchain.argv, *self._preloaded, *lean_options(self._limits)]
        return self._run([str(EXPORTER), json.dumps(root), *lean], {}, source)

    def _run(self, arguments: list[str], files: dict[str, bytes], stdin: bytes) -> Outcome:
        limits = self._limits
        for _ in range(_RETRIES + 1):
            outcome = self._sandbox.run(
                [str(embedded.interpreter()), "-I", "-S", *arguments],
                files=files,
                env={**self._toolchain.env, "LEAN_PATH": f".:{self._path}"},
                read_only=[
                    *self._toolchain.read_only_paths,
                    *(EXPORTER, REPLAYER, Path(sys.base_prefix)),
                ],
                limits=limits,
                stdin=stdin,
            )
            if is_starved(outcome, limits):
                limits = replace(limits, wall_s=2 * limits.wall_s)
            elif outcome.ended_by != "infrastructure":
                break
        return outcome


def _library(toolchain: ToolchainLike) -> tuple[str, str]:
    """The shared library, and LEAN_PATH with all modules of this Lean."""
    path = toolchain.env.get("LEAN_PATH", "")
    if toolchain.kind == "embedded":
        return toolchain.argv[-1], path
    modules = Path(toolchain.argv[0]).parent.parent / "lib" / "lean"
    library = modules / "libleanshared.so"
    if not library.is_file():
        raise ToolchainError(f"level 'kernel' needs {library}, which is not there.")
    return str(library), ":".join(filter(None, [path, str(modules)]))


def _spelled(name: list[str | int]) -> str:
    return ".".join(map(str, name))


def _problem(outcome: Outcome, what: str) -> Replayed | None:
    """A run that gave no answer: whose fault, and why."""
    if outcome.ended_by == "exit" and outcome.status == 0:
        return None
    tail = outcome.reason or outcome.stderr[-500:].decode(errors="replace").strip()
    status = {
        "infrastructure": Status.INFRASTRUCTURE,
        "wall": Status.TIMEOUT,
        "cpu": Status.TIMEOUT,
        "memory": Status.OUT_OF_MEMORY,
    }.get(outcome.ended_by, Status.FAILED)
    how = "" if outcome.ended_by == "exit" else f" (ended by {outcome.ended_by})"
    return Replayed(status, f"{what}{how}: {tail}".rstrip(": "), cpu_s=outcome.cpu_s)


def _read(output: bytes) -> Replayed:
    try:
        answer: dict[str, Any] = json.loads(output)
    except ValueError:
        return Replayed(Status.FAILED, "the replay gave no answer")
    if "refused" in answer:
        return Replayed(Status.REJECTED, answer["refused"])
    if "unable" in answer:
        return Replayed(Status.FAILED, answer["unable"])
    axioms, count = tuple(answer["axioms"]), answer["declarations"]
    return Replayed(Status.PASSED, "", axioms, count)
