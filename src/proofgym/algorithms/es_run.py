"""A running ES: lends an engine the members, and turns their rewards into the next weights."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proofgym.algorithms import es_check
from proofgym.algorithms.algorithm import AttemptKey, Batch, rewards_of
from proofgym.algorithms.groups import example
from proofgym.algorithms.normalise import deviation, mean, normalise, per_prompt
from proofgym.engines.engine import Engine
from proofgym.errors import RunError
from proofgym.evolution import keyframe, philox, ways
from proofgym.evolution.heed import Heard
from proofgym.evolution.history import Decay, History, Update
from proofgym.evolution.state import State
from proofgym.evolution.ways import Lent, Way
from proofgym.types import Completion, Request, Rollout, Sampling, Task

if TYPE_CHECKING:
    from proofgym.algorithms.es import ES
    from proofgym.engines.portions import Source

_WRITTEN_S = 2e-8  # a keyframe's seconds a weight, until one was written and measured
log = logging.getLogger("proofgym")


class ESRun:
    """A running ES: holds the exact state, writes the history, and lends the model its weights."""

    def __init__(
        self,
        config: ES,
        model: Any,
        state: State,
        history: History,
        keyframes: Path,
    ) -> None:
        self.new = state.iteration == 0  # with every iteration an entry became durable
        self.config, self.state, self.history = config, state, history
        self._keyframes = keyframes
        self.lent = Lent(model, state)
        self._expected: dict[int, list[AttemptKey]] = {}
        keyframe.prune(keyframes)
        self.iteration = state.iteration
        """The next iteration to do."""
        self._named = config.way(model)
        self._way: Way | None = None
        self._together = 0
        """Members that one of several processes evaluates together; 0: there is one process."""
        self._since_keyframe_s = 0.0
        self._keyframe_s = _WRITTEN_S * sum(tensor.size for tensor in state.manifest)
        self.policy()
        log.info(self.describe())

    def describe(self) -> str:
        """One line of effective settings, σ and s as rounded."""
        chosen = self.state.specification
        tensors = list(self.state.manifest)
        rank = f"rank {chosen.rank}" if chosen.rank else "full rank"
        return (
            f"ES: {chosen.population} members, {rank} {chosen.kind}, sigma {chosen.sigma:.6g} "
            f"(asked {self.config.sigma:.6g}), step 2^{chosen.scale}, {len(tensors)} tensors with "
            f"{sum(tensor.size for tensor in tensors):,} weights, {self._named}"
        )

    def check(self, engine: Engine, prompt: str) -> None:
        """Whether members are scored with their own weights (`es_check.py`). Raises RunError."""
        es_check.check(self, engine, prompt)

    def heard(
        self,
        engine: Engine,
        requests: Sequence[Request],
        sampling: Sampling,
        drawn: Sequence[Completion],
    ) -> Heard:
        """What training's way through the model says, for that check: one request a member, and
        what the policy made of them."""
        return es_check.steps_heard(self, engine, requests, sampling)

    @property
    def way(self) -> Way:
        """How members are evaluated in this process; made when it is first needed."""
        if self._way is None:
            self._way = ways.make(self._named, self.lent, self.config.stack)
        return self._way

    def source(self, engines: int) -> Source:
        """What so many processes with replicas of the weights are told; from now on the batches are
        for them, whole populations."""
        from proofgym.evolution.replica import StateSource

        size, self._way = self.way.size, None  # its memory is for the processes
        self._together = min(size, -(-self.config.population // engines))
        how = self._named, self._together
        return StateSource(self.state, self.history.record, self._keyframes, *how)

    def batches(self, tasks: Sequence[Task], first: int = 0) -> Iterator[Batch]:
        """A batch for as many members as are evaluated at once; for several engines one for all.

        Request keys are (iteration, task, sample): all members face the same sampling noise.
        """
        self._expected = {member: [] for member in range(self.config.population)}
        self.state.k = self.scaled()
        if self._together:
            self.policy()
            yield self._shared(tasks, first)
            return
        try:
            for members in ways.groups(self.config.population, self.way.size):
                with self.way.lay(self.iteration, members) as population:
                    yield self._batch(tasks, first, members, population)
        finally:
            self.policy()

    def _shared(self, tasks: Sequence[Task], first: int) -> Batch:
        from proofgym.evolution.replica import Members

        count = self.config.population
        whole = self._named == "factored"
        members = Members(self.iteration, self.state.k, count, self._together, whole)
        batch = Batch([], [], members)
        for group in ways.groups(count, self._together):  # a process has one at a time
            its = self._batch(tasks, first, group, members)
            batch.requests += its.requests
            batch.tasks += its.tasks
        return batch

    def _batch(
        self, tasks: Sequence[Task], first: int, members: Sequence[int], population: Any
    ) -> Batch:
        """Requests by task, then sample, then member, so that equal prompts lie together."""
        batch = Batch([], [], population)
        for position, task in enumerate(tasks, start=first):
            for sample in range(self.config.samples):
                for member in members:
                    request = Request((self.iteration, position, sample), task.prompt, member)
                    batch.requests.append(request)
                    batch.tasks.append(task)
                    self._expected[member].append((request.key, member))
        return batch

    def wanting(self, rollouts: Sequence[Rollout]) -> int:
        """Every task serves: members are compared over all of them."""
        return 0

    def update(self, rollouts: Sequence[Rollout]) -> dict[str, float]:
        """Turn rewards into the next weights. Raises RunError where too many have no score."""
        return self.learn(rewards_of(rollouts), example(rollouts))

    def learn(self, rewards: Mapping[AttemptKey, float | None], why: str = "") -> dict[str, float]:
        """The update, from each attempt's reward (None: no score) alone; `why` there is none is for
        the error."""
        if not self._expected:
            raise RunError("ES.update must follow ES.batches of the same iteration")
        scores = self._scores(rewards, why)
        if self.config.normalise == "per_prompt":
            normalised = per_prompt(self._by_prompt(rewards, list(scores)))
        else:
            normalised = normalise(scores, self.config.normalise)
        self._expected = {}
        return self.step(scores, normalised)

    def step(
        self, scores: Mapping[int, float], normalised: Mapping[int, float]
    ) -> dict[str, float]:
        """The update that the members' normalised scores make, durable; returns metrics."""
        coefficients = self._coefficients(normalised)
        entries = [Update(self.iteration, tuple(coefficients), len(scores))]
        decay = self.config.decay()
        self.history.append(*([Decay(self.iteration, decay)] if decay else []), *entries)
        self.lent.changed()
        began = time.perf_counter()
        self.state.apply(*self.history.record().between(self.iteration, self.iteration + 1))
        self.iteration = self.state.iteration
        self.policy()
        self._since_keyframe_s += time.perf_counter() - began
        if self._keyframe_is_due():
            self._keyframe()
        return self._metrics(scores, coefficients)

    def policy(self) -> None:
        """Put the current, unperturbed weights into the model."""
        self.lent.policy()

    def keep(self) -> None:
        """Every update is durable already."""

    def close(self) -> None:
        """Leave the model with the current weights, also after a failure halfway a batch."""
        if self._way is not None:
            self._way.detach()
        self.policy()
        self.history.close()

    def _scores(self, rewards: Mapping[AttemptKey, float | None], why: str) -> dict[int, float]:
        """Mean reward of each member whose attempts were all scored, as was its partner's."""
        scores = {}
        for member, keys in self._expected.items():
            found = [rewards.get(key) for key in keys]
            if found and all(value is not None and math.isfinite(value) for value in found):
                scores[member] = math.fsum(value for value in found if value is not None) / len(
                    found
                )
        if self.config.antithetic:
            scores = {member: score for member, score in scores.items() if member ^ 1 in scores}
        lost = 1 - len(scores) / self.config.population
        if lost > self.config.max_unscored:
            raise RunError(
                f"iteration {self.iteration + 1}: {lost:.0%} of the members have no score, above "
                f"max_unscored = {self.config.max_unscored:.0%} (a member counts where all its "
                f"attempts and its partner's were scored). {why}Nothing was updated; mend that, "
                "and resume"
            )
        return scores

    def _by_prompt(
        self, rewards: Mapping[AttemptKey, float | None], members: Sequence[int]
    ) -> list[dict[int, float]]:
        """Mean reward of each of these members, all of whose attempts have one, on each prompt."""
        found: dict[int, dict[int, list[float]]] = {}
        for member in members:
            for key, _ in self._expected[member]:
                reward = rewards[key, member]
                assert reward is not None
                found.setdefault(key[1], {}).setdefault(member, []).append(reward)
        return [{m: mean(values) for m, values in prompt.items()} for prompt in found.values()]

    def scaled(self) -> int:
        """σ of the next iteration, in steps of s·unit."""
        return self.state.specification.scaled(self.config.sigma_schedule.at(self.iteration))

    def _coefficients(self, normalised: Mapping[int, float]) -> list[int]:
        chosen, config = self.state.specification, self.config
        rate = config.learning_rate * config.learning_rate_schedule.at(self.iteration)
        members = list(normalised)
        values = [chosen.coefficient(rate, normalised[m], len(members)) for m in members]
        if self.history.header["control"] == "permuted":
            key = philox.key(chosen.seed, "control")
            order = philox.permutation(key, self.iteration, len(members))
            values = [values[place] for place in order]
        by_member = dict(zip(members, values, strict=True))
        return [by_member.get(member, 0) for member in range(self.config.population)]

    def _keyframe_is_due(self) -> bool:
        if every := self.config.keyframe_every:
            return self.iteration % every == 0
        return self._since_keyframe_s > self._keyframe_s

    def _keyframe(self) -> None:
        """The iteration is durable without it, so a full disk costs only a longer resume."""
        began, self._since_keyframe_s = time.perf_counter(), 0.0
        try:
            keyframe.save(self._keyframes, self.state, self.history.digests[self.iteration])
            keyframe.prune(self._keyframes)
            self._keyframe_s = time.perf_counter() - began
        except OSError as error:
            log.warning("no keyframe for iteration %d: %s", self.iteration, error)

    def _metrics(
        self, scores: Mapping[int, float], coefficients: Sequence[int]
    ) -> dict[str, float]:
        chosen = self.state.specification
        size = sum(tensor.size for tensor in self.state.manifest)
        directions = self.state.directions(coefficients).values()
        return {
            "member_mean": mean(list(scores.values())),
            "member_sd": deviation(list(scores.values())),
            # Directions are nearly orthogonal, each of length unit·√size.
            "update_norm": chosen.step
            * chosen.unit
            * math.sqrt(size * sum(d * d for d in directions)),
            "sigma": self.state.k * chosen.step * chosen.unit,
            "dropped_share": 1 - len(scores) / self.config.population,
            "coefficient_bits": max(abs(c) for c in coefficients).bit_length(),
        }
