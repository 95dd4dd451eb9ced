"""A running rule that trains weights: its trainer, its checkpoints, how it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proofgym.trainer.options import TrainerOptions

if TYPE_CHECKING:
    from proofgym.trainer.checkpoints import Checkpoint, Checkpoints
    from proofgym.trainer.replica import TrainedSource
    from proofgym.trainer.trainer import Trainer


class TrainedRun:
    """What the runs of such rules share. A subclass trains, and saves when that is due."""

    def __init__(
        self, trainer: Trainer, checkpoints: Checkpoints, origin: Mapping[str, Any]
    ) -> None:
        self.trainer, self.checkpoints, self._origin = trainer, checkpoints, origin
        self.new = checkpoints.new
        self.iteration = 0
        """The next iteration to do."""
        self._whole = True
        """Whether the weights are those after `iteration`, not on their way to the next."""
        self._score = 0.0
        """Of the newest weights; the checkpoints with the highest are kept longer."""
        self._source: TrainedSource | None = None

    def source(self, engines: int) -> TrainedSource:
        """What the engines of several processes are told of the weights."""
        self._source = self.trainer.source()
        return self._source

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go on from a checkpoint."""
        self.trainer.load(checkpoint.tensors(), checkpoint.state["steps"])
        self.iteration = self.checkpoints.saved = checkpoint.iteration

    def keep(self) -> None:
        """Write what was done since the last checkpoint. After a failure between the steps of an
        iteration that is nothing."""
        if self.iteration > self.checkpoints.saved and self._whole:
            self._save()
        self.checkpoints.wait()

    def close(self) -> None:
        """Keep what was done, and leave the model with the current weights."""
        try:
            self.keep()
        finally:
            self.checkpoints.close()
            self.trainer.close()

    def _save(self) -> None:
        state = {"steps": self.trainer.steps, **self._origin}
        self.checkpoints.save(self.iteration, self.trainer.state(), state, self._score)

    def _moved(self) -> dict[str, float]:
        """What to report of the weights that engines were told of; nothing where there are none."""
        return {} if self._source is None else self._source.report()


def origin_of(
    options: TrainerOptions, base_digest: str, adapter_digest: str | None, seed: int, **more: Any
) -> dict[str, Any]:
    """What a run is started with, and can only go on with."""
    return {
        "base_digest": base_digest,
        "adapter_digest": adapter_digest,
        **more,
        "seed": seed,
        "lora": options.lora and options.lora.to_json(),
    }


def kept(
    directory: Path, origin: Mapping[str, Any], *, last: int, best: int, every: int | None
) -> tuple[Checkpoints, Checkpoint | None]:
    """A run's checkpoints, and the newest one. Raises RunError where that has another origin."""
    from proofgym.trainer.checkpoints import DIRECTORY, Checkpoints

    checkpoints = Checkpoints(Path(directory) / DIRECTORY, last, best, every)
    latest = checkpoints.latest()
    if latest:
        latest.require(origin)
    return checkpoints, latest
