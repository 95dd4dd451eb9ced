"""`proofgym sft`: the supervised warm start."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proofgym.errors import ConfigError


def sft(
    to: Annotated[Path, typer.Option(help="New directory for the adapter.")],
    model: Annotated[str, typer.Option(help="Model to start from.")] = "smollm2-135m",
    tasks: Annotated[str, typer.Option(help="Tasks with reference proofs.")] = "lean_core:warmup",
    heldout: Annotated[
        str | None, typer.Option(help="Measure success on these before and after.")
    ] = "lean_core:heldout",
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Override a field of SFT: epochs=4.")
    ] = None,
    seed: int = 0,
) -> None:
    """Train a model on reference proofs and keep the result as a small adapter.

    Example: proofgym sft --to adapters/mine --set epochs=4
    """
    from proofgym.job import Model
    from proofgym.sft import SFT
    from proofgym.warm_start import warm_start

    if to.exists():
        raise ConfigError(f"--to {to}: already exists; name a new directory")
    _require_writable(to)
    config = SFT()
    for item in set_ or []:
        name, _, text = item.partition("=")
        config = config.override(name, text)
    warm_start(Model(name=model), tasks, heldout, config, to, seed)


def _require_writable(to: Path) -> None:
    """What takes long to make must have a place to go. Raises ConfigError."""
    import tempfile

    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=to.parent):
            pass
    except OSError as error:
        raise ConfigError(f"--to {to}: cannot write in {to.parent}: {error.strerror}") from None
