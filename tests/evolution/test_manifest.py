"""Choosing tensors by name, tied weights once, shifts where a dtype is coarse; choosing s."""

import json

import pytest
import torch
from torch import nn

from proofgym.errors import ConfigError, HistoryError, ModelError
from proofgym.evolution import manifest, specification
from proofgym.evolution.manifest import Manifest
from proofgym.evolution.specification import Specification


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 4)
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))
        self.norm = nn.LayerNorm(4, bias=False)
        self.head = nn.Linear(4, 11, bias=False)
        self.head.weight = self.embed.weight


def choose(**changes):
    fields = {
        "seed": 0,
        "kind": "rademacher",
        "rank": 1,
        "antithetic": True,
        "population": 16,
        "sigma": 2**-9,
        "learning_rate": 2**-10,
    }
    return specification.choose(**{**fields, **changes})


def names(*patterns):
    return [tensor.name for tensor in manifest.build(Tied(), patterns, choose())]


def test_tied_tensors_are_listed_once_under_both_names():
    listed = manifest.build(Tied(), ["*"], choose())
    assert [tensor.name for tensor in listed.tensors].count("embed.weight") == 1
    assert listed.tensors[0].aliases == ("head.weight",)
    assert names("head.*") == ["embed.weight"]


def test_patterns_choose_and_take_out():
    assert names("layers.*.weight") == ["layers.0.weight", "layers.1.weight"]
    assert names("*", "!*.bias", "!embed*") == ["layers.0.weight", "layers.1.weight", "norm.weight"]
    with pytest.raises(ConfigError, match=r"did you mean 'layers\.0\.weight'"):
        names("layer.0.weight")
    with pytest.raises(ConfigError, match="leaves no tensor"):
        names("*", "!*")


def test_it_survives_json_and_checks_a_model():
    listed = manifest.build(Tied(), ["layers.*"], choose())
    again = Manifest.from_json(json.loads(json.dumps(listed.to_json())))
    assert again == listed
    again.check(Tied())
    with pytest.raises(HistoryError, match="float16"):
        again.check(Tied().half())


def test_a_coarse_dtype_gets_a_larger_sigma_only_where_it_needs_one():
    model = Tied().to(torch.bfloat16)
    nn.init.normal_(model.layers[0].weight, std=0.02)
    shifts = {tensor.name: tensor.shift for tensor in manifest.build(model, ["*"], choose())}
    assert shifts["layers.0.weight"] == 0
    assert shifts["norm.weight"] == 2  # gains of 1 have a grid of 2^-7, four times σ
    assert not any(tensor.shift for tensor in manifest.build(Tied(), ["*"], choose()))


def test_integers_are_not_weights():
    model = Tied().to(torch.float64)
    with pytest.raises(ModelError, match="float64"):
        manifest.build(model, ["*"], choose())


@pytest.mark.parametrize("kind", ["rademacher", "gaussian8", "gaussian"])
@pytest.mark.parametrize("sigma", [1e-3, 2**-9, 0.02])
@pytest.mark.parametrize("learning_rate", [5e-4, 1e-4, 0.1])
@pytest.mark.parametrize("population", [2, 30, 1024])
def test_coefficients_keep_12_bits_and_sigma_is_near(kind, sigma, learning_rate, population):
    chosen = choose(
        kind=kind, rank=None, sigma=sigma, learning_rate=learning_rate, population=population
    )
    assert abs(chosen.sigma - sigma) <= sigma / 2**8
    assert chosen.coefficient(learning_rate, 1.0, population) >= 2**12
    assert Specification.from_json(json.loads(json.dumps(chosen.to_json()))) == chosen


def test_rank_is_folded_into_sigma_and_alpha():
    four, one = choose(rank=4), choose(rank=1)
    assert four.unit == 2
    assert four.sigma == one.sigma == 2**-9
    moved = [chosen.coefficient(0.5, 1.0, 16) * chosen.step for chosen in (four, one)]
    assert 2 * moved[0] == moved[1]


def test_rounding_is_to_even():
    chosen = Specification(0, "rademacher", 1, True, 2, -1, 1)
    scores = (0.25, 0.75, 1.25, -0.25, -0.75)
    assert [chosen.coefficient(1.0, score, 1) for score in scores] == [0, 2, 2, 0, -2]


def test_what_cannot_be_exact_is_refused():
    with pytest.raises(ConfigError, match="too small"):
        choose(learning_rate=1e-12, sigma=1.0)
    with pytest.raises(HistoryError, match="specification 2"):
        Specification.from_json({**choose().to_json(), "version": 2})
