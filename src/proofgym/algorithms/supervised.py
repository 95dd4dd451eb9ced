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
from proofgym.engines.engine import Engine
from proofgym.errors import ConfigError, ModelError
from proofgym.tasks.tasks import Tasks
from proofgym.trainer.options import TrainerOptions
from proofgym.types import Rollout, Sampling, Task

if TYPE_CHECKING:
    from proofgym.trainer.checkpoints import Checkpoint, Checkpoints
    from proofgym.trainer.replica import TrainedSource
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
        from proofgym.trainer.checkpoints import DIRECTORY, Checkpoints
        from proofgym.trainer.start import start

        if control is not None:
            raise ConfigError(f"control = {control!r}: Supervised has no rewards to shuffle")
        assert self.reference is not None, "Job.check refuses that"
        place = Path(directory) / DIRECTORY
        origin = {
            "base_digest": base_digest,
            "adapter_digest": adapter_digest,
            "seed": seed,
            "lora": self.lora and self.lora.to_json(),
        }
        checkpoints = Checkpoints(place, self.keep_last, 0, self.checkpoint_every)
        latest = checkpoints.latest()
        if latest:
            latest.require(origin)
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


class SupervisedRun:
    """A running supervised control."""

    def __init__(
        self,
        config: Supervised,
        trainer: Trainer,
        checkpoints: Checkpoints,
        answers: Mapping[str, str],
        origin: Mapping[str, Any],
    ) -> None:
        self.config, self.trainer, self.checkpoints = config, trainer, checkpoints
        self._answers, self._origin = answers, origin
        self.new = checkpoints.new
        self._tokenizer: Any = None
        self._chosen: list[Task] = []
        self.iteration = 0
        self._source: TrainedSource | None = None

    def source(self, engines: int) -> TrainedSource:
        """What the engines that measure are told of the weights."""
        self._source = self.trainer.source()
        return self._source

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go on from a checkpoint."""
        self.trainer.load(checkpoint.tensors(), checkpoint.state["steps"])
        self.iteration = self.checkpoints.saved = checkpoint.iteration

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
        moved = {} if self._source is None else self._source.report()
        return {"tasks": len(samples), "tokens": tokens, **report, **moved}

    def close(self) -> None:
        """Keep what was done, and leave the model with the current weights."""
        try:
            if self.iteration > self.checkpoints.saved:
                self._save()
        finally:
            self.checkpoints.close()
            self.trainer.close()

    def _save(self) -> None:
        state = {"steps": self.trainer.steps, **self._origin}
        self.checkpoints.save(self.iteration, self.trainer.state(), state, 0.0)
        self.checkpoints.wait()
