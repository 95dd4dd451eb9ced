"""Runs that one engine or a fleet of them serves, and the processes of fleets."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

from proofgym import Local, Model, Sampling
from proofgym.algorithms.algorithm import Algorithm
from proofgym.engines.fleet import Fleet

SAMPLING = Sampling(max_tokens=12)


@contextmanager
def opened(
    where: Path,
    directory: Path,
    rule: Algorithm,
    engines: int,
    dtype: Literal["float32", "bfloat16"] = "float32",
    **options: Any,
) -> Iterator[SimpleNamespace]:
    """A run of `rule` on the model that lies somewhere, and the engine that serves it."""
    cluster = Local(device="cpu", threads=1, engines=engines, **options)
    model = Model(str(where), dtype=dtype)
    loaded = cluster.load(model)
    run = rule.build(
        loaded.model,
        seed=5,
        directory=directory,
        base_digest=loaded.digest,
        sampling=SAMPLING,
        ranks=cluster.ranks,
    )
    engine = fleet = None
    try:
        if engines > 1:
            engine = fleet = cluster.fleet(model, loaded, 5, run.source(engines))
        else:
            engine = cluster.engine(loaded, 5)
        yield SimpleNamespace(run=run, engine=engine, model=loaded.model)
    finally:
        if fleet:
            fleet.close()
        run.close()


def both_ready(fleet: Fleet) -> None:
    """Wait until all processes have their weights."""
    while not all(worker.ready for worker in fleet.workers):
        list(fleet.hear())


def workers_of(parent: int) -> list[int]:
    """Processes of fleets that `parent` started, whoever inherited them."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline") as file:
                words = file.read().split("\0")
        except OSError:
            continue
        if "proofgym.engines.worker" in words and str(parent) in words:
            found.append(int(name))
    return found
