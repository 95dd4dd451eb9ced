"""The supervised warm start: makes a base model a learner before reinforcement begins."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

from proofgym.clusters.local import Local
from proofgym.environments.lean import Lean
from proofgym.evaluation import evaluate
from proofgym.job import Model
from proofgym.sft import SFT
from proofgym.tasks import named
from proofgym.training import say
from proofgym.types import Sampling


def warm_start(
    model: Model, tasks: str, heldout: str | None, config: SFT, to: Path, seed: int = 0
) -> dict[str, float]:
    """Fit `config` on the reference proofs of `tasks`; measure `heldout` before and after.

    Writes the adapter directory `to`; returns `{"before", "after"}` pass@1 where measured.
    """
    chosen = named(tasks)
    proofs = chosen.reference_proofs()
    examples = [(task.prompt, proofs[task.name]) for task in chosen.load()]
    cluster = Local()
    loaded = cluster.load(model)
    before = _success(cluster, loaded, heldout, seed, "held-out before")
    fitted = config.fit(loaded, examples, seed=seed, report=_print_step)
    command = shlex.join(["proofgym", *sys.argv[1:]])
    fitted.save_adapter(to, command=command)
    say(f"adapter: {to}")
    after = _success(
        cluster,
        cluster.load(model.model_copy(update={"adapter": str(to)})),
        heldout,
        seed,
        "held-out after",
    )
    measured = {k: v for k, v in (("before", before), ("after", after)) if v is not None}
    print(json.dumps({"adapter": str(to), **measured}))
    return measured


def _success(cluster: Local, loaded, heldout: str | None, seed: int, what: str) -> float | None:  # type: ignore[no-untyped-def]
    if heldout is None:
        return None
    workers = cluster.verification_workers()
    judge = Lean().open(workers)
    try:
        result = evaluate(
            cluster.engine(loaded, seed),
            judge,
            named(heldout).load(),
            Sampling(max_tokens=64, stop=("\n\n",)),
            workers=workers,
            what=what,
        )
    finally:
        judge.close()
    say(f"{what}: pass@1 {result.interval()}")
    return round(result.interval().mean, 4)


def _print_step(step: dict[str, float]) -> None:
    say("  ".join(f"{name} {value:.4g}" for name, value in step.items()))
