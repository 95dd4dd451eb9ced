"""`proofgym train` and `proofgym resume`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from proofgym.errors import ConfigError, RunError, nearest
from proofgym.progress import counted

Runs = Annotated[Path, typer.Option(help="Directory that holds the runs.")]


def train(
    file: Annotated[Path, typer.Argument(help="Job file: a Python file that defines one Job.")],
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Override a field: iterations=5.")
    ] = None,
    control: Annotated[
        str | None, typer.Option(help="'permuted': shuffle coefficients (ES) or rewards (GRPO).")
    ] = None,
    runs: Runs = Path("runs"),
    dry_run: Annotated[
        bool, typer.Option(help="Check the job and print it as JSON; start nothing.")
    ] = False,
) -> None:
    """Train a job.

    Example: proofgym train examples/prove.py --set seed=1 --set iterations=5
    """
    from proofgym.job_file import load_job

    if control not in (None, "permuted"):
        raise ConfigError(f"--control {control}: {nearest(control, ['permuted'])}")
    job = load_job(file, set_ or [])
    tasks = job.check()
    if dry_run:
        print(json.dumps(job.to_json() | ({"control": control} if control else {}), indent=2))
        counts = f"{counted(len(tasks), 'task')}; the model was not loaded, nothing was started"
        print(f"the job is valid: {counts}", file=sys.stderr)
        return
    print(job.run(runs, source=file, control=control, overrides=set_ or []).path)


def resume(
    run: Annotated[str, typer.Argument(help="Run id, a unique part of it, its path, or 'latest'.")],
    runs: Runs = Path("runs"),
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Change a field that may: iterations=100.")
    ] = None,
) -> None:
    """Continue a run that was interrupted or killed; it ends as if it never had been.

    With more iterations, or a larger budget, a finished run goes on as if it had had them from the
    start.

    Example: proofgym resume latest --set iterations=100
    """
    from proofgym.job_file import load_job
    from proofgym.run_directory import RunDirectory

    directory = RunDirectory.open(runs, run)
    try:
        stored = directory.read_json("job.json")
        if not (directory.path / "job.py").exists():
            raise RunError(f"run {directory.id} was not started from a job file; use Job.resume")
        source = Path(stored["source"])
        changes = [*stored["overrides"], *(set_ or [])]
        job = load_job(directory.path / "job.py", changes, beside=source.parent)
        print(job.resume(directory, changes).path)
    finally:
        directory.close()
