"""What a run's directory says of it: its measurements, iterations and faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proofgym.budget import UNITS, spent
from proofgym.comparison.plan import PlannedRun
from proofgym.errors import RunError
from proofgym.estimate import pass_at_k
from proofgym.measurement import TASKS

_NO_PHASES = {"seconds", "verifier_seconds"}


@dataclass
class Record:
    """One run, as far as it went."""

    run: PlannedRun
    iterations: list[dict[str, Any]]
    points: list[dict[str, Any]]
    """Measurements, in order."""
    tasks: list[dict[str, Any]]
    """The measured tasks: name, topic, difficulty."""
    failures: list[str] = field(default_factory=list)
    """Why starts of it failed."""

    @property
    def state(self) -> str:
        if self.run.finished:
            return "finished"
        if self.failures:
            return "failed"
        return "begun" if self.run.begun else "not begun"

    @property
    def last(self) -> dict[str, Any]:
        return self.points[-1]

    def counts(self, point: int, probe: str | None = None) -> dict[str, Any]:
        """Passed and scored attempts by task, of a measurement (0 the first, -1 the last)."""
        found: dict[str, Any] = self.points[point]
        return found if probe is None else found["probes"][probe]  # type: ignore[no-any-return]

    def share(self, point: Mapping[str, Any]) -> float:
        """Of the budget, used at a measurement; 1 where it was gone beyond."""
        budget = self.run.job.budget
        return min(1.0, point[budget.kind or "tokens"] / budget.amount)

    def spent(self) -> dict[str, float]:
        return spent(self.iterations)

    def phases(self) -> dict[str, float]:
        """Wall seconds per phase, and of the measurements."""
        totals: Counter[str] = Counter()
        for event in self.iterations:
            for name, value in event.items():
                if name.endswith("_s") and name not in _NO_PHASES and value:
                    totals[name.removesuffix("_s")] += value
        totals["measure"] = sum(point["evaluation_seconds"] for point in self.points)  # type: ignore[assignment]
        return {name: float(value) for name, value in totals.items()}

    def attempts(self) -> int:
        return sum(event["attempts"] for event in self.iterations)


def read(run: PlannedRun, starts: Sequence[Mapping[str, Any]]) -> Record:
    """The record of a run; empty where it has not begun."""
    failures = [str(it["error"]) for it in starts if it["run"] == run.id and it["error"]]
    if not run.begun:
        return Record(run, [], [], [], failures)
    events = run.directory.events()
    points = [event for event in events if event["event"] == "evaluation"]
    return Record(
        run,
        [event for event in events if event["event"] == "iteration"],
        points,
        _measured(run) if points else [],
        failures,
    )


def _measured(run: PlannedRun) -> list[dict[str, Any]]:
    """The tasks that a run's measurements count. Raises RunError where nothing says which."""
    if not (run.path / TASKS).exists():
        raise RunError(
            f"{run.path} has measurements but no {TASKS}, which names their tasks. Put that file "
            "back from where the run was made, or remove the directory and let it run again"
        )
    tasks: list[dict[str, Any]] = run.directory.read_json(TASKS)["tasks"]
    return tasks


def tables(
    records: Sequence[Record], k: int, point: int, probe: str | None = None
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """pass@k of each run on each task at a measurement (0 the first, -1 the last), [runs, tasks],
    and which tasks have enough scored attempts, [tasks]; the others are NaN. Held-out tasks, or
    those of a probe."""
    counts = [record.counts(point, probe) for record in records]
    passed = np.array([it["passed"] for it in counts])
    scored = np.array([it["scored"] for it in counts])
    enough: NDArray[np.bool_] = np.all(scored >= k, axis=0)
    rates: NDArray[np.float64] = np.full(passed.shape, np.nan)
    for row in range(len(records)):
        rates[row, enough] = pass_at_k(passed[row, enough], scored[row, enough], k)
    return rates, enough


def nats_tables(
    records: Sequence[Record], probe: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Nats per token of each run on each text of a likelihood probe, [runs, texts], before and
    after training; None where they did not all read the same tokens.

    A run's mean is that of all its tokens. Texts differ in length, so it is a ratio of sums, and a
    text's value is what it adds to that ratio to first order (the ratio estimator of survey
    sampling): r + (nats − r·tokens) / mean tokens.
    """
    counts = [[record.counts(point, probe) for record in records] for point in (0, -1)]
    if len({it["digest"] for row in counts for it in row}) != 1:
        return None
    tokens = np.array(counts[0][0]["tokens"], float)
    before, after = (np.array([it["nats"] for it in row]) for row in counts)
    return _per_token(before, tokens), _per_token(after, tokens)


def _per_token(nats: NDArray[np.float64], tokens: NDArray[np.float64]) -> NDArray[np.float64]:
    rates = nats.sum(axis=1, keepdims=True) / tokens.sum()
    found: NDArray[np.float64] = rates + (nats - rates * tokens) / tokens.mean()
    return found


def noise(record: Record) -> float | None:
    """Variance of a run's final success due to the number of attempts at each task alone."""
    passed, scored = (np.array(record.last[name], float) for name in ("passed", "scored"))
    if (scored < 2).any():
        return None
    rates = passed / scored
    return float((rates * (1 - rates) / (scored - 1)).sum() / len(rates) ** 2)


def costs(records: Sequence[Record], price: float | None) -> dict[str, Any]:
    """What the runs of a variant used, on average."""
    count = max(1, len(records))
    total: Counter[str] = Counter()
    phases: Counter[str] = Counter()
    for record in records:
        total.update(record.spent())
        phases.update(record.phases())
        total["attempts"] += record.attempts()
        total["iterations"] += len(record.iterations)
    wall = total["seconds"] + phases["measure"]
    result: dict[str, Any] = {name: total[name] / count for name in (*UNITS, "attempts")}
    result["iterations"] = total["iterations"] / count
    result["phases"] = {name: value / count for name, value in phases.items()}
    result["attempts_per_s"] = total["attempts"] / total["seconds"] if total["seconds"] else None
    result["money"] = None if price is None else wall / 3600 * price / count
    return result
