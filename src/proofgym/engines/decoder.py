"""Runs a transformers causal LM layer by layer, for the passes that generation needs.

Driving the modules (embedding, layers, norm, head) instead of the model's own forward gives
three things: the prompt pass of layers below a population's first perturbed layer runs once a
prompt whatever the number of members; logits are computed only where a token is drawn; keys
and values live in a `RowCache`. The modules themselves are untouched, so anything that patches
them (adapters, a factored population) works as it is.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from proofgym.engines.cache import MoreCache, PromptCache, RowCache, StepCache, sent
from proofgym.engines.compiling import compiled
from proofgym.engines.grouped_attention import BY_KERNEL, grouped_attention
from proofgym.engines.sampler import sample
from proofgym.errors import EngineError
from proofgym.products import fast_products

log = logging.getLogger("proofgym")


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
                f"{type(model).__name__} has no model.{missing[0]}: proofgym drives models of the "
                "Llama, Qwen2 and Qwen3 families"
            )
        if _slides(model.config):
            raise EngineError(
                "sliding-window layers are not supported: use a model that attends to all positions"
            )
        self.body, self.head, self.config = body, model.get_output_embeddings(), model.config
        self.layers = list(body.layers)
        self._linears = [it for it in body.modules() if isinstance(it, nn.Linear)]
        self._cache_name = _cache_argument(self.layers[0])
        self.step_layer: Callable[..., Tensor] = _step_layer
        self.row_layer: Callable[..., Tensor] = _row_layer
        self.draw: Callable[..., tuple[Tensor, Tensor]] = draw
        self.likelihood: Callable[..., Tensor] = likelihood
        self._uncompilable = False

    def compile(self) -> None:
        """Fuse what lies between the matrix products of steps and rows; takes some seconds, once.
        Where torch cannot compile, they stay as they are."""
        if self.step_layer is _step_layer and not self._uncompilable:
            self.step_layer = compiled(_step_layer)
            self.row_layer = compiled(_row_layer)
            self.draw = compiled(draw)
            self.likelihood = compiled(likelihood)

    @contextmanager
    def uncompiled_if_that_fails(self) -> Iterator[None]:
        """What is run inside is a first time. After a failure the next one is not compiled."""
        try:
            yield
        except torch._dynamo.exc.TorchDynamoException as error:
            self._uncompilable = True
            self.step_layer, self.draw = _step_layer, draw
            self.row_layer, self.likelihood = _row_layer, likelihood
            log.warning("decoding is not compiled and slower: %s", str(error).split("\n")[0])

    @property
    def by_kernel(self) -> bool:
        """Whether a row's attention ends where the row does, whatever the span of a step."""
        return self.device.type in BY_KERNEL

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
        rotary = self.body.rotary_emb(hidden_NTD, positions_1T)
        with fast_products(self._linears):
            for layer in self.layers[first:last]:
                hidden_NTD = _run(
                    layer, self._cache_name, hidden_NTD, None, positions_1T, rotary, cache
                )
        return hidden_NTD, cache

    @torch.no_grad()
    def more(self, ids_NT: Tensor, starts: Sequence[int], first: int, cache: RowCache) -> Tensor:
        """Hidden states (N, T, D) of what is new in the rows of `cache` from the slot `first` on,
        each of which has `starts` positions already. Padded on the right, as prompts are."""
        tokens, device = ids_NT.shape[1], ids_NT.device
        positions_NT = sent(starts, device)[:, None] + torch.arange(tokens, device=device)
        span = min(max(starts) + tokens, cache.length + 1)
        # Padding that has no room goes where no token looks: behind all that are real.
        positions_NT = positions_NT.clamp(max=span - 1)
        hidden_NTD = self.embed(ids_NT)
        rotary = self.body.rotary_emb(hidden_NTD, positions_NT)
        mask_N1TS = _mask(positions_NT, span, hidden_NTD.dtype)
        with fast_products(self._linears):
            for number, layer in enumerate(self.layers):
                view = cache.view(number, len(ids_NT), span, first)
                kept = MoreCache(*view, positions_NT)
                hidden_NTD = _run(
                    layer, self._cache_name, hidden_NTD, mask_N1TS, positions_NT, rotary, kept
                )
        return hidden_NTD

    @torch.no_grad()
    def step(
        self, ids_N: Tensor, positions_N: Tensor, span: int, cache: RowCache, fused: bool = False
    ) -> Tensor:
        """One token a row: hidden states (N, D) after feeding `ids_N` at `positions_N`; attention
        sees positions [0, span). `fused`: as compiled, if it is."""
        step_layer = self.step_layer if fused else _step_layer
        hidden_N1D = self.embed(ids_N[:, None])
        positions_N1 = positions_N[:, None]
        rotary = self.body.rotary_emb(hidden_N1D, positions_N1)
        mask_N11S = None if self.by_kernel else _mask(positions_N1, span, hidden_N1D.dtype)
        with grouped_attention(self.config), fast_products(self._linears):
            for number, layer in enumerate(self.layers):
                view = cache.view(number, len(ids_N), span)
                hidden_N1D = step_layer(
                    layer, self._cache_name, hidden_N1D, mask_N11S, positions_N, rotary, *view
                )
        return hidden_N1D[:, 0]

    @torch.no_grad()
    def read(
        self, ids_NT: Tensor, positions_NT: Tensor, mask_N1TT: Tensor | None, fused: bool = False
    ) -> Tensor:
        """Hidden states (N, T, D) of whole rows, in which a token sees what the mask says; None:
        all that is before it. `fused`: as compiled, if it is."""
        row_layer = self.row_layer if fused else _row_layer
        hidden_NTD = self.embed(ids_NT)
        rotary = self.body.rotary_emb(hidden_NTD, positions_NT)
        with fast_products(self._linears):
            for layer in self.layers:
                hidden_NTD = row_layer(
                    layer, self._cache_name, hidden_NTD, mask_N1TT, positions_NT, rotary
                )
        return hidden_NTD

    @torch.no_grad()
    def logits(self, hidden_NTD: Tensor) -> Tensor:
        """Logits (N, T, V) of final hidden states."""
        with fast_products([self.head]):
            return self.head(self.body.norm(hidden_NTD))


