"""Every number of a comparison's report, from the records of its runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from proofgym.comparison.decomposition import Part, decompose, is_full_grid
from proofgym.comparison.experiment import Experiment, factors
from proofgym.comparison.intervals import Estimate, holm, two_way
from proofgym.comparison.record import Record, costs, nats_tables, noise, tables
from proofgym.comparison.variant import Variant


@dataclass
class VariantResult:
    """What a variant's finished runs show."""

    variant: Variant
    records: list[Record]
    """All of its runs, finished or not."""
    finished: list[Record]
    success: dict[int, Estimate] = field(default_factory=dict)
    """Final pass@k by k."""
    start: dict[int, Estimate] = field(default_factory=dict)
    """pass@k before the first iteration, by k."""
    gain: Estimate | None = None
    """Of pass@1 since before the first iteration."""
    gain_p: float = 1.0
    """Corrected over the variants."""
    groups: dict[str, dict[str, Estimate]] = field(default_factory=dict)
    """Final pass@1 by `topic` and `difficulty`, then by its value."""
    costs: dict[str, Any] = field(default_factory=dict)
    change: tuple[float, float, float] | None = None
    """‖W − W₀‖ / ‖W₀‖ after training: mean, least and most over seeds."""
    probes: dict[str, ProbeResult] = field(default_factory=dict)

    @property
    def seeds(self) -> set[int]:
        """Of the finished runs."""
        return {it.run.seed for it in self.finished}


@dataclass
class ProbeResult:
    """pass@1 on a probe's tasks, or nats per token of its texts."""

    measures: Literal["success", "likelihood"]
    before: Estimate
    after: Estimate
    difference: Estimate
    rewards: tuple[float | None, float | None] = (None, None)
    """Means before and after, of attempts at tasks."""
    p: float = 1.0
    """Of the difference, corrected over all variants and probes."""

    @property
    def never_passed(self) -> bool:
        """Whether no attempt passed, before or after: nothing was there to be lost."""
        return self.measures == "success" and self.before.mean == self.after.mean == 0

    @property
    def worse(self) -> bool:
        """Whether success is lower, or are the nats per token higher."""
        return (self.difference.mean < 0) == (self.measures == "success")


@dataclass
class Pair:
    """Two variants, over the seeds with which both are finished."""

    one: str
    other: str
    difference: Estimate
    """Of final pass@1: one minus other."""
    p: float = 1.0
    """Corrected over the pairs."""


@dataclass
class Results:
    """All of it."""

    experiment: Experiment
    records: list[Record]
    variants: list[VariantResult]
    pairs: list[Pair]
    parts: list[Part]
    """Variance decomposition; empty where the design allows none."""
    part_names: str
    """Why there is none, or what it is over."""
    noise_share: float | None
    """Of the variance of final scores that the number of held-out attempts would explain."""
    tasks: int
    left_out: int
    """Tasks without enough scored attempts in some run."""


def compute(experiment: Experiment, records: Sequence[Record]) -> Results:
    """The results of what is finished."""
    finished = [record for record in records if record.state == "finished" and record.points]
    kept = _kept(finished, max(experiment.ks))
    variants = [
        _variant_result(experiment, it, records, finished, kept)
        for it in experiment.variants_named()
    ]
    pairs = [
        pair
        for one, other in combinations(variants, 2)
        if (pair := _pair(one, other, kept)) is not None
    ]
    for pair, p in zip(pairs, holm([it.difference.p for it in pairs]), strict=True):
        pair.p = p
    gained = [it for it in variants if it.gain is not None]
    for item, p in zip(gained, holm([it.gain.p for it in gained if it.gain]), strict=True):
        item.gain_p = p
    probed = [probe for it in variants for probe in it.probes.values()]
    for probe, p in zip(probed, holm([it.difference.p for it in probed]), strict=True):
        probe.p = p
    parts, names, share = _decomposition(experiment, variants, kept)
    size = len(finished[0].tasks) if finished else 0
    left_out = size - int(kept.sum()) if finished else 0
    return Results(experiment, list(records), variants, pairs, parts, names, share, size, left_out)


def _kept(finished: Sequence[Record], k: int) -> NDArray[np.bool_]:
    """Tasks that every finished run scored often enough, at its start and its end."""
    if not finished:
        return np.zeros(0, bool)
    return tables(finished, k, 0)[1] & tables(finished, k, -1)[1]


