"""The smallest model that generates, and a run of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def llama() -> Any:
    """Two layers over 23 tokens, tied."""
    # Imported here: it is slow, and a test's child process that is killed needs none of it.
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=23,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        tie_word_embeddings=True,
    )
    return LlamaForCausalLM(config).eval().requires_grad_(False)


def build(directory: Path, config: Any, model: Any, **options: Any) -> Any:
    """The run that these settings begin, or go on with, in a directory."""
    told = {"seed": 7, "directory": directory, "base_digest": "base", **options}
    return config.build(model, **told)
