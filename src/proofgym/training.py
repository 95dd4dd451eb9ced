"""Wires a job's parts into the loop and keeps the run's record."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from proofgym.algorithms.algorithm import AlgorithmRun
from proofgym.environments.attempts import Attempts
from proofgym.errors import ProofgymError, RunError
from proofgym.interrupts import Interrupts
from proofgym.job import Job, machine
from proofgym.loop import Loop, iteration_metrics
from proofgym.measurement import Measurement
from proofgym.progress import duration
from proofgym.rollout_lines import from_line
from proofgym.run_directory import RunDirectory
from proofgym.tasks.order import Past, past_of
from proofgym.types import Task


def train(job: Job, run: RunDirectory, tasks: Sequence[Task], control: str | None = None) -> None:
    """Train `job` in `run` until its iterations are done; continues what is already durable."""
    from proofgym.models import weights_digest

    started = time.monotonic()
    workers = job.cluster.verification_workers()
    attempts = job.open_attempts(workers)
    interrupts = Interrupts()
    try:
        say(f"checking that {len(tasks)} tasks can be scored")
        attempts.prepare(job.tasks)
        say(f"loading {job.model.name}" + (f" + {job.model.adapter}" if job.model.adapter else ""))
        loaded = job.cluster.load(job.model)
        engine: Any = job.cluster.engine(loaded, job.seed)
        fleet = None
        change = _weight_change(job, loaded)
        algorithm = job.algorithm.build(
            loaded.model,
            seed=job.seed,
            directory=run.path,
            base_digest=loaded.digest,
            adapter_digest=loaded.adapter_digest,
            control=control,
            sampling=job.sampling,
            ranks=job.cluster.ranks,
        )
        try:
            algorithm.check(engine, tasks[0].prompt)
            if job.cluster.engines > 1:
                say(f"starting {job.cluster.engines} engines")
                source = algorithm.source(job.cluster.engines)
                engine = fleet = job.cluster.fleet(job.model, loaded, job.seed, source)
            repair_record(run, algorithm, tasks)
            order = job.order.open(tasks, job.seed)
            order.replay(past(run, job.algorithm.prompts, job.order.learns))
            measurement = _measurement(job, run, loaded, fleet, attempts, change)
            _record_start(job, run, loaded, attempts.describe(), algorithm.iteration, control)
            if job.algorithm.prompts > len(tasks):
                wanted = job.algorithm.prompts
                say(f"prompts = {wanted}: an iteration takes all {len(tasks)} tasks")

            def measure(last: bool = False) -> None:
                if measurement is not None:
                    share = job.share_done(algorithm.iteration, run)
                    measurement.look(algorithm.iteration, share, last)

            def report(metrics: dict[str, Any]) -> None:
                print_iteration(metrics)
                interrupts.check()
                measure()

            loop = Loop(
                engine=engine,
                attempts=attempts,
                algorithm=algorithm,
                order=order,
                prompts=job.algorithm.prompts,
                sampling=job.sampling,
                run=run,
                iterations=job.iterations,
                report=report,
                done=lambda: job.budget.share(run.events()) >= 1,
                of="" if job.budget.kind else f"/{job.iterations}",
            )
            with interrupts:
                measure()
                loop.train()
                measure(last=True)
            algorithm.keep()
            digest = weights_digest(loaded.model)
            run.record("end", reason="finished", iterations=algorithm.iteration, weights=digest)
        except KeyboardInterrupt:
            run.record("end", reason="interrupted", iterations=algorithm.iteration)
            say(f"interrupted after iteration {algorithm.iteration}; proofgym resume {run.id}")
            raise
        except ProofgymError as error:
            if run.events():  # else it never started
                run.record("end", reason="failed", error=str(error), iterations=algorithm.iteration)
            raise
        finally:
            if fleet is not None:
                fleet.close()
            algorithm.close()
    finally:
        attempts.close()
        run.close()
    spent = duration(time.monotonic() - started)
    say(f"finished in {spent}; weights {digest[:12]}; results in {run.path}")


def _measurement(
    job: Job, run: RunDirectory, loaded: Any, fleet: Any, attempts: Attempts, change: Any
) -> Measurement | None:
    """What measures held-out success during the run, if the job asks for it."""
    if job.measure is None or job.evaluation is None:
        return None
    attempts.prepare(job.evaluation)
    seed = job.measure.seed
    return Measurement(
        job.measure,
        run,
        job.evaluation.load(),
        fleet.seeded(seed) if fleet else job.cluster.engine(loaded, seed),
        attempts,
        job.sampling,
        job.cluster.verification_workers(),
        change,
    )


def _weight_change(job: Job, loaded: Any) -> Any:
    """Made before the run's algorithm puts anything else into the model."""
    if job.measure is None:
        return None
    from proofgym.weight_change import WeightChange

    return WeightChange(loaded.model)


