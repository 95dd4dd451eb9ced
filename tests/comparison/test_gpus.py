"""Runs at a time share the machine's GPUs."""

from __future__ import annotations

import pytest

from proofgym.clusters.local import Local
from proofgym.comparison.gpus import Gpus, wanted


def test_runs_take_turns():
    gpus = Gpus(["0", "1", "2"])
    taken = [gpus.take(1) for _ in range(6)]
    assert sorted(taken) == sorted([("0",), ("1",), ("2",)] * 2)
    gpus.give_back(taken[4])
    assert gpus.take(1) == taken[4]
    assert set(gpus.take(2)) <= {"0", "1", "2"}


@pytest.mark.parametrize("names", [[], ["0"]])
def test_without_a_choice_a_run_sees_what_all_see(names):
    assert Gpus(names).take(1) == ()


def test_a_run_that_needs_more_than_there_are_says_so_itself():
    assert Gpus(["0", "1"]).take(3) == ()


@pytest.mark.parametrize(
    ("listed", "found"),
    [
        ("3,5", ("3",)),
        ("3", ()),
        ("", ()),
        ("-1", ()),
        ("0,-1", ()),
        ("00,0", ()),
        ("1, 0,-1,2", ("1",)),
    ],
)
def test_what_the_environment_hides_is_not_lent(listed, found, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", listed)
    assert Gpus().take(1) == found


def test_a_run_of_several_engines_or_ranks_needs_as_many():
    assert wanted(Local()) == 1
    assert wanted(Local(engines=2, device="cpu")) == 2
    assert wanted(Local(ranks=3)) == 3
    assert wanted(object()) == 1
