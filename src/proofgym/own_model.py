"""lean-tiny: a small model of the project's own, for a training run that takes minutes on a CPU.

A Llama of 3.4 million weights with a tokenizer for Lean. Untrained it is a pure function of its
seed; `proofgym sft` on the warm-up proofs made the weights that come with proofgym.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from proofgym.random import stream, uniforms

DIRECTORY = Path(__file__).parent / "own_models" / "lean-tiny"
UNTRAINED = "lean-tiny-untrained"
VOCABULARY = 768
END = "<|end|>"
PAD = "<|pad|>"
_SPREAD = 0.02
#: Words with the space before them, signs, and indentation; names with dots stay whole.
_PIECES = r" ?[A-Za-z_α-ω][\w.'α-ω]*| ?\d| ?[^\s\w]|\n *| +"
SHAPE: dict[str, Any] = {
    "hidden_size": 256,
    "intermediate_size": 704,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "max_position_embeddings": 512,
    "tie_word_embeddings": True,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
}


def train_tokenizer(texts: Iterable[str]) -> Any:
    """A byte-level BPE tokenizer (Sennrich et al., 2016) whose pieces are Lean's words."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[PAD, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END,
        pad_token=PAD,
        clean_up_tokenization_spaces=False,
    )


def untrained(tokenizer: Any, seed: int = 0) -> Any:
    """The model before any training, in float16: the same bits everywhere for one seed."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=len(tokenizer),
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        **SHAPE,
    )
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            if parameter.ndim == 1:
                parameter.fill_(1.0)
                continue
            names = np.full(parameter.numel(), stream(seed, f"untrained {name}"), np.uint64)
            draws = uniforms(names, np.arange(parameter.numel()))
            values = (draws * 2 - 1) * (3**0.5 * _SPREAD)
            parameter.copy_(torch.from_numpy(values.astype(np.float32)).view(parameter.shape))
    return model.half().eval()
