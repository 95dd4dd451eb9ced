"""Rebuild models that were trained on a GPU, on this machine's CPU, from their histories alone.

    python benchmarks/rebuild.py [--evaluate rank1-quarter-seed0] [--samples 1]

`histories/` holds runs of SmolLM2-135M on an H200 (`results.json` has their settings' outcomes).
Each is replayed from base weights and adapter, and the digest of its weights is compared with the
one that the GPU reported. One is then evaluated on the held-out theorems, paired with the base.
The last line is JSON: `histories`, `equal`, `bytes` of all histories, `seconds` of all replays,
`smaller` (weights over history), `heldout` and `heldout_gpu` of the one evaluated.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from proofgym import Lean, Local, Sampling
from proofgym.environments.attempts import SingleTurn
from proofgym.estimate import bootstrap_mean
from proofgym.evaluation import evaluate
from proofgym.evolution import history, replay
from proofgym.evolution.state import named
from proofgym.models import load_model
from proofgym.tasks import lean_core

FOLDER = Path(__file__).parent / "histories"
SAMPLING = Sampling(temperature=1.0, max_tokens=64, stop=("\n\n",))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evaluate", default="rank1-quarter-seed0", help="an arm, or none")
    parser.add_argument("--samples", type=int, default=1, help="completions a theorem")
    arguments = parser.parse_args()
    known = json.loads((FOLDER / "results.json").read_text())
    loaded = load_model(known["model"], adapter=known["adapter"])
    base = np.array(known["base"]["heldout"])
    print(f"{'arm':24s} {'its':>4s} {'KB':>5s} {'replay':>7s} {'equal':>6s}  held-out, change")
    equal, seconds, total, score = 0, 0.0, 0, None
    for name, arm in known["arms"].items():
        file = FOLDER / f"{name}.pges"
        began = time.perf_counter()
        record = history.read(file)
        state = replay.start(record.header, loaded.model)
        state.apply(*record.entries)
        spent, same = time.perf_counter() - began, state.digest() == arm["digest"]
        equal, seconds, total = equal + same, seconds + spent, total + file.stat().st_size
        change = bootstrap_mean(np.array(arm["heldout"]) - base)
        print(
            f"{name:24s} {record.iterations:4d} {file.stat().st_size / 1000:5.0f} {spent:6.1f}s "
            f"{same!s:>6s}  {np.mean(arm['heldout']):.1%}, {change}",
            flush=True,
        )
        if name == arguments.evaluate:
            score = heldout(loaded, state, arguments.samples)
    weights = sum(tensor.numel() * 4 for tensor in loaded.model.parameters())
    chosen = known["arms"].get(arguments.evaluate, {}).get("heldout")
    result = {
        "histories": len(known["arms"]),
        "equal": equal,
        "bytes": total,
        "seconds": round(seconds, 1),
        "smaller": round(weights * len(known["arms"]) / total),
        "heldout": score,
        "heldout_gpu": chosen and round(float(np.mean(chosen)), 4),
    }
    print(json.dumps(result))
    sys.exit(0 if equal == len(known["arms"]) else 1)


def heldout(loaded: Any, state: Any, samples: int) -> float:
    """Success of the rebuilt model on the held-out theorems; the model has its base weights
    again afterwards."""
    tensors = named(loaded.model, state.manifest)
    kept = {name: tensor.detach().clone() for name, tensor in tensors.items()}
    state.write_current(tensors)
    cluster = Local()
    workers = cluster.verification_workers()
    attempts = SingleTurn(Lean(timeout=10).open(workers), workers)
    try:
        engine = cluster.engine(loaded, 0)
        tasks = lean_core("heldout").load()
        found = evaluate(engine, attempts, tasks, SAMPLING, samples=samples)
    finally:
        attempts.close()
        for name, tensor in tensors.items():
            tensor.data.copy_(kept[name])
    return round(float(found.rates_T().mean()), 4)


if __name__ == "__main__":
    main()
