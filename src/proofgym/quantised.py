"""Quantised checkpoints: dequantised when they are loaded, or refused.

Noise and gradients need floating-point weights. What transformers makes of a quantised checkpoint
depends on the packages and the GPU at hand: it may leave weights packed, dequantise them, draw
random ones, or take integers for weights. So it is decided here, the same everywhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor

from proofgym.errors import ModelError

_FLOATS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
_FP8 = (torch.float8_e4m3fn, torch.float8_e5m2)
_SCALE = "_scale_inv"
_MOST_NAMED = 3
WHAT_TO_DO = (
    "proofgym dequantises GGUF files and checkpoints of quant_method 'fp8' by itself. Take the "
    "unquantised model, or load this one with transformers, dequantise it (model.dequantize(), or "
    "dequantize=True in its quantisation config), save_pretrained it and name that directory"
)


def method(config: Any) -> str | None:
    """The format that a model's configuration says its weights are in; None for plain ones."""
    found = _settings(config)
    if found is None:
        return None
    if found.get("load_in_4bit") or found.get("load_in_8bit"):
        return f"bitsandbytes, {4 if found.get('load_in_4bit') else 8} bits"
    return str(found.get("quant_method") or "a format that it does not name")


def require_known(name: str, config: Any) -> None:
    """Refuse a quantised format that `dequantise` does not know. Raises ModelError."""
    if (found := method(config)) != "fp8":
        raise ModelError(f"{name}: its weights are quantised ({found}). {WHAT_TO_DO}")


def dequantise(name: str, directory: Path, config: Any) -> tuple[dict[str, Tensor], str]:
    """The float32 weights of a checkpoint of quant_method 'fp8', and a description of the format.

    Each weight is f32(code) times its block's scale, rounded once. Whatever says in `config` that
    weights are quantised is taken out of it. Raises ModelError for any other format.
    """
    require_known(name, config)
    stored = {key: value for file in _files(directory) for key, value in _load(file).items()}
    block = (_settings(config) or {}).get("weight_block_size")
    weights: dict[str, Tensor] = {}
    for key, value in stored.items():
        if key.endswith((_SCALE, ".activation_scale", ".input_scale")):
            continue
        if value.dtype in _FP8:
            if key + _SCALE not in stored:
                raise ModelError(f"{name}: {key} is in 8 bits but has no {key}{_SCALE}")
            value = _scaled(name, key, value, stored[key + _SCALE], block)
        elif value.dtype not in _FLOATS and key + _SCALE in stored:
            raise ModelError(f"{name}: {key} is {value.dtype}, not 8-bit floats. {WHAT_TO_DO}")
        weights[key] = value.float() if value.dtype in _FLOATS else value
    for part in (config, _text(config)):
        if hasattr(part, "quantization_config"):
            del part.quantization_config
    return weights, f"fp8 in blocks of {'x'.join(map(str, block))}" if block else "fp8"


def require_whole(name: str, model: Any, info: Mapping[str, Any], directory: Path | None) -> None:
    """Refuse a model some of whose weights did not come from its checkpoint, or came from integers.

    `info` is what transformers tells of loading. Raises ModelError.
    """
    missing = sorted(info["missing_keys"]) + sorted(str(it) for it in info["mismatched_keys"])
    if missing:
        others = sorted(info["unexpected_keys"])
        has = f"; it has {_listed(others)}, which the model does not know" if others else ""
        raise ModelError(
            f"{name}: the checkpoint has no {_listed(missing)}{has}. If its weights are packed, "
            f"that is a quantised format. {WHAT_TO_DO}"
        )
    if directory is not None:
        parameters = {it for it, _ in model.named_parameters(remove_duplicate=False)}
        prefix = f"{getattr(model, 'base_model_prefix', '')}."
        codes = [
            f"{key} ({str(dtype).removeprefix('torch.')})"
            for key, dtype in _dtypes(directory).items()
            if dtype not in _FLOATS and {key, prefix + key} & parameters
        ]
        if codes:
            raise ModelError(
                f"{name}: these weights are stored as codes and nothing says what they stand for: "
                f"{_listed(codes)}. {WHAT_TO_DO}"
            )
    require_plain(name, model)


