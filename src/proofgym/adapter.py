"""Low-rank adapters: small files that turn base weights into a warm start, exactly.

W' = W + s·(B·A) for each adapted tensor. In proofgym's own format A and B are int8 and s is a
power of two: every product and partial sum is an integer below 2^24, so float32 gives the same B·A
in any order of summation, and scaling is exact. The merged weights are then the same bits on every
machine, which lets a run's history name them by digest. A peft LoRA directory can be read too; its
float factors are summed one rank at a time, in order, for the same reason.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from proofgym.errors import ModelError, nearest

PACKAGED = Path(__file__).parent / "adapters"
_RECORD, _FACTORS = "adapter.json", "adapter.safetensors"
_MOST_RANK = 1024  # 127 · 127 · 1024 < 2^24


@dataclass(frozen=True, slots=True)
class Adapter:
    """Factors by tensor name: left B (rows, rank), right A (rank, columns), and the scale s."""

    name: str
    factors: Mapping[str, tuple[Tensor, Tensor, float]]
    digest: str
    """SHA-256 of the factors' file."""
    base_digest: str | None = None
    """Of the stored weights that it belongs to; None if the adapter does not say."""
    record: Mapping[str, Any] = field(default_factory=dict)
    """How it was made."""


def packaged_adapters() -> list[str]:
    """Names of the adapters that come with proofgym."""
    return sorted(path.parent.name for path in PACKAGED.glob(f"*/{_RECORD}"))


def read_adapter(name: str | Path) -> Adapter:
    """Read a packaged adapter by name, or a directory: proofgym's format or peft's.

    Raises ModelError.
    """
    directory = Path(name).expanduser()
    if str(name) in packaged_adapters():
        directory = PACKAGED / str(name)
    if (directory / _RECORD).is_file():
        return _read_own(directory)
    if (directory / "adapter_config.json").is_file():
        return _read_peft(directory)
    raise ModelError(
        f"adapter {str(name)!r}: no packaged adapter and no directory with {_RECORD} or "
        f"adapter_config.json; {nearest(name, packaged_adapters())}"
    )


def merge(adapter: Adapter, model: Any, base_digest: str) -> None:
    """Add the adapter to the weights in place.

    Each weight becomes round(f32(W) + s·(B·A)) in its own dtype. Raises ModelError if the adapter
    belongs to other weights.
    """
    if adapter.base_digest not in (None, base_digest):
        raise ModelError(
            f"adapter {adapter.name} belongs to weights {adapter.base_digest}, these are "
            f"{base_digest}; use it with the model that it was made from"
        )
    weights = dict(model.named_parameters())
    for name, (left, right, scale) in adapter.factors.items():
        weight = weights.get(name)
        shape = (left.shape[0], right.shape[1])
        if weight is None or tuple(weight.shape) != shape:
            actual = "none" if weight is None else tuple(weight.shape)
            raise ModelError(
                f"adapter {adapter.name}: {name} should have shape {shape}, the model has {actual}"
            )
        with torch.no_grad():
            change = _product(left, right) * scale
            weight.copy_(weight.float() + change.to(weight.device))


def quantise(left: Tensor, right: Tensor, scale: float) -> tuple[Tensor, Tensor, float]:
    """The nearest exact form of scale·left·right: int8 factors and a power of two.

    Components are first balanced (singular value decomposition), so that neither factor wastes its
    range. Costs about 1 % of the change's norm.
    """
    left_q, left_r = torch.linalg.qr(left.double())
    right_q, right_r = torch.linalg.qr(right.double().T)
    u, sizes, v = torch.linalg.svd(left_r @ right_r.T * scale)
    root = sizes.sqrt()
    balanced = left_q @ u * root, (right_q @ v.T * root).T
    whole_left, step_left = _to_int8(balanced[0])
    whole_right, step_right = _to_int8(balanced[1])
    return whole_left, whole_right, step_left * step_right


