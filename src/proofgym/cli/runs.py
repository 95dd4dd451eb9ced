"""`proofgym runs`, `proofgym show` and `proofgym export`."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from proofgym.cli.train import Runs
from proofgym.errors import ConfigError


def runs(runs: Runs = Path("runs")) -> None:
    """List the runs, oldest first.

    Example: proofgym runs
    """
    from rich.console import Console
    from rich.table import Table

    from proofgym.run_directory import list_runs

    table = Table("run", "model", "algorithm", "iterations", "reward first", "last", "state")
    for run in list_runs(runs):
        job, events = run.read_json("job.json")["job"], run.events()
        rewards = [
            e["reward"] for e in events if e["event"] == "iteration" and e["reward"] is not None
        ]
        table.add_row(
            run.id,
            job["model"]["name"],
            job["algorithm"]["kind"],
            f"{sum(e['event'] == 'iteration' for e in events)}/{job['iterations']}",
            *(f"{rewards[i]:.3f}" if rewards else "-" for i in (0, -1)),
            _state(events),
        )
    Console().print(table)


def show(
    run: Annotated[str, typer.Argument(help="Run id, a unique part of it, its path, or 'latest'.")],
    rollouts: Annotated[bool, typer.Option("--rollouts", help="Print attempts too.")] = False,
    failed: Annotated[
        bool, typer.Option("--failed", help="Only attempts that did not pass.")
    ] = False,
    iteration: Annotated[int | None, typer.Option(help="Only this iteration's attempts.")] = None,
    limit: Annotated[int, typer.Option(help="Most attempts to print.")] = 20,
    runs: Runs = Path("runs"),
) -> None:
    """Show one run: configuration, learning curve, attempts.

    Example: proofgym show latest --rollouts --failed
    """
    from proofgym.run_directory import RunDirectory

    directory = RunDirectory.read(runs, run)
    print(f"run {directory.id}  {directory.path}")
    print(json.dumps(directory.read_json("job.json"), indent=2))
    for event in directory.events():
        if event["event"] == "iteration":
            reward = "none" if event["reward"] is None else f"{event['reward']:.3f}"
            print(f"iteration {event['iteration']:4d}  reward {reward}  {event['statuses']}")
        else:
            print(json.dumps({k: v for k, v in event.items() if k != "time"}))
    if rollouts or failed:
        lines = directory.rollouts(iteration)
        chosen = (line for line in lines if not failed or line["status"] != "passed")
        for line in islice(chosen, limit):
            _print_rollout(line)


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


def _print_rollout(line: dict[str, Any]) -> None:
    print(
        f"\n[{line['iteration']}] {line['task']} member {line['member']}: "
        f"{line['status']}, reward {line['reward']}"
    )
    print(line["prompt"] + line["text"])
    if line["message"]:
        print(f"-- {line['message']}")


def _state(events: list[dict[str, Any]]) -> str:
    last = events[-1] if events else {"event": "none"}
    return last["reason"] if last["event"] == "end" else "running or killed"
