"""Runs a transformers causal LM layer by layer, for the passes that generation needs.

Driving the modules (embedding, layers, norm, head) instead of the model's own forward gives
three things: the prompt pass of layers below a population's first perturbed layer runs once a
prompt whatever the number of members; logits are computed only where a token is drawn; keys
and values live in a `RowCache`. The modules themselves are untouched, so anything that patches
them (adapters, a factored population) works as it is.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor

from proofgym.engines.cache import PromptCache, RowCache
from proofgym.errors import EngineError


class Decoder:
    """The forward passes of a decoder-only model (Llama, Qwen2 and Qwen3 families).

    Raises EngineError for a model without the usual `embed_tokens`, `layers`, `norm` and
    `rotary_emb`, or with sliding-window layers.
    """

    def __init__(self, model: Any) -> None:
        body: Any = getattr(model, "model", None)
        parts = ("embed_tokens", "layers", "norm", "rotary_emb")
        missing = [part for part in parts if not hasattr(body, part)]
        if missing:
            raise EngineError(
                f"{type(model).__name__} has no model.{missing[0]}; the transformers engine "
                "drives Llama, Qwen2 and Qwen3 style models; use the vLLM or server engine instead"
            )
        if "sliding_attention" in (getattr(model.config, "layer_types", None) or ()):
            raise EngineError(
                "sliding-window layers are not supported; use the vLLM or server engine"
            )
        self.body, self.head, self.config = body, model.get_output_embeddings(), model.config
        self.layers = list(body.layers)
        self._cache_name = _cache_argument(self.layers[0])

    @property
    def device(self) -> torch.device:
        return self.body.embed_tokens.weight.device

    @torch.no_grad()
    def embed(self, ids_NT: Tensor) -> Tensor:
        """Hidden states (N, T, D) of token ids."""
        return self.body.embed_tokens(ids_NT)

    @torch.no_grad()
    def prompt(self, hidden_NTD: Tensor, first: int, last: int) -> tuple[Tensor, PromptCache]:
        """Layers [first, last) over whole prompts, padded on the right; causal, no mask needed.

        What the padding computes is never read: later positions cannot reach earlier ones, and
        decoding overwrites the padded slots before it looks at them.
        """
        cache = PromptCache()
        positions_1T = torch.arange(hidden_NTD.shape[1], device=hidden_NTD.device)[None]
        return self._run(hidden_NTD, first, last, positions_1T, None, cache), cache

    @torch.no_grad()
    def step(self, ids_N: Tensor, positions_N: Tensor, span: int, cache: RowCache) -> Tensor:
        """One token a row: hidden states (N, D) after feeding `ids_N` at `positions_N`."""
        hidden_N1D = self.embed(ids_N[:, None])
        reach_S = torch.arange(span, device=ids_N.device)
        mask_N11S = (reach_S <= positions_N[:, None])[:, None, None]
        cache.at(positions_N, span)
        last = len(self.layers)
        return self._run(hidden_N1D, 0, last, positions_N[:, None], mask_N11S, cache)[:, 0]

    @torch.no_grad()
    def logits(self, hidden_NTD: Tensor) -> Tensor:
        """Logits (N, T, V) of final hidden states."""
        return self.head(self.body.norm(hidden_NTD))

    def _run(
        self,
        hidden_NTD: Tensor,
        first: int,
        last: int,
        positions_NT: Tensor,
        mask: Tensor | None,
        cache: Any,
    ) -> Tensor:
        rotary = self.body.rotary_emb(hidden_NTD, positions_NT)
        for layer in self.layers[first:last]:
            output = layer(
                hidden_NTD,
                attention_mask=mask,
                position_ids=positions_NT,
                position_embeddings=rotary,
                use_cache=True,
                **{self._cache_name: cache},
            )
            hidden_NTD = output[0] if isinstance(output, tuple) else output  # before 4.54
        return hidden_NTD


def _cache_argument(layer: Any) -> str:
    """The layers' name for the cache: it changed twice across transformers releases."""
    known = inspect.signature(inspect.unwrap(type(layer).forward)).parameters
    for name in ("cache", "past_key_values", "past_key_value"):
        if name in known:
            return name
    raise EngineError(
        f"{type(layer).__name__} of this transformers release takes no cache that proofgym "
        "knows; use transformers 4.46 to 5.x, or the vLLM engine"
    )