def write_adapter(
    directory: Path,
    factors: Mapping[str, tuple[Tensor, Tensor, float]],
    record: Mapping[str, Any],
) -> str:
    """Write an adapter directory, whole or not at all; returns its digest.

    `record` needs `base_digest`; it may say anything else of how the adapter was made.
    Raises ModelError if the directory exists.
    """
    from safetensors.torch import save_file

    from proofgym.model_cache import file_sha256, write_directory

    if directory.exists():
        raise ModelError(f"{directory} exists; give another place or remove it")
    tensors = {}
    for name, (left, right, _) in factors.items():
        tensors[f"{name}.left"], tensors[f"{name}.right"] = left.contiguous(), right.contiguous()
    with write_directory(directory) as scratch:
        save_file(tensors, scratch / _FACTORS)
        sha256 = file_sha256(scratch / _FACTORS)
        scales = {name: scale for name, (_, _, scale) in factors.items()}
        content = {"format": 1, **record, "sha256": sha256, "scales": scales}
        (scratch / _RECORD).write_text(json.dumps(content, indent=1) + "\n")
    return sha256


def _read_own(directory: Path) -> Adapter:
    from safetensors.torch import load

    try:
        record = json.loads((directory / _RECORD).read_text())
        data = (directory / _FACTORS).read_bytes()
        wanted, scales, base = record["sha256"], record["scales"], record["base_digest"]
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"adapter {directory}: cannot be read: {error}") from error
    digest = hashlib.sha256(data).hexdigest()
    if digest != wanted:
        raise ModelError(
            f"adapter {directory}: {_FACTORS} has sha256 {digest}, expected {wanted}; "
            "the file is damaged, copy it again"
        )
    tensors = load(data)
    factors = {
        name: (tensors[f"{name}.left"], tensors[f"{name}.right"], float(scale))
        for name, scale in scales.items()
    }
    return Adapter(directory.name, factors, digest, base, record)


def _read_peft(directory: Path) -> Adapter:
    from safetensors.torch import load

    try:
        config = json.loads((directory / "adapter_config.json").read_text())
        data = (directory / "adapter_model.safetensors").read_bytes()
    except (OSError, ValueError) as error:
        raise ModelError(f"adapter {directory}: cannot be read: {error}") from error
    if config.get("peft_type") != "LORA" or config.get("use_dora") or config.get("rank_pattern"):
        raise ModelError(f"adapter {directory}: only plain LoRA adapters can be merged")
    rank = config["r"]
    scale = config["lora_alpha"] / (rank**0.5 if config.get("use_rslora") else rank)
    tensors = load(data)
    factors = {}
    for key, right in tensors.items():
        name, mark, _ = key.removeprefix("base_model.model.").partition(".lora_A")
        if mark:
            left = tensors[key.replace(".lora_A", ".lora_B")]
            factors[f"{name}.weight"] = (left, right, scale)
    if len(factors) * 2 != len(tensors):
        raise ModelError(f"adapter {directory}: holds tensors that are not LoRA factors")
    return Adapter(directory.name, factors, hashlib.sha256(data).hexdigest(), None, config)


def _product(left: Tensor, right: Tensor) -> Tensor:
    """left·right in float32 with one definite result."""
    if left.dtype == torch.int8 and left.shape[1] <= _MOST_RANK:
        return left.float() @ right.float()  # integers: exact in any order
    left, right = left.float(), right.float()
    total = torch.zeros(left.shape[0], right.shape[1])
    for rank in range(left.shape[1]):
        total += left[:, rank, None] * right[None, rank]
    return total


def _to_int8(values: Tensor) -> tuple[Tensor, float]:
    """Integers in [-127, 127] and the power of two that they count."""
    largest = float(values.abs().max())
    if largest == 0:
        return values.to(torch.int8), 1.0
    step = 2.0 ** torch.tensor(largest / 127).log2().ceil().item()
    return (values / step).round().clamp(-127, 127).to(torch.int8), step
