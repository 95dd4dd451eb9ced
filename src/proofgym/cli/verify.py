"""`proofgym verify`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from proofgym.cli.options import as_options
from proofgym.errors import ConfigError, nearest, no_file
from proofgym.types import LEVELS, Level

if TYPE_CHECKING:
    from proofgym.lean.file import FileReport


def verify(
    file: Annotated[Path, typer.Argument(help="An ordinary Lean file, or a model's answer.")],
    statement: Annotated[
        str | None,
        typer.Option(help="A trusted `theorem NAME binders : TYPE` that the file must prove."),
    ] = None,
    level: Annotated[
        str | None,
        typer.Option(help="With --statement: elaborate, audit (the default) or kernel."),
    ] = None,
    toolchain: Annotated[str | None, typer.Option(help="A lean binary or Lake project.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds.")] = 60.0,
) -> None:
    """Check every theorem of a Lean file in a sandbox; exit status 1 unless all count as proved.

    With --statement the file is an answer printed by a model, fenced or not, and what counts is
    that it proves that statement.

    Example: proofgym verify MyTheorems.lean

    Example: proofgym verify answer.md --statement "theorem two : 1 + 1 = 2" --level kernel
    """
    from proofgym.lean.file import check_file, check_file_for

    if not file.is_file():
        raise ConfigError(no_file(file))
    if level is not None and level not in LEVELS:
        raise ConfigError(f"--level {level}: {nearest(level, LEVELS)}")
    if level is not None and statement is None:
        raise ConfigError("--level needs --statement: the theorem that the file must prove")
    if not timeout > 0:
        raise ConfigError(f"--timeout {timeout:g}: must be more than 0 seconds")
    if statement is not None:
        text = file.read_bytes().decode(errors="replace")
        asked = cast(Level, level or "audit")
        with as_options(cpu_s="--timeout", wall_s="--timeout"):
            found = check_file_for(statement, text, toolchain=toolchain, cpu_s=timeout, level=asked)
        print(f"{found.status}  {found.message}".rstrip())
        sys.exit(0 if found.status == "passed" else 1)
    with as_options(cpu_s="--timeout", wall_s="--timeout"):
        report = check_file(file.read_bytes(), toolchain=toolchain, wall_s=timeout)
    _print(report)
    sys.exit(0 if report.verdict.status == "passed" else 1)


def _print(report: FileReport) -> None:
    """A line a theorem, what is wrong elsewhere in the file, and how many are proved."""
    for name, verdict in report.theorems:
        print(f"{verdict.status:8s} {name}" + (f"  {verdict.message}" if verdict.message else ""))
    whole, said = report.verdict, {verdict.message for _, verdict in report.theorems}
    if whole.status in ("passed", "rejected") or not report.theorems:
        print(whole.message)  # a count, or why there is none
    else:
        if whole.message not in said:
            print(f"{whole.status:8s} the file  {whole.message}".rstrip())
        proved = sum(verdict.status == "passed" for _, verdict in report.theorems)
        print(f"{proved} of {len(report.theorems)} theorems proved")
    if report.cautions:
        words = ", ".join(report.cautions)
        print(f"to be read by a person, as they can change what the rest means: {words}")
