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
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proofgym.algorithms.advantages import informative
from proofgym.algorithms.algorithm import Batch
from proofgym.algorithms.es_run import ESRun
from proofgym.algorithms.groups import ask, compare, groups_of, refuse_unscored, rewards_in
from proofgym.algorithms.normalise import normalise
from proofgym.engines.engine import Engine
from proofgym.errors import EngineError
from proofgym.evolution import ways
from proofgym.evolution.heed import Heard
from proofgym.progress import Progress
from proofgym.trainer.sample import Sample
from proofgym.types import Completion, Request, Rollout, Sampling, Task


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
        self,
        engine: Engine,
        requests: Sequence[Request],
        sampling: Sampling,
        drawn: Sequence[Completion],
    ) -> Heard:
        """What each member's reading says of each text that the policy drew. What noise costs all
        members alike, any of them would find: only what they differ by tells them apart."""
        members = [request.member for request in requests]
        texts = [
            Sample(it.prompt_ids, it.token_ids, np.ones(len(it.token_ids), bool)) for it in drawn
        ]
        own_MT = np.zeros((len(members), len(texts)))
        for group in ways.groups(len(members), self.way.size):
            with self.way.lay(self.iteration, [members[place] for place in group]) as laid:
                for place, text in product(group, range(len(texts))):
                    it = texts[text]
                    found = engine.score(it.prompt_ids, it.token_ids, laid, members[place])
                    own_MT[place, text] = math.fsum(found)
        used_MT = np.stack([self._reading(members, texts, it) for it in range(len(texts))], 1)
        self.policy()
        ground_MT = np.broadcast_to(own_MT.mean(0), own_MT.shape)
        used, own, ground = (table.ravel().tolist() for table in (used_MT, own_MT, ground_MT))
        return Heard(used, own, ground, [len(text.token_ids) for text in texts] * len(members))

    def _reading(
        self, members: Sequence[int], texts: Sequence[Sample], chosen: int
    ) -> NDArray[np.float64]:
        """What these members find of one of some texts that are read together."""
        for place, text in enumerate(texts):
            text.fill("weight", float(place == chosen))
        return self._reader.weighted_likelihoods(self.way, self.iteration, members, texts, 1.0)

    def _read(self, samples: Sequence[Sample]) -> dict[int, float]:
        """Each member's score."""
        population = self.config.population
        self.state.k = self.scaled()
        if not samples:
            return dict.fromkeys(range(population), 0.0)
        with Progress(f"iteration {self.iteration + 1}: scoring", population, "members") as shown:
            sums_M = self._reader.weighted_likelihoods(
                self.way,
                self.iteration,
                range(population),
                samples,
                self.temperature,
                shown.advance,
            )
        self.policy()
        if not np.isfinite(sums_M).all():
            raise EngineError(
                f"iteration {self.iteration + 1}: {np.count_nonzero(~np.isfinite(sums_M))} of "
                f"{population} members find what the policy wrote impossible (not a number, or "
                "infinite): lower sigma, or learning_rate. Nothing was updated"
            )
        return dict(enumerate(sums_M.tolist()))
