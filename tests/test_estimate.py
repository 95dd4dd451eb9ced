"""pass@k against direct enumeration, and intervals that behave."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from proofgym.estimate import bootstrap_mean, pass_at_k


@pytest.mark.parametrize("passed", range(6))
@pytest.mark.parametrize("k", range(1, 6))
def test_pass_at_k_equals_enumeration(passed, k):
    samples = [1] * passed + [0] * (5 - passed)
    expected = np.mean([max(draw) for draw in combinations(samples, k)])
    assert pass_at_k(np.array([passed]), np.array([5]), k)[0] == pytest.approx(expected)


def test_too_few_samples_are_refused():
    with pytest.raises(ValueError, match="pass@3 needs at least 3"):
        pass_at_k(np.array([1, 1]), np.array([4, 2]), 3)


def test_the_interval_covers_the_truth_about_95_percent_of_the_time():
    generator = np.random.default_rng(1)
    hits = 0
    for trial in range(200):
        interval = bootstrap_mean(generator.normal(0.3, 1, 80), seed=trial, draws=500)
        hits += interval.low <= 0.3 <= interval.high
    assert 176 <= hits <= 199
