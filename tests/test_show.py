"""What `proofgym show` says of a run's model and tensors is so."""

from __future__ import annotations

import json
import re
import shutil

import pytest
import torch
from test_quantised import to_fp8
from test_training import JOB, train  # noqa: F401  (JOB is for the fixture job_file)
from transformers import GPT2Config, GPT2LMHeadModel
from typer.testing import CliRunner

from proofgym.algorithms.es import ES
from proofgym.budget import UNITS
from proofgym.checkpoint import export_run
from proofgym.cli.main import app
from proofgym.models import load_model, weights_digest
from proofgym.run_directory import RunDirectory

PERTURBED, FROZEN = r"\d+ of \d+ tensors are perturbed, \d+ weights", r"\d+ stay as they are"
LINE = re.compile(r"  (\S+) \[([\d, ]*)\] (\w+)(?:, also (\S+))?(?:, k x 2\^(\d+))?$")


def show(*arguments):
    found = CliRunner().invoke(app, list(map(str, arguments)))
    assert found.exit_code == 0, found.output
    return found.output


def sections(printed):
    """Names of the tensors said to be perturbed, and to stay; each line read whole."""
    found, into = {PERTURBED: {}, FROZEN: {}}, None
    for line in printed.splitlines():
        heading = [it for it in found if re.match(it, line)]
        if heading:
            into = found[heading[0]]
        elif (match := LINE.match(line)) and into is not None:
            into[match[1]] = match
        else:
            into = None
    return found[PERTURBED], found[FROZEN]


def gpt2(dtype):
    """LayerNorm and linear layers with biases, and a tied head."""
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=31, n_positions=16, n_embd=16, n_layer=2, n_head=2, bos_token_id=0
    )
    model = GPT2LMHeadModel(config).to(dtype)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            torch.nn.init.normal_(parameter, std=0.1)
    return model.requires_grad_(False)


