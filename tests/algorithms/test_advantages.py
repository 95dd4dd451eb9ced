"""Advantages against their papers' formulas, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofgym.algorithms.advantages import ADVANTAGES, advantages, informative

GROUPS = [np.array([1.0, 0.0, 0.0, 1.0]), np.array([0.0, 0.0, 3.0])]


def test_each_rule_by_hand():
    first, second = GROUPS
    every = np.concatenate(GROUPS)
    expected = {
        "grpo": [np.array([1, -1, -1, 1]) * 0.5 / (3**-0.5 + 1e-4), (second - 1) / (3**0.5 + 1e-4)],
        "dr_grpo": [np.array([0.5, -0.5, -0.5, 0.5]), np.array([-1.0, -1.0, 2.0])],
        "batch_scaled": [(group - group.mean()) / (every.std(ddof=1) + 1e-4) for group in GROUPS],
        # Each against the mean of the others: 1 - (0 + 0 + 1)/3, 0 - (1 + 0 + 1)/3, ...
        "rloo": [np.array([2, -2, -2, 2]) / 3, np.array([-1.5, -1.5, 3.0])],
        "reinforce++": [(group - every.mean()) / (every.std(ddof=1) + 1e-4) for group in GROUPS],
    }
    centred = np.concatenate([first - 0.5, second - 1])
    spread = centred.std(ddof=1) + 1e-4
    expected["reinforce++_baseline"] = [
        (group - group.mean() - centred.mean()) / spread for group in GROUPS
    ]
    assert set(expected) == set(ADVANTAGES)
    for how, wanted in expected.items():
        for found, value in zip(advantages(GROUPS, how), wanted, strict=True):
            assert found == pytest.approx(value), how


@given(
    st.lists(st.lists(st.floats(-10, 10), min_size=1, max_size=6), min_size=1, max_size=5),
    st.sampled_from(ADVANTAGES),
)
def test_groups_that_agree_get_nothing_and_nothing_is_infinite(rewards, how):
    groups = [np.array(group) for group in rewards]
    for group, found in zip(groups, advantages(groups, how), strict=True):
        assert found.shape == group.shape
        assert np.isfinite(found).all()
        if not informative(group) and "reinforce" not in how:
            assert np.abs(found).max() < 1e-9


def test_a_group_is_informative_when_its_rewards_differ():
    assert informative(np.array([0.0, 1.0]))
    assert not informative(np.array([1.0, 1.0]))
    assert not informative(np.array([1.0]))