def _mask(positions_NT: Tensor, span: int, dtype: torch.dtype) -> Tensor:
    """(N, 1, T, S) to add to scores: 0 up to each token's position, -inf beyond."""
    unseen_NTS = torch.arange(span, device=positions_NT.device) > positions_NT[..., None]
    mask_NTS = torch.zeros_like(unseen_NTS, dtype=dtype)
    return mask_NTS.masked_fill_(unseen_NTS, float("-inf"))[:, None]


def _run(
    layer: Any,
    cache_name: str,
    hidden_NTD: Tensor,
    mask: Tensor | None,
    positions_NT: Tensor,
    rotary: tuple[Tensor, Tensor],
    cache: Any,
    **attention: Any,
) -> Tensor:
    """Hidden states (N, T, D) after one layer."""
    output = layer(
        hidden_NTD,
        attention_mask=mask,
        position_ids=positions_NT,
        position_embeddings=rotary,
        use_cache=True,
        **{cache_name: cache},
        **attention,
    )
    return output[0] if isinstance(output, tuple) else output  # before 4.54


def _step_layer(
    layer: Any,
    cache_name: str,
    hidden_N1D: Tensor,
    mask_N11S: Tensor | None,
    positions_N: Tensor,
    rotary: tuple[Tensor, Tensor],
    keys_NKSH: Tensor,
    values_NKSH: Tensor,
) -> Tensor:
    """One layer of a decoding step. A function of tensors and the layer's own, so that compiled
    once it serves every layer."""
    cache = StepCache(keys_NKSH, values_NKSH, positions_N, later=mask_N11S is None)
    positions_N1 = positions_N[:, None]
    return _run(
        layer, cache_name, hidden_N1D, mask_N11S, positions_N1, rotary, cache, step_cache=cache
    )


def _row_layer(
    layer: Any,
    cache_name: str,
    hidden_NTD: Tensor,
    mask_N1TT: Tensor | None,
    positions_NT: Tensor,
    rotary: tuple[Tensor, Tensor],
) -> Tensor:
    """One layer over whole rows, compiled as `_step_layer` is."""
    return _run(layer, cache_name, hidden_NTD, mask_N1TT, positions_NT, rotary, None)


def draw(
    norm: Any,
    head: Any,
    hidden_N1D: Tensor,
    uniforms_N: Tensor,
    temperature: float,
    top_p: float,
) -> tuple[Tensor, Tensor]:
    """Tokens (N,) and their log-probabilities (N,) from final hidden states."""
    return sample(head(norm(hidden_N1D))[:, 0], uniforms_N, temperature, top_p)


def likelihood(
    norm: Any,
    head: Any,
    hidden_NCD: Tensor,
    targets_NC: Tensor,
    weights_NC: Tensor,
    temperature: float,
) -> Tensor:
    """Σ weight·log π (N,) in float64 of target tokens, from final hidden states."""
    logits_NCV = head(norm(hidden_NCD))
    if temperature != 1:
        logits_NCV = logits_NCV.float() / temperature
    chosen_NC = logits_NCV.gather(-1, targets_NC[..., None])[..., 0].float()
    logs_NC = chosen_NC - logits_NCV.float().logsumexp(-1)
    return (logs_NC.double() * weights_NC).sum(-1)


def _slides(config: Any) -> bool:
    """Whether a layer sees a window of the positions before it."""
    kinds = getattr(config, "layer_types", None)
    if kinds is not None:
        return "sliding_attention" in kinds
    used = getattr(config, "use_sliding_window", True)
    return bool(used and getattr(config, "sliding_window", None))


def _cache_argument(layer: Any) -> str:
    """The layers' name for the cache: it changed twice across transformers releases."""
    known = inspect.signature(inspect.unwrap(type(layer).forward)).parameters
    for name in ("cache", "past_key_values", "past_key_value"):
        if name in known:
            return name
    raise EngineError(
        f"{type(layer).__name__} of this transformers release takes no cache that proofgym "
        "knows; use transformers 4.46 to 5.x"
    )
