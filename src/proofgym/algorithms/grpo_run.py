"""A running GRPO: samples with the current weights, and trains them on the verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from proofgym.algorithms.advantages import informative
from proofgym.algorithms.algorithm import Batch
from proofgym.algorithms.groups import (
    Scored,
    ask,
    compare,
    groups_of,
    permute,
    refuse_unscored,
    rewards_in,
)
from proofgym.algorithms.losses import token_weights
from proofgym.algorithms.trained_run import TrainedRun
from proofgym.engines.engine import Engine
from proofgym.errors import RunError
from proofgym.random import permutation
from proofgym.types import Request, Rollout, Sampling, Task

if TYPE_CHECKING:
    from proofgym.algorithms.grpo import GRPO
    from proofgym.trainer.checkpoints import Checkpoints
    from proofgym.trainer.sample import Sample
    from proofgym.trainer.trainer import Trainer

CHECK_STREAM = 2**62 + 2  # of the draws in `check`: no iteration's, nor an evaluation's


class GRPORun(TrainedRun):
    """A running GRPO: samples with the current weights, trains them, and keeps checkpoints."""

    def __init__(
        self,
        config: GRPO,
        trainer: Trainer,
        checkpoints: Checkpoints,
        sampling: Sampling,
        origin: Mapping[str, Any],
    ) -> None:
        super().__init__(trainer, checkpoints, origin)
        self.config, self._sampling, self._loss = config, sampling, config.loss()

    def check(self, engine: Engine, prompt: str) -> None:
        """Have engine and trainer say how likely the same tokens are.

        Raises:
            RunError: they disagree by more than `max_engine_gap`; gives the numbers.
        """
        from proofgym.trainer.sample import sequences

        request = Request((CHECK_STREAM, 0, 0), prompt)
        wanted = Sampling(temperature=1.0, max_tokens=16)
        ((_, completion),) = engine.generate([request], wanted)
        samples = list(sequences([completion]))
        (sample,) = samples
        (ours,) = self.trainer.logprobs(samples, temperature=1.0)
        gaps = np.abs(ours - sample.values["engine"])
        limit = self.config.max_engine_gap or (1e-3 if self.trainer.exact else 0.1)
        if not gaps.mean() <= limit:
            worst = int(gaps.argmax())
            raise RunError(
                f"engine and trainer disagree on the log-probabilities of the same {len(gaps)} "
                f"tokens: by {gaps.mean():.4g} on average (allowed: {limit:g}), most at token "
                f"{worst}: engine {sample.values['engine'][worst]:.4f}, trainer "
                f"{ours[worst]:.4f}. They hold different weights or compute in different "
                "precisions; mend that, or raise GRPO.max_engine_gap"
            )

    def batches(self, tasks: Sequence[Task], first: int = 0) -> Iterator[Batch]:
        """One batch: every task `group` times."""
        self.checkpoints.begin()
        yield ask(tasks, first, self.iteration, self.config.group)

    def wanting(self, rollouts: Sequence[Rollout]) -> int:
        """Tasks still missing to `prompts` informative groups, while more may be tried."""
        tried = len({item.request.key[1] for item in rollouts})
        room = self.config.dynamic_sampling * self.config.prompts - tried
        if room <= 0 or self.config.dynamic_sampling == 1:
            return 0
        good = sum(informative(rewards_in(group)) for group in groups_of(rollouts).values())
        return max(0, min(room, self.config.prompts - good))

    def update(self, rollouts: Sequence[Rollout]) -> dict[str, float]:
        """Train on the attempts. Raises RunError where too many have no score."""
        attempts, metrics = self._scored(rollouts)
        prepared = self._prepare(attempts)
        rate = self.config.learning_rate_schedule.at(self.iteration)
        before = self.trainer.steps
        totals: Counter[str] = Counter()
        self._whole = False
        for chosen in self._minibatches(len(attempts)):
            samples = self._weighted([prepared[place] for place in chosen])
            totals.update(self.trainer.step(samples, self._loss, rate))
        written = self.trainer.publish() if self.trainer.steps > before else 0
        self._whole = True
        self.iteration += 1
        steps = self.trainer.steps - before
        scores = [item.verdict.reward for item in rollouts if item.verdict.reward is not None]
        self._score = float(np.mean(scores)) if scores else 0.0
        metrics |= {name: value / max(1, steps) for name, value in totals.items()}
        metrics |= {"steps": steps, "tensors_published": written}
        metrics["learning_rate"] = self.config.learning_rate * rate
        metrics |= self._moved()
        if self.checkpoints.due(self.iteration):
            self._save()
        return metrics

    def _scored(self, rollouts: Sequence[Rollout]) -> tuple[list[Scored], dict[str, float]]:
        """The attempts to train on with their advantages, and what to report of the groups."""
        refuse_unscored(rollouts, self.iteration, self.config.max_unscored)
        groups = [group for group in groups_of(rollouts).values() if len(group) > 1]
        if self.config.group == 1:
            groups = list(groups_of(rollouts).values())
        if self._origin["control"] == "permuted":
            # As far as attempts are compared, or the control would learn what it compares.
            whole = self.config.advantage == "reinforce++"
            compared = [[attempt for group in groups for attempt in group]] if whole else groups
            for group in compared:
                permute(group, self._origin["seed"], self.iteration)
        useful = [group for group in groups if informative(rewards_in(group))]
        report = {"informative": len(useful) / max(1, len(groups))}
        if self.config.group == 1:
            together = [attempt for group in groups for attempt in group]
            report["informative"] = float(informative(rewards_in(together)))
        if self.config.dynamic_sampling > 1:
            groups = useful[: self.config.prompts]
        compare(groups, self.config.advantage)
        return [attempt for group in groups for attempt in group], report

    def _prepare(self, attempts: Sequence[Scored]) -> list[list[Sample]]:
        """Each attempt's sequences with their advantage and, where the loss needs them, the
        log-probabilities before any step."""
        prepared = [list(attempt.samples()) for attempt in attempts]
        for attempt, parts in zip(attempts, prepared, strict=True):
            if self.config.mask_overlong and attempt.cut_off:
                for sample in parts:
                    sample.mask()
        samples = [sample for parts in prepared for sample in parts]
        if self.config.epochs * self.config.minibatches > 1:
            self._note("old", samples, self.trainer.logprobs(samples))
        if self.config.kl:
            self._note("reference", samples, self.trainer.logprobs(samples, reference=True))
        if self.config.importance_cap is not None and self.trainer.temperature != 1:
            # The engine's are at temperature 1; ratios must compare like with like.
            ours = self.trainer.logprobs(samples, temperature=1.0)
            pairs = zip(samples, ours, strict=True)
            ratios = [np.exp(mine - sample.values["engine"]) for sample, mine in pairs]
            self._note("importance", samples, ratios)
        return prepared

    @staticmethod
    def _note(name: str, samples: Sequence[Sample], values: Sequence[Any]) -> None:
        for sample, value in zip(samples, values, strict=True):
            sample.values[name] = value

    def _minibatches(self, count: int) -> Iterator[list[int]]:
        """Places of the attempts of each step, in a seeded order of each epoch."""
        parts = min(self.config.minibatches, count)
        for epoch in range(self.config.epochs if count else 0):
            seed, iteration = self._origin["seed"], self.iteration
            order = permutation(count, seed, "minibatches", iteration, epoch)
            if self.config.minibatches == 1:
                order = list(range(count))
            for part in range(parts):
                yield order[part * count // parts : (part + 1) * count // parts]

    def _weighted(self, attempts: Sequence[list[Sample]]) -> list[Sample]:
        """The sequences of one step, with the weight of each token in its loss.

        Where nothing pulls on tokens of advantage 0 they are counted, but not computed.
        """
        lengths = [sum(sample.count for sample in parts) for parts in attempts]
        most = self._sampling.max_tokens
        weights = token_weights(lengths, self.config.aggregation, most)
        chosen = []
        for parts, weight in zip(attempts, weights, strict=True):
            for sample in parts:
                sample.fill("weight", weight)
                idle = not (self.config.kl or self.config.entropy)
                if sample.count and not (idle and not sample.values["advantage"].any()):
                    chosen.append(sample)
        share = 1 / max(1, sum(sample.count for sample in chosen))
        for sample in chosen:
            sample.fill("share", share)
        return chosen
