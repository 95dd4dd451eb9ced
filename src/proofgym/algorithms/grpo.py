"""Group Relative Policy Optimisation and its kin: compare a task's attempts, and make the tokens of
the better ones likelier.

Every choice that the field disagrees on is a field of `GRPO` with its paper; docs/grpo.md lists the
combinations that have names (GRPO, Dr. GRPO, DAPO, GSPO, RLOO, REINFORCE++, CISPO).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from proofgym.algorithms.advantages import Advantage
from proofgym.algorithms.algorithm import Algorithm
from proofgym.algorithms.groups import refuse_certain
from proofgym.algorithms.grpo_run import GRPORun
from proofgym.algorithms.losses import Aggregation, PolicyLoss
from proofgym.algorithms.trained_run import kept, origin_of
from proofgym.errors import ConfigError, nearest
from proofgym.trainer.options import TrainerOptions
from proofgym.types import Sampling


class GRPO(TrainerOptions, Algorithm):
    """Policy gradients from groups of attempts at the same task."""

    several_engines: ClassVar[bool] = True
    several_ranks: ClassVar[bool] = True

    group: int = Field(8, ge=1)
    """Completions of each task."""

    advantage: Advantage = "grpo"
    """How rewards become advantages; see `algorithms/advantages.py`."""

    objective: Literal["clip", "cispo"] = "clip"
    """PPO's clipped ratio, or CISPO's clipped weights (arXiv 2506.13585)."""

    aggregation: Aggregation = "token_mean"
    """`sequence_mean` (GRPO), `token_mean` (DAPO) or `constant`, sums / `max_tokens` (Dr. GRPO)."""

    ratio: Literal["token", "sequence"] = "token"
    """Importance ratios of tokens, or of whole sequences (GSPO, arXiv 2507.18071)."""

    clip_low: float = Field(0.2, ge=0, le=1)
    """Ratios below 1 − this are clipped."""

    clip_high: float | None = Field(None, ge=0, allow_inf_nan=False)
    """Ratios above 1 + this are clipped; None is `clip_low`. DAPO takes 0.28."""

    clip_dual: float | None = Field(None, gt=1, allow_inf_nan=False)
    """Bound of the ratio where the advantage is negative (dual clip, arXiv 1912.09729); above
    1 + `clip_high`."""

    kl: float = Field(0.0, ge=0, allow_inf_nan=False)
    """β of the KL term to the weights that the run started from; 0 keeps no reference."""

    entropy: float = Field(0.0, allow_inf_nan=False)
    """Weight of an entropy bonus."""

    mask_overlong: bool = False
    """Leave attempts that were cut off at `max_tokens` out of the loss (DAPO)."""

    dynamic_sampling: int = Field(1, ge=1)
    """Try up to this many times `prompts` tasks until `prompts` groups tell their attempts apart,
    and train on those alone (DAPO); 1 takes every group as it comes."""

    importance_cap: float | None = Field(2.0, gt=0, allow_inf_nan=False)
    """Truncated importance sampling between the engine and the weights in training; None: none."""

    epochs: int = Field(1, ge=1)
    """Passes over an iteration's attempts."""

    minibatches: int = Field(1, ge=1)
    """Optimiser steps in a pass."""

    checkpoint_every: int | None = Field(None, ge=1)
    """Iterations between checkpoints; None: so often that writing them takes a tenth of the time
    at most. A killed run does the iterations since the last one again."""

    keep_last: int = Field(2, ge=1)
    """Newest checkpoints to keep."""

    keep_best: int = Field(1, ge=0)
    """Checkpoints to keep for the highest mean reward of the iteration before them."""

    max_unscored: float = Field(0.25, ge=0, lt=1)
    """The run stops when a larger share of an iteration's attempts has no score."""

    max_engine_gap: float | None = Field(None, gt=0)
    """The run does not start when engine and trainer disagree by more on a token's log-probability,
    on average; None is 0.001 in float32 and 0.1 in lower precisions."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.group == 1 and self.advantage not in ("reinforce++",):
            raise ValueError(
                f"group = 1 leaves advantage={self.advantage!r} nothing to compare: every "
                'advantage would be 0; set group to 2 or more, or advantage="reinforce++"'
            )
        high = 1 + (self.clip_low if self.clip_high is None else self.clip_high)
        if self.clip_dual is not None and self.clip_dual <= high:
            raise ValueError(f"clip_dual must be above 1 + clip_high, which is {high:g}")
        if self.objective == "cispo" and self.clip_dual is not None:
            raise ValueError('clip_dual has no use with objective="cispo"; leave it out')
        if self.group == 1 and self.dynamic_sampling > 1:
            raise ValueError(
                "dynamic_sampling looks for groups that differ: set group to 2 or more"
            )
        return self

    def check(self, sampling: Sampling) -> None:
        """Refuse what cannot be learnt from. Raises ConfigError."""
        refuse_certain(sampling, "GRPO")

    def loss(self) -> PolicyLoss:
        """The loss that these settings mean."""
        return PolicyLoss(
            objective=self.objective,
            ratio=self.ratio,
            clip_low=self.clip_low,
            clip_high=self.clip_low if self.clip_high is None else self.clip_high,
            clip_dual=self.clip_dual,
            kl=self.kl,
            entropy=self.entropy,
            importance_cap=self.importance_cap,
        )

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
    ) -> GRPORun:
        """Start a run, or continue the one in `directory` after its last checkpoint.

        `model` holds the weights to start from and is changed in place. `control="permuted"`
        shuffles the rewards within each group: a run that should not learn.
        """
        from proofgym.trainer.start import start

        if control not in (None, "permuted"):
            raise ConfigError(f"control = {control!r}: {nearest(control, ['permuted'])}")
        sampling = sampling or Sampling()
        origin = origin_of(self, base_digest, adapter_digest, seed, control=control)
        checkpoints, latest = kept(
            directory,
            origin,
            last=self.keep_last,
            best=self.keep_best,
            every=self.checkpoint_every,
        )
        trainer = start(
            model,
            self,
            seed=seed,
            temperature=sampling.temperature,
            reference=self.kl > 0,
            entropy=self.entropy != 0,
            ranks=ranks,
        )
        run = GRPORun(self, trainer, checkpoints, sampling, origin)
        if latest:
            run.restore(latest)
        return run
