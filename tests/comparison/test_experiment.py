"""What may be compared, and what is refused before any work."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from proofgym import ES, GRPO, Budget, Comparison, Likelihood, Probe, Supervised, Sweep
from proofgym.budget import spent
from proofgym.comparison import describe, load, plan
from proofgym.comparison.variant import label
from proofgym.errors import ConfigError
from proofgym.job_file import load_job


@pytest.fixture
def job(write):
    return load(write()).job


def comparison(job, **fields):
    given = {"job": job, "variants": {"a": {}}, "budget": Budget(tokens=100), "samples": 2}
    return Comparison(**{**given, **fields})


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"variants": {"a": {"algorithm.sgima": 1}}}, "'a'.*did you mean 'sigma'"),
        ({"variants": {"a": {"algoritm": 1}}}, "did you mean 'algorithm'"),
        ({"variants": {"a": {"algorithm.sigma": -1}}}, "variant 'a'.*greater than 0"),
        ({"variants": {"a": {"control": "premuted"}}}, "did you mean 'permuted'"),
        ({"variants": {"a": {"seed": 3}}}, "name them in `seeds`"),
        ({"variants": {"a": {"reward": None}}}, "judged differently"),
        ({"variants": {"a b": {}, "a-b": {}}}, "would all be called 'a-b'"),
        ({"variants": {}}, "at least 1"),
        ({"seeds": (1, 1)}, "different"),
        ({"budget": Budget()}, "what a run may spend"),
        ({"at": (0, 0.5)}, "begin with 0 and end with 1"),
        ({"k": (4,)}, "from 1 to samples"),
        ({"varaints": {}}, "did you mean 'variants'"),
        ({"sampling": None}, "no field 'sampling'; did you mean 'job.sampling'"),
        (
            {
                "variants": {"s": {"algorithm": Supervised()}},
                "budget": Budget(verifier_seconds=1.0),
            },
            "would never end",
        ),
        (
            {"variants": {"s": {"algorithm": Supervised(), "control": "permuted"}}},
            "no rewards to shuffle",
        ),
    ],
)
def test_what_is_wrong_is_refused_with_the_nearest_right_name(job, fields, words):
    with pytest.raises(ConfigError, match=words):
        comparison(job, **fields)


@pytest.mark.parametrize(
    ("path", "right"),
    [
        ("evaluation.limit", "job.evaluation.limit"),  # held-out tasks that the job names
        ("sampling.max_tokens", "job.sampling"),
        ("job.sigma", "algorithm.sigma"),
    ],
)
def test_an_override_of_what_the_job_has_is_pointed_there(job, path, right):
    with pytest.raises(ConfigError, match=f"did you mean '{right}'"):
        comparison(job).override(path, "3")
    of_its_own = comparison(job, evaluation=job.evaluation.replace("limit", 2))
    assert of_its_own.override("evaluation.limit", "3").evaluation.limit == 3


def test_a_budget_is_one_of_three():
    with pytest.raises(ConfigError, match="only one of tokens, seconds"):
        Budget(tokens=1, seconds=1)
    events = [{"event": "iteration", "tokens": 30, "seconds": 2.0}, {"event": "end"}]
    assert spent(events) == {"tokens": 30, "verifier_seconds": 0, "seconds": 2}
    assert Budget(tokens=60).share(events) == 0.5
    assert Budget().share(events) == 0


def test_every_run_has_the_same_but_for_its_variant_and_seed(job, tmp_path):
    made = comparison(
        job,
        variants={"es": {"algorithm.sigma": 0.5}, "grpo": {"algorithm": GRPO(group=2)}},
        seeds=(4, 5),
    )
    runs = plan(made, tmp_path)
    assert [(run.variant.name, run.job.seed) for run in runs] == [
        ("es", 4),
        ("grpo", 4),
        ("es", 5),
        ("grpo", 5),
    ]
    assert runs[0].job.algorithm.sigma == 0.5
    assert runs[0].job.algorithm.population == job.algorithm.population
    assert len({json.dumps(run.job.measure.to_json()) for run in runs}) == 1


def test_a_supervised_variant_learns_from_its_own_tasks(job):
    made = comparison(job, variants={"s": {"algorithm": Supervised(), "tasks.limit": 3}})
    made_job = made.job_of(made.variants_named()[0], 0)
    assert made_job.algorithm.reference == made_job.tasks


def test_a_sweep_has_every_combination(job):
    made = Sweep(
        job=job,
        grid={"algorithm.sigma": [0.25, 0.5], "tasks": {"few": job.tasks.replace("limit", 2)}},
        budget=Budget(seconds=9),
    )
    assert [it.name for it in made.variants_named()] == [
        "sigma=0.25, tasks=few",
        "sigma=0.5, tasks=few",
    ]
    with pytest.raises(ConfigError, match="two of its values are the same"):
        Sweep(job=job, grid={"algorithm.sigma": [0.5, 0.5]}, budget=Budget(seconds=9))


def test_a_part_is_changed_in_the_whole_that_a_variant_names(job):
    made = Sweep(
        job=job,
        grid={"algorithm.population": [4, 8], "algorithm": {"one": ES(sigma=0.5), "two": ES()}},
        budget=Budget(seconds=9),
    )
    rules = [made.job_of(it, 0).algorithm for it in made.variants_named()]
    assert [(it.population, it.sigma == 0.5) for it in rules] == [
        (4, True),
        (4, False),
        (8, True),
        (8, False),
    ]


def test_what_a_variant_leaves_out_is_shown(job):
    assert label(ES(rank=None)) == "ES(rank=none)"


def test_a_file_of_another_kind_names_the_command_for_it(write):
    path = write("")
    wanted = rf"one Comparison or Sweep .*found: none\. It has a Job: proofgym train {path}$"
    with pytest.raises(ConfigError, match=wanted):
        load(path)
    path = write()
    path.write_text(path.read_text() + "\ndel job\n")
    with pytest.raises(
        ConfigError, match=rf"one Job .* It has a Comparison: proofgym compare {path}$"
    ):
        load_job(path)


def test_what_a_file_imports_from_one_beside_it_is_not_what_it_has():
    path = Path(__file__).parents[2] / "examples/sweep_smollm2.py"
    with pytest.raises(ConfigError, match=rf"none\. It has a Sweep: proofgym sweep {path}$"):
        load_job(path)


def test_the_attempts_of_probes_are_planned(job, tmp_path):
    probes = {
        "again": Probe(tasks=job.tasks, reward=job.reward, samples=3),
        "text": Likelihood(("the cat sat", "a dog")),
    }
    planned = comparison(job, probes=probes)
    words = "\n".join(describe(planned, plan(planned, tmp_path), 1))
    assert "60 attempts a run and 48 at the tasks of 1 probe, not counted in it" in words
    assert "60 attempts a run, not counted" in "\n".join(
        describe(comparison(job), plan(comparison(job), tmp_path), 1)
    )
