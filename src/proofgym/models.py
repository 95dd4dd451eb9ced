"""Loads the policy: weights, tokenizer, and the digests that name them.

Two digests: `base_digest` names the weights as they are stored, whatever precision they are then
used in (adapters are tied to it); `digest` names the weights as loaded, an adapter merged in and
rounded to the dtype, and is what an ES history starts from. A quantised base counts as its
dequantised float32 weights.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import SafetensorError
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from transformers.utils import cached_file

from proofgym import own_model, quantised
from proofgym.adapter import merge, read_adapter
from proofgym.catalogue import OWN, PACKAGED, refuse_unknown
from proofgym.errors import ModelError, nearest
from proofgym.memory import saying_when_full
from proofgym.model_cache import DEQUANTISED, gguf_directory, packaged_directory, recorded

_DTYPES = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}


@dataclass(slots=True)
class LoadedModel:
    """A policy in memory: evaluation mode, gradients off."""

    model: Any
    tokenizer: Any
    digest: str
    """Of the weights as loaded."""
    base_digest: str
    """Of the weights as stored, before the adapter and the dtype."""
    source: str
    """Where they came from, for a reader."""
    adapter_digest: str | None = None
    """Of the adapter's file."""
    dequantised_from: str | None = None
    """The format of a quantised base, as in "Q8_0 (GGUF)"; `source` says it too."""


def load_model(
    name: str,
    *,
    dtype: str = "float32",
    adapter: str | Path | None = None,
    device: str = "cpu",
    digest: str | None = None,
) -> LoadedModel:
    """Load a packaged model, a directory, a GGUF file or a hub model, with an adapter merged.

    `dtype` "auto" is the one they are stored in, float32 for a quantised base. `digest`, if given,
    is what `LoadedModel.digest` must be. Raises ModelError.
    """
    if dtype != "auto" and dtype not in _DTYPES:
        raise ModelError(f"dtype {dtype!r}: {nearest(dtype, [*_DTYPES, 'auto'])}")
    where, source, expected = _locate(name)
    model, tokenizer, quantisation = _read(name, where)
    if quantisation:
        source += f", dequantised from {quantisation}"
    if name in PACKAGED:
        tokenizer.eos_token = PACKAGED[name].end_token
    if name == own_model.UNTRAINED:
        model = own_model.untrained(tokenizer)
    base_digest = weights_digest(model)
    if expected and base_digest != expected:
        raise ModelError(
            f"{name}: the weights in {where} have digest {base_digest}, expected {expected}; "
            "remove that directory and load again"
        )
    adapter_digest = None
    if adapter is not None:
        found = read_adapter(adapter)
        adapter_digest = found.digest
        merge(found, model, base_digest)
        source += f" + {found.name}"
    model.requires_grad_(False).eval().to(_DTYPES.get(dtype, model.dtype))
    loaded_digest = weights_digest(model)
    if digest is not None and digest != loaded_digest:
        raise ModelError(
            f"{source} in {dtype} has weights digest {loaded_digest}, expected {digest}; "
            "use the model, adapter and dtype that the digest was made with"
        )
    full = f"{source}: out of memory on {device}; what else is there may take most of it"
    with saying_when_full(ModelError(full)):
        model.to(device)
    return LoadedModel(
        model,
        tokenizer,
        loaded_digest,
        base_digest,
        source,
        adapter_digest,
        quantisation,
    )


def weights_digest(model: Any) -> str:
    """SHA-256 over (name, dtype, shape, SHA-256 of the bytes) of every parameter, by name.

    A tied tensor counts once. Where the weights live makes no difference.
    """
    named = sorted(model.named_parameters())
    with ThreadPoolExecutor(4) as pool:  # hashing lets go of the interpreter lock
        contents = list(pool.map(lambda item: _content_digest(item[1]), named))
    total = hashlib.sha256()
    for (name, tensor), content in zip(named, contents, strict=True):
        dtype = str(tensor.dtype).removeprefix("torch.")
        shape = "x".join(map(str, tensor.shape))
        total.update(f"{name}\0{dtype}\0{shape}\0".encode() + content)
    return total.hexdigest()


def dtype_argument(dtype: Any) -> dict[str, Any]:
    """`from_pretrained`'s name for the dtype changed in transformers 4.56."""
    major, minor = (int(part) for part in transformers.__version__.split(".")[:2])
    return {"dtype" if (major, minor) >= (4, 56) else "torch_dtype": dtype}


def save(model: Any, tokenizer: Any, directory: Path) -> None:
    """Write both as transformers reads them."""
    with quiet():
        model.save_pretrained(directory)
        tokenizer.save_pretrained(directory)


