"""Wrong names, types and values are refused with the nearest right one."""

from __future__ import annotations

import re
from typing import Literal

import pytest
from pydantic import Field
from typer.testing import CliRunner

from proofgym.cli.main import app
from proofgym.cli.options import as_options
from proofgym.config import Config
from proofgym.errors import ConfigError, nearest, no_file
from proofgym.job_file import load_job
from proofgym.sandboxes import Limits
from proofgym.types import Sampling


class Inner(Config):
    sigma: float = Field(0.001, gt=0)
    noise: Literal["rademacher", "gaussian8"] = "rademacher"


class Outer(Config):
    name: str
    inner: Inner = Inner()
    iterations: int = 20


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"name": "a", "iteratons": 3}, ["iteratons", "did you mean 'iterations'?"]),
        ({}, ["Outer.name must be given"]),
        ({"name": "a", "iterations": "many"}, ["Outer.iterations", "'many'", "integer"]),
    ],
)
def test_a_wrong_field_is_named_with_what_is_allowed(fields, words):
    with pytest.raises(ConfigError) as caught:
        Outer(**fields)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_a_wrong_choice_names_the_nearest():
    with pytest.raises(ConfigError, match="did you mean 'rademacher'"):
        Inner(noise="rademacer")


def test_without_a_near_name_all_are_said():
    assert nearest("sigme", ["sigma", "rank"]) == "did you mean 'sigma'? (allowed: 'sigma', 'rank')"
    with pytest.raises(ConfigError, match=r"no field 'x'; choose from 'name', 'inner', 'iter"):
        Outer("a", x=1)


def test_an_out_of_range_value_is_refused():
    with pytest.raises(ConfigError, match=r"Inner.sigma = -1.*greater than 0"):
        Inner(sigma=-1)


def test_override_reaches_inner_fields_and_keeps_the_rest():
    job = Outer("a", iterations=5).override("inner.sigma", "2e-3").override("name", "b")
    assert (job.inner.sigma, job.iterations, job.name) == (2e-3, 5, "b")


@pytest.mark.parametrize("path", ["iner.sigma", "inner.sgima", "name.x"])
def test_a_wrong_override_is_refused(path):
    with pytest.raises(ConfigError):
        Outer("a").override(path, "1")


def test_json_holds_the_defaults_too():
    assert Outer("a").to_json() == {
        "kind": "Outer",
        "name": "a",
        "inner": {"kind": "Inner", "sigma": 0.001, "noise": "rademacher"},
        "iterations": 20,
    }


def test_none_on_the_command_line_is_null_or_a_fields_own_word():
    from proofgym.algorithms.es import ES
    from proofgym.sft import SFT

    assert SFT().override("rank", "none").rank is None
    assert ES().override("normalise", "none").normalise == "none"
    with pytest.raises(ConfigError, match="batch"):
        SFT().override("batch", "none")


def test_a_file_that_is_not_there_gets_the_nearest(tmp_path):
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "prove.py").touch()
    for name, words in [
        ("jobs/prov.py", "no file %/jobs/prov.py; did you mean '%/jobs/prove.py'?"),
        ("jobs/other", "no file %/jobs/other"),
        ("job/a/prove.py", "there is no folder %/job; did you mean '%/jobs'?"),
        ("jobs", "%/jobs is a folder, not a file"),
    ]:
        assert no_file(tmp_path / name) == words.replace("%", str(tmp_path))
    with pytest.raises(ConfigError, match="did you mean"):
        load_job(tmp_path / "jobs" / "prov.py")


def test_of_many_allowed_values_the_first_are_named():
    many = [f"layer.{number}.weight" for number in range(300)]
    said = nearest("layers.7.weight", many)
    assert said.startswith("did you mean 'layer.7.weight'?")
    assert said.endswith("'layer.39.weight', and 260 more)")


@pytest.mark.parametrize(
    ("field", "value"),
    [("temperature", float("inf")), ("temperature", float("nan")), ("max_tokens", 10**9)],
)
def test_absurd_sampling_is_refused(field, value):
    with pytest.raises(ConfigError, match=f"Sampling.{field} = "):
        Sampling(**{field: value})


def test_a_wrong_option_of_eval_is_named_before_any_work():
    arguments = ["eval", "lean-tiny", "lean_core:heldout", "--temperature", "500"]
    result = CliRunner().invoke(app, arguments)
    assert str(result.exception).startswith("--temperature = 500.0: ")
    said = pytest.raises(ConfigError, match=r"^--timeout = -1: must be")
    with said, as_options(wall_s="--timeout"):
        Limits(wall_s=-1)


@pytest.mark.parametrize("words", [[], ["lean"], ["plan"], ["history"]])
def test_every_help_has_an_example(words):
    result = CliRunner().invoke(app, [*words, "--help"])
    assert "Example: proofgym" in result.output
    for name in re.findall(r"^  ([a-z]+)  ", result.output.partition("Commands:")[2], re.M):
        more = CliRunner().invoke(app, [*words, name, "--help"])
        assert re.search(rf"Example: proofgym.* {name}", more.output), name
