"""How likely a model finds given tokens: forward passes alone, whatever trains the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from proofgym.errors import EngineError
from proofgym.memory import saying_when_full
from proofgym.products import fast_products
from proofgym.trainer.rows import lay_out, microbatches
from proofgym.trainer.sample import Sample
from proofgym.trainer.scorer import Scorer
from proofgym.trainer.tokens import read

#: Tokens in one forward pass, padding included (a longer sample goes alone): no logits but theirs
#: are held at once.
BATCH_TOKENS = 1024


@torch.no_grad()
def log_likelihoods(
    model: Any, samples: Sequence[Sample], advance: Callable[[int], None] = lambda count: None
) -> NDArray[np.float64]:
    """Natural log-probability of all drawn tokens of each sample together, (S,), at temperature 1.

    `model` (Llama, Qwen2, Qwen3 families) computes in its own precision; the sums are in float64.
    `advance` is told of each pass how many samples it was. The same samples give the same numbers
    bit for bit, in other company up to rounding. Raises EngineError where memory runs out.
    """
    scorer, device = Scorer(model), next(model.parameters()).device
    sums_S = np.zeros(len(samples))
    linears = [it for it in model.modules() if isinstance(it, nn.Linear)]
    rows = lay_out(samples, model.config.hidden_size, share=False)
    for batch in microbatches(rows, BATCH_TOKENS):
        advice = (
            f"out of memory with {len(batch)} x {len(batch[0].ids)} tokens: shorten the texts, "
            "or lower Local.max_batch, whose sequences take memory too"
        )
        with saying_when_full(EngineError(advice)), fast_products(linears):
            tokens = read(scorer, batch, samples, 1.0, device)
        logprobs_K = tokens.logprobs.double().cpu().numpy()
        places = [place for row in batch for place in row.samples]
        sums_S[places] = np.bincount(tokens.sequence.cpu().numpy(), logprobs_K, len(places))
        advance(len(places))
    return sums_S
