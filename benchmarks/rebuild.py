"""Rebuild models that were trained on a GPU, on this machine's CPU, from their histories alone.

    python benchmarks/rebuild.py [--evaluate rank1-quarter-seed0] [--samples 1]

`histories/` holds runs of SmolLM2-135M on an H200: `results.json` has the outcomes of those that
lie beside it, and each folder is a comparison's, with its runs of Evolution Strategies, without
their attempts.
Each is replayed from base weights and adapter, and the digest of its weights is compared with the
one that the GPU reported, if it did. One is then evaluated on the held-out theorems.
The last line is JSON: `histories`, `compared` (with a digest of the GPU), `equal` of those,
`bytes` of all histories, `seconds` of all replays, `smaller` (weights over history), `heldout` and
`heldout_gpu` of the one evaluated.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proofgym import Lean, Local, Sampling
from proofgym.environments.attempts import SingleTurn
from proofgym.estimate import bootstrap_mean
from proofgym.evaluation import evaluate
from proofgym.evolution import history, replay
from proofgym.evolution.state import State, named
from proofgym.models import load_model, weights_digest
from proofgym.tasks import lean_core

FOLDER = Path(__file__).parent / "histories"
SAMPLING = Sampling(temperature=1.0, max_tokens=64, stop=("\n\n",))


@dataclass(frozen=True)
class Arm:
    """A run: its history, and what the GPU said of it."""

    name: str
    history: Path
    dtype: str
    base: NDArray[np.float64]
    """Held-out success of each theorem before training."""
    trained: NDArray[np.float64]
    chosen: str | None
    """Digest of the trained tensors."""
    weights: str | None
    """Digest of all of the model's weights."""

    def same(self, state: State, model: Any) -> bool | None:
        """Whether the model, which has the state's weights, is the GPU's; None: it did not say."""
        if self.chosen:
            return state.digest() == self.chosen
        return weights_digest(model) == self.weights if self.weights else None


def arms(known: dict[str, Any]) -> Iterator[Arm]:
    """Those of `results.json`, then those of the comparisons."""
    base = np.array(known["base"]["heldout"])
    for name, arm in known["arms"].items():
        trained = np.array(arm["heldout"])
        yield Arm(name, FOLDER / f"{name}.pges", "float32", base, trained, arm["digest"], None)
    for file in sorted(FOLDER.glob("*/runs/*/events.jsonl")):
        place, events = file.parent, [json.loads(it) for it in file.read_text().splitlines()]
        if events[-1].get("reason") == "finished":
            points = [it for it in events if it["event"] == "evaluation"]
            first, last = (np.array(it["passed"]) / it["scored"] for it in (points[0], points[-1]))
            digest = events[-1].get("weights")
            name = f"{place.parent.parent.name}/{place.name}"
            yield Arm(name, place / "history.pges", "bfloat16", first, last, None, digest)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evaluate", default="rank1-quarter-seed0", help="an arm, or none")
    parser.add_argument("--samples", type=int, default=1, help="completions a theorem")
    arguments = parser.parse_args()
    known = json.loads((FOLDER / "results.json").read_text())
    loaded = {
        dtype: load_model(known["model"], adapter=known["adapter"], dtype=dtype)
        for dtype in ("float32", "bfloat16")
    }
    print(f"{'arm':52s} {'its':>4s} {'KB':>5s} {'replay':>7s} {'equal':>6s}  held-out, change")
    found: list[bool | None] = []
    seconds, sizes, weights, score, gpu = 0.0, 0, 0, None, None
    for arm in arms(known):
        one = loaded[arm.dtype]
        with restored(one.model):
            began = time.perf_counter()
            record = history.read(arm.history)
            state = replay.start(record.header, one.model)
            state.apply(*record.entries)
            state.write_current(named(one.model, state.manifest))
            spent = time.perf_counter() - began
            found.append(arm.same(state, one.model))
            if arm.name == arguments.evaluate:
                score = heldout(one, arguments.samples)
                gpu = round(float(arm.trained.mean()), 4)
        size = arm.history.stat().st_size
        seconds, sizes = seconds + spent, sizes + size
        weights += sum(tensor.nbytes for tensor in one.model.parameters())
        print(
            f"{arm.name:52s} {record.iterations:4d} {size / 1000:5.0f} {spent:6.1f}s "
            f"{'-' if found[-1] is None else str(found[-1]):>6s}  "
            f"{arm.trained.mean():.1%}, {bootstrap_mean(arm.trained - arm.base)}",
            flush=True,
        )
    compared = [it for it in found if it is not None]
    result = {
        "histories": len(found),
        "compared": len(compared),
        "equal": sum(compared),
        "bytes": sizes,
        "seconds": round(seconds, 1),
        "smaller": round(weights / sizes),
        "heldout": score,
        "heldout_gpu": gpu,
    }
    print(json.dumps(result))
    sys.exit(0 if all(compared) else 1)


@contextmanager
def restored(model: Any) -> Iterator[None]:
    """The model has its weights of before again afterwards."""
    kept = {name: tensor.detach().clone() for name, tensor in model.named_parameters()}
    try:
        yield
    finally:
        for name, tensor in model.named_parameters():
            tensor.data.copy_(kept[name])


def heldout(loaded: Any, samples: int) -> float:
    """Success on the held-out theorems."""
    cluster = Local()
    workers = cluster.verification_workers()
    attempts = SingleTurn(Lean(timeout=10).open(workers), workers)
    try:
        engine = cluster.engine(loaded, 0)
        tasks = lean_core("heldout").load()
        found = evaluate(engine, attempts, tasks, SAMPLING, samples=samples)
    finally:
        attempts.close()
    return round(float(found.rates_T().mean()), 4)


if __name__ == "__main__":
    main()
