"""The runs of a comparison, and how far each is, as its directory says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from proofgym.budget import spent
from proofgym.comparison.experiment import Experiment
from proofgym.comparison.variant import Variant
from proofgym.errors import RunError
from proofgym.job import Job
from proofgym.progress import counted, duration
from proofgym.run_directory import RunDirectory

RUNS = "runs"


@dataclass(frozen=True)
class PlannedRun:
    """One variant with one seed."""

    variant: Variant
    seed: int
    job: Job
    path: Path

    @property
    def id(self) -> str:
        return self.path.name

    @property
    def directory(self) -> RunDirectory:
        return RunDirectory(self.path)

    @property
    def begun(self) -> bool:
        return (self.path / "job.json").exists()

    @property
    def finished(self) -> bool:
        return self.begun and bool(self.job.done(self.directory))

    def spent(self) -> float:
        """What it has used of its budget, at most all of it."""
        if not self.begun:
            return 0.0
        return min(self.job.budget.amount, self.job.budget.spent(self.directory.events()))


def plan(experiment: Experiment, directory: Path) -> list[PlannedRun]:
    """All runs: the first seed of every variant first, so that something can be compared early."""
    return [
        PlannedRun(
            chosen,
            seed,
            experiment.job_of(chosen, seed),
            directory / RUNS / f"{chosen.slug}-seed{seed}",
        )
        for seed in experiment.seeds
        for chosen in experiment.variants_named()
    ]


def refuse_changed(runs: list[PlannedRun]) -> None:
    """Runs that are there must be those that are asked for. Raises RunError, naming the change."""
    for run in runs:
        if not run.begun:
            continue
        stored = run.directory.read_json("job.json")
        different = [*run.job.differs(stored["job"]), *_strays(run.job, stored)]
        if stored["control"] != run.variant.control:
            different.append(f"control {stored['control']!r} -> {run.variant.control!r}")
        if different:
            advice = _longer(run, stored, different) or (
                "Give the comparison another name, or remove that run's directory"
            )
            raise RunError(
                f"{run.path} was made with other settings: {', '.join(different)}. {advice}"
            )


def _strays(job: Job, stored: dict[str, Any]) -> list[str]:
    return job.strays(stored, job.tasks.load()) if stored.get("fingerprints") else []


def _longer(run: PlannedRun, stored: dict[str, Any], different: list[str]) -> str:
    """What to do where nothing but a smaller budget is asked for; else nothing."""
    kind = run.job.budget.kind
    if [it.partition(" ")[0] for it in different] != [f"budget.{kind}"] or not kind:
        return ""
    return f"Go on with --set budget.{kind}={run.job.completed(stored['job'])['budget'][kind]}"


def refuse_larger(runs: list[PlannedRun]) -> None:
    """No report for a budget that no run was ever given: it would take the place of one that has
    something to say. Raises RunError, naming the largest that some had."""
    budget = runs[0].job.budget
    begun = [run for run in runs if run.begun]
    stored = [run.job.completed(run.directory.read_json("job.json")["job"]) for run in begun]
    had = max((it["budget"][budget.kind] for it in stored), default=budget.amount)
    if budget.amount > had:
        raise RunError(
            f"no run was given a budget of {budget} yet; nothing was written. Report on what there "
            f"is with --set budget.{budget.kind}={had}, or let the runs go on: leave out "
            "--report-only"
        )


def describe(
    experiment: Experiment,
    runs: list[PlannedRun],
    jobs: int,
    starts: Sequence[Mapping[str, Any]] = (),
) -> Iterator[str]:
    """What would be done, line by line; `starts` are those of runs that there were."""
    tasks = (experiment.evaluation or experiment.job.evaluation).load()  # type: ignore[union-attr]
    attempts = len(experiment.at) * len(tasks) * experiment.samples
    variants = experiment.variants_named()
    yield (
        f"{experiment.name}: {counted(len(variants), 'variant')} x "
        f"{counted(len(experiment.seeds), 'seed')} = {counted(len(runs), 'run')} of "
        f"{experiment.budget}{' each' if len(runs) > 1 else ''}"
    )
    for chosen in variants:
        settings = ", ".join(f"{path} = {text}" for path, text in chosen.labels.items())
        yield f"  {chosen.name}: {settings or 'the job as it is'}"
    yield (
        f"held-out: {len(tasks)} tasks x {experiment.samples} attempts at "
        f"{', '.join(f'{at:.0%}' for at in experiment.at)} of the budget: {attempts:,} attempts "
        f"a run{_probes(experiment)}, not counted in it"
    )
    done = sum(run.finished for run in runs)
    begun = sum(run.begun for run in runs) - done
    yield f"{done} finished, {begun} begun, {len(runs) - done - begun} to start; {jobs} at a time"
    yield _estimate(experiment, runs, jobs, _start_up(runs, starts))
    if experiment.budget.kind == "seconds" and jobs > 1:
        yield f"note: with {jobs} runs at a time each gets less done in its wall time"


def _probes(experiment: Experiment) -> str:
    """Their attempts in a run, which makes them before and after training."""
    probes = [it for it in experiment.probes.values() if it.measures == "success"]
    attempts = sum(2 * len(it.tasks.load()) * it.samples for it in probes)
    return f" and {attempts:,} at the tasks of {counted(len(probes), 'probe')}" if probes else ""


def _start_up(runs: list[PlannedRun], starts: Sequence[Mapping[str, Any]]) -> float | None:
    """Seconds from the start of a process to where its run goes on, on average; None: not known."""
    begun = {run.id: run.directory.events() for run in runs if run.begun}
    found = [
        event["time"] - start["began"]
        for start in starts
        for event in begun.get(start["run"], [])
        if event["event"] == "start" and 0 <= event["time"] - start["began"] <= start["seconds"]
    ]
    return mean(found) if found else None


def _estimate(
    experiment: Experiment, runs: list[PlannedRun], jobs: int, start_up: float | None
) -> str:
    """Time left, from what the runs that are there took for what they spent."""
    left = sum(run.job.budget.amount - run.spent() for run in runs if not run.finished)
    events = [run.directory.events() for run in runs if run.begun]
    used = sum(experiment.budget.spent(it) for it in events)
    seconds = sum(spent(it)["seconds"] for it in events)
    measuring = sum(e.get("evaluation_seconds", 0) for it in events for e in it)
    if experiment.budget.kind == "seconds" and not used:
        return (
            f"estimate: {duration(left / jobs)} of training; measurements and start-up not counted"
        )
    if not used:
        return "estimate: none until a run has begun"
    each = (seconds + measuring) / used
    waiting = (start_up or 0.0) * sum(not run.finished for run in runs)
    counted = "not counted" if start_up is None else f"{start_up:.1f} s a run, included"
    total = duration((left * each + waiting) / jobs)
    return f"estimate: {total}, at the rate of the runs so far (start-up: {counted})"
