"""Tiny models, and the exact state of a population of each after its first update."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

from proofgym.evolution import manifest, specification
from proofgym.evolution.history import Update
from proofgym.evolution.state import State, named

# Largest difference of logits, as a share of the largest logit: some ulps of the dtype.
TOLERANCE = {torch.float32: 2e-6, torch.bfloat16: 2e-2, torch.float16: 2e-3}
torch.set_num_threads(1)  # these matrices are too small to share
KINDS = {"llama": (LlamaConfig, LlamaForCausalLM), "qwen2": (Qwen2Config, Qwen2ForCausalLM)}


def model(kind="llama", dtype=torch.float32, tied=True):
    config, made = KINDS[kind]
    torch.manual_seed(0)
    return (
        made(
            config(
                vocab_size=61,
                hidden_size=32,
                intermediate_size=48,
                num_hidden_layers=3,
                num_attention_heads=4,
                num_key_value_heads=2,
                tie_word_embeddings=tied,
            )
        )
        .to(dtype)
        .eval()
        .requires_grad_(False)
    )


def updated(made, rank=None, noise="rademacher", members=6, patterns=("*",), antithetic=True):
    """The state after one update, whose weights the model then holds."""
    chosen = specification.choose(
        seed=1,
        kind=noise,
        rank=rank,
        antithetic=antithetic,
        population=members,
        sigma=2**-6,
        learning_rate=2**-8,
    )
    listed = manifest.build(made, patterns, chosen)
    state = State(listed, chosen, named(made, listed))
    state.apply(Update(0, tuple(range(-2000, members * 1000 - 2000, 1000)), members))
    state.write_current(named(made, listed))
    return state
