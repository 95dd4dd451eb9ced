"""`proofgym plan`: sizes found by simulation."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proofgym.cli.options import as_options
from proofgym.errors import ConfigError, nearest, no_folder

if TYPE_CHECKING:
    from proofgym.planning import Distribution, Plan, Step

_HELP = "Find sizes by simulation.\n\nExample: proofgym plan sandboxes --rollouts 10000 --rate 68"
app = typer.Typer(help=_HELP, no_args_is_help=True, rich_markup_mode=None)

_OPTIONS = {
    "cap_s": "--cap",
    "update_s": "--update",
    "gpu_hour": "--gpu-price",
    "sandbox_hour": "--sandbox-price",
    "wait_s": "--wait",
    "sizes": "--pools",
}
_FORMS = "SECONDS, exponential:MEAN, lognormal:MEDIAN,P99, uniform:LOW,HIGH or a JSON list in FILE"


@app.callback(help=_HELP)
def plan() -> None:
    """Find sizes by simulation."""


@app.command()
def sandboxes(
    rollouts: Annotated[int, typer.Option(help="Completions to verify in a step.")] = 10_000,
    rate: Annotated[float, typer.Option(help="Completions generated each second.")] = 50.0,
    arrivals: Annotated[
        str, typer.Option(help="poisson, even, together, or a JSON list of seconds between them.")
    ] = "poisson",
    service: Annotated[str, typer.Option(help=f"One action: {_FORMS}.")] = "lognormal:1,8",
    start: Annotated[str, typer.Option(help=f"One start, the same forms: {_FORMS}.")] = (
        "lognormal:0.3,1"
    ),
    cap: Annotated[float, typer.Option(help="Seconds after which an action is ended.")] = 10.0,
    hanging: Annotated[float, typer.Option(help="Share of actions that take the whole cap.")] = 0.0,
    failure: Annotated[float, typer.Option(help="Probability that an attempt fails.")] = 0.0,
    failure_after: Annotated[
        str | None, typer.Option(help="Seconds until it does; else the action's own time.")
    ] = None,
    retries: Annotated[int, typer.Option(help="Further attempts after a failure.")] = 2,
    uses: Annotated[int, typer.Option(help="Actions a sandbox serves; 0: no limit.")] = 1,
    starting: Annotated[int, typer.Option(help="Most starting at once; 0: no limit.")] = 0,
    cores: Annotated[float, typer.Option(help="Processors they share; 0: one each.")] = 0.0,
    update: Annotated[float, typer.Option(help="Seconds between steps; warm ones idle.")] = 0.0,
    pools: Annotated[
        str | None, typer.Option(help="Sizes, such as 64,128,unlimited; else a range from 1.")
    ] = None,
    wait: Annotated[float, typer.Option(help="Goal: 99 of 100 wait at most these seconds.")] = 0.1,
    premium: Annotated[float, typer.Option(help="Share the goal may cost more.")] = 0.25,
    gpus: Annotated[int, typer.Option(help="GPUs that wait for the step.")] = 8,
    gpu_price: Annotated[float, typer.Option(help="One GPU, one hour.")] = 3.0,
    sandbox_price: Annotated[float, typer.Option(help="One sandbox, one hour.")] = 0.1,
    steps: Annotated[
        int | None, typer.Option(help="Simulated steps to average over; else 3, or 1 if large.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the draws.")] = 0,
    plot: Annotated[Path | None, typer.Option(help="Write the picture here (SVG).")] = None,
) -> None:
    """Say how many sandboxes a training step needs, and how many to keep warm.

    Simulates the step for a range of pool sizes: its time, how long the GPUs are blocked, how long
    completions wait, and what idle sandboxes cost. The last line is JSON.

    Example: proofgym plan sandboxes --rate 68 --service measured.json --plot plan.svg
    """
    from proofgym.planning import Goal, Prices, Step, make_plan, parse_distribution

    def read(text: str, name: str) -> Distribution:
        return parse_distribution(text, name)

    picture = None if plot is None else _picture(plot)
    with as_options(**_OPTIONS):
        step = Step(
            rollouts=rollouts,
            gaps=_gaps(arrivals, rate),
            service=read(service, "--service"),
            cap_s=cap,
            hanging=hanging,
            start=read(start, "--start"),
            failure=failure,
            failure_after=None if failure_after is None else read(failure_after, "--failure-after"),
            retries=retries,
            cores=cores or None,
            update_s=update,
            seed=seed,
        )
        made = make_plan(
            step,
            Prices(gpu_hour=gpu_price, gpus=gpus, sandbox_hour=sandbox_price),
            goal=Goal(wait_s=wait, premium=premium),
            sizes=None if pools is None else _sizes(pools),
            uses=uses or None,
            starting=starting or None,
            steps=steps,
        )
    _show(made, step, picture)


def _picture(path: Path) -> Path:
    """The path, if a picture can be written there: a plan takes long, and is not to be lost."""
    if path.suffix.lower() != ".svg":
        raise ConfigError(f"--plot {path}: the picture is SVG; name a file that ends in .svg")
    if path.is_dir():
        raise ConfigError(f"--plot {path}: is a folder; name a file")
    if not path.parent.is_dir():
        raise ConfigError(f"--plot {path}: {no_folder(path.parent)}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ConfigError(f"--plot {path}: cannot be written")
    return path


def _gaps(arrivals: str, rate: float) -> Distribution:
    """Seconds between completions, from the pattern's name and the rate."""
    from proofgym.planning import Constant, Exponential, parse_distribution

    if arrivals.endswith(".json"):
        return parse_distribution(arrivals, "--arrivals")
    if not 0 < rate < math.inf:
        raise ConfigError(f"--rate = {rate}: must be more than 0 and finite")
    patterns = {
        "poisson": Exponential(mean_s=1 / rate),
        "even": Constant(seconds=1 / rate),
        "together": Constant(seconds=0.0),
    }
    if arrivals not in patterns:
        raise ConfigError(f"--arrivals = {arrivals!r}: {nearest(arrivals, patterns)} or FILE.json")
    return patterns[arrivals]


def _sizes(text: str) -> list[int | None]:
    """`64,128,unlimited` as numbers, None for unlimited."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        if word != "unlimited" and not word.isdecimal():
            hint = f": {nearest(word, ['unlimited'])}" if word[:1].isalpha() else ""
            raise ConfigError(
                f"--pools = {text!r}: {word!r} is neither a whole number nor 'unlimited'{hint}"
            )
    return [None if word == "unlimited" else int(word) for word in words]


def _show(plan: Plan, step: Step, plot: Path | None) -> None:
    from rich.console import Console

    from proofgym.planning.chart import draw
    from proofgym.planning.table import table

    console = Console()
    if not console.is_terminal:  # a log file or a pipe has no width to keep to
        console = Console(width=140)
    console.print(table(plan))
    print(plan.reason)
    print(f"PoolSettings({', '.join(f'{name}={it}' for name, it in plan.settings().items())})")
    failed = None
    if plot is not None:
        try:
            plot.write_text(draw(plan), encoding="utf-8")
            print(f"picture: {plot}")
        except OSError as error:  # a full disk, say: the plan was made
            failed = ConfigError(f"--plot {plot}: cannot be written: {error.strerror}")
    print(json.dumps(plan.to_json() | {"step": step.to_json()}))
    if failed is not None:
        raise failed
