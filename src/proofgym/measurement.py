"""Held-out success while a run goes on: its learning curve, in events of the run's record.

A measurement has an engine of its own over the run's weights, with a seed of its own: training's
draws do not depend on whether anything is measured, and runs of different seeds face the same ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pydantic import Field, field_validator

from proofgym.budget import spent
from proofgym.config import Config
from proofgym.errors import ConfigError, TaskError, VerifierError
from proofgym.likelihood import Likelihood
from proofgym.probe import AnyProbe, Probe
from proofgym.types import Sampling, Task

if TYPE_CHECKING:
    from proofgym.engines.engine import Engine
    from proofgym.environments.attempts import Attempts
    from proofgym.evaluation import Evaluation
    from proofgym.run_directory import RunDirectory
    from proofgym.weight_change import WeightChange

MOST_UNSCORED = 0.25
"""A measurement with a larger share of attempts without a score is none: the run stops."""
EXTENDED = "extended"
"""The event of a run that is to do more than it was: what was a share of its work is less now."""
TASKS = "evaluation.json"
"""The measured tasks of a run, in the order of the counts in its events."""


class Measure(Config):
    """When and how success on a job's `evaluation` tasks is measured during training."""

    at: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    """Shares of the budget (without one, of the iterations); 0 is before the first iteration."""
    samples: int = Field(1, ge=1)
    """Attempts at each task."""
    seed: int = Field(0, ge=0, lt=2**63)
    """Of the draws; the run's own seed does not matter."""
    sampling: Sampling | None = None
    """None: as in training."""
    probes: dict[str, AnyProbe] = Field(default_factory=dict)
    """Other tasks, or texts, to measure at the first and the last of `at`, by name."""

    def check(self) -> None:
        """Refuse probes that cannot be measured. Raises ConfigError, TaskError."""
        for name, probe in self.probes.items():
            with _named(name):
                probe.check()

    @field_validator("probes")
    @classmethod
    def _names(cls, value: dict[str, AnyProbe]) -> dict[str, AnyProbe]:
        for name in value:
            if not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", name):
                raise ValueError(f"{name!r} must be 1 to 40 letters, digits, '_' or '-'")
        return value

    @field_validator("at")
    @classmethod
    def _shares(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        if not value or list(value) != sorted(set(value)) or not 0 <= value[0] <= value[-1] <= 1:
            raise ValueError("must be rising shares from 0 to 1, such as (0, 0.5, 1)")
        return value


def _measured(events: Sequence[dict[str, Any]]) -> set[float]:
    """The shares that need no measurement any more."""
    known: set[float] = set()
    for event in events:
        if event["event"] == EXTENDED:
            known &= {0.0}
        elif event["event"] == "evaluation":
            known |= set(event["shares"])
    return known


class Measurement:
    """The measurements of one run; `look` makes those that are due and not yet recorded."""

    def __init__(
        self,
        config: Measure,
        run: RunDirectory,
        tasks: Sequence[Task],
        engine: Engine,
        attempts: Attempts,
        sampling: Sampling,
        workers: int,
        change: WeightChange,
    ) -> None:
        self.config, self._run, self._tasks = config, run, list(tasks)
        self._engine, self._attempts = engine, attempts
        self._sampling = config.sampling or sampling
        self._workers, self._change = workers, change
        listed = [
            {"name": task.name, "topic": task.topic, "difficulty": task.difficulty}
            for task in self._tasks
        ]
        for name, probe in config.probes.items():
            self._refuse(name, probe)
        run.write_json(TASKS, {"samples": config.samples, "seed": config.seed, "tasks": listed})

    def look(self, iteration: int, share: float, last: bool = False) -> None:
        """Measure the weights after `iteration` iterations, where `share` of the work is done.

        `last`: no more work will be done, so that everything is due.
        """
        events = self._run.events()
        known = _measured(events)
        due = [at for at in self.config.at if at not in known and (at <= share or last)]
        if due and not self._repeat(iteration, due, events):
            self._record(iteration, due, share, events)

    def _repeat(
        self, iteration: int, due: Sequence[float], events: Sequence[dict[str, Any]]
    ) -> bool:
        """Record the last measurement once more if these weights are what it was of, as they are
        where a run is made longer."""
        found = [event for event in events if event["event"] == "evaluation"]
        if not found or found[-1]["iteration"] != iteration - 1:
            return False
        if self._probed(due) and self.config.probes and "probes" not in found[-1]:
            return False
        kept = {name: it for name, it in found[-1].items() if name not in ("event", "time")}
        self._run.record("evaluation", **{**kept, "shares": list(due), "evaluation_seconds": 0.0})
        return True

    def _probed(self, due: Sequence[float]) -> bool:
        """Whether probes are measured with these shares."""
        return bool({self.config.at[0], self.config.at[-1]} & set(due))

    def _record(
        self, iteration: int, due: Sequence[float], share: float, events: Sequence[dict[str, Any]]
    ) -> None:
        from proofgym.evaluation import evaluate

        result = evaluate(
            self._engine,
            self._attempts,
            self._tasks,
            self._sampling,
            samples=self.config.samples,
            what=f"held-out, {min(share, 1.0):.0%} of the work done",
        )
        _require_scores(result, "held-out")
        probes = {}
        if self._probed(due):
            probes = {name: self._probe(name, it) for name, it in self.config.probes.items()}
        # The number of the last iteration whose weights these are: a resume that forgets that
        # iteration forgets its measurement too.
        self._run.record(
            "evaluation",
            iteration=iteration - 1,
            shares=list(due),
            **{name: round(value, 3) for name, value in spent(events).items()},
            change=self._change.now(),
            **_counts(result),
            **({"probes": probes} if probes else {}),
        )

    def _refuse(self, name: str, probe: AnyProbe) -> None:
        """What cannot be measured, before any work."""
        if isinstance(probe, Likelihood):
            with _named(name):
                probe.samples(self._engine)
        else:
            self._open(name, probe).close()

    def _open(self, name: str, probe: Probe) -> Attempts:
        with _named(name):
            return probe.open(self._workers)

    def _probe(self, name: str, probe: AnyProbe) -> dict[str, Any]:
        if isinstance(probe, Likelihood):
            with _named(name):
                return probe.measure(self._engine, f"probe {name}")
        from proofgym.evaluation import evaluate

        attempts = self._open(name, probe)
        try:
            result = evaluate(
                self._engine,
                attempts,
                probe.tasks.load(),
                probe.sampling or self._sampling,
                samples=probe.samples,
                what=f"probe {name}",
            )
        finally:
            attempts.close()
        _require_scores(result, f"probe {name!r}:")
        return _counts(result) | {"reward": result.reward()}


@contextmanager
def _named(name: str) -> Iterator[None]:
    """What goes wrong inside is a probe's."""
    try:
        yield
    except (ConfigError, TaskError, VerifierError) as error:
        raise type(error)(f"probe {name!r}: {error}") from None


def _require_scores(result: Evaluation, what: str) -> None:
    wanted = sum(map(len, result.attempts))
    if result.unscored() > MOST_UNSCORED * wanted:
        raise VerifierError(
            f"{what} {result.unscored()} of {wanted} attempts have no score; "
            f"the first says: {_first_fault(result)}"
        )


def _first_fault(result: Evaluation) -> str:
    lost = (it.verdict for row in result.attempts for it in row if it.verdict.reward is None)
    return next(lost).message


def _counts(result: Evaluation) -> dict[str, Any]:
    passed, scored = result.passed_T(), result.scored_T()
    return {
        "success": round(float(passed.sum() / max(1, scored.sum())), 6),
        "passed": passed.tolist(),
        "scored": scored.tolist(),
        "unscored": result.unscored(),
        "evaluation_seconds": round(result.seconds, 3),
    }
