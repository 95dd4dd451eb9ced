"""This machine: one engine, verifiers in local sandboxes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from proofgym.config import Config
from proofgym.errors import ConfigError

if TYPE_CHECKING:
    from proofgym.engines.transformers import TransformersEngine
    from proofgym.models import LoadedModel


class Local(Config):
    """Run everything on this machine."""

    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where the model lives; `auto` takes a GPU if there is one."""
    workers: int | None = Field(None, ge=1)
    """Verifications at once; None is one a core, at most 32."""
    threads: int | None = Field(None, ge=1)
    """CPU threads of the model; None is one a core. Results depend on it in the last bits."""
    ranks: int = Field(1, ge=1)
    """Processes that train gradients together, one a GPU (FSDP2); the engine is on the first."""
    max_batch: int = Field(256, ge=1)
    """Most sequences decoded together."""

    def verification_workers(self) -> int:
        return self.workers or min(32, len(os.sched_getaffinity(0)))

    def torch_device(self) -> str:
        import torch

        if self.device != "auto":
            return self.device
        return "cuda" if torch.cuda.is_available() else "cpu"

    def check(self) -> None:
        """Refuse what this machine does not have. Raises ConfigError."""
        if self.device != "cuda":
            return
        import torch

        if not torch.cuda.is_available():
            raise ConfigError(
                "Local.device = 'cuda': PyTorch sees no GPU here; (allowed: 'auto', 'cpu')"
            )

    def load(self, model: Any) -> LoadedModel:
        import torch

        from proofgym.models import load_model

        torch.set_num_threads(self.threads or len(os.sched_getaffinity(0)))
        return load_model(
            model.name, dtype=model.dtype, adapter=model.adapter, device=self.torch_device()
        )

    def engine(self, loaded: LoadedModel, seed: int) -> TransformersEngine:
        from proofgym.engines.transformers import TransformersEngine

        return TransformersEngine(loaded, seed=seed, max_batch=self.max_batch)
