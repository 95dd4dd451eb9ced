"""The noise itself: layout, moments, antithetic pairs, cuts."""

import numpy as np
import plain_arithmetic as plain
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofgym.evolution import noise, philox
from proofgym.evolution.lowrank import Factors
from proofgym.evolution.manifest import Tensor


def test_a_sign_is_the_bit_of_its_counter():
    key = philox.key(5, "noise", "w")
    for index in (0, 31, 32, 70):
        drawn = noise.rademacher(key, 9, index, 0, 11)
        expected = [plain.sign(5, "noise", "w", 9, index, element) for element in range(11)]
        assert drawn.tolist() == expected


def test_the_normal_table_is_symmetric_with_variance_one_at_a_32nd():
    table = noise.GAUSSIAN8.astype(int)
    assert len(table) == 256
    assert np.array_equal(table, -table[::-1])
    assert (table**2).sum() == 256 * 32**2
    assert table.max() == noise.LARGEST["gaussian8"]
    assert np.all(np.diff(table) >= 0)


@pytest.mark.parametrize("kind", ["rademacher", "gaussian8", "gaussian"])
def test_moments_and_independence(kind):
    drawn = [noise.draw(kind, 1 + index // 2, 0, index % 2, 0, 40000) for index in range(4)]
    unit = np.stack(drawn) / noise.UNIT[kind]
    assert np.allclose(unit.mean(axis=1), 0, atol=0.03)
    assert np.allclose(unit @ unit.T / 40000, np.eye(4), atol=0.03)
    assert np.abs(np.stack(drawn)).max() <= noise.LARGEST[kind]


@settings(max_examples=30, deadline=None)
@given(
    kind=st.sampled_from(["rademacher", "gaussian8", "gaussian"]),
    start=st.integers(0, 2**40),
    size=st.integers(1, 40),
    cut=st.integers(0, 40),
    index=st.integers(0, 70),
)
def test_any_cut_draws_the_same(kind, start, size, cut, index):
    cut = min(cut, size)
    whole = noise.draw(kind, 77, 3, index, start, start + size)
    parts = [
        noise.draw(kind, 77, 3, index, start, start + cut),
        noise.draw(kind, 77, 3, index, start + cut, start + size),
    ]
    assert np.array_equal(np.concatenate(parts), whole)


def test_pairs_share_a_direction_with_opposite_signs():
    assert [noise.direction(member, True) for member in range(4)] == [
        (0, 1),
        (0, -1),
        (1, 1),
        (1, -1),
    ]
    assert [noise.direction(member, False) for member in range(3)] == [(0, 1), (1, 1), (2, 1)]


@pytest.mark.parametrize("kind", ["rademacher", "gaussian8"])
@pytest.mark.parametrize("rank", [1, 4])
def test_low_rank_noise_has_the_unit_of_its_kind(kind, rank):
    chosen = plain.specification(kind=kind, rank=rank)
    assert chosen.unit == noise.UNIT[kind] * rank**0.5
    for shape in ((400, 300), (5, 3, 4000), (60000,)):
        factors = Factors(chosen, Tensor("w", shape, "float32", True))
        left, right = (it.astype(float) for it in factors.vectors(3, 8))
        drawn = np.einsum("crm,crn->cmn", left, right) / chosen.unit
        assert abs(drawn.mean()) < 0.02
        assert drawn.var() == pytest.approx(1, abs=0.06)
        flat = drawn.reshape(8, -1)
        assert np.allclose(flat @ flat.T / flat.shape[1], np.eye(8), atol=0.12)


def test_an_element_of_rank_one_noise_is_distributed_as_at_full_rank():
    """Σ over signs and bytes of each pair of values: the table itself, twice."""
    products = np.concatenate([noise.GAUSSIAN8, -noise.GAUSSIAN8])
    assert np.array_equal(np.sort(products), np.sort(np.tile(noise.GAUSSIAN8, 2)))


@pytest.mark.parametrize("kind", ["rademacher", "gaussian8"])
def test_an_update_of_rank_one_is_as_noisy_as_docs_say(kind):
    """E |ε|²⟨G, ε⟩² = M·(N + κ − 1)·|G|² in units of the noise."""
    rows, columns, count = 3, 4, 20000
    factors = Factors(
        plain.specification(kind=kind, rank=1), Tensor("w", (rows, columns), "float32", True)
    )
    left, right = (it[:, 0].astype(float) for it in factors.vectors(0, count))
    drawn = np.einsum("cm,cn->cmn", left, right) / noise.UNIT[kind]
    gradient = np.arange(1.0, 1 + rows * columns).reshape(rows, columns)
    found = ((drawn**2).sum((1, 2)) * (drawn * gradient).sum((1, 2)) ** 2).mean()
    table = noise.GAUSSIAN8.astype(float)
    kurtosis = 1 if kind == "rademacher" else (table**4).mean() / (table**2).mean() ** 2
    expected = rows * (columns + kurtosis - 1) * (gradient**2).sum()
    assert found == pytest.approx(expected, rel=0.05)
