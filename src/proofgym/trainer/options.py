"""How weights are trained, whatever the loss."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from proofgym.config import Config
from proofgym.schedule import Schedule


class LoRA(Config):
    """Train factors B·A added to every linear layer of the decoder, instead of all weights."""

    rank: int = Field(16, ge=1, le=256)
    """Columns of B."""
    alpha: float = Field(32.0, gt=0, allow_inf_nan=False)
    """The change is scaled by alpha / rank."""


class TrainerOptions(Config):
    """Optimiser, precision and memory of gradient training."""

    learning_rate: float = Field(2e-6, gt=0, allow_inf_nan=False)
    """AdamW's; about 1e-6 for all weights, 1e-5 to 1e-4 for LoRA."""
    learning_rate_schedule: Schedule = Schedule()
    """Factors of it over the iterations: `[(0, 0.1), (10, 1.0)]` is a warm-up."""
    lora: LoRA | None = None
    """Train low-rank factors; None trains all weights, with a float32 master copy."""
    betas: tuple[float, float] = (0.9, 0.999)
    """AdamW's decay rates of the first and second moments."""
    weight_decay: float = Field(0.0, ge=0, allow_inf_nan=False)
    """AdamW's decoupled decay."""
    clip_norm: float = Field(1.0, gt=0)
    """Largest norm of a step's gradient; infinity does not clip."""
    micro_tokens: int = Field(16_384, ge=1)
    """Most tokens in one forward pass, padding included; the gradients of a step accumulate over
    such passes. A longer single sequence goes alone."""
    share_prompts: bool = True
    """Compute the prompt of a group once for several completions, where that costs less."""
    gradient_checkpointing: bool = False
    """Keep only each layer's input and compute the rest again for the gradient: less memory, about
    a third more time."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of the products in training; auto is bfloat16 on a GPU and float32 on a CPU."""

    @field_validator("betas")
    @classmethod
    def _decay(cls, value: tuple[float, float]) -> tuple[float, float]:
        if not all(0 <= beta < 1 for beta in value):
            raise ValueError("each must be at least 0 and below 1")
        return value
