"""This machine: one engine or one a GPU, verifiers in local sandboxes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from proofgym.config import Config
from proofgym.errors import ConfigError

if TYPE_CHECKING:
    from proofgym.engines.fleet import Fleet
    from proofgym.engines.portions import Source
    from proofgym.engines.transformers import TransformersEngine
    from proofgym.models import LoadedModel


class Local(Config):
    """Run everything on this machine."""

    may_change: ClassVar[frozenset[str]] = frozenset(
        {"engine_patience", "engines", "max_batch", "threads", "workers"}
    )
    """Fields that may be others when a run is resumed, on another machine perhaps: they change its
    results by rounding at most."""

    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where the model lives; `auto` takes a GPU if there is one."""
    workers: int | None = Field(None, ge=1)
    """Verifications at once; None is one a core, at most 32."""
    threads: int | None = Field(None, ge=1)
    """CPU threads of the model; None is one a core, which several engines share. Results depend on
    it in the last bits."""
    engines: int = Field(1, ge=1)
    """Processes that generate side by side, one a GPU (docs/training.md)."""
    engine_patience: float = Field(600.0, gt=0, allow_inf_nan=False)
    """Seconds without any progress after which one of several engines counts as hung."""
    ranks: int = Field(1, ge=1)
    """Processes that train gradients together, one a GPU (FSDP2); a single engine is on the first,
    of several each shares a GPU with a rank."""
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
        if self.engines > 1:
            self._check_engines()
        if self.device != "cuda":
            return
        import torch

        if not torch.cuda.is_available():
            raise ConfigError(
                "Local.device = 'cuda': PyTorch sees no GPU here; choose from 'auto', 'cpu'"
            )

    def _check_engines(self) -> None:
        import torch

        if self.torch_device() == "cuda" and torch.cuda.device_count() < self.engines:
            raise ConfigError(
                f"Local.engines = {self.engines}: this machine has {torch.cuda.device_count()} GPUs"
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

    def fleet(self, model: Any, loaded: LoadedModel, seed: int, source: Source) -> Fleet:
        """An engine of `engines` processes, whose weights follow `source`; the caller closes it."""
        from proofgym.engines.fleet import Fleet
        from proofgym.engines.work import Setup

        device, cores = self.torch_device(), len(os.sched_getaffinity(0))
        named = {"name": model.name, "dtype": model.dtype, "adapter": model.adapter}
        setups = [
            Setup(
                named | {"digest": loaded.digest},
                f"{device}:{place}" if device == "cuda" else device,
                self.threads or max(1, cores // self.engines),
                self.max_batch,
            )
            for place in range(self.engines)
        ]
        own = self.engine(loaded, seed)
        return Fleet(own, setups, source, seed=seed, patience=self.engine_patience)