def repair_record(run: RunDirectory, algorithm: AlgorithmRun, tasks: Sequence[Task]) -> None:
    """Make the record agree with the algorithm's durable state after a crash.

    Work on iterations that did not become durable is forgotten; an iteration whose event was lost
    between the update and the record is rebuilt from its rollouts.
    """
    durable = algorithm.iteration
    done = [event["iteration"] for event in run.events() if event["event"] == "iteration"]
    if done and algorithm.new:
        raise RunError(
            f"run {run.id}: its weights' record (history.pges or checkpoints) is missing, but "
            f"{max(done) + 1} iterations are recorded. Put it back, or start a new run; nothing "
            "was changed"
        )
    run.forget_from(durable)
    known = {event["iteration"] for event in run.events() if event["event"] == "iteration"}
    for iteration in sorted(set(range(durable)) - known):
        try:
            rollouts = [from_line(line, tasks) for line in run.rollouts(iteration)]
        except RunError as error:  # the weights do not need them
            say(f"{error}; the metrics of iteration {iteration + 1} are lost")
            rollouts = []
        run.record("iteration", iteration=iteration, recovered=True, **iteration_metrics(rollouts))


def past(run: RunDirectory, prompts: int, learns: bool) -> Iterator[Past]:
    """What the order of tasks must know of each durable iteration; `prompts` tasks where the
    record does not say how many were tried.

    Raises:
        RunError: the order learns from attempts, and those of an iteration are missing.
    """
    done = [event for event in run.events() if event["event"] == "iteration"]
    for event in sorted(done, key=lambda event: event["iteration"]):
        lines = list(run.rollouts(event["iteration"])) if learns else []
        if learns and not lines:
            raise RunError(
                f"run {run.id}: rollouts/{event['iteration']:05d}.jsonl.gz is missing, and the "
                "order of tasks follows from it (Order.skip, Order.by = 'success'). Put it back, "
                "or start a new run"
            )
        yield past_of(event.get("tasks") or prompts, lines)


def _record_start(
    job: Job, run: RunDirectory, loaded: Any, judge: str, iteration: int, control: str | None
) -> None:
    environment = machine() | {
        "model": {
            "source": loaded.source,
            "digest": loaded.digest,
            "base_digest": loaded.base_digest,
            "dequantised_from": loaded.dequantised_from,
        },
        "device": job.cluster.torch_device(),
        "judge": judge,
    }
    run.write_json("environment.json", environment)
    run.record("start", iteration=iteration, control=control)
    say(f"run {run.id}  ->  {run.path}")
    say(f"model: {loaded.source}")
    say(f"judge: {judge}")
    say(
        f"weights {loaded.digest[:12]}, seed {job.seed}, "
        + (
            f"from iteration {iteration + 1} until {job.budget} are used"
            if job.budget.kind
            else f"iterations {iteration + 1} to {job.iterations}"
        )
        + (f", control {control}" if control else "")
    )


def print_iteration(metrics: dict[str, Any]) -> None:
    reward = "none" if metrics["reward"] is None else f"{metrics['reward']:.3f}"
    generate, waiting = metrics.get("generate_s", 0.0), metrics.get("wait_for_verdicts_s", 0.0)
    say(
        f"  reward {reward}  {metrics['attempts']} attempts, {metrics['tokens']} tokens"
        f"  generate {generate:.1f} s  waited for verdicts {waiting:.1f} s"
        f"  perturb+update {metrics.get('perturb_s', 0.0) + metrics.get('update_s', 0.0):.1f} s"
    )
    if metrics.get("steps") == 0 or metrics.get("coefficient_bits") == 0:
        members = "sigma" in metrics and metrics.get("informative") != 0
        why = "all members scored alike: a larger sigma?" if members else _NOTHING
        say(f"  no update: nothing to learn from ({why})")
    for line in fault_lines(metrics):
        say(f"  {line}")


def fault_lines(metrics: Mapping[str, Any]) -> Iterator[str]:
    """Why attempts of an iteration have no score: "no score: 3 raised, such as: …"."""
    for kind, count in metrics.get("faults", {}).items():
        example = " ".join(metrics["fault_examples"][kind].split())
        yield f"no score: {count} {_KINDS.get(kind, kind)}, such as: {example}"


_NOTHING = "all attempts alike in reward, or masked"
_KINDS = {"none": "returned None", "bad value": "returned a bad value", "infrastructure": "failed"}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
