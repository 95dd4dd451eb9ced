"""Random weights of the shape of Qwen2.5-1.5B, without the model: what ES arithmetic needs."""

from __future__ import annotations

import torch

from proofgym.evolution.manifest import Manifest, Tensor


def manifest(layers: int = 28, dtype: str = "bfloat16", width: int = 1536) -> Manifest:
    """The logical tensors; the head is tied to the embedding. 1.54e9 elements at 28 layers."""
    inner, kv, vocabulary = 8960 * width // 1536, 256 * width // 1536, 151936
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (vocabulary, width)}
    for number in range(layers):
        name = f"model.layers.{number}."
        for part, rows in (("q", width), ("k", kv), ("v", kv)):
            shapes[f"{name}self_attn.{part}_proj.weight"] = (rows, width)
            shapes[f"{name}self_attn.{part}_proj.bias"] = (rows,)
        shapes[f"{name}self_attn.o_proj.weight"] = (width, width)
        shapes[f"{name}mlp.gate_proj.weight"] = (inner, width)
        shapes[f"{name}mlp.up_proj.weight"] = (inner, width)
        shapes[f"{name}mlp.down_proj.weight"] = (width, inner)
        shapes[f"{name}input_layernorm.weight"] = (width,)
        shapes[f"{name}post_attention_layernorm.weight"] = (width,)
    shapes["model.norm.weight"] = (width,)
    return Manifest(tuple(Tensor(name, shape, dtype, True) for name, shape in shapes.items()))


def weights(listed: Manifest, device: str, seed: int = 0) -> dict[str, torch.Tensor]:
    generator = torch.Generator(device).manual_seed(seed)
    return {
        tensor.name: torch.empty(
            tensor.shape, dtype=getattr(torch, tensor.dtype), device=device
        ).normal_(0, 0.02, generator=generator)
        for tensor in listed
    }
