"""Supervised training on reference answers, as an update rule in the same loop: a control.

Each iteration takes the next tasks of the run's order, as the others do, and makes one step on
their reference answers. Nothing is sampled or verified; the tokens read count as the iteration's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from proofgym.algorithms.algorithm import Algorithm, Batch
from proofgym.algorithms.losses import cross_entropy
from proofgym.algorithms.trained_run import TrainedRun, kept, origin_of
from proofgym.engines.engine import Engine
from proofgym.errors import ConfigError, ModelError
from proofgym.tasks.tasks import Tasks
from proofgym.trainer.options import TrainerOptions
from proofgym.types import Rollout, Sampling, Task

if TYPE_CHECKING:
    from proofgym.trainer.checkpoints import Checkpoints
    from proofgym.trainer.trainer import Trainer


class Supervised(TrainerOptions, Algorithm):
    """Cross-entropy of the reference answers' tokens: what the same effort of imitation gives."""

    several_engines: ClassVar[bool] = True
    several_ranks: ClassVar[bool] = True

    reference: Tasks | None = None
    """The tasks with their reference answers; in a comparison None is the run's own tasks."""
    checkpoint_every: int | None = Field(None, ge=1)
    """Iterations between checkpoints; None: so that they take a tenth of the time at most."""
    keep_last: int = Field(2, ge=1)
    """Newest checkpoints to keep."""

    def check(self, sampling: Sampling) -> None:
        """Refuse a run that has nothing to imitate. Raises ConfigError."""
        if self.reference is None:
            raise ConfigError("Supervised.reference must name the tasks with reference answers")

    def build(
        self,
        model: Any,
        *,
        seed: int,
        directory: Path,
        base_digest: str,
        adapter_digest: str | None = None,
        control: str | None = None,
        sampling: Sampling | None = None,
        ranks: int = 1,
    ) -> SupervisedRun:
        """Start a run, or continue the one in `directory` after its last checkpoint."""
        from proofgym.trainer.start import start

        if control is not None:
            raise ConfigError(f"control = {control!r}: Supervised has no rewards to shuffle")
        assert self.reference is not None, "Job.check refuses that"
        origin = origin_of(self, base_digest, adapter_digest, seed)
        checkpoints, latest = kept(
            directory, origin, last=self.keep_last, best=0, every=self.checkpoint_every
        )
        run = SupervisedRun(
            self,
            start(model, self, seed=seed, temperature=1.0, reference=False, ranks=ranks),
            checkpoints,
            self.reference.reference_proofs(),
            origin,
        )
        if latest:
            run.restore(latest)
        return run


class SupervisedRun(TrainedRun):
    """A running supervised control."""

    def __init__(
        self,
        config: Supervised,
        trainer: Trainer,
        checkpoints: Checkpoints,
        answers: Mapping[str, str],
        origin: Mapping[str, Any],
    ) -> None:
        super().__init__(trainer, checkpoints, origin)
        self.config, self._answers = config, answers
        self._tokenizer: Any = None
        self._chosen: list[Task] = []

    def check(self, engine: Engine, prompt: str) -> None:
        """Take the engine's tokenizer. Raises ModelError where it cannot end an answer."""
        self._tokenizer = engine.tokenizer
        if self._tokenizer.eos_token_id is None:
            raise ModelError("the tokenizer has no end-of-sequence token to teach")

    def batches(self, tasks: Sequence[Task], first: int = 0) -> Iterator[Batch]:
        """Nothing to generate."""
        self.checkpoints.begin()
        if first == 0:
            self._chosen = []
        self._chosen += tasks
        yield from ()

    def wanting(self, rollouts: Sequence[Rollout]) -> int:
        return 0

    def update(self, rollouts: Sequence[Rollout]) -> dict[str, float]:
        """One step on the answers of the tasks that `batches` was given."""
        from proofgym.trainer.sample import even, reference

        samples = [
            reference(task.prompt, self._answers[task.name], self._tokenizer)
            for task in self._chosen
        ]
        even(samples)
        rate = self.config.learning_rate_schedule.at(self.iteration)
        report = self.trainer.step(samples, cross_entropy, rate)
        self.trainer.publish()
        self.iteration += 1
        if self.checkpoints.due(self.iteration):
            self._save()
        tokens = sum(sample.count for sample in samples)
        return {"tasks": len(samples), "tokens": tokens, **report, **self._moved()}

    def _save(self) -> None:
        super()._save()
        self.checkpoints.wait()
