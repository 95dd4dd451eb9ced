"""Chooses how gradients are trained: in this process, or by several."""

from __future__ import annotations

from typing import Any

from proofgym.trainer.options import TrainerOptions
from proofgym.trainer.trainer import Trainer


def start(
    engine_model: Any,
    options: TrainerOptions,
    *,
    seed: int,
    temperature: float,
    reference: bool = False,
    entropy: bool = False,
    ranks: int,
) -> Trainer:
    """A trainer of `engine_model`; see `Trainer`."""
    settings: dict[str, Any] = {"seed": seed, "temperature": temperature}
    settings |= {"reference": reference, "entropy": entropy}
    if ranks == 1:
        return Trainer(engine_model, options, **settings)
    from proofgym.trainer.sharded import ShardedTrainer

    return ShardedTrainer(engine_model, options, **settings, ranks=ranks)
