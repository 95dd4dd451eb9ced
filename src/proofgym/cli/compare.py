"""`proofgym compare` and `proofgym sweep`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proofgym.errors import ConfigError, RunError

File = Annotated[Path, typer.Argument(help="Python file that defines a Comparison or a Sweep.")]
Set = Annotated[
    list[str] | None, typer.Option("--set", help="Override a field: budget.tokens=20000.")
]
Jobs = Annotated[int, typer.Option(help="Runs at a time, each a process of its own.", min=1)]
To = Annotated[Path, typer.Option("--to", help="Directory that holds the comparisons.")]
DryRun = Annotated[bool, typer.Option(help="Print the runs and an estimate; start nothing.")]
ReportOnly = Annotated[bool, typer.Option(help="Write the report from the runs that are there.")]


def compare(
    file: File,
    set_: Set = None,
    jobs: Jobs = 1,
    to: To = Path("comparisons"),
    dry_run: DryRun = False,
    report_only: ReportOnly = False,
) -> None:
    """Run variants of a job with equal seeds, budgets and held-out tasks, and report on them.

    Does what is missing: run it again after a crash, or with more seeds or variants.

    Example: proofgym compare compare.py --jobs 2 --set budget.tokens=20000
    """
    from proofgym.comparison import Sweep, load

    experiment = load(file, set_ or [])
    if isinstance(experiment, Sweep):
        raise ConfigError(f"{file} defines a Sweep: run it with `proofgym sweep {file}`")
    _carry_out(experiment, file, set_ or [], jobs, to, dry_run, report_only)


def sweep(
    file: File,
    set_: Set = None,
    jobs: Jobs = 1,
    to: To = Path("comparisons"),
    dry_run: DryRun = False,
    report_only: ReportOnly = False,
) -> None:
    """Run every combination of a grid of values, and say which of them matter how much.

    Example: proofgym sweep sweep.py --dry-run
    """
    from proofgym.comparison import Comparison, load

    experiment = load(file, set_ or [])
    if isinstance(experiment, Comparison):
        raise ConfigError(f"{file} defines a Comparison: run it with `proofgym compare {file}`")
    _carry_out(experiment, file, set_ or [], jobs, to, dry_run, report_only)


def _carry_out(  # type: ignore[no-untyped-def]
    experiment, file: Path, overrides, jobs: int, to: Path, dry_run: bool, report_only: bool
) -> None:
    from proofgym.comparison import (
        Runner,
        Sweep,
        describe,
        plan,
        refuse_changed,
        refuse_larger,
        write_report,
    )
    from proofgym.comparison.runner import starts
    from proofgym.run_directory import write_atomically
    from proofgym.training import say

    if dry_run and report_only:
        raise ConfigError("--dry-run and --report-only: only one of them")
    verb = "sweep" if isinstance(experiment, Sweep) else "compare"
    directory = to / experiment.name
    runs = plan(experiment, directory)
    refuse_changed(runs)
    if report_only:
        refuse_larger(runs)
        _print(write_report(experiment, runs, directory))
        return
    for run in runs[: len(experiment.variants_named())]:
        run.job.check()
    for line in describe(experiment, runs, jobs, starts(directory)):
        print(line) if dry_run else say(line)
    if dry_run:
        print("nothing was started")
        return
    write_atomically(directory / "comparison.py", file.read_bytes())
    runner = Runner(runs, file.resolve(), directory.resolve(), overrides, experiment.retries)
    try:
        runner.carry_out(jobs)
    except KeyboardInterrupt:
        say(f"interrupted; the same command goes on: proofgym {verb} {file} …")
        raise
    _print(write_report(experiment, runs, directory))
    if runner.failed:
        names = ", ".join(run.id for run in runner.failed)
        raise RunError(f"{len(runner.failed)} of {len(runs)} runs failed: {names}; see {directory}")


def _print(written) -> None:  # type: ignore[no-untyped-def]
    for sentence in written.sentences:
        print(f"- {sentence}")
    print(written.path)