@contextmanager
def quiet() -> Iterator[None]:
    """No progress bars or advice from transformers, nor each try at a hub that cannot be reached,
    while we load or save: we say what matters."""
    loggers = [logging.getLogger(name) for name in ("transformers", "huggingface_hub")]
    levels = [logger.level for logger in loggers]
    bars = transformers.utils.logging.is_progress_bar_enabled()
    transformers.utils.logging.disable_progress_bar()
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if bars:
            transformers.utils.logging.enable_progress_bar()


def _content_digest(tensor: Tensor) -> bytes:
    plain = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
    return hashlib.sha256(plain.numpy().data).digest()


def _locate(name: str) -> tuple[Path | str, str, str | None]:
    """What to give `from_pretrained`, a readable source, and the base digest if it is known."""
    refuse_unknown(name)
    if name in PACKAGED:
        packaged = PACKAGED[name]
        where = packaged_directory(name, packaged)
        source = f"{name} ({packaged.package} {packaged.version})"
        return where, source, packaged.weights_digest
    if name in OWN:
        known = recorded(own_model.DIRECTORY)
        digest = known["base_digest" if name == own_model.UNTRAINED else "weights_digest"]
        return own_model.DIRECTORY, f"{name} (proofgym's own)", digest
    path = Path(name).expanduser()
    if path.suffix == ".gguf":
        where = gguf_directory(path)
        return where, path.name, recorded(where)["weights_digest"]
    if path.is_dir():
        return path, name, recorded(path).get("weights_digest")
    return name, name, None


#: What libraries raise over files that are cut off, or say what they should not.
_UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    ArithmeticError,
    ImportError,
    RuntimeError,
    SafetensorError,
)


def _read(name: str, where: Path | str) -> tuple[Any, Any, str | None]:
    """Model in its stored dtype, on the CPU, tokenizer, and what it was dequantised from."""
    options: dict[str, Any] = {"local_files_only": True} if isinstance(where, Path) else {}
    with quiet():
        try:
            tokenizer = AutoTokenizer.from_pretrained(where, **options)
            config = AutoConfig.from_pretrained(where, **options)
            if quantised.method(config):
                model, info, quantisation = _dequantise(name, where, config)
                directory = None
            else:
                quantisation = None
                model, info = _plain(where, options)
                directory = _directory(where)
        except _UNREADABLE as error:
            raise _unreadable(name, where, error) from error
    quantised.require_whole(name, model, info, directory)
    if directory:
        quantisation = recorded(directory).get(DEQUANTISED)
    return model, tokenizer, quantisation


def _plain(where: Path | str, options: dict[str, Any]) -> Any:
    return AutoModelForCausalLM.from_pretrained(
        where,
        attn_implementation="sdpa",
        output_loading_info=True,
        ignore_mismatched_sizes=True,  # they are refused with all that is missing, by name
        **dtype_argument("auto"),
        **options,
    )


def _dequantise(name: str, where: Path | str, config: Any) -> tuple[Any, Any, str]:
    """A model whose configuration says that its weights are quantised, in float32."""
    quantised.require_known(name, config)
    if isinstance(where, str):
        from huggingface_hub import snapshot_download

        where = Path(snapshot_download(where, allow_patterns=["*.json", "*.safetensors"]))
    weights, quantisation = quantised.dequantise(name, where, config)
    with torch.device("meta"):
        kind: Any = type(AutoModelForCausalLM.from_config(config))
    model, info = kind.from_pretrained(
        None,
        config=config,
        state_dict=weights,
        attn_implementation="sdpa",
        output_loading_info=True,
        **dtype_argument(torch.float32),
    )
    return model, info, quantisation


def _directory(where: Path | str) -> Path | None:
    """Where a model that was just loaded lies on disk."""
    if isinstance(where, Path):
        return where
    found = cached_file(where, "config.json", local_files_only=True)
    return Path(found).parent if found else None


def _unreadable(name: str, where: Path | str, error: Exception) -> ModelError:
    reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
    if isinstance(where, Path):
        return ModelError(f"{name}: not a loadable model directory: {reason}")
    return ModelError(
        f"{name}: cannot be had from the model hub: {reason}. Check the name and the network (and "
        "HF_TOKEN for a gated model), give a local directory or GGUF file, or use a packaged "
        f"model: {nearest(name.split('/')[-1].lower(), [*PACKAGED, *OWN])}"
    )


def named_linears(model: Any) -> Iterable[tuple[str, Any]]:
    """Every linear layer of the decoder layers (not the head, often tied to the embedding)."""
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear) and ".layers." in f".{name}":
            yield name, module
