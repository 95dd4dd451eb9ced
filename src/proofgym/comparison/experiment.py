"""What a user writes to compare: `Comparison` names variants, `Sweep` a grid of values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import product
from typing import Any, Self

from pydantic import Field, field_validator, model_validator

from proofgym.algorithms.supervised import Supervised
from proofgym.budget import Budget
from proofgym.comparison.variant import Variant, identity, label, variant
from proofgym.config import Config
from proofgym.errors import ConfigError
from proofgym.job import Job
from proofgym.measurement import Measure
from proofgym.probe import AnyProbe
from proofgym.tasks.tasks import Tasks

MOST_ITERATIONS = 1_000_000_000  # never reached: the budget ends a run


class Experiment(Config):
    """What `Comparison` and `Sweep` have in common."""

    name: str = Field("comparison", pattern=r"^[A-Za-z0-9_-]{1,60}$")
    """Its directory's name, in `comparisons/`."""
    job: Job
    """What every run is, but for its variant and seed."""
    seeds: tuple[int, ...] = Field((0, 1, 2), min_length=1)
    """Every variant runs once with each. Three are few; one says nothing of chance."""
    budget: Budget
    """What each run may spend."""
    evaluation: Tasks | None = None
    """Held-out tasks; None: the job's."""
    at: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    """Shares of the budget at which held-out success is measured; from 0 to 1, both included."""
    samples: int = Field(4, ge=1)
    """Attempts at each held-out task in each measurement."""
    k: tuple[int, ...] | None = None
    """Which pass@k the report shows; None: 1 and `samples`."""
    measure_seed: int = Field(0, ge=0, lt=2**63)
    """Of the draws in measurements, the same for all runs."""
    probes: dict[str, AnyProbe] = Field(default_factory=dict)
    """Other tasks, or texts, by name, measured before and after training: what is forgotten."""
    retries: int = Field(2, ge=0)
    """How often a run that failed is started again."""
    price_per_hour: float | None = Field(None, ge=0)
    """Of the machine that one run has, to show costs in money."""

    def variants_named(self) -> list[Variant]:
        """The variants, in the order of the report."""
        raise ConfigError(f"{type(self).__name__} names no variants; use Comparison or Sweep")

    def job_of(self, chosen: Variant, seed: int) -> Job:
        """The job of one run."""
        job = chosen.apply(self.job)
        given = {name: getattr(job, name) for name in job.model_fields_set}
        shared = {
            "seed": seed,
            "iterations": MOST_ITERATIONS,
            "budget": self.budget,
            "evaluation": self.evaluation or self.job.evaluation,
            "measure": Measure(
                at=self.at,
                samples=self.samples,
                seed=self.measure_seed,
                sampling=self.job.sampling,
                probes=self.probes,
            ),
            "name": f"{chosen.slug}-seed{seed}"[:40],
        }
        try:
            return Job(**{**given, **shared})
        except ConfigError as error:
            raise ConfigError(f"variant {chosen.name!r}: {error}") from None

    @property
    def ks(self) -> tuple[int, ...]:
        return self.k or tuple(sorted({1, self.samples}))

    @field_validator("seeds")
    @classmethod
    def _different(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(value)) != len(value) or any(seed < 0 for seed in value):
            raise ValueError("must be different whole numbers from 0 up")
        return value

    @field_validator("at")
    @classmethod
    def _whole(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        Measure(at=value)
        if value[0] != 0 or value[-1] != 1:
            raise ValueError("must begin with 0 and end with 1, so that there is a gain to show")
        return value

    @model_validator(mode="after")
    def _runs_can_be_made(self) -> Self:
        """Every job is built once, so that a wrong one is refused before any work."""
        if self.budget.kind is None:
            raise ValueError(
                "budget must say what a run may spend: Budget(tokens=…), "
                "Budget(verifier_seconds=…) or Budget(seconds=…)"
            )
        if (self.evaluation or self.job.evaluation) is None:
            raise ValueError("evaluation must name held-out tasks, here or in the job")
        if max(self.ks) > self.samples or min(self.ks) < 1:
            raise ValueError(f"k = {self.ks}: each must be from 1 to samples = {self.samples}")
        slugs = Counter(it.slug for it in self.variants_named())
        for slug, count in slugs.items():
            names = [it.name for it in self.variants_named() if it.slug == slug]
            if not slug:
                raise ValueError(f"variants {names} need letters or digits (a-z, 0-9) for a folder")
            if count > 1:
                raise ValueError(f"variants {names} would all be called {slug!r} on disk")
        for chosen in self.variants_named():
            job = self.job_of(chosen, self.seeds[0])
            if isinstance(job.algorithm, Supervised) and self.budget.kind == "verifier_seconds":
                raise ValueError(
                    f"variant {chosen.name!r} is supervised and verifies nothing: a budget in "
                    "verifier seconds would never end; give tokens or seconds"
                )
        return self


class Comparison(Experiment):
    """Variants of a job, run with the same seeds, budget and held-out tasks."""

    variants: dict[str, dict[str, Any]] = Field(min_length=1)
    """Changes of each by dotted field of the job: `{"es": {"algorithm.sigma": 0.1}}`;
    `"control": "permuted"` shuffles the rewards."""

    def variants_named(self) -> list[Variant]:
        return [variant(name, changes) for name, changes in self.variants.items()]


class Sweep(Experiment):
    """Every combination of some values, as variants."""

    grid: dict[str, Any] = Field(min_length=1)
    """Values of each dotted field: a list, or a dict that names them."""

    @field_validator("grid")
    @classmethod
    def _valued(cls, value: dict[str, Any]) -> dict[str, Any]:
        for path, values in value.items():
            if not isinstance(values, list | tuple | Mapping) or len(values) < 1:
                raise ValueError(f"{path}: give a list of values, or a dict of named ones")
            found = values.values() if isinstance(values, Mapping) else values
            if len({identity(it) for it in found}) < len(values):
                raise ValueError(f"{path}: two of its values are the same")
        return value

    def variants_named(self) -> list[Variant]:
        axes = [[(path, *it) for it in _named(values)] for path, values in self.grid.items()]
        return [
            variant(
                ", ".join(f"{path.rpartition('.')[2]}={name}" for path, name, _ in cell),
                {path: value for path, _, value in cell},
                {path: name for path, name, _ in cell},
            )
            for cell in product(*axes)
        ]


def _named(values: Any) -> list[tuple[str, Any]]:
    if isinstance(values, Mapping):
        return [(str(name), value) for name, value in values.items()]
    return [(label(value), value) for value in values]


def factors(variants: list[Variant]) -> dict[str, list[str]]:
    """The level of each changed field in each variant; "" where it is the job's own."""
    paths = list(dict.fromkeys(path for it in variants for path in it.changes))
    return {
        path: [identity(it.changes[path]) if path in it.changes else "" for it in variants]
        for path in paths
    }
