"""Takes optimiser steps on samples, for any loss that is a function of their drawn tokens."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from proofgym.errors import ModelError, RunError
from proofgym.memory import saying_when_full
from proofgym.trainer.options import TrainerOptions
from proofgym.trainer.policy import Policy, whole
from proofgym.trainer.rows import Row, lay_out, microbatches
from proofgym.trainer.sample import Sample
from proofgym.trainer.scorer import Scorer
from proofgym.trainer.tokens import Tokens, read

if TYPE_CHECKING:
    from proofgym.trainer.replica import TrainedSource

#: From tokens to the loss, a sum whose gradients accumulate over the passes of a step, and to
#: further sums to report.
Loss = Callable[[Tokens], tuple[Tensor, dict[str, Tensor]]]


class Trainer:
    """Trains the weights of `engine_model` (Llama, Qwen2, Qwen3 families), in place where it can.

    `temperature` divides the logits, as it did when the tokens were drawn. `reference` keeps the
    weights as they are now, to measure the distance from. `entropy` makes `Tokens.entropy`
    differentiable.
    """

    def __init__(
        self,
        engine_model: Any,
        options: TrainerOptions,
        *,
        seed: int = 0,
        temperature: float = 1.0,
        reference: bool = False,
        entropy: bool = False,
    ) -> None:
        self.options, self.temperature = options, temperature or 1.0
        self._entropy = entropy
        self.device = next(engine_model.parameters()).device
        self.policy = self._make_policy(engine_model, seed, reference)
        self.steps = 0
        """Optimiser steps taken."""
        self.optimiser = torch.optim.AdamW(
            self.policy.trained.values(),
            lr=options.learning_rate,
            betas=options.betas,
            weight_decay=options.weight_decay,
            fused=True,
        )

    def step(self, samples: Sequence[Sample], loss: Loss, rate: float = 1.0) -> dict[str, float]:
        """One optimiser step on the loss of all samples; `rate` is a factor of the learning rate.

        Returns what the loss reports, summed, with `loss` and `gradient_norm`. Raises RunError
        where the gradient is not finite; then nothing was changed.
        """
        self.optimiser.zero_grad(set_to_none=True)
        sums: dict[str, Tensor] = {}
        for batch, counts in self._batches(samples):
            with self._memory():
                value, report = loss(self._tokens(self.policy.scorer, batch, samples))
                self._backward(value * counts)
            for name, number in {"loss": value, **report}.items():
                sums[name] = sums.get(name, 0) + number.detach() * counts
        if not sums:
            return {"loss": 0.0, "gradient_norm": 0.0}
        sums = self._over_ranks(sums)
        norm = self._clip()
        for group in self.optimiser.param_groups:
            group["lr"] = self.options.learning_rate * rate
        self.optimiser.step()
        self.steps += 1
        return {name: float(value) for name, value in sums.items()} | {"gradient_norm": norm}

    @torch.no_grad()
    def logprobs(
        self,
        samples: Sequence[Sample],
        reference: bool = False,
        temperature: float | None = None,
    ) -> list[NDArray[np.float32]]:
        """Log-probability of each sample's drawn tokens, (N,) each, under the weights in training
        or those before any; at the sampling temperature unless another is given."""
        found: dict[int, NDArray[np.float32]] = {}
        for batch, counts in self._batches(samples):
            with self._memory(), self._scorer(reference) as scorer:
                values = self._tokens(scorer, batch, samples, temperature).logprobs.cpu().numpy()
            start = 0
            for place in (place for row in batch for place in row.samples if counts):
                found[place] = values[start : start + samples[place].count]
                start += samples[place].count
        found = self._from_ranks(found)
        return [found.get(place, np.zeros(0, np.float32)) for place in range(len(samples))]

    def publish(self) -> int:
        """Give the engine the current weights; returns how many tensors that wrote."""
        return self.policy.publish()

    def source(self) -> TrainedSource:
        """What processes with the engine's weights are told of those that are published."""
        from proofgym.trainer.replica import TrainedSource

        return TrainedSource(self.policy)

    def state(self) -> dict[str, Tensor]:
        """Trained weights and the optimiser's moments, by kind and name."""
        found: dict[str, Tensor] = {}
        for name, parameter in self.policy.trained.items():
            found[f"weight/{name}"] = whole(parameter.detach())
            held = self.optimiser.state.get(parameter, {})
            if held:
                found[f"first/{name}"] = whole(held["exp_avg"])
                found[f"second/{name}"] = whole(held["exp_avg_sq"])
        return found

    @torch.no_grad()
    def load(self, state: Mapping[str, Tensor], steps: int) -> None:
        """Go on from what `state` gave after so many steps, and publish it. Raises RunError where
        it belongs to other weights."""
        trained = self.policy.trained
        if set(trained) != {n.removeprefix("weight/") for n in state if n.startswith("weight/")}:
            raise RunError("the checkpoint holds other tensors than this job trains")
        self.steps = steps
        for name, parameter in trained.items():
            self._put(parameter, state[f"weight/{name}"])
            if f"first/{name}" not in state:
                continue
            first, second = torch.zeros_like(parameter), torch.zeros_like(parameter)
            self._put(first, state[f"first/{name}"])
            self._put(second, state[f"second/{name}"])
            count = torch.tensor(float(steps), device=self.device)
            self.optimiser.state[parameter] = {
                "step": count,
                "exp_avg": first,
                "exp_avg_sq": second,
            }
        self.policy.publish()

    def close(self) -> None:
        """Give back what is held; the engine's model keeps its weights."""
        self.policy.close()

    @property
    def exact(self) -> bool:
        """Whether everything, the engine's weights too, is in float32."""
        return not self._low and self.policy.stored == torch.float32

    def _make_policy(self, engine_model: Any, seed: int, reference: bool) -> Policy:
        policy = Policy(engine_model, self.options.lora, seed, reference, pull=self._entropy)
        self._prepare_layers(policy)
        return policy

    def _prepare_layers(self, policy: Policy) -> None:
        if self.options.gradient_checkpointing:
            for layer in policy.scorer.model.model.layers:
                layer.forward = functools.partial(checkpoint, layer.forward, use_reentrant=False)

    def _batches(self, samples: Sequence[Sample]) -> list[tuple[list[Row], float]]:
        """What to compute here, and whether it counts (1) or only keeps other ranks company (0)."""
        width = self.policy.scorer.model.config.hidden_size
        rows = lay_out(samples, width, self.options.share_prompts)
        return [(batch, 1.0) for batch in microbatches(rows, self.options.micro_tokens)]

    def _backward(self, loss: Tensor) -> None:
        loss.backward()  # type: ignore[no-untyped-call]

    def _over_ranks(self, sums: dict[str, Tensor]) -> dict[str, Tensor]:
        return sums

    def _from_ranks(self, found: dict[int, Any]) -> dict[int, Any]:
        return found

    def _put(self, held: Tensor, value: Tensor) -> None:
        """Overwrite a tensor with a whole one."""
        held.copy_(value)

    def _clip(self) -> float:
        norm = torch.nn.utils.clip_grad_norm_(
            self.policy.trained.values(), self.options.clip_norm, foreach=True
        )
        found = float(whole(norm))
        if not math.isfinite(found):
            self.optimiser.zero_grad(set_to_none=True)
            raise RunError(
                f"the gradient of step {self.steps + 1} is {found}; lower the learning rate. "
                "Nothing was updated"
            )
        return found

    @contextmanager
    def _scorer(self, reference: bool) -> Iterator[Scorer]:
        if reference:
            with self.policy.reference() as scorer:
                yield scorer
        else:
            yield self.policy.scorer

    def _tokens(
        self,
        scorer: Scorer,
        batch: Sequence[Row],
        samples: Sequence[Sample],
        temperature: float | None = None,
    ) -> Tokens:
        heat = self.temperature if temperature is None else temperature
        with self._autocast():
            return read(scorer, batch, samples, heat, self.device)

    @property
    def _low(self) -> bool:
        automatic = self.options.precision == "auto" and self.device.type == "cuda"
        return automatic or self.options.precision == "bfloat16"

    def _autocast(self) -> AbstractContextManager[Any]:
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self._low)

    @contextmanager
    def _memory(self) -> Iterator[None]:
        """Says what to do where memory runs out."""
        advice = (
            f"training ran out of memory; lower micro_tokens (now {self.options.micro_tokens})"
            ", set gradient_checkpointing=True or train a LoRA"
        )
        with saying_when_full(ModelError(advice)):
            yield
