"""Takes optimiser steps on samples, for any loss that is a function of their drawn tokens."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from proofgym.errors import ModelError, RunError
from proofgym.trainer.logprobs import logprobs
from proofgym.trainer.options import TrainerOptions
from proofgym.trainer.policy import Policy
from proofgym.trainer.rows import Row, lay_out, microbatches
from proofgym.trainer.sample import Sample


@dataclass(slots=True)
class Tokens:
    """The drawn tokens of some whole sequences, K of them, as a loss sees them."""

    logprobs: Tensor
    """(K,) under the model in training, at the sampling temperature; differentiable."""
    entropy: Tensor
    """(K,) of the distribution each token was drawn from, in nats; differentiable."""
    sequence: Tensor
    """(K,) int64: which sequence each belongs to, from 0."""
    sequences: int
    values: dict[str, Tensor]
    """`Sample.values`, each (K,)."""

    def __getitem__(self, name: str) -> Tensor:
        return self.values[name]


#: From tokens to the loss, a sum whose gradients accumulate over the passes of a step, and to
#: further sums to report.
Loss = Callable[[Tokens], tuple[Tensor, dict[str, Tensor]]]


class Trainer:
    """Trains the weights of `engine_model` (Llama, Qwen2, Qwen3 families), in place where it can.

    `temperature` divides the logits, as it did when the tokens were drawn. `reference` keeps the
    weights as they are now, to measure the distance from.
    """

    def __init__(
        self,
        engine_model: Any,
        options: TrainerOptions,
        *,
        seed: int = 0,
        temperature: float = 1.0,
        reference: bool = False,
    ) -> None:
        self.options, self.temperature = options, temperature or 1.0
        self.policy = Policy(engine_model, options.lora, seed, reference)
        self.device = next(iter(self.policy.trained.values())).device
        self.steps = 0
        """Optimiser steps taken."""
        if options.gradient_checkpointing:
            for layer in self.policy.model.model.layers:
                layer.forward = functools.partial(checkpoint, layer.forward, use_reentrant=False)
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
        for batch in self._batches(samples):
            with self._memory():
                value, report = loss(
                    self._tokens(self.policy.model, batch, samples, self.temperature)
                )
                value.backward()  # type: ignore[no-untyped-call]
            for name, number in {"loss": value, **report}.items():
                sums[name] = sums.get(name, torch.zeros_like(number)) + number.detach()
        if not sums:
            return {"loss": 0.0, "gradient_norm": 0.0}
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
    ) -> list[np.ndarray[Any, np.dtype[np.float32]]]:
        """Log-probability of each sample's drawn tokens, (N,) each, under the weights in training
        or those before any; at the sampling temperature unless another is given."""
        heat = self.temperature if temperature is None else temperature
        found: list[Any] = [np.zeros(0, np.float32) for _ in samples]
        for batch in self._batches(samples):
            with self._memory():
                if reference:
                    with self.policy.reference() as model:
                        values = self._tokens(model, batch, samples, heat).logprobs
                else:
                    values = self._tokens(self.policy.model, batch, samples, heat).logprobs
            listed, start = values.cpu().numpy(), 0
            for place in (place for row in batch for place in row.samples):
                found[place] = listed[start : start + samples[place].count]
                start += samples[place].count
        return found

    def publish(self) -> int:
        """Give the engine the current weights; returns how many tensors that wrote."""
        return self.policy.publish()

    def state(self) -> dict[str, Tensor]:
        """Trained weights and the optimiser's moments, by kind and name; the very tensors."""
        found: dict[str, Tensor] = {}
        for name, parameter in self.policy.trained.items():
            found[f"weight/{name}"] = parameter.detach()
            held = self.optimiser.state.get(parameter, {})
            if held:
                found[f"first/{name}"] = held["exp_avg"]
                found[f"second/{name}"] = held["exp_avg_sq"]
        return found

    @torch.no_grad()
    def load(self, state: dict[str, Tensor], steps: int) -> None:
        """Go on from what `state` gave after so many steps, and publish it. Raises RunError where
        it belongs to other weights."""
        wanted = {f"weight/{name}" for name in self.policy.trained}
        if wanted != {name for name in state if name.startswith("weight/")}:
            raise RunError("the checkpoint holds other tensors than this job trains")
        self.steps = steps
        for name, parameter in self.policy.trained.items():
            parameter.copy_(state[f"weight/{name}"])
            if f"first/{name}" in state:
                self.optimiser.state[parameter] = {
                    "step": torch.tensor(float(steps), device=_step_device(parameter)),
                    "exp_avg": state[f"first/{name}"].to(parameter.device).clone(),
                    "exp_avg_sq": state[f"second/{name}"].to(parameter.device).clone(),
                }
        self.publish()

    def close(self) -> None:
        self.policy.close()

    def _batches(self, samples: Sequence[Sample]) -> list[list[Row]]:
        width = self.policy.model.config.hidden_size
        rows = lay_out(samples, width, self.options.share_prompts)
        return microbatches(rows, self.options.micro_tokens)

    def _clip(self) -> float:
        norm = torch.nn.utils.clip_grad_norm_(
            self.policy.trained.values(), self.options.clip_norm, foreach=True
        )
        if not math.isfinite(float(norm)):
            self.optimiser.zero_grad(set_to_none=True)
            raise RunError(
                f"the gradient of step {self.steps + 1} is {float(norm)}; lower the learning rate. "
                "Nothing was updated"
            )
        return float(norm)

    def _tokens(
        self, model: Any, batch: Sequence[Row], samples: Sequence[Sample], temperature: float
    ) -> Tokens:
        ids_BT, positions_BT, mask_B1TT = _inputs(batch, self.device)
        with self._autocast():
            hidden_BTD = model.model(
                ids_BT, attention_mask=mask_B1TT, position_ids=positions_BT, use_cache=False
            ).last_hidden_state
            places = [
                (number, column) for number, row in enumerate(batch) for column in row.columns
            ]
            rows_K, columns_K = torch.tensor(places, device=self.device).T
            targets_K = torch.tensor([t for row in batch for t in row.targets], device=self.device)
            logprobs_K, entropy_K = logprobs(
                hidden_BTD[rows_K, columns_K],
                model.get_output_embeddings(),
                targets_K,
                temperature,
            )
        held = [samples[place] for row in batch for place in row.samples]
        counts = torch.tensor([sample.count for sample in held])
        values = {
            name: torch.from_numpy(np.concatenate([it.values[name] for it in held]))
            for name in held[0].values
        }
        return Tokens(
            logprobs_K,
            entropy_K,
            torch.repeat_interleave(torch.arange(len(held)), counts).to(self.device),
            len(held),
            {name: value.to(self.device) for name, value in values.items()},
        )

    @property
    def exact(self) -> bool:
        """Whether everything, the engine's weights too, is in float32."""
        return not self._low and self.policy.stored == torch.float32

    @property
    def _low(self) -> bool:
        automatic = self.options.precision == "auto" and self.device.type == "cuda"
        return automatic or self.options.precision == "bfloat16"

    def _autocast(self) -> AbstractContextManager[Any]:
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self._low)

    def _memory(self) -> AbstractContextManager[Any]:
        return _Memory(self.options.micro_tokens)


