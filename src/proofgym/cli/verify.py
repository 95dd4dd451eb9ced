"""`proofgym verify`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from proofgym.errors import ConfigError


def verify(
    file: Annotated[Path, typer.Argument(help="An ordinary Lean file.")],
    toolchain: Annotated[str | None, typer.Option(help="A lean binary or Lake project.")] = None,
    timeout: Annotated[float, typer.Option(help="Wall-clock seconds.")] = 60.0,
) -> None:
    """Check every theorem of a Lean file in a sandbox; exit status 1 unless all count as proved.

    Example: proofgym verify MyTheorems.lean
    """
    from proofgym.lean.file import check_file

    if not file.is_file():
        raise ConfigError(f"no file {file}")
    report = check_file(file.read_bytes(), toolchain=toolchain, wall_s=timeout)
    for name, verdict in report.theorems:
        print(f"{verdict.status:8s} {name}" + (f"  {verdict.message}" if verdict.message else ""))
    print(report.verdict.message or report.verdict.status)
    sys.exit(0 if report.verdict.status == "passed" else 1)
