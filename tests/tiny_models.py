"""Small random models of each supported family over a byte-level tokenizer that merges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

FAMILIES = ("llama", "qwen2", "qwen3")
CORPUS = ["theorem and_swap (p q : Prop) : p ∧ q → q ∧ p := by exact fun h => ⟨h.2, h.1⟩\n\n"] * 4


def build_tokenizer() -> Any:
    """Byte-level BPE with some merges and one special token."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=290,
        special_tokens=["<eos>"],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<eos>")


def build_model(family: str = "llama", *, layers: int = 2, seed: int = 0, **options: Any) -> Any:
    """A random model of `family` whose logits are spread enough to tell errors."""
    import transformers

    names = {"llama": "Llama", "qwen2": "Qwen2", "qwen3": "Qwen3"}
    config_class = getattr(transformers, f"{names[family]}Config")
    if family == "qwen3":
        options.setdefault("head_dim", 16)
    config = config_class(
        vocab_size=300,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        initializer_range=0.15,
        bos_token_id=None,
        eos_token_id=0,
        pad_token_id=None,  # a padding row is all zeros, and its tied logit could not be learnt
        **{"tie_word_embeddings": True, **options},
    )
    torch.manual_seed(seed)
    model = getattr(transformers, f"{names[family]}ForCausalLM")(config)
    return model.eval().requires_grad_(False)


def loaded(family: str = "llama", **options: Any) -> Any:
    """As `load_model` would give it, without a directory."""
    from proofgym.models import LoadedModel, weights_digest

    model = build_model(family, **options)
    digest = weights_digest(model)
    return LoadedModel(model, build_tokenizer(), digest, digest, "tiny")


def save(directory: Path, family: str = "llama", **options: Any) -> Path:
    """A model directory."""
    build_model(family, **options).save_pretrained(directory)
    build_tokenizer().save_pretrained(directory)
    return directory
