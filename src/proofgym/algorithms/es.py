"""Evolution Strategies: perturb the weights, score each member, move towards what scored well.

The update of arXiv 2509.24372 (α absorbing 1/σ), W ← W + α/n·Σ_i z_i·ε_i, with the low-rank noise
of EGGROLL (arXiv 2511.16652) by default, in the integer arithmetic of docs/noise.md. It needs
no gradients, and a run is its base weights plus one number a member and iteration.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from proofgym.algorithms.advantages import Advantage
from proofgym.algorithms.algorithm import Algorithm
from proofgym.algorithms.es_likelihood import LikelihoodRun
from proofgym.algorithms.es_run import ESRun
from proofgym.algorithms.groups import refuse_certain
from proofgym.errors import ConfigError, HistoryError, nearest
from proofgym.evolution import manifest, replay, specification
from proofgym.evolution.history import History
from proofgym.evolution.state import named
from proofgym.schedule import Schedule
from proofgym.types import Sampling


class ES(Algorithm):
    """Evolution Strategies over all or some of a model's weights."""

    several_engines: ClassVar[bool] = True
    may_change: ClassVar[frozenset[str]] = frozenset(
        {"keyframe_every", "max_unscored", "micro_tokens", "stack"}
    )

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

    objective: Literal["reward", "likelihood"] = "reward"
    """What scores a member. `reward`: the mean reward of what it writes itself. `likelihood`: how
    likely it finds what the policy wrote, each attempt weighted with its advantage; members write
    nothing, and far fewer attempts teach as much (docs/evolution.md)."""

    samples: int = Field(1, ge=1)
    """Completions for each (member, task); with `objective="likelihood"` of the policy for each
    task, and at least 2."""

    advantage: Advantage | None = None
    """With `objective="likelihood"`: how rewards become advantages, as in GRPO; None is `grpo`."""

    micro_tokens: int = Field(32_768, ge=1)
    """Most tokens in a forward pass that scores members, padding included."""

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
    """The run stops when a larger share of an iteration's members had to be dropped, or of the
    policy's attempts had no score."""

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
        if self.objective == "likelihood":
            self._check_likelihood()
        elif self.advantage is not None:
            raise ValueError('advantage has a use with objective="likelihood" alone; leave it out')
        if self.weight_decay and not self.decay():
            raise ValueError("weight_decay below 2^-17 rounds to nothing")
        return self

    def _check_likelihood(self) -> None:
        if self.samples < 2:
            raise ValueError(
                'objective="likelihood" compares attempts at the same task: set samples to 2 or '
                "more"
            )
        if self.stack:
            raise ValueError('stack has no use with objective="likelihood"; leave it out')
        if self.normalise == "per_prompt":
            raise ValueError(
                'normalise="per_prompt" has no use with objective="likelihood", whose advantages '
                "compare the attempts of each prompt already"
            )
        if self.evaluation == "stacked":
            raise ValueError(
                'evaluation="stacked" has no use with objective="likelihood": members write nothing'
            )

    def check(self, sampling: Sampling) -> None:
        """Refuse what cannot be learnt from. Raises ConfigError."""
        if self.objective == "likelihood":
            refuse_certain(sampling, 'ES(objective="likelihood")')

    def decay(self) -> int:
        """`weight_decay` in steps of 2^-16."""
        return round(self.weight_decay * 2**16)

    def way(self, model: Any) -> str:
        """How this model's members are evaluated: `evaluation`, decided."""
        if self.evaluation != "auto":
            return self.evaluation
        if self.rank is not None:
            return "factored"
        side_by_side = self.objective == "reward" and next(model.parameters()).is_cuda
        return "stacked" if side_by_side else "materialised"

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
        parts = self, model, state, history, directory / replay.KEYFRAMES
        if self.objective == "likelihood":
            return LikelihoodRun(*parts, temperature=(sampling or Sampling()).temperature)
        return ESRun(*parts)

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


def _require_same(old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Refuse to continue a history with other settings, naming the first that differs."""
    pairs = [(name, old[name], new[name]) for name in ("base_digest", "adapter_digest", "control")]
    pairs += [("seed", old["specification"]["seed"], new["specification"]["seed"])]
    before, after = ES().completed(old["algorithm"]), new["algorithm"]
    pairs += [(name, before[name], after[name]) for name in after if name not in ES.may_change]
    pairs += [("specification", old["specification"], new["specification"])]
    for name, was, now in pairs:
        if was != now:
            raise HistoryError(
                f"this run was started with {name} = {was!r} and cannot be continued with {now!r}: "
                "use the old value, or start a new run"
            )
