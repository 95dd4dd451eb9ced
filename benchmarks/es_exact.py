"""Whether every device rebuilds the same bits: digests after a history of 50 iterations.

    python benchmarks/es_exact.py [--iterations 50]

For each exact noise kind, rank and dtype, the CPU's definition in NumPy, its compiled kernels and,
where there is one, the GPU rebuild weights from the same history, and write a member. The last line
is JSON: `cases`, `equal` (of them), `devices`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence

import numpy as np
import torch

from proofgym.evolution import kernels, weights
from proofgym.evolution.history import Decay, Entry, Update
from proofgym.evolution.manifest import Manifest, Tensor
from proofgym.evolution.specification import choose
from proofgym.evolution.state import State

SHAPES = {"embed": (1031, 192), "wide": (192, 517), "odd": (77, 33), "norm": (193,), "one": (1,)}
NOISES = [(kind, rank) for rank in (None, 1, 4) for kind in ("rademacher", "gaussian8")]
POPULATION = 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=50)
    iterations = parser.parse_args().iterations
    devices = ["numpy", "cpu"] + (["cuda"] if torch.cuda.is_available() else [])
    cases = equal = 0
    for kind, rank in NOISES:
        for dtype in ("float32", "bfloat16", "float16"):
            for antithetic in (False, True):
                digests = case(kind, rank, dtype, antithetic, iterations, devices)
                cases, equal = cases + 1, equal + (len(set(digests.values())) == 1)
                name = f"{kind} {'full' if rank is None else f'rank {rank}'} {dtype}"
                shown = " ".join(f"{where} {it[:12]}" for where, it in digests.items())
                print(f"{name:32s} {'pairs' if antithetic else 'single':7s} {shown}", flush=True)
    result = {"cases": cases, "equal": equal, "devices": devices}
    if torch.cuda.is_available():
        result["gpu"] = torch.cuda.get_device_name()
    print(json.dumps(result))


def case(
    kind: str, rank: int | None, dtype: str, antithetic: bool, iterations: int, devices: list[str]
) -> dict[str, str]:
    listed = Manifest(
        tuple(
            Tensor(name, shape, dtype, True, place % 2)
            for place, (name, shape) in enumerate(SHAPES.items())
        )
    )
    chosen = choose(
        seed=5,
        kind=kind,  # type: ignore[arg-type]
        rank=rank,
        antithetic=antithetic,
        population=POPULATION,
        sigma=1e-3,
        learning_rate=5e-4,
    )
    generator = torch.Generator().manual_seed(1)
    base = {
        it.name: (0.05 * torch.randn(it.shape, generator=generator)).to(getattr(torch, dtype))
        for it in listed
    }
    entries = history(chosen.coefficient, iterations)
    found = {}
    for where in devices:
        state = make(where, listed, chosen, base)
        state.apply(*entries)
        into = {name: tensor.clone() for name, tensor in base.items()}
        if where == "cuda":
            into = {name: tensor.cuda() for name, tensor in into.items()}
        state.write_member(7, iterations, into)
        content = weights.digest(listed, lambda it, into=into: weights.read(into[it.name]))
        found[where] = hashlib.sha256((state.digest() + content).encode()).hexdigest()
    return found


def history(coefficient: object, iterations: int) -> list[Entry]:
    random = np.random.default_rng(2)
    entries: list[Entry] = []
    for iteration in range(iterations):
        if iteration % 7 == 3:
            entries.append(Decay(iteration, 300))
        scores: Sequence[float] = random.standard_normal(POPULATION).tolist()
        values = [coefficient(5e-4, it, POPULATION) for it in scores]  # type: ignore[operator]
        entries.append(Update(iteration, tuple(values), POPULATION))
    return entries


def make(where: str, listed: Manifest, chosen: object, base: dict[str, torch.Tensor]) -> State:
    if where == "cuda":
        from proofgym.evolution.device import DeviceState

        return DeviceState(listed, chosen, base)  # type: ignore[arg-type]
    state = State(listed, chosen, base)  # type: ignore[arg-type]
    if where == "numpy":
        state._kernels = kernels.NumpyKernels()
    return state


if __name__ == "__main__":
    main()
