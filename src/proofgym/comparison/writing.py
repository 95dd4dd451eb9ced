"""Writes a comparison's files: report.html, results.csv, summary.json, comparison.json."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from proofgym.budget import UNITS
from proofgym.comparison.claims import sentences
from proofgym.comparison.experiment import Experiment
from proofgym.comparison.intervals import Estimate
from proofgym.comparison.plan import PlannedRun
from proofgym.comparison.record import Record, read, tables
from proofgym.comparison.report import page
from proofgym.comparison.results import Results, VariantResult, compute
from proofgym.comparison.runner import starts
from proofgym.probe import AnyProbe
from proofgym.run_directory import write_atomically

_COLUMNS = ("run", "variant", "seed", "state", "iteration", "share", *UNITS, "success", "tasks")


_PROBED = {"success": ("success", "reward"), "likelihood": ("nats_per_token",)}
"""Columns of each kind of probe."""


@dataclass(frozen=True)
class Written:
    """What was written, and what it says."""

    path: Path
    """Of the report."""
    sentences: list[str]
    results: Results


def write_report(experiment: Experiment, runs: Sequence[PlannedRun], directory: Path) -> Written:
    """Compute everything from the run directories, and write it."""
    begun = starts(directory)
    results = compute(experiment, [read(run, begun) for run in runs])
    files = {
        "comparison.json": _json(experiment.to_json()),
        "summary.json": _json(summary(results)),
        "results.csv": table(results.records, experiment.ks, experiment.probes),
        "report.html": page(results),
    }
    for name, text in files.items():
        write_atomically(directory / name, text.encode())
    return Written(directory / "report.html", sentences(results), results)


def table(records: Sequence[Record], ks: Sequence[int], probes: Mapping[str, AnyProbe]) -> str:
    """A line for every measurement, as CSV; probes are empty where they were not measured."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = [(name, what) for name, it in probes.items() for what in _PROBED[it.measures]]
    named = [f"probe:{name}:{what}" for name, what in columns]
    writer.writerow([*_COLUMNS, *(f"pass@{k}" for k in ks), "change", *named])
    for record in records:
        writer.writerows(_lines(record, ks, columns))
    return out.getvalue()


def _lines(
    record: Record, ks: Sequence[int], columns: Sequence[tuple[str, str]]
) -> Iterator[list[Any]]:
    for place, point in enumerate(record.points):
        rates = []
        for k in ks:
            found, enough = tables([record], k, place)
            rates.append(round(float(found[0, enough].mean()), 6) if enough.any() else "")
        yield [
            record.run.id,
            record.run.variant.name,
            record.run.seed,
            record.state,
            point["iteration"] + 1,
            round(record.share(point), 6),
            *(point[name] for name in UNITS),
            point["success"],
            len(point["passed"]),
            *rates,
            point.get("change", {}).get("relative", ""),
            *(point.get("probes", {}).get(name, {}).get(what, "") for name, what in columns),
        ]


def summary(results: Results) -> dict[str, Any]:
    """Every number of the report, as JSON values."""
    return {
        "name": results.experiment.name,
        "budget": results.experiment.budget.to_json(),
        "seeds": list(results.experiment.seeds),
        "tasks": results.tasks,
        "tasks_left_out": results.left_out,
        "established": sentences(results),
        "variants": [_variant(it) for it in results.variants],
        "differences": [
            {"one": it.one, "other": it.other, **_estimate(it.difference), "p_corrected": it.p}
            for it in results.pairs
        ],
        "variance": {
            "over": results.part_names,
            "parts": [asdict(part) for part in results.parts],
            "explained_by_attempts": results.noise_share,
        },
        "runs": [
            {
                "run": it.run.id,
                "variant": it.run.variant.name,
                "seed": it.run.seed,
                "state": it.state,
                "spent": it.spent(),
                "success": it.last["success"] if it.points else None,
                "failures": it.failures,
            }
            for it in results.records
        ],
    }


def _variant(it: VariantResult) -> dict[str, Any]:
    return {
        "name": it.variant.name,
        "changes": dict(it.variant.labels),
        "finished_seeds": [record.run.seed for record in it.finished],
        "start": {f"pass@{k}": _estimate(value) for k, value in it.start.items()},
        "success": {f"pass@{k}": _estimate(value) for k, value in it.success.items()},
        "gain": _estimate(it.gain),
        "gain_p_corrected": it.gain_p,
        "groups": {
            name: {value: _estimate(found) for value, found in groups.items()}
            for name, groups in it.groups.items()
        },
        "costs": it.costs,
        "change": it.change,
        "probes": {
            name: {
                "measures": probe.measures,
                "before": _estimate(probe.before),
                "after": _estimate(probe.after),
                "difference": _estimate(probe.difference),
                "p_corrected": probe.p,
                **({"rewards": probe.rewards} if probe.measures == "success" else {}),
            }
            for name, probe in it.probes.items()
        },
    }


def _estimate(it: Estimate | None) -> dict[str, Any]:
    if it is None:
        return {}
    return {
        name: value if isinstance(value, int) else round(value, 6) if math.isfinite(value) else None
        for name, value in asdict(it).items()
    }


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, allow_nan=False) + "\n"
