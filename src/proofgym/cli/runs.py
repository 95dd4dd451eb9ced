"""`proofgym runs` and `proofgym export`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from proofgym.cli.train import Runs
from proofgym.errors import ConfigError, RunError

if TYPE_CHECKING:
    from proofgym.run_directory import RunDirectory

_ID_WIDTH = 24


def runs(runs: Runs = Path("runs")) -> None:
    """List the runs, oldest first.

    The rewards are of the first and the last iteration, each of its own tasks: no measure of what
    was learnt (`proofgym show` has held-out success, `proofgym eval` measures it).

    Example: proofgym runs
    """
    from rich.console import Console
    from rich.table import Table

    from proofgym.run_directory import list_runs

    table = Table(caption="Rewards are of different tasks: those of the first and last iteration.")
    table.add_column("run", no_wrap=True, min_width=_ID_WIDTH)  # what the other commands ask for
    for name in ("model", "algorithm", "iterations", "reward first", "reward last", "state"):
        table.add_column(name)
    for run in list_runs(runs):
        try:
            stored, events = run.read_json("job.json"), run.events()
        except RunError:
            table.add_row(run.id, *["?"] * 5, "damaged")
            continue
        job = stored["job"]
        rewards = [
            e["reward"] for e in events if e["event"] == "iteration" and e["reward"] is not None
        ]
        table.add_row(
            run.id,
            job["model"]["name"],
            job["algorithm"]["kind"] + (f" {stored['control']}" if stored["control"] else ""),
            progress(job, sum(e["event"] == "iteration" for e in events)),
            *(f"{rewards[i]:.3f}" if rewards else "-" for i in (0, -1)),
            state(run, events),
        )
    console = Console()
    (console if console.is_terminal else Console(width=160)).print(table)


def progress(job: dict[str, Any], done: int) -> str:
    """Iterations, out of how many where no budget says when the run ends."""
    from proofgym.budget import UNITS

    bounded = any(job["budget"][kind] for kind in UNITS)
    return str(done) if bounded else f"{done}/{job['iterations']}"


def export(
    run: Annotated[str, typer.Argument(help="Run id, a unique part of it, its path, or 'latest'.")],
    to: Annotated[Path, typer.Option(help="New directory for the Hugging Face model.")],
    at: Annotated[int | None, typer.Option(help="After this many iterations; default all.")] = None,
    runs: Runs = Path("runs"),
) -> None:
    """Write a run's weights, at any iteration, as a plain Hugging Face directory.

    Example: proofgym export latest --at 10 --to model-10
    """
    from proofgym.checkpoint import export_run
    from proofgym.run_directory import RunDirectory

    if to.exists():
        raise ConfigError(f"--to {to}: already exists; name a new directory")
    digest = export_run(RunDirectory.read(runs, run), at, to)
    print(f"{to}  weights {digest}")


def state(run: RunDirectory, events: list[dict[str, Any]]) -> str:
    """How it ended, in a word, or that it has not."""
    if run.in_use():
        return "running"
    last = events[-1] if events else {"event": "none"}
    return last["reason"] if last["event"] == "end" else "killed"
