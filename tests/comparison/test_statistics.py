"""The statistics against known cases: tables, hand computation, simulation."""

from __future__ import annotations

import numpy as np
import pytest

from proofgym.comparison import student
from proofgym.comparison.decomposition import decompose, is_full_grid
from proofgym.comparison.intervals import holm, two_way


@pytest.mark.parametrize(
    ("freedom", "value"),
    [(1, 12.7062), (2, 4.30265), (3, 3.18245), (10, 2.22814), (100, 1.98397), (1e6, 1.95997)],
)
def test_students_t_is_that_of_the_tables(freedom, value):
    assert student.quantile(0.975, freedom) == pytest.approx(value, abs=2e-4)
    assert student.two_sided(value, freedom) == pytest.approx(0.05, abs=1e-5)
    assert student.two_sided(-value, freedom) == pytest.approx(0.05, abs=1e-5)


@pytest.mark.parametrize(
    ("seeds", "spread", "least"),
    [
        (1, (0.0, 0.3, 0.3), 0.90),  # (of seeds, of tasks, of the rest)
        (2, (0.0, 0.3, 0.3), 0.90),
        (2, (0.2, 0.1, 0.1), 0.84),  # the hardest: all depends on two seeds
        (3, (0.05, 0.3, 0.3), 0.90),
        (3, (0.2, 0.1, 0.1), 0.88),
        (5, (0.2, 0.1, 0.1), 0.89),
        (5, (0.0, 0.0, 0.4), 0.93),
    ],
)
def test_intervals_cover_the_true_mean(seeds, spread, least):
    generator = np.random.default_rng(7)
    covered, repeats = 0, 200
    for number in range(repeats):
        rows, columns, rest = (
            generator.normal(0, sd, shape)
            for sd, shape in zip(spread, [(seeds, 1), (1, 50), (seeds, 50)], strict=True)
        )
        found = two_way(0.1 + rows + columns + rest, seed=number, draws=300)
        covered += found.low <= 0.1 <= found.high
    assert least <= covered / repeats


@pytest.mark.parametrize("spread", [0.0, 0.3])  # of seeds: both cases of the variance
def test_the_interval_is_that_of_the_documented_formula(spread):
    seeds, tasks = 3, 40
    generator = np.random.default_rng(2)
    table = generator.normal(0, 0.3, (seeds, tasks)) + generator.normal(0, spread, (seeds, 1))
    mean, rows, columns = table.mean(), table.mean(axis=1), table.mean(axis=0)
    by_seeds = tasks / (seeds - 1) * ((rows - mean) ** 2).sum()
    by_tasks = seeds / (tasks - 1) * ((columns - mean) ** 2).sum()
    rest = table - rows[:, None] - columns[None, :] + mean
    cells = (seeds - 1) * (tasks - 1)
    by_rest = (rest**2).sum() / cells
    total, least = by_seeds + by_tasks - by_rest, max(by_tasks, by_rest)
    parts = by_seeds**2 / (seeds - 1) + by_tasks**2 / (tasks - 1) + by_rest**2 / cells
    assert (total > least) == (spread > 0)
    freedom = max(1.0, total**2 / parts) if total > least else tasks - 1
    half = student.quantile(0.975, freedom) * np.sqrt(max(total, least) / table.size)
    found = two_way(table)
    assert found.freedom == pytest.approx(freedom)
    for side in (mean - found.low, found.high - mean):
        assert half - 1e-9 <= side < 1.1 * half


def test_tasks_alone_would_not_cover_where_seeds_matter():
    """What the rows are for: one seed's interval, taken for all seeds', covers far too rarely."""
    generator = np.random.default_rng(7)
    seeds = generator.normal(0, 0.2, 100)
    covered = 0
    for value in seeds:
        found = two_way(value + generator.normal(0, 0.1, (1, 50)), draws=300)
        covered += found.low <= 0 <= found.high
    assert covered < 30


def test_an_interval_of_what_never_varies_has_no_width():
    same = two_way(np.full((3, 10), 0.5))
    assert (same.low, same.mean, same.high) == (0.5, 0.5, 0.5)
    none = two_way(np.zeros((3, 10)))
    assert none.p == 1
    assert not none.shows_sign


def test_the_interval_over_tasks_is_the_ordinary_bootstrap_for_one_seed():
    from proofgym.estimate import bootstrap_mean

    values = np.random.default_rng(0).random(200)
    ours, plain = two_way(values[None, :]), bootstrap_mean(values)
    assert ours.low == pytest.approx(plain.low, abs=2e-3)
    assert ours.high == pytest.approx(plain.high, abs=2e-3)


def test_holms_correction_by_hand():
    # Sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1, never falling.
    assert holm([0.02, 0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.06, 0.04, 0.06])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_a_decomposition_by_hand():
    # Two sigmas x two populations x two seeds; mean 5. Level means: sigma 3 and 7, population 4.5
    # and 5.5, seed 5 and 5. Squares: 8*4 = 32, 8*0.25 = 2, 0; total 9+4+9+4+4+9+4+9 = 52... by run.
    scores = np.array([2.0, 3.0, 3.0, 4.0, 7.0, 6.0, 8.0, 7.0])
    found = decompose(
        scores,
        {
            "sigma": ["a"] * 4 + ["b"] * 4,
            "population": ["x", "x", "y", "y"] * 2,
            "seed": ["0", "1"] * 4,
        },
    )
    squares = {part.name: part.squares for part in found}
    assert squares == pytest.approx({"sigma": 32.0, "population": 2.0, "seed": 0.0, "rest": 2.0})
    assert [part.freedom for part in found] == [1, 1, 1, 4]
    assert sum(part.share for part in found) == pytest.approx(1)
    # ω² of sigma: (32 - 1 * 2/4) / (36 + 2/4)
    assert found[0].omega == pytest.approx(31.5 / 36.5)
    assert found[2].omega == 0


def test_chance_alone_gives_what_the_decomposition_says():
    generator = np.random.default_rng(3)
    factors = {"a": list("pqr") * 4, "seed": [s for s in "0123" for _ in range(3)]}
    shares = [
        [part.share for part in decompose(generator.normal(size=12), factors)] for _ in range(500)
    ]
    expected = [part.by_chance for part in decompose(np.arange(12.0), factors)]
    assert np.mean(shares, axis=0) == pytest.approx(expected, abs=0.03)


def test_what_is_no_full_grid_is_refused():
    assert not is_full_grid({"a": ["x", "x", "y"], "b": ["p", "q", "p"]})
    with pytest.raises(ValueError, match="full grid"):
        decompose(np.arange(3.0), {"a": ["x", "x", "y"], "b": ["p", "q", "p"]})


@pytest.mark.parametrize("table", [[[1, 1]], [[0.25] * 3], [[1, 0, 0, 1, 1], [0, 1, 1, 0, 0]]])
def test_few_tasks_that_happen_to_be_alike_show_nothing(table):
    found = two_way(np.array(table) / 3)
    assert found.p > 0.05
    assert not found.shows_sign


def test_many_that_are_alike_do():
    found = two_way(np.ones((1, 12)))
    assert found.p == 2.0**-11
    assert found.shows_sign
