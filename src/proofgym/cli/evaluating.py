"""`proofgym eval`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from proofgym.cli.options import as_options
from proofgym.cli.train import Runs
from proofgym.errors import ConfigError


def evaluate(
    model: Annotated[str, typer.Argument(help="Model name, directory, GGUF file, or run id.")],
    tasks: Annotated[
        str,
        typer.Argument(
            help="lean_core:SPLIT, python_core:SPLIT, countdown, reasoning_gym:FAMILY, or a JSONL "
            "file."
        ),
    ],
    samples: Annotated[int, typer.Option(help="Completions of each task.", min=1)] = 1,
    k: Annotated[list[int] | None, typer.Option(help="pass@k to report; repeatable.")] = None,
    limit: Annotated[int | None, typer.Option(help="Only so many tasks.", min=1)] = None,
    temperature: Annotated[
        float | None, typer.Option(help="0 is greedy; default: 1, or the job's.", min=0)
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="Longest completion; default: 64, or the job's.", min=1)
    ] = None,
    adapter: Annotated[str | None, typer.Option(help="Warm start merged into the model.")] = None,
    job: Annotated[
        Path | None,
        typer.Option(help="Sample and score as this job file does; default: as the tasks' family."),
    ] = None,
    at: Annotated[int | None, typer.Option(help="For a run: after this many iterations.")] = None,
    seed: int = 0,
    runs: Runs = Path("runs"),
) -> None:
    """Held-out success of a model or a run: pass@1 and pass@k with 95 % intervals.

    Example: proofgym eval smollm2-135m lean_core:heldout --adapter lean_core --samples 4 --k 4
    """
    from proofgym.checkpoint import load_model_or_run
    from proofgym.clusters.local import Local
    from proofgym.environments.attempts import Attempts, SingleTurn
    from proofgym.environments.lean import Lean, require_statements
    from proofgym.environments.natural import natural_reward
    from proofgym.evaluation import evaluate as measure
    from proofgym.job import Model
    from proofgym.job_file import load_job
    from proofgym.tasks import named
    from proofgym.types import Sampling

    ks = sorted({1, *(k or [])})
    if ks[-1] > samples or ks[0] < 1:
        raise ConfigError(f"--k {ks[-1]}: needs 1 <= k <= --samples, which is {samples}")
    told = None if job is None else load_job(job)
    given = {"temperature": temperature, "max_tokens": max_tokens}
    given = {name: value for name, value in given.items() if value is not None}
    known = told.sampling.model_dump() if told else {"stop": ("\n\n",)}
    with as_options():
        sampling = Sampling(**{**known, **given})
    family = named(tasks)
    chosen = family.load()[:limit]
    cluster = told.cluster if told else Local()
    workers = cluster.verification_workers()
    if told is None:
        reward = natural_reward(family)
        if isinstance(reward, Lean):
            require_statements(chosen)
        attempts: Attempts = SingleTurn(reward.open(workers), workers)
    else:
        attempts = told.open_attempts(workers)
    try:
        attempts.prepare(family)
        loaded = load_model_or_run(cluster, Model(name=model, adapter=adapter), runs, at)
        result = measure(
            cluster.engine(loaded, seed),
            attempts,
            chosen,
            sampling,
            samples=samples,
        )
    finally:
        attempts.close()
    for count in ks:
        print(f"pass@{count}  {result.interval(count)}  ({len(chosen)} tasks, {samples} samples)")
    print(
        json.dumps(
            {f"pass@{count}": round(result.interval(count).mean, 4) for count in ks}
            | {
                "tasks": len(chosen),
                "unscored": result.unscored(),
                "seconds": round(result.seconds, 1),
            }
        )
    )
