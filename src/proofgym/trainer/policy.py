"""The weights that are trained, beside the model that the engine samples from.

Both share every tensor that can be shared. All weights in float32: the engine's own tensors are
trained, and nothing is transferred. In a lower precision the trained ones are a float32 master
copy, rounded into the engine's after each step. With LoRA only the factors are trained; the
engine's adapted matrices become round(W + s·B·A), always from the unchanged W: nothing drifts.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from proofgym.trainer.lora import adapt, base_weights, factors, merged
from proofgym.trainer.options import LoRA
from proofgym.trainer.scorer import Scorer


class Policy:
    """A trainable model over `engine_model`'s weights."""

    def __init__(
        self,
        engine_model: Any,
        lora: LoRA | None,
        seed: int,
        reference: bool,
        own: bool = False,
        pull: bool = False,
    ) -> None:
        """`reference` keeps the weights as they are; `own` shares no tensor that is trained; `pull`
        is the scorer's."""
        self.stored: torch.dtype = engine_model.dtype
        """The engine's precision."""
        self.version = 0
        """How often it was published."""
        self._engine = dict(engine_model.named_parameters())
        self._adapted: Any = None
        if lora is not None:
            self._adapted = adapt(_twin(engine_model), lora, seed, "lora")
            _own_base_weights(self._adapted)
            model = self._adapted.get_base_model()
        elif engine_model.dtype == torch.float32 and not own:
            model = _twin(engine_model).requires_grad_(True)
        else:
            model = copy.deepcopy(engine_model).float().requires_grad_(True)
        self.scorer = Scorer(model, pull)
        self._reference = None
        if reference and lora is None:
            # In the precision of what is trained, or it would be a distance from itself.
            self._reference = Scorer(copy.deepcopy(engine_model).float().requires_grad_(False))

    @property
    def scorers(self) -> list[Scorer]:
        """The one that is trained, and the reference if it has tensors of its own."""
        return [self.scorer] + ([self._reference] if self._reference else [])

    @property
    def trained(self) -> dict[str, Any]:
        """What the optimiser changes, by name in the model."""
        return {
            name: parameter
            for name, parameter in self.scorer.model.named_parameters()
            if parameter.requires_grad
        }

    @property
    def published(self) -> dict[str, Any]:
        """The engine's tensors that training changes, by name."""
        names = self.trained if self._adapted is None else self.factors()
        return {name: self._engine[name] for name in names}

    def factors(self) -> dict[str, tuple[Tensor, Tensor, float]]:
        """Of a LoRA: B, A and the scale, by the names of the engine's tensors."""
        return {} if self._adapted is None else factors(self._adapted)

    @contextmanager
    def reference(self) -> Iterator[Scorer]:
        """The model before any training."""
        if self._adapted is not None:
            with self._adapted.disable_adapter():
                yield self.scorer
        else:
            assert self._reference is not None, "Policy(reference=True) keeps one"
            yield self._reference

    @torch.no_grad()
    def publish(self) -> int:
        """Bring the engine's weights up to date; returns how many tensors were written."""
        written = 0
        self.version += 1
        if self._adapted is not None:
            bases = base_weights(self._adapted)
            for name, (left, right, scale) in self.factors().items():
                self._engine[name].copy_(merged(bases[name], left, right, scale))
                written += 1
            return written
        for name, parameter in self.trained.items():
            if self._engine[name] is not parameter:
                self._engine[name].copy_(whole(parameter))
                written += 1
        return written

    def close(self) -> None:
        """The engine's model asks for no gradients any more."""
        for parameter in self._engine.values():
            parameter.requires_grad_(False)


def whole(tensor: Tensor) -> Tensor:
    """A tensor in one piece; where it is in shards, every rank must ask for it together."""
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


@torch.no_grad()
def restore(model: Any, weights: Mapping[str, Tensor], lora: Mapping[str, Any] | None) -> None:
    """Give `model`, which holds the weights before training, those that a checkpoint holds."""
    parameters = dict(model.named_parameters())
    if lora is None:
        for name, weight in weights.items():
            parameters[name].copy_(weight)
        return
    scale = lora["alpha"] / lora["rank"]
    for name, right in weights.items():
        tensor, mark, rest = name.partition(".lora_A.")
        if mark:
            base, left = parameters[f"{tensor}.weight"], weights[f"{tensor}.lora_B.{rest}"]
            base.copy_(merged(base, left.to(base.device), right.to(base.device), scale))


def _twin(model: Any) -> Any:
    """Modules of their own over the very same tensors."""
    shared = [*model.parameters(), *model.buffers()]
    return copy.deepcopy(model, {id(tensor): tensor for tensor in shared})


def _own_base_weights(adapted: Any) -> None:
    """Below the factors, copies: the engine's matrices will hold the merged weights."""
    for module in adapted.get_base_model().modules():
        if hasattr(module, "lora_A"):
            weight: Tensor = module.base_layer.weight
            module.base_layer.weight = torch.nn.Parameter(weight.detach().clone(), False)
