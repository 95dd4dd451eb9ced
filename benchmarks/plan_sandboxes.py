"""Compare the simulation behind `proofgym plan sandboxes` with the project's pool of sandboxes.

    python benchmarks/plan_sandboxes.py [--scale 1.0] [--rounds 1]

The pool is `proofgym.sandboxes.pool.Pool` with the settings of the simulated one
(`planning.Pool.settings`); sandboxes that are used once are those of `command_pool`.

For each setting a rehearsal in a pool of its own, with other rollouts (another seed), measures how
long a sandbox takes to start and what an action takes beyond its own time. Then the step is
predicted, and only then run, in a new pool; with more rounds all that again, and means are taken.
The settings were written down before the first run and not changed after it. Three predictions are
set against the measured:

- `predicted`: of this very step, whose arrivals and service times are known, from the rehearsal.
  Its error holds the model's faults and any change of the machine since the rehearsal.
- `hindsight`: the same with starts and overheads as they were during the step: the model's faults.
- `blind`: from the distributions alone, the mean of 40 simulated steps, which cannot know the luck
  of one short step.

The last line is JSON: `settings`, `within_10_percent` (of them), `worst_error`, `worst_hindsight`,
`worst_blind`, `simulate_1e6_s` (seconds to simulate a million sandboxes at once) and
`simulate_1e6_cpu_s`, `plan_1e6_s` (a whole plan, all sizes and buffers, for a million completions
at once; `plan_1e6_spread_s`: 5,000 a second) and `plan_1e6_cpu_s`, `rows`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass, replace

import numpy as np
from rich.console import Console
from rich.table import Table
from sandbox_pool import StepRun, Timings, Work, starter

from proofgym.planning import (
    Constant,
    Distribution,
    Exponential,
    LogNormal,
    Measured,
    Pool,
    Step,
    Uniform,
    make_plan,
    simulate,
)
from proofgym.planning.step import Draws
from proofgym.sandboxes import choose_sandbox


@dataclass(frozen=True)
class Setting:
    """One pool and one kind of step."""

    name: str
    pool: Pool
    step: Step
    what: str = "sleep"


def step(rollouts: int, gaps: Distribution, service: Distribution, **more: object) -> Step:
    return Step(**{"rollouts": rollouts, "gaps": gaps, "service": service, "cap_s": 4.0} | more)


def even(rate: float) -> Distribution:
    return Constant(seconds=1 / rate)


def poisson(rate: float) -> Distribution:
    return Exponential(mean_s=1 / rate)


SHORT = Exponential(mean_s=0.4)
SETTINGS = [
    Setting("one, reused", Pool(size=1, buffer=1, uses=None), step(20, even(2), SHORT)),
    Setting(
        "fixed pool, just enough",
        Pool(size=8, buffer=8, uses=None),
        step(80, poisson(8), Constant(seconds=1.0)),
    ),
    Setting(
        "fresh ones, enough",
        Pool(size=16, buffer=3, starting=4),
        step(24, poisson(2), Exponential(mean_s=2.5), cap_s=8.0),
    ),
    Setting(
        "fresh ones, too few",
        Pool(size=6, buffer=2),
        step(24, even(3), LogNormal(median_s=2.5, p99_s=5.0), cap_s=8.0),
    ),
    Setting(
        "fresh ones, mostly starting",
        Pool(size=4),
        step(32, even(6), Uniform(low_s=0.5, high_s=1.5)),
    ),
    Setting(
        "all at once, no limit",
        Pool(starting=4, buffer=12),
        step(24, Constant(seconds=0.0), Uniform(low_s=4.0, high_s=10.0), cap_s=20.0),
    ),
    Setting(
        "hanging actions",
        Pool(size=6, buffer=2, uses=8, starting=2),
        step(60, poisson(6), Exponential(mean_s=0.8), hanging=0.05),
    ),
    Setting(
        "faults, retried",
        Pool(size=6, buffer=3, starting=3),
        step(30, poisson(3), Uniform(low_s=1.5, high_s=2.5), failure=0.15),
    ),
    Setting(
        "spinning",
        Pool(size=2, buffer=2, uses=None),
        step(40, poisson(6), Uniform(low_s=0.1, high_s=0.6)),
        "spin",
    ),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of rollouts")
    parser.add_argument("--rounds", type=int, default=1, help="of rehearsal and step")
    arguments = parser.parse_args()
    console = Console(width=140)
    table = Table(title="Step time, seconds")
    columns = ["measured", "predicted", "error", "hindsight", "blind", "start p50 ms"]
    for name in ("setting", *columns):
        table.add_column(name, justify="left" if name == "setting" else "right")
    rows = []
    for setting in SETTINGS:
        rollouts = max(20, round(setting.step.rollouts * arguments.scale))
        sized = replace(setting, step=changed(setting.step, rollouts=rollouts))
        print(f"{setting.name} ...", file=sys.stderr, flush=True)
        rows.append(compare(sized, arguments.rounds))
        table.add_row(*cells(rows[-1]))
    console.print(table)
    result = {
        "settings": len(rows),
        "within_10_percent": sum(abs(row["predicted"]) <= 0.1 for row in rows),
        "worst_error": worst(rows, "predicted"),
        "worst_hindsight": worst(rows, "hindsight"),
        "worst_blind": worst(rows, "blind"),
        **million(),
        **plan_million(),
        "rows": rows,
    }
    print(json.dumps(result))


def compare(setting: Setting, rounds: int) -> dict:
    """Rehearse, predict, run; and again, for the machine changes between rehearsal and step."""
    seconds: dict[str, list[float]] = {}
    starts: tuple[list[float], list[float]] = ([], [])
    for index in range(rounds):
        rehearsal = changed(setting.step, rollouts=max(12, setting.step.rollouts // 3), seed=1000)
        before = run(setting, rehearsal.draw(index))
        figures = {
            "predicted": mean_step(setting, before, [index] * 20),
            "blind": mean_step(setting, before, list(range(1000, 1040))),
        }
        during = run(setting, setting.step.draw(index))
        figures["hindsight"] = mean_step(setting, during, [index] * 20)
        figures["measured"] = during.step_s
        for name, value in figures.items():
            seconds.setdefault(name, []).append(value)
        starts[0].extend(before.starts_s)
        starts[1].extend(during.starts_s)
    means = {name: float(np.mean(values)) for name, values in seconds.items()}
    errors = {name: round(value / means["measured"] - 1, 4) for name, value in means.items()}
    del errors["measured"]
    medians = [round(1000 * float(np.median(each or [0.0]))) for each in starts]
    timed = {f"{name}_s": round(value, 3) for name, value in means.items()}
    return {"setting": setting.name, **timed, **errors, "start_p50_ms": medians}


def mean_step(setting: Setting, seen: Timings, indices: list[int]) -> float:
    """Mean step time over those steps, each with its own luck in starts and overheads."""
    start = Measured(seconds=tuple(seen.starts_s or [0.0]))
    step, totals = changed(setting.step, start=start), []
    for luck, index in enumerate(indices):
        draws, other = step.draw(index), step.draw(10_000 + luck)
        extra = np.random.default_rng(luck).choice(seen.overheads_s, step.rollouts)
        slower = replace(
            draws,
            services_N=np.maximum(draws.services_N + extra, 0),
            until_failure_AN=np.maximum(draws.until_failure_AN + extra, 0),
            starts_S=other.starts_S,
        )
        totals.append(simulate(step, setting.pool, slower).step_s)
    return float(np.mean(totals))


def run(setting: Setting, draws: Draws) -> Timings:
    """One real step."""
    attempts = draws.failures_AN.shape[0]
    works = []
    for index, arrival in enumerate(draws.arrivals_N):
        failed = draws.failures_AN[:, index]
        faults = attempts if failed.all() else int(np.argmin(failed))
        works.append(
            Work(
                float(arrival),
                float(draws.services_N[index]),
                bool(draws.capped_N[index]),
                faults_s=draws.until_failure_AN[:faults, index].tolist(),
                lost=faults == attempts,
            )
        )
    settings = setting.pool.settings()
    start = starter(choose_sandbox(), settings, setting.what, setting.step.cap_s)
    return StepRun(start, settings).run(works)


def changed(step: Step, **fields: object) -> Step:
    return Step(**{name: getattr(step, name) for name in type(step).model_fields} | fields)


def million() -> dict[str, float]:
    """Seconds, and processor seconds, to simulate a million sandboxes at once."""
    simulate(Step(rollouts=10), Pool())  # compile
    many = Step(rollouts=1_000_000, gaps=Constant(seconds=0.0))
    began, used = time.monotonic(), time.process_time()
    result = simulate(many, Pool())
    took, used = time.monotonic() - began, time.process_time() - used
    assert result.peak == 1_000_000, result.peak
    return {"simulate_1e6_s": round(took, 2), "simulate_1e6_cpu_s": round(used, 2)}


def plan_million() -> dict[str, float]:
    """Seconds of a whole plan for a million completions, and processor seconds of the first."""
    began, used = time.monotonic(), time.process_time()
    make_plan(Step(rollouts=1_000_000, gaps=Constant(seconds=0.0)))
    together, used = time.monotonic() - began, time.process_time() - used
    began = time.monotonic()
    make_plan(Step(rollouts=1_000_000, gaps=poisson(5000)))
    return {
        "plan_1e6_s": round(together, 1),
        "plan_1e6_cpu_s": round(used, 1),
        "plan_1e6_spread_s": round(time.monotonic() - began, 1),
    }


def worst(rows: list[dict], name: str) -> float:
    return max(abs(row[name]) for row in rows)


def cells(row: dict) -> list[str]:
    return [
        row["setting"],
        f"{row['measured_s']:.2f}",
        f"{row['predicted_s']:.2f}",
        *(f"{100 * row[name]:+.1f} %" for name in ("predicted", "hindsight", "blind")),
        " → ".join(map(str, row["start_p50_ms"])),
    ]


if __name__ == "__main__":
    main()
