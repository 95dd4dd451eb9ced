"""`proofgym show`: one run, on a screen or whole."""

from __future__ import annotations

import json
import textwrap
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from proofgym.cli.runs import progress, state
from proofgym.cli.train import Runs
from proofgym.progress import counted

if TYPE_CHECKING:
    from proofgym.run_directory import RunDirectory

_LAST = 5
"""Iterations that a screen has room for."""
_INDENT = " " * 16
_FAULTS = ("faults", "fault_examples")
_FILES = {
    "job.json": "the whole configuration",
    "environment.json": "the machine and versions",
    "events.jsonl": "every number",
    "rollouts": "every attempt",
    "history.pges": "what the weights are rebuilt from",
    "checkpoints": "the weights and the optimiser's state",
}


def show(
    run: Annotated[str, typer.Argument(help="Run id, a unique part of it, its path, or 'latest'.")],
    all_: Annotated[
        bool,
        typer.Option("--all", help="Every event with all its numbers, tensors, configuration."),
    ] = False,
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
    """Show one run: its state, model, held-out success, files and last iterations; or all of it.

    Example: proofgym show latest --rollouts --failed
    """
    from proofgym.run_directory import RunDirectory

    directory = RunDirectory.read(runs, run)
    print(f"run {directory.id}  {directory.path}")
    events = directory.events()
    _print_job(directory, events)
    _print_success(events)
    if all_:
        _print_events(events)
        _print_model(directory, tensors=True)
        print(json.dumps(directory.read_json("job.json"), indent=2))
    else:
        _print_model(directory, tensors=False)
        _print_files(directory)
        _print_last(events)
    if rollouts or failed:
        _print_rollouts(directory, failed, iteration, limit)


def _print_job(directory: RunDirectory, events: list[dict[str, Any]]) -> None:
    """How far it is, and what it is in a line or two."""
    stored = directory.read_json("job.json")
    job, last = stored["job"], events[-1] if events else {}
    done = sum(event["event"] == "iteration" for event in events)
    weights = f", weights {last['weights'][:12]}" if "weights" in last else ""
    error = f": {last['error']}" if "error" in last else ""
    print(f"{state(directory, events)}: {progress(job, done)} iterations{weights}{error}")
    control = f", control {stored['control']}" if stored["control"] else ""
    names = f"{job['algorithm']['kind']} on {job['tasks']['kind']}, seed {job['seed']}{control}"
    print(f"job: {names}; from {stored['source'] or 'a program'}")
    if stored["overrides"]:
        print(f"set: {' '.join(stored['overrides'])}")


def _print_model(directory: RunDirectory, tensors: bool) -> None:
    from proofgym.cli.history import print_perturbed
    from proofgym.evolution.history import read as read_history
    from proofgym.evolution.replay import HISTORY

    if (directory.path / "environment.json").is_file():
        environment = directory.read_json("environment.json")
        model = environment["model"]
        print(f"model: {model['source']}; weights {model['digest'][:12]}")
        if not tensors:
            print(f"judge: {environment['judge']}")
    if (directory.path / HISTORY).is_file():
        print_perturbed(read_history(directory.path / HISTORY), tensors)


def _print_success(events: list[dict[str, Any]]) -> None:
    """Held-out success at each measurement."""
    measured = [event for event in events if event["event"] == "evaluation"]
    shown = ", ".join(f"{it['success']:.3f} after {it['iteration'] + 1}" for it in measured)
    if shown:
        print(f"held-out success: {shown}")


def _print_files(directory: RunDirectory) -> None:
    for name, words in _FILES.items():
        if (directory.path / name).exists():
            print(f"  {name:16s}  {words}")


def _print_last(events: list[dict[str, Any]]) -> None:
    found = [event for event in events if event["event"] == "iteration"]
    for event in found[-_LAST:]:
        _print_iteration(event)
    more = len(found) - _LAST
    earlier = f"{counted(more, 'earlier iteration')}, " if more > 0 else ""
    print(f"--all shows {earlier}every number and the configuration; --rollouts attempts")


def _print_events(events: list[dict[str, Any]]) -> None:
    for event in events:
        if event["event"] == "iteration":
            _print_iteration(event)
            _print_rest(event)
        else:
            print(json.dumps({k: v for k, v in event.items() if k != "time"}))


def _print_rest(event: dict[str, Any]) -> None:
    """What an iteration's line does not say."""
    said = {"event", "time", "iteration", "reward", "statuses", "components", *_FAULTS}
    rest = [f"{name}={json.dumps(it)}" for name, it in event.items() if name not in said]
    lines = textwrap.wrap("  ".join(rest), 84, break_long_words=False, break_on_hyphens=False)
    print(textwrap.indent("\n".join(lines), _INDENT))


def _print_iteration(event: dict[str, Any]) -> None:
    from proofgym.training import fault_lines

    reward = "none" if event["reward"] is None else f"{event['reward']:.3f}"
    parts = "  ".join(f"{k} {v:.3f}" for k, v in event.get("components", {}).items())
    print(
        f"iteration {event['iteration'] + 1:4d}  reward {reward}  {event['statuses']}"
        + (f"  {parts}" if parts else "")
    )
    for words in fault_lines(event):
        print(f"{_INDENT}{words}")


def _print_rollouts(
    directory: RunDirectory, failed: bool, iteration: int | None, limit: int
) -> None:
    lines = directory.rollouts(None if iteration is None else iteration - 1)
    chosen = (line for line in lines if not failed or line["status"] != "passed")
    for line in islice(chosen, limit):
        _print_rollout(line)
    if left := sum(1 for _ in chosen):
        print(f"\n{left} more; --limit {limit + left} shows all, --iteration chooses")


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
