"""`proofgym demo`: a real model learns to prove real theorems, and the gain is measured."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated

import typer

from proofgym.cli.train import Runs
from proofgym.errors import ConfigError


def demo(
    file: Annotated[Path, typer.Argument(help="Job file with `evaluation` tasks.")] = Path(
        "examples/prove.py"
    ),
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Override a field: iterations=5.")
    ] = None,
    control: Annotated[
        str | None, typer.Option(help="'permuted': shuffle coefficients (ES) or rewards (GRPO).")
    ] = None,
    samples: Annotated[int, typer.Option(help="Completions of each held-out task.", min=1)] = 1,
    limit: Annotated[int | None, typer.Option(help="Only so many held-out tasks.", min=1)] = None,
    runs: Runs = Path("runs"),
) -> None:
    """Measure a model on held-out theorems, train it, measure again.

    Example: proofgym demo examples/prove.py --set iterations=5 --limit 40
    """
    from proofgym.catalogue import before_warm_start
    from proofgym.checkpoint import rebuild
    from proofgym.job_file import load_job
    from proofgym.training import say

    started = time.monotonic()
    job = load_job(file, set_ or [])
    if job.evaluation is None:
        raise ConfigError(f"{file}: Job.evaluation must name held-out tasks for the demo")
    heldout = job.evaluation.load()[:limit]
    trial = _Trial(job, heldout, samples)
    base = trial.measure(job.cluster.load(before_warm_start(job.model)), "base")
    warm = trial.measure(job.cluster.load(job.model), "warm start")
    say("")
    run = job.run(runs, source=file, control=control, overrides=set_ or [])
    say("")
    trained = trial.measure(rebuild(run, cluster=job.cluster), "trained")
    trial.close()
    _print_table(base, warm, trained)
    _print_new_proofs(warm, trained)
    print(json.dumps(_summary(job, run, base, warm, trained, time.monotonic() - started)))


class _Trial:
    """The same held-out tasks, draws and judge for every model."""

    def __init__(self, job, heldout, samples: int) -> None:  # type: ignore[no-untyped-def]
        self.job, self.heldout, self.samples = job, heldout, samples
        self.attempts = job.open_attempts(job.cluster.verification_workers())

    def measure(self, loaded, what: str):  # type: ignore[no-untyped-def]
        from proofgym.evaluation import evaluate

        return evaluate(
            self.job.cluster.engine(loaded, self.job.seed),
            self.attempts,
            self.heldout,
            self.job.sampling,
            samples=self.samples,
            what=f"held-out, {what}",
        )

    def close(self) -> None:
        self.attempts.close()


def _print_table(base, warm, trained) -> None:  # type: ignore[no-untyped-def]
    from rich.console import Console
    from rich.table import Table

    from proofgym.comparison.amounts import points
    from proofgym.evaluation import paired_difference

    table = Table(
        "model",
        "held-out pass@1 [95 %]",
        "seconds to measure",
        "proofs/s",
        title="Held-out theorems",
    )
    for name, result in (("base", base), ("warm start", warm), ("after training", trained)):
        count = sum(map(len, result.attempts))
        rate = f"{count / result.seconds:.1f}"
        table.add_row(name, str(result.interval()), f"{result.seconds:.0f}", rate)
    Console().print(table)
    gain = paired_difference(trained, warm)
    verdict = "excludes" if gain.low > 0 or gain.high < 0 else "includes"
    print(
        f"training changed pass@1 by {points(gain.mean, sign=True)} points [{points(gain.low)}, "
        f"{points(gain.high)}] (paired, n = {len(warm.tasks)}): {verdict} zero"
    )


def _print_new_proofs(warm, trained, most: int = 5) -> None:  # type: ignore[no-untyped-def]
    new = trained.solved() - warm.solved()
    lost = warm.solved() - trained.solved()
    often = max(map(len, trained.attempts))
    how = "" if often == 1 else f" in any of {often} attempts"
    print(f"theorems proved{how} only after training: {len(new)}; only before: {len(lost)}")
    rows = [
        row for task, row in zip(trained.tasks, trained.attempts, strict=True) if task.name in new
    ]
    for row in sorted(rows, key=lambda row: -row[0].task.difficulty)[:most]:
        proof = next(item for item in row if item.verdict.reward)
        print(f"\n{proof.task.prompt}{proof.turns[-1].text}")


def _summary(job, run, base, warm, trained, seconds: float) -> dict:  # type: ignore[no-untyped-def, type-arg]
    from proofgym.evaluation import paired_difference

    gain = paired_difference(trained, warm)
    iterations = [event for event in run.events() if event["event"] == "iteration"]
    training_s = sum(sum(v for k, v in e.items() if k.endswith("_s")) for e in iterations)
    attempts = sum(event["attempts"] for event in iterations)
    return {
        "heldout_n": len(warm.tasks),
        "base": round(base.interval().mean, 4),
        "warm": round(warm.interval().mean, 4),
        "trained": round(trained.interval().mean, 4),
        "gain": round(gain.mean, 4),
        "interval95": [round(gain.low, 4), round(gain.high, 4)],
        f"{type(job.algorithm).__name__.lower()}_iterations": len(iterations),
        "attempts": attempts,
        "verified_per_s": round(attempts / training_s, 2) if training_s else None,
        "seconds": round(seconds, 1),
        "run": run.id,
    }
