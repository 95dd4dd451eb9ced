"""Evolution Strategies: perturb the weights, score each member, move towards what scored well.

The update of arXiv 2509.24372 (α absorbing 1/σ), W ← W + α/n·Σ_i z_i·ε_i, with the low-rank noise
of EGGROLL (arXiv 2511.16652) by default, in the integer arithmetic of docs/noise.md. It needs
no gradients, and a run is its base weights plus one number a member and iteration.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from proofgym.algorithms.algorithm import Algorithm, AttemptKey, Batch, rewards_of
from proofgym.algorithms.normalise import deviation, mean, normalise, per_prompt
from proofgym.engines.engine import Engine
from proofgym.errors import ConfigError, HistoryError, RunError, nearest
from proofgym.evolution import keyframe, manifest, philox, reach, replay, specification
from proofgym.evolution.history import Decay, History, Update
from proofgym.evolution.state import State, named
from proofgym.progress import Progress
from proofgym.schedule import Schedule
from proofgym.types import Request, Rollout, Sampling, Task

if TYPE_CHECKING:
    from proofgym.engines.portions import Source

CHECK_STREAM = 2**62 + 1  # of the draws in `check`: no iteration's, nor an evaluation's
_WRITTEN_S = 2e-8  # a keyframe's seconds a weight, until one was written and measured
log = logging.getLogger("proofgym")

#: Fields that may differ when a run is resumed: they do not enter its arithmetic.
_FREE = {"keyframe_every", "max_unscored", "stack"}


class ES(Algorithm):
    """Evolution Strategies over all or some of a model's weights."""

    several_engines: ClassVar[bool] = True

    population: int = Field(16, ge=2)
    """Members (perturbed models) an iteration; even with `antithetic`."""

    sigma: float = Field(2**-9, gt=0, allow_inf_nan=False)
    """Standard deviation of the perturbation, rounded to a multiple of the run's step."""

    learning_rate: float = Field(2**-10, gt=0, allow_inf_nan=False)
    """α of the update; half of σ is what arXiv 2509.24372 uses."""

    sigma_schedule: Schedule = Schedule()
    """Factors of `sigma` over the iterations: `[(0, 1.0), (100, 0.25)]`."""

    learning_rate_schedule: Schedule = Schedule()
    """The same for `learning_rate`."""

    noise: Literal["rademacher", "gaussian8", "gaussian"] = "rademacher"
    """Signs, 8-bit normals, or float normals (only to reproduce published settings: not exact, and
    at full rank alone)."""

    rank: int | None = Field(1, ge=1, le=64)
    """Rank of each matrix's noise, a product of vectors of signs and of the `noise`; None for full
    rank."""

    antithetic: bool = True
    """Members 2p and 2p+1 share their noise with opposite signs."""

    normalise: Literal["zscore", "centred_ranks", "per_prompt", "none"] = "zscore"
    """How member rewards become z: (r − mean)/sd, ranks in [−1/2, 1/2], or as they are. With
    `per_prompt` each prompt's rewards are standardised among the members, as GRPO does in its
    groups, and averaged: a prompt on which the members differ little counts as much as any."""

    parameters: tuple[str, ...] = ("*",)
    """Globs of the tensor names that may change; one beginning with "!" takes tensors out again."""

    samples: int = Field(1, ge=1)
    """Completions for each (member, task)."""

    weight_decay: float = Field(0.0, ge=0, le=0.5)
    """Share of the way back to the base weights that each iteration goes, in steps of 2^-16."""

    evaluation: Literal["auto", "factored", "stacked", "materialised"] = "auto"
    """All members in one batch (needs a rank); as many as fit into memory side by side; or each
    member's weights written out in turn. `auto`: factored with a rank, else stacked on a GPU."""

    stack: int | None = Field(None, ge=1)
    """Members side by side in `stacked` evaluation; None: as many as fit into half of the memory
    that is free. It changes results by rounding alone."""

    keyframe_every: int | None = Field(None, ge=1)
    """Iterations between exact snapshots, which shorten a resume; None: as soon as replaying what
    came since the last would take longer than writing one did."""

    max_unscored: float = Field(0.25, ge=0, lt=1)
    """The run stops when a larger share of an iteration's members had to be dropped."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.antithetic and self.population % 2:
            raise ValueError("population must be even, or antithetic must be False")
        if self.rank and self.noise == "gaussian":
            raise ValueError(
                'noise="gaussian" needs rank=None: low rank has "rademacher" and "gaussian8"'
            )
        if self.evaluation == "factored" and not self.rank:
            raise ValueError('evaluation="factored" needs a rank')
        if self.stack and self.evaluation in ("factored", "materialised"):
            raise ValueError(f"stack has no use with evaluation={self.evaluation!r}; leave it out")
        if self.weight_decay and not self._decay():
            raise ValueError("weight_decay below 2^-17 rounds to nothing")
        return self

    def _decay(self) -> int:
        return round(self.weight_decay * 2**16)

    def way(self, model: Any) -> str:
        """How this model's members are evaluated: `evaluation`, decided."""
        if self.evaluation != "auto":
            return self.evaluation
        if self.rank is not None:
            return "factored"
        return "stacked" if next(model.parameters()).is_cuda else "materialised"

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
    ) -> ESRun:
        """Start a run, or continue the one in `directory` after its last durable iteration.

        `model` holds the base weights (with the warm-start adapter merged) and is changed in place.
        `control="permuted"` shuffles the coefficients among members: a run that should not learn.
        """
        if control not in (None, "permuted"):
            raise ConfigError(f"control = {control!r}: {nearest(control, ['permuted'])}")
        directory = Path(directory)
        header = self._header(model, seed, base_digest, adapter_digest, control)
        path = directory / replay.HISTORY
        if path.exists():
            history = History.open(path)
            try:
                _require_same(history.header, header)
                state = replay.restore(history.record(), model, directory / replay.KEYFRAMES)
            except BaseException:
                history.close()
                raise
        else:
            tensors = manifest.Manifest.from_json(header["manifest"])
            state = replay.make_state(
                tensors,
                specification.Specification.from_json(header["specification"]),
                named(model, tensors),
            )
            header["base_weights"] = replay.base_weights(state)
            history = History.create(path, header)
        return ESRun(self, model, state, history, directory / replay.KEYFRAMES)

    def _header(
        self,
        model: Any,
        seed: int,
        base_digest: str,
        adapter_digest: str | None,
        control: str | None,
    ) -> dict[str, Any]:
        chosen = specification.choose(
            seed=seed,
            kind=self.noise,
            rank=self.rank,
            antithetic=self.antithetic,
            population=self.population,
            sigma=self.sigma,
            learning_rate=self.learning_rate,
            least_sigma=self.sigma_schedule.least,
            least_rate=self.learning_rate_schedule.least,
        )
        return {
            "specification": chosen.to_json(),
            "base_digest": base_digest,
            "adapter_digest": adapter_digest,
            "control": control,
            "algorithm": self.to_json(),
            "manifest": manifest.build(model, self.parameters, chosen).to_json(),
        }


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
        self._model, self._keyframes = model, keyframes
        self._tensors = named(model, state.manifest)
        self._expected: dict[int, list[AttemptKey]] = {}
        self._factored: Any = None
        self._stacked: Any = None
        way = config.way(model)
        if way == "factored":
            from proofgym.evolution.factored import Factored

            self._factored = Factored(model, state)
        elif way == "stacked":
            from proofgym.evolution.stacked import Stacked

            self._stacked = Stacked(model, state, config.stack)
        keyframe.prune(keyframes)
        self.iteration = state.iteration
        """The next iteration to do."""
        self._current = False
        self._spread = False
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
            f"{sum(tensor.size for tensor in tensors):,} weights"
        )

    def check(self, engine: Engine, prompt: str) -> None:
        """Before the first iteration, have the engine show that noise on each chosen tensor changes
        what it computes.

        Raises:
            RunError: names the tensors without effect.
        """
        if self.iteration > 0:
            return
        request = Request((CHECK_STREAM, 0, 0), prompt, 0)
        sampling = Sampling(temperature=8.0, max_tokens=2)  # so hot that no token is certain

        def answer() -> tuple[Any, ...]:
            population = self._factored or self._stacked
            ((_, completion),) = engine.generate([request], sampling, population)
            return completion.token_ids, completion.logprobs

        self.policy()
        size = len(self._tensors) if self._factored is None else self._factored.uses
        with ExitStack() as stack:
            progress = stack.enter_context(Progress("checking noise", size, "tensors"))
            if self._factored is not None:
                self._factored.prepare(self.iteration)
                stack.enter_context(self._factored)
                found = self._factored.unreached(answer)
            elif self._stacked is not None:
                stack.enter_context(self._stacked)
                found = self._stacked.unreached(self.iteration, answer)
            else:
                found = reach.unreached(self.state, self._tensors, self.iteration, answer)
            silent = []
            for name in found:
                progress.advance()
                silent += [name] if name else []
        if silent:
            listed = ", ".join(silent[:5]) + (", …" if len(silent) > 5 else "")
            raise RunError(
                f"noise on {len(silent)} of {size} uses of chosen tensors changes nothing that the "
                f"engine computes: {listed}. Leave them out (ES.parameters), or see why they are "
                "unused"
            )

    def source(self) -> Source:
        """What processes with replicas of the weights are told; from now on the batches are for
        them, whole populations."""
        from proofgym.evolution.replica import StateSource

        self._spread, self._stacked = True, None
        return StateSource(self.state, self.history.record, self._keyframes)

    def batches(self, tasks: Sequence[Task], first: int = 0) -> Iterator[Batch]:
        """One batch with all members (factored, or for several engines), one for as many as are
        side by side, or one a member with its weights in the model.

        Request keys are (iteration, task, sample): all members face the same sampling noise.
        """
        self._expected = {member: [] for member in range(self.config.population)}
        if self._spread:
            yield self._shared(tasks, first)
            return
        if self._stacked is not None:
            yield from self._side_by_side(tasks, first)
            return
        if self._factored is None:
            yield from self._materialised(tasks, first)
            return
        self.policy()
        self.state.k = self._k()
        self._factored.prepare(self.iteration)
        with self._factored:
            yield self._batch(tasks, first, range(self.config.population), self._factored)

    def _shared(self, tasks: Sequence[Task], first: int) -> Batch:
        from proofgym.evolution.replica import Members

        self.policy()
        self.state.k = self._k()
        count = self.config.population
        members = Members(self.iteration, self.state.k, count, self._factored is not None)
        if members.factored:
            return self._batch(tasks, first, range(count), members)
        batch = Batch([], [], members)  # by member: a process has one at a time
        for member in range(count):
            its = self._batch(tasks, first, [member], members)
            batch.requests += its.requests
            batch.tasks += its.tasks
        return batch

    def _side_by_side(self, tasks: Sequence[Task], first: int) -> Iterator[Batch]:
        self.policy()
        self.state.k = self._k()
        for members in self._stacked.groups():
            self._stacked.prepare(self.iteration, members)
            with self._stacked:
                yield self._batch(tasks, first, members, self._stacked)

    def _materialised(self, tasks: Sequence[Task], first: int) -> Iterator[Batch]:
        self.state.k = self._k()
        try:
            for member in range(self.config.population):
                self._current = False
                self.state.write_member(member, self.iteration, self._tensors)
                yield self._batch(tasks, first, [member], None)
        finally:
            self.policy()

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
        return self.learn(rewards_of(rollouts))

    def learn(self, rewards: Mapping[AttemptKey, float | None]) -> dict[str, float]:
        """The update, from each attempt's reward (None: no score) alone."""
        if not self._expected:
            raise RunError("ES.update must follow ES.batches of the same iteration")
        scores = self._scores(rewards)
        if self.config.normalise == "per_prompt":
            normalised = per_prompt(self._by_prompt(rewards, list(scores)))
        else:
            normalised = normalise(scores, self.config.normalise)
        coefficients = self._coefficients(normalised)
        entries = [Update(self.iteration, tuple(coefficients), len(scores))]
        decay = self.config._decay()
        self.history.append(*([Decay(self.iteration, decay)] if decay else []), *entries)
        self._current = False
        began = time.perf_counter()
        self.state.apply(*self.history.record().between(self.iteration, self.iteration + 1))
        self._expected, self.iteration = {}, self.state.iteration
        self.policy()
        self._since_keyframe_s += time.perf_counter() - began
        if self._keyframe_is_due():
            self._keyframe()
        return self._metrics(scores, coefficients)

    def policy(self) -> None:
        """Put the current, unperturbed weights into the model."""
        if not self._current:
            self.state.write_current(self._tensors)
            self._current = True

    def close(self) -> None:
        """Leave the model with the current weights, also after a failure halfway a batch."""
        for population in (self._factored, self._stacked):
            if population is not None:
                population.detach()
        self.policy()
        self.history.close()

    def _scores(self, rewards: Mapping[AttemptKey, float | None]) -> dict[int, float]:
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
                f"iteration {self.iteration}: {lost:.0%} of the members have no score, above "
                f"max_unscored = {self.config.max_unscored:.0%}: the verifier or a sandbox is "
                "failing. Nothing was updated; mend it and resume"
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

    def _k(self) -> int:
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


def _require_same(old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Refuse to continue a history with other settings, naming the first that differs."""
    pairs = [(name, old[name], new[name]) for name in ("base_digest", "adapter_digest", "control")]
    pairs += [("seed", old["specification"]["seed"], new["specification"]["seed"])]
    before, after = {**ES().to_json(), **old["algorithm"]}, new["algorithm"]
    pairs += [(name, before[name], after[name]) for name in after if name not in _FREE]
    pairs += [("specification", old["specification"], new["specification"])]
    for name, was, now in pairs:
        if was != now:
            raise HistoryError(
                f"this run was started with {name} = {was!r} and cannot be continued with {now!r}: "
                "use the old value, or start a new run"
            )