def require_plain(name: str, model: Any) -> None:
    """Refuse a model that holds packed weights, in whatever form. Raises ModelError."""
    packed = [
        f"{key} ({_kind(parameter)})"
        for key, parameter in model.named_parameters()
        if parameter.dtype not in _FLOATS or type(parameter.data) is not Tensor
    ]
    saved = model.state_dict()
    packed += [
        f"{key} ({_kind(buffer)})"
        for key, buffer in model.named_buffers()
        if key in saved and buffer.dim() > 1 and buffer.dtype not in (*_FLOATS, torch.bool)
    ]
    packed += [
        f"{key} ({type(module).__name__})"
        for key, module in model.named_modules()
        if type(module).__module__.startswith("torch.ao.nn.quantized")
    ]
    if packed:
        raise ModelError(
            f"{name}: packed weights can be neither perturbed nor trained: {_listed(packed)}. "
            f"{WHAT_TO_DO}"
        )


def gguf_types(file: Path) -> str | None:
    """The quantised types in a GGUF file, as in "Q4_1 and Q8_0 (GGUF)"; None without any."""
    from gguf import GGUFReader

    names = {str(tensor.tensor_type.name) for tensor in GGUFReader(str(file)).tensors}
    kinds = sorted(names - {"F64", "F32", "F16", "BF16"})
    return f"{' and '.join(kinds)} (GGUF)" if kinds else None


def _settings(config: Any) -> dict[str, Any] | None:
    for part in (config, _text(config)):
        found = getattr(part, "quantization_config", None)
        if found is not None:
            return found if isinstance(found, dict) else dict(found.to_dict())
    return None


def _text(config: Any) -> Any:
    """The part of a model's configuration that is about language."""
    return config.get_text_config() if hasattr(config, "get_text_config") else config


def _scaled(name: str, key: str, codes: Tensor, scale: Tensor, block: Any) -> Tensor:
    """f32(codes)·scale: one scale for all, or one for each block of the last two dimensions."""
    if not scale.dtype.is_floating_point:
        raise ModelError(f"{name}: {key}{_SCALE} is {scale.dtype}. {WHAT_TO_DO}")
    scale = scale.float()
    if scale.numel() > 1:
        rows, columns = codes.shape[-2:]
        high, wide = block or (rows, columns)
        expected = *codes.shape[:-2], -(-rows // high), -(-columns // wide)
        if tuple(scale.shape) != expected:
            raise ModelError(
                f"{name}: {key}{_SCALE} has shape {list(scale.shape)}, and blocks of {high}x{wide} "
                f"of {list(codes.shape)} need {list(expected)}"
            )
        scale = scale.repeat_interleave(high, -2)[..., :rows, :]
        scale = scale.repeat_interleave(wide, -1)[..., :columns]
    return codes.float() * scale.reshape(scale.shape if scale.numel() > 1 else ())


def _files(directory: Path) -> list[Path]:
    """The files that make up a checkpoint, in the order of preference that transformers has."""
    for name in ("model.safetensors", "pytorch_model.bin"):
        index, whole = directory / f"{name}.index.json", directory / name
        if whole.is_file():
            return [whole]
        if index.is_file():
            parts = set(json.loads(index.read_text())["weight_map"].values())
            return [directory / it for it in sorted(parts)]
    return []


def _load(file: Path) -> dict[str, Tensor]:
    if file.suffix == ".bin":
        return dict(torch.load(file, map_location="cpu", weights_only=True, mmap=True))
    return dict(load_file(file))


def _dtypes(directory: Path) -> dict[str, torch.dtype]:
    """How each tensor of a checkpoint is stored; the tensors themselves are not read."""
    return {key: it.dtype for file in _files(directory) for key, it in _load(file).items()}


def _kind(tensor: Tensor) -> str:
    subclass = type(tensor.data)
    return str(tensor.dtype).removeprefix("torch.") if subclass is Tensor else subclass.__name__


def _listed(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - _MOST_NAMED} more" if len(listed) > _MOST_NAMED else ""
    return ", ".join(listed[:_MOST_NAMED]) + more