class _Memory:
    """Says what to do where memory runs out."""

    def __init__(self, tokens: int) -> None:
        self._tokens = tokens

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, torch.OutOfMemoryError):
            raise ModelError(
                f"training ran out of memory; lower micro_tokens (now {self._tokens}), set "
                "gradient_checkpointing=True or train a LoRA"
            ) from error


def _step_device(parameter: Tensor) -> torch.device:
    """A fused optimiser counts its steps where the parameter is."""
    return parameter.device


def _inputs(batch: Sequence[Row], device: torch.device) -> tuple[Tensor, Tensor, Tensor | None]:
    """Ids and positions (B, T), padded on the right, and what each token sees, (B, 1, T, T): None
    where that is every token before it."""
    longest = len(batch[0].ids)
    ids = torch.tensor([row.ids + [0] * (longest - len(row.ids)) for row in batch])
    positions = torch.tensor(
        [row.positions + [0] * (longest - len(row.ids)) for row in batch], device=device
    )
    if all(len(row.samples) == 1 for row in batch):
        return ids.to(device), positions, None
    owners_BT = torch.tensor(
        [row.owners + [-1] * (longest - len(row.ids)) for row in batch], device=device
    )
    keys_B1T, queries_BT1 = owners_BT[:, None, :], owners_BT[:, :, None]
    sees = (keys_B1T == 0) | (keys_B1T == queries_BT1)
    causal = torch.ones(longest, longest, dtype=torch.bool, device=device).tril()
    return ids.to(device), positions, (sees & causal)[:, None]