@pytest.mark.parametrize("noise", ["rademacher", "gaussian8"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize(
    "patterns", [("*",), ("*", "!*.h.0.*", "!*wte*"), ("*ln_*", "*.bias"), ("lm_head.weight",)]
)
def test_the_listed_tensors_are_those_that_change(tmp_path, patterns, dtype, noise):
    model = gpt2(getattr(torch, dtype))
    config = ES(population=2, parameters=patterns, noise=noise, evaluation="materialised")
    run = config.build(model, seed=0, directory=tmp_path, base_digest="base")
    before = {name: it.clone() for name, it in model.named_parameters()}
    run.state.write_member(1, 0, run.lent.tensors)
    after = dict(model.named_parameters())
    moved = {it: (before[it] != after[it]).float().mean().item() for it in before}
    run.close()
    perturbed, frozen = sections(show("history", "show", tmp_path / "history.pges"))
    assert set(perturbed) == {name for name, share in moved.items() if share}
    assert set(frozen) == {name for name, share in moved.items() if not share}
    for name, match in (perturbed | frozen).items():
        assert match[3] == dtype
        assert match[2] == ", ".join(map(str, before[name].shape))
        assert match[4] == ("lm_head.weight" if name == "transformer.wte.weight" else None)
    for name in perturbed:  # gains near 1 too, whose grid is coarser than σ in half precisions
        assert moved[name] > 0.4, name
        gain = bool(re.search(r"ln_\w+\.weight", name))
        assert bool(perturbed[name][5]) == (gain and dtype == "bfloat16"), name


@pytest.mark.parametrize("noise", ["rademacher", "gaussian8"])
@pytest.mark.parametrize("rank", [None, 1, 3])
def test_sigma_is_what_its_line_works_out_to(tmp_path, noise, rank):
    config = ES(population=2, sigma=0.003, noise=noise, rank=rank, evaluation="materialised")
    run = config.build(gpt2(torch.float32), seed=0, directory=tmp_path, base_digest="base")
    run.close()
    printed = show("history", "show", tmp_path / "history.pges")
    assert f"noise {noise}, {f'rank {rank}' if rank else 'full rank'}, 2 members" in printed
    (line,) = re.findall(r"sigma (\S+) = (.+); s = 2", printed)
    assert float(line[0]) == pytest.approx(0.003, rel=2**-9)
    assert eval(line[1].replace("^", "**").replace("x", "*")) == pytest.approx(float(line[0]), 1e-5)


def test_iterations_are_counted_from_one_everywhere(job_file, tmp_path):
    run = train(job_file, tmp_path, "iterations=3")
    counted = show("history", "show", run.path, "--last", 2).partition("iteration ")[2]
    assert re.findall(r"^ +(\d+) ", counted, re.M) == ["2", "3"]
    curve = show("show", run.id, "--runs", tmp_path)
    assert re.findall(r"^iteration +(\d+) ", curve, re.M) == ["1", "2", "3"]


def test_a_run_fits_on_a_screen_and_all_of_it_is_there(job_file, tmp_path):
    run = train(job_file, tmp_path, "iterations=12", "algorithm.prompts=1")
    final = run.events()[-1]["weights"]
    assert f"finished: 12/12 iterations, weights {final[:12]}" in show("show", run.path)
    run.record("evaluation", iteration=11, success=0.25)
    run.record("end", reason="failed", error="no space", iterations=12)
    screen = show("show", run.id, "--runs", tmp_path)
    assert len(screen.splitlines()) <= 24
    assert "failed: 12/12 iterations: no space" in screen
    assert f"ES on {run.read_json('job.json')['job']['tasks']['kind']}, seed" in screen
    assert "iterations=12 algorithm.prompts=1" in screen
    assert "held-out success: 0.250 after 12" in screen
    assert re.search(PERTURBED, screen)
    assert re.findall(r"^iteration +(\d+) ", screen, re.M) == [str(it) for it in range(8, 13)]
    assert "--all shows 7 earlier iterations" in screen
    for name in re.findall(r"^  (\S+)  ", screen, re.M):
        assert (run.path / name).exists()
    whole = show("show", run.id, "--runs", tmp_path, "--all")
    assert json.dumps(run.read_json("job.json"), indent=2) in whole
    assert len(sections(whole)[0]) > 10
    assert len(re.findall(r"^iteration ", whole, re.M)) == 12
    assert '"reason": "failed"' in whole
    order = ["failed: 12/12", "held-out success", "iteration    1", '"reason"', "tensors", '"job"']
    places = [whole.index(words) for words in order]
    assert places == sorted(places)


def test_all_of_a_run_has_every_number(tmp_path):
    """Names and values of everything that an iteration's event holds, GRPO's own included."""
    run = RunDirectory.make(tmp_path / "one")
    settings = {"kind": "GRPO", "seed": 0, "iterations": 9, "budget": dict.fromkeys(UNITS)}
    job = {**settings, "algorithm": {"kind": "GRPO"}, "tasks": {"kind": "Jsonl"}}
    run.write_json("job.json", {"source": None, "overrides": [], "control": None, "job": job})
    numbers = {"loss": -0.0123, "entropy": 1.25, "gradient_norm": 0.5, "steps": 4}
    for iteration in range(6):
        run.record("iteration", iteration=iteration, reward=0.5, statuses={"passed": 1}, **numbers)
    whole = show("show", run.path, "--all")
    for name, value in numbers.items():
        assert whole.count(f"{name}={value}") == 6
    assert "--all shows 1 earlier iteration, " in show("show", run.path)
    assert "running: 6/9" in show("show", run.path)
    run.close()
    assert "killed: 6/9" in show("show", run.path)
    job["model"] = {"name": "m"}
    run.write_json("job.json", {"source": None, "overrides": [], "control": None, "job": job})
    listed = show("runs", "--runs", tmp_path)
    assert re.search(r"reward first.*reward last", listed)
    assert "Rewards are of different tasks" in listed
    assert re.search(r"one .*6/9.*killed", listed)


def test_a_run_over_a_quantised_base_says_so_and_is_rebuilt(
    tiny_model,
    job_file,
    tmp_path,
    capfd,
):
    base = tmp_path / "base"
    shutil.copytree(tiny_model, base)
    to_fp8(base, [32, 32])
    job_file.write_text(job_file.read_text().replace(str(tiny_model), str(base)))
    overrides = ["iterations=1", "model.dtype=bfloat16", 'algorithm.parameters=["*","!*norm*"]']
    run = train(job_file, tmp_path / "runs", *overrides)
    said = f"model: {base}, dequantised from fp8 in blocks of 32x32"
    assert said in capfd.readouterr().err
    assert said in show("show", run.id, "--runs", tmp_path / "runs")
    printed = show("show", run.id, "--all", "--runs", tmp_path / "runs")
    assert said in printed
    perturbed, frozen = sections(printed)
    assert len(perturbed) == 15
    assert {"model.norm.weight", "model.layers.1.input_layernorm.weight"} < set(frozen)
    exported = export_run(run, 1, tmp_path / "out")
    again = load_model(str(tmp_path / "out"), dtype="auto")
    assert weights_digest(again.model) == exported
    assert again.dequantised_from is None
    start = dict(load_model(str(base), dtype="bfloat16").model.named_parameters())
    for name, parameter in again.model.named_parameters():
        assert torch.equal(parameter, start[name]) == (name in frozen), name
