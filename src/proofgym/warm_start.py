"""The supervised warm start: makes a base model a learner before reinforcement begins."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

from proofgym.clusters.local import Local
from proofgym.environments.attempts import SingleTurn
from proofgym.environments.lean import Lean
from proofgym.evaluation import evaluate
from proofgym.job import Model
from proofgym.sft import SFT
from proofgym.tasks import named
from proofgym.tasks.renaming import renamed
from proofgym.tasks.tasks import refuse_shared
from proofgym.training import say
from proofgym.types import Sampling


def warm_start(
    model: Model, tasks: str, heldout: str | None, config: SFT, to: Path, seed: int = 0
) -> dict[str, float]:
    """Fit `config` on the reference proofs of `tasks`; measure `heldout` before and after.

    Writes the directory `to`: an adapter, or the whole model where `config.rank` is None.
    Returns `{"before", "after"}` pass@1 where measured.
    """
    chosen = named(tasks)
    proofs = chosen.reference_proofs()
    training = chosen.load()
    if heldout is not None:
        refuse_shared(training, named(heldout).load(), "--tasks", "--heldout")
    examples = [(task.prompt, proofs[task.name]) for task in training]
    cluster = Local()
    before = _success(cluster, model, heldout, seed, "held-out before")
    fitted = config.fit(
        cluster.load(model.model_copy(update={"dtype": "auto"})),
        examples,
        seed=seed,
        report=_print_step,
        vary=lambda prompt, proof, copy: renamed(prompt, proof, seed, copy),
    )
    command = shlex.join(["proofgym", *sys.argv[1:]])
    if config.rank is None:
        fitted.save_model(to, command)
        after = model.model_copy(update={"name": str(to)})
    else:
        fitted.save_adapter(to, command)
        after = model.model_copy(update={"adapter": str(to)})
    say(f"written to {to}")
    success = _success(cluster, after, heldout, seed, "held-out after")
    measured = {k: v for k, v in (("before", before), ("after", success)) if v is not None}
    print(json.dumps({"written": str(to), **measured}))
    return measured


def _success(
    cluster: Local, model: Model, heldout: str | None, seed: int, what: str
) -> float | None:
    if heldout is None:
        return None
    workers = cluster.verification_workers()
    attempts = SingleTurn(Lean().open(workers), workers)
    try:
        result = evaluate(
            cluster.engine(cluster.load(model), seed),
            attempts,
            named(heldout).load(),
            Sampling(max_tokens=64, stop=("\n\n",)),
            what=what,
        )
    finally:
        attempts.close()
    say(f"{what}: pass@1 {result.interval()}")
    return round(result.interval().mean, 4)


def _print_step(step: dict[str, float]) -> None:
    say("  ".join(f"{name} {value:.4g}" for name, value in step.items()))
