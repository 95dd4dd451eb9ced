"""A variant: what is changed of the job that a comparison is about."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proofgym.algorithms.supervised import Supervised
from proofgym.config import Config, applied
from proofgym.errors import ConfigError, nearest
from proofgym.job import Job

#: What all runs of a comparison share, so that no variant may change it; and why.
SHARED = {
    "seed": "all variants run with all seeds: name them in `seeds`",
    "iterations": "the budget says when a run ends: name it in `budget`",
    "budget": "all variants have the same: name it in `budget`",
    "measure": "all variants are measured alike: name `at` and `samples`",
    "evaluation": "all variants are measured on the same tasks: name them in `evaluation`",
    "reward": "held-out success would be judged differently for each variant",
    "environment": "held-out success would be judged differently for each variant",
    "name": "runs are called after their variant and seed",
}
CONTROLS = ("permuted",)


@dataclass(frozen=True)
class Variant:
    """Its name, its changes by dotted field, and each change as a reader sees it."""

    name: str
    changes: Mapping[str, Any]
    labels: Mapping[str, str]

    @property
    def slug(self) -> str:
        """The name as part of a file's name."""
        return re.sub(r"[^A-Za-z0-9]+", "-", self.name).strip("-")

    @property
    def control(self) -> str | None:
        return self.changes.get("control")

    def apply(self, job: Job) -> Job:
        """The job with the changes. Raises ConfigError, naming the nearest right name or value."""
        try:
            for path, value in self.changes.items():
                _refuse_wrong(path, value)
            made = [item for item in self.changes.items() if item[0] != "control"]
            made.sort(key=lambda item: item[0].count("."))  # a whole before its parts
            job = applied(job, [lambda it, item=item: it.replace(*item) for item in made])  # type: ignore[misc]
            rule = job.algorithm
            if isinstance(rule, Supervised) and rule.reference is None:
                job = job.replace("algorithm.reference", job.tasks)
            if isinstance(rule, Supervised) and self.control:
                raise ConfigError("Supervised has no rewards to shuffle; leave out 'control'")
        except ConfigError as error:
            raise ConfigError(f"variant {self.name!r}: {error}") from None
        return job


def variant(name: str, changes: Mapping[str, Any], labels: Mapping[str, str] | None = None) -> Any:
    """A variant whose changes are shown as they are written, unless `labels` names them."""
    shown = {path: label(value) for path, value in changes.items()}
    return Variant(name, dict(changes), {**shown, **(labels or {})})


def label(value: Any) -> str:
    """A value in a few words: `0.25`, `GRPO(group=4)`."""
    if isinstance(value, Config):
        given = {
            key: getattr(value, key)
            for key in type(value).model_fields
            if key in value.model_fields_set
        }
        parts = (f"{key}={label(item)}" for key, item in given.items())
        return f"{type(value).__name__}({', '.join(parts)})"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return "(" + ", ".join(map(label, value)) + ")"
    return "none" if value is None else str(value)


def identity(value: Any) -> str:
    """Equal for equal values only."""
    plain = value.to_json() if isinstance(value, Config) else value
    return json.dumps(plain, sort_keys=True, default=str)


def _refuse_wrong(path: str, value: Any) -> None:
    head = path.partition(".")[0]
    if head in SHARED:
        raise ConfigError(f"{path!r} cannot be part of a variant: {SHARED[head]}")
    allowed = [name for name in Job.model_fields if name not in SHARED] + ["control"]
    if head not in allowed:
        raise ConfigError(f"a job has no field {head!r}; {nearest(head, allowed)}")
    if path == "control" and value not in CONTROLS:
        raise ConfigError(f"control = {value!r}: {nearest(value, CONTROLS)}")