def _variant_result(
    experiment: Experiment,
    variant: Variant,
    records: Sequence[Record],
    finished: Sequence[Record],
    kept: NDArray[np.bool_],
) -> VariantResult:
    def mine(it: Record) -> bool:
        return it.run.variant.name == variant.name

    chosen = [it for it in finished if mine(it)]
    result = VariantResult(variant, [it for it in records if mine(it)], chosen)
    if not chosen or not kept.any():
        return result
    for k in experiment.ks:
        for found, point in ((result.start, 0), (result.success, -1)):
            found[k] = two_way(tables(chosen, k, point)[0][:, kept]).within(0.0, 1.0)
    before, after = tables(chosen, 1, 0)[0][:, kept], tables(chosen, 1, -1)[0][:, kept]
    result.gain = two_way(after - before).within(-1.0, 1.0)
    result.groups = {
        name: _grouped(chosen[0], after, kept, lambda task, name=name: str(task[name]))  # type: ignore[misc]
        for name in ("topic", "difficulty")
    }
    result.costs = costs(chosen, experiment.price_per_hour)
    moved = [it.last["change"]["relative"] for it in chosen if "change" in it.last]
    if moved:
        result.change = float(np.mean(moved)), min(moved), max(moved)
    of = {"success": _success_result, "likelihood": _likelihood_result}
    probes = {name: of[it.measures](chosen, name) for name, it in experiment.probes.items()}
    result.probes = {name: found for name, found in probes.items() if found is not None}
    return result


def _success_result(records: Sequence[Record], name: str) -> ProbeResult | None:
    (before, enough), (after, still) = (tables(records, 1, at, name) for at in (0, -1))
    kept = enough & still
    if not kept.any():
        return None
    rates = before[:, kept], after[:, kept]
    rewards = [[it.counts(at, name)["reward"] for it in records] for at in (0, -1)]
    first, last = (
        None if any(value is None for value in found) else float(np.mean(found))
        for found in rewards
    )
    return ProbeResult(
        "success",
        two_way(rates[0]).within(0.0, 1.0),
        two_way(rates[1]).within(0.0, 1.0),
        two_way(rates[1] - rates[0]).within(-1.0, 1.0),
        (first, last),
    )


def _likelihood_result(records: Sequence[Record], name: str) -> ProbeResult | None:
    found = nats_tables(records, name)
    if found is None:
        return None
    before, after = found
    return ProbeResult(
        "likelihood",
        two_way(before).within(0.0, math.inf),
        two_way(after).within(0.0, math.inf),
        two_way(after - before),
    )


def _grouped(
    record: Record,
    rates: NDArray[np.float64],
    kept: NDArray[np.bool_],
    key: Callable[[dict[str, Any]], str],
) -> dict[str, Estimate]:
    tasks = [task for task, keep in zip(record.tasks, kept, strict=True) if keep]
    names = sorted(
        {key(task) for task in tasks}, key=lambda it: (len(it) if it.isdigit() else 0, it)
    )
    return {
        name: two_way(rates[:, [key(task) == name for task in tasks]], draws=2000).within(0.0, 1.0)
        for name in names
    }


def _pair(one: VariantResult, other: VariantResult, kept: NDArray[np.bool_]) -> Pair | None:
    seeds = [it.run.seed for it in one.finished if it.run.seed in other.seeds]
    if not seeds or not kept.any():
        return None
    first, second = (
        tables([next(it for it in side.finished if it.run.seed == seed) for seed in seeds], 1, -1)[
            0
        ][:, kept]
        for side in (one, other)
    )
    difference = two_way(first - second).within(-1.0, 1.0)
    return Pair(one.variant.name, other.variant.name, difference)


def complete(
    experiment: Experiment, variants: Sequence[VariantResult]
) -> tuple[list[VariantResult], list[int]]:
    """The variants with a finished run, and the seeds with which all of these have finished: what
    can be decomposed, which takes every combination."""
    some = [it for it in variants if it.finished]
    return some, [seed for seed in experiment.seeds if all(seed in it.seeds for it in some)]


def _decomposition(
    experiment: Experiment, variants: Sequence[VariantResult], kept: NDArray[np.bool_]
) -> tuple[list[Part], str, float | None]:
    """The parts, what they are over, and the share that held-out sampling would explain."""
    variants, shared = complete(experiment, variants)
    if not shared or not kept.any():
        return [], "No seed has finished with every variant: nothing to decompose.", None
    if len(shared) * len(variants) < 3:
        return [], "Fewer than three comparable runs: nothing to decompose.", None
    levels = factors([it.variant for it in variants])
    if not is_full_grid(levels):
        levels = {"variant": [it.variant.name for it in variants]}
    chosen = [
        (index, record)
        for index, it in enumerate(variants)
        for record in it.finished
        if record.run.seed in shared
    ]
    columns = {name: [values[index] for index, _ in chosen] for name, values in levels.items()}
    columns["seed"] = [str(record.run.seed) for _, record in chosen]
    columns = {name: values for name, values in columns.items() if len(set(values)) > 1}
    scores = tables([record for _, record in chosen], 1, -1)[0][:, kept].mean(axis=1)
    parts = decompose(scores, columns)
    over = f"{len(chosen)} runs: " + " x ".join(
        f"{len(set(values))} of {name}" for name, values in columns.items()
    )
    return parts, over, _noise_share(scores, [record for _, record in chosen])


def _noise_share(scores: NDArray[np.float64], records: Sequence[Record]) -> float | None:
    each = [noise(record) for record in records]
    variance = float(scores.var(ddof=1))
    if variance == 0 or any(value is None for value in each):
        return None
    return float(np.mean([value for value in each if value is not None])) / variance
