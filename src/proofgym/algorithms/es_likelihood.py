"""A running ES whose members are scored by how likely they find what the policy wrote.

The policy attempts every task some times, once for all members. With the advantage A of each of its
K attempts, member m scores Σ A·log π_m(attempt) / K. The update is then an estimate, without
gradients, of the policy gradient (REINFORCE, with GRPO's advantages) instead of the smoothed
reward's: the luck of members that each draw their own attempts is gone, and so is their cost.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from proofgym.algorithms.advantages import informative
from proofgym.algorithms.algorithm import Batch
from proofgym.algorithms.es_run import ESRun
from proofgym.algorithms.groups import ask, compare, groups_of, refuse_unscored, rewards_in
from proofgym.algorithms.normalise import normalise
from proofgym.engines.engine import Engine, Population
from proofgym.errors import EngineError
from proofgym.evolution import ways
from proofgym.evolution.heed import Heard
from proofgym.progress import Progress
from proofgym.trainer.sample import Sample
from proofgym.types import Completion, Request, Rollout, Task


class LikelihoodRun(ESRun):
    """A running `ES(objective="likelihood")`."""

    def __init__(self, *parts: Any, temperature: float) -> None:
        from proofgym.evolution.likelihood import Reader

        super().__init__(*parts)
        self._reader = Reader(self.lent.model, self.config.micro_tokens)
        self.temperature = temperature  # of the policy's draws, and so of the likelihoods

    def batches(self, tasks: Sequence[Task], first: int = 0) -> Iterator[Batch]:
        """One batch for the policy: every task `samples` times."""
        self.policy()
        yield ask(tasks, first, self.iteration, self.config.samples)

    def update(self, rollouts: Sequence[Rollout]) -> dict[str, float]:
        """Turn rewards into the next weights.

        Raises:
            RunError: too many attempts have no score.
            EngineError: a member finds tokens infinitely unlikely, or says nothing of them.
        """
        refuse_unscored(rollouts, self.iteration, self.config.max_unscored)
        groups = [group for group in groups_of(rollouts).values() if len(group) > 1]
        how = self.config.advantage or "grpo"
        compare(groups, how)
        attempts = sum(map(len, groups))
        samples = []
        for group in groups:
            # Attempts that all scored alike have an advantage of 0, up to rounding; but not where
            # they are compared with those of other groups.
            if how != "reinforce++" and not informative(rewards_in(group)):
                continue
            for attempt in group:
                for sample in attempt.samples():
                    sample.fill("weight", attempt.advantage / attempts)
                    samples.append(sample)
        began = time.perf_counter()
        scores = self._read([sample for sample in samples if sample.values["weight"].any()])
        spent = time.perf_counter() - began
        useful = sum(informative(rewards_in(group)) for group in groups)
        metrics = self.step(scores, normalise(scores, self.config.normalise))
        return metrics | {
            "informative": useful / max(1, len(groups)),
            "scoring_seconds": round(spent, 3),
        }

    def heard(
        self, engine: Engine, requests: Sequence[Request], drawn: Sequence[Completion]
    ) -> Heard:
        """What each member's reading says of all that the policy drew; here a sum is one value."""
        few, own = requests[0].prompt_ids or (), []
        texts = [Sample(few, it.token_ids, np.ones(len(it.token_ids), bool)) for it in drawn]
        for text in texts:
            text.fill("weight", 1.0)

        def sums(laid: Population | None, member: int) -> float:
            scores = [engine.score(few, text.token_ids, laid, member) for text in texts]
            return math.fsum(value for score in scores for value in score)

        count = len(requests)
        used = self._reader.weighted_likelihoods(self.way, self.iteration, count, texts, 1.0)
        for group in ways.groups(count, self.way.size):
            with self.way.lay(self.iteration, group) as laid:
                own += [sums(laid, member) for member in group]
        self.policy()
        return Heard(used.tolist(), own, [sums(None, 0)] * count)

    def _read(self, samples: Sequence[Sample]) -> dict[int, float]:
        """Each member's score."""
        population = self.config.population
        self.state.k = self.scaled()
        if not samples:
            return dict.fromkeys(range(population), 0.0)
        with Progress(f"iteration {self.iteration + 1}: scoring", population, "members") as shown:
            sums_M = self._reader.weighted_likelihoods(
                self.way, self.iteration, population, samples, self.temperature, shown.advance
            )
        self.policy()
        if not np.isfinite(sums_M).all():
            raise EngineError(
                f"iteration {self.iteration + 1}: {np.count_nonzero(~np.isfinite(sums_M))} of "
                f"{population} members find what the policy wrote impossible (not a number, or "
                "infinite): lower sigma, or learning_rate. Nothing was updated"
            )
        return dict(enumerate(sums_M.tolist()))
