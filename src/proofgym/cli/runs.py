"""`proofgym runs`, `proofgym show` and `proofgym export`."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from proofgym.cli.train import Runs
from proofgym.errors import ConfigError, RunError

_ID_WIDTH = 24


def runs(runs: Runs = Path("runs")) -> None:
    """List the runs, oldest first.

    Example: proofgym runs
    """
    from rich.console import Console
    from rich.table import Table

    from proofgym.run_directory import list_runs

    table = Table()
    table.add_column("run", no_wrap=True, min_width=_ID_WIDTH)  # what the other commands ask for
    for name in ("model", "algorithm", "iterations", "reward first", "last", "state"):
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
            _progress(job, sum(e["event"] == "iteration" for e in events)),
            *(f"{rewards[i]:.3f}" if rewards else "-" for i in (0, -1)),
            _state(events),
        )
    console = Console()
    (console if console.is_terminal else Console(width=160)).print(table)


def _progress(job: dict[str, Any], done: int) -> str:
    """Iterations, out of how many where no budget says when the run ends."""
    from proofgym.budget import UNITS

    bounded = any(job["budget"][kind] for kind in UNITS)
    return str(done) if bounded else f"{done}/{job['iterations']}"


def show(
    run: Annotated[str, typer.Argument(help="Run id, a unique part of it, its path, or 'latest'.")],
    rollouts: Annotated[bool, typer.Option("--rollouts", help="Print attempts too.")] = False,
    failed: Annotated[
        bool, typer.Option("--failed", help="Only attempts that did not pass.")
    ] = False,
    iteration: Annotated[
        int | None, typer.Option(help="Only this iteration's attempts (the first is 1).", min=1)
    ] = None,
    limit: Annotated[int, typer.Option(help="Most attempts to print.")] = 20,
    runs: Runs = Path("runs"),
) -> None:
    """Show one run: configuration, model, perturbed and frozen tensors, learning curve, attempts.

    Example: proofgym show latest --rollouts --failed
    """
    from proofgym.cli.history import print_perturbed
    from proofgym.evolution.history import read as read_history
    from proofgym.evolution.replay import HISTORY
    from proofgym.run_directory import RunDirectory
    from proofgym.training import fault_lines

    directory = RunDirectory.read(runs, run)
    print(f"run {directory.id}  {directory.path}")
    print(json.dumps(directory.read_json("job.json"), indent=2))
    if (directory.path / "environment.json").is_file():
        model = directory.read_json("environment.json")["model"]
        print(f"model: {model['source']}; weights {model['digest'][:12]}")
    if (directory.path / HISTORY).is_file():
        print_perturbed(read_history(directory.path / HISTORY))
    for event in directory.events():
        if event["event"] == "iteration":
            reward = "none" if event["reward"] is None else f"{event['reward']:.3f}"
            parts = "  ".join(f"{k} {v:.3f}" for k, v in event.get("components", {}).items())
            print(
                f"iteration {event['iteration'] + 1:4d}  reward {reward}  {event['statuses']}"
                + (f"  {parts}" if parts else "")
            )
            for words in fault_lines(event):
                print(f"                {words}")
        else:
            print(json.dumps({k: v for k, v in event.items() if k != "time"}))
    if rollouts or failed:
        lines = directory.rollouts(None if iteration is None else iteration - 1)
        chosen = (line for line in lines if not failed or line["status"] != "passed")
        for line in islice(chosen, limit):
            _print_rollout(line)
        if left := sum(1 for _ in chosen):
            print(f"\n{left} more; --limit {limit + left} shows all, --iteration chooses")


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
        f"\n[iteration {line['iteration'] + 1}] {line['task']} member {line['member']}: "
        f"{line['status']}, reward {line['reward']}"
    )
    if "turns" in line:
        _print_turns(line["turns"])
    else:
        print(line["prompt"] + line["text"])
    if "components" in line:
        print(f"-- {', '.join(f'{name} {value:g}' for name, value in line['components'].items())}")
    if line["message"]:
        print(f"-- {line['message']}")


def _print_turns(turns: list[dict[str, Any]]) -> None:
    """An episode, message by message; a branch says which turn it goes on from."""
    for number, turn in enumerate(turns):
        if turn["after"] != (number - 1 if number else None):
            from_ = "the start" if turn["after"] is None else f"turn {turn['after'] + 1}"
            print(f"  (a branch from {from_})")
        for role, text in turn["messages"]:
            print(f"  {role}: {_indented(text)}")
        print(f"  model, turn {number + 1} ({turn['finish']}): {_indented(turn['text'])}")


def _indented(text: str) -> str:
    return text.rstrip().replace("\n", "\n    ")


def _state(events: list[dict[str, Any]]) -> str:
    last = events[-1] if events else {"event": "none"}
    return last["reason"] if last["event"] == "end" else "running or killed"
