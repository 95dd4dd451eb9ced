"""Low-rank adapters to train (LoRA, Hu et al., arXiv 2106.09685), put in place by peft."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor

from proofgym.errors import ModelError
from proofgym.random import stream, uniforms
from proofgym.trainer.options import LoRA


def adapt(model: Any, lora: LoRA, seed: int, purpose: str) -> Any:
    """Put factors on every linear layer of the decoder, with seeded first values.

    Returns peft's model, in evaluation mode; only its factors ask for gradients. Raises ModelError
    where peft is missing.
    """
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError as error:
        raise ModelError(
            "training an adapter needs the package peft: pip install peft, or train all weights"
        ) from error

    from proofgym.models import named_linears

    targets = sorted({name.rsplit(".", 1)[-1] for name, _ in named_linears(model)})
    config = LoraConfig(r=lora.rank, lora_alpha=lora.alpha, target_modules=targets)  # type: ignore[arg-type]
    with torch.random.fork_rng(), warnings.catch_warnings():
        # Its own first values come from the global generator; its warnings are for its authors.
        warnings.simplefilter("ignore", FutureWarning)
        adapted = get_peft_model(model, config)
    for name, parameter in adapted.named_parameters():
        if "lora_A" in name:
            draws = uniforms([stream(seed, f"{purpose} {name}")], range(parameter.numel()))
            bound = parameter.shape[1] ** -0.5
            values = torch.from_numpy(draws * 2 * bound - bound).view(parameter.shape)
            parameter.data = values.to(parameter.device, torch.float32)
        elif "lora_B" in name:
            parameter.data = torch.zeros_like(parameter, dtype=torch.float32)
    return adapted.eval()


def factors(adapted: Any) -> dict[str, tuple[Tensor, Tensor, float]]:
    """B (rows, rank), A (rank, columns) and the scale, by the base model's tensor names."""
    found = {}
    for name, module in adapted.get_base_model().named_modules():
        if hasattr(module, "lora_A"):
            left, right = module.lora_B["default"].weight, module.lora_A["default"].weight
            found[f"{name}.weight"] = left, right, float(module.scaling["default"])
    return found


def base_weights(adapted: Any) -> dict[str, Tensor]:
    """The unchanged weight below each pair of factors, by the base model's tensor names."""
    return {
        f"{name}.weight": module.base_layer.weight
        for name, module in adapted.get_base_model().named_modules()
        if hasattr(module, "lora_A")
    }


def merged(base: Tensor, left: Tensor, right: Tensor, scale: float) -> Tensor:
    """round(f32(W) + s·(B·A)) in W's dtype."""
    return (base.float() + scale * (left.float() @ right.float())).to(base.dtype)
