"""The state against the definition, for every dtype, noise and rank, however work is cut."""

import itertools

import numpy as np
import plain_arithmetic as plain
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from proofgym.errors import HistoryError
from proofgym.evolution import kernels, state
from proofgym.evolution.history import Decay, Update
from proofgym.evolution.state import State

NOISES = [
    ("rademacher", None),
    ("gaussian8", None),
    ("gaussian", None),
    ("rademacher", 1),
    ("rademacher", 3),
    ("gaussian8", 1),
    ("gaussian8", 3),
]
ENTRIES = [
    Update(0, (5, -7, 100, 3, 0, 0, -9, 1), 8),
    Decay(1, 3000),
    Update(1, (1, 2, 3, 4, 5, 6, 7, -8), 8),
    Update(2, (-3000, 250000, 0, 0, 40, 41, 42, 43), 6),
]


def written(write, listed):
    into = plain.base(listed, seed=99)
    write(into)
    return into


def expected_delta(chosen, tensor, entries):
    delta = np.zeros(tensor.shape, np.int64)
    for entry in entries:
        if isinstance(entry, Decay):
            delta = delta - np.array(
                [round(int(d) * entry.m / 2**16) for d in delta.reshape(-1)], np.int64
            ).reshape(tensor.shape)
        else:
            delta = delta + plain.update(chosen, tensor, entry)
    return delta


@pytest.mark.parametrize("small", [False, True], ids=["whole", "cut"])
@pytest.mark.parametrize("fast", [True, False], ids=["compiled", "numpy"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize(("kind", "rank"), NOISES)
def test_weights_follow_the_definition(kind, rank, dtype, fast, small, monkeypatch):
    if small:  # shards, scratch and draws that end inside words and rows
        for name, size in (("SHARD", 6), ("CHUNK", 3), ("DRAW", 2)):
            monkeypatch.setattr(state, name, size)
    chosen = plain.specification(kind=kind, rank=rank)
    listed = plain.manifest(dtype)
    base = plain.base(listed)
    found = State(listed, chosen, base)
    found._kernels = kernels.load() if fast else kernels.NumpyKernels()
    found.apply(*ENTRIES)
    current = written(found.write_current, listed)
    members = [written(lambda into, m=m: found.write_member(m, 3, into), listed) for m in (2, 3)]
    for tensor in listed:
        delta = expected_delta(chosen, tensor, ENTRIES)
        assert np.array_equal(found.delta[tensor.name].values, delta.reshape(-1))
        start = base[tensor.name]
        assert torch.equal(current[tensor.name], plain.weight(chosen, tensor, start, delta))
        for member, into in zip((2, 3), members, strict=True):
            term = (chosen.k << tensor.shift) * plain.epsilon(chosen, tensor, 3, member)
            assert torch.equal(into[tensor.name], plain.weight(chosen, tensor, start, delta + term))


@settings(max_examples=25, deadline=None)
@given(
    rows=st.integers(1, 70),
    columns=st.integers(1, 70),
    kind=st.sampled_from(["rademacher", "gaussian8"]),
    rank=st.sampled_from([None, 1, 2, 5]),
    population=st.sampled_from([2, 30, 34, 80]),
    antithetic=st.booleans(),
    scale=st.sampled_from([100, 30000, 2**22]),
    seed=st.integers(0, 99),
)
def test_any_shape_and_population(rows, columns, kind, rank, population, antithetic, scale, seed):
    chosen = plain.specification(kind=kind, rank=rank, population=population, antithetic=antithetic)
    listed = plain.manifest(shapes={"w": (rows, columns)})
    random = np.random.default_rng(seed)
    entries = [
        Update(t, tuple(random.integers(-scale, scale, population).tolist()), population)
        for t in range(2)
    ]
    found = []
    for kernel in (kernels.load(), kernels.NumpyKernels()):
        made = State(listed, chosen, plain.base(listed))
        made._kernels = kernel
        made.apply(*entries)
        into = written(lambda into, made=made: made.write_member(population - 1, 2, into), listed)
        found.append((made.delta["w"].values, into["w"].numpy()))
    assert np.array_equal(found[0][0], found[1][0])
    assert np.array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize(("kind", "rank"), NOISES[:2] + NOISES[3:])
def test_members_may_come_in_any_grouping_and_order(kind, rank):
    """Sums of one iteration, split over workers in any way, are the same integers."""
    chosen = plain.specification(kind=kind, rank=rank)
    listed = plain.manifest()
    total = State(listed, chosen, plain.base(listed))
    total.apply(ENTRIES[0])
    for order in itertools.islice(itertools.permutations(range(8)), 0, 40320, 5000):
        split = State(listed, chosen, plain.base(listed))
        for group in (order[:3], order[3:4], order[4:]):
            part = tuple(c if m in group else 0 for m, c in enumerate(ENTRIES[0].coefficients))
            split.iteration = 0
            split.apply(Update(0, part, 8))
        for tensor in listed:
            assert np.array_equal(split.delta[tensor.name].values, total.delta[tensor.name].values)


@pytest.mark.parametrize("kind", ["rademacher", "gaussian8"])
def test_entries_apply_together_as_one_by_one(kind):
    chosen, listed = plain.specification(kind=kind, rank=2), plain.manifest()
    together = State(listed, chosen, plain.base(listed))
    together.apply(*ENTRIES)
    single = State(listed, chosen, plain.base(listed))
    for entry in ENTRIES:
        single.apply(entry)
    assert single.digest() == together.digest()
    assert single.iteration == together.iteration == 3


def test_a_pair_with_equal_coefficients_moves_nothing():
    chosen, listed = plain.specification(), plain.manifest()
    found = State(listed, chosen, plain.base(listed))
    before = found.digest()
    found.apply(Update(0, (7, 7, -3, -3, 0, 0, 5, 5), 8))
    assert found.digest() == before


@pytest.mark.parametrize(("kind", "rank"), NOISES[:2] + NOISES[3:])
def test_widening_to_64_bits_changes_no_number(kind, rank):
    chosen, listed = plain.specification(kind=kind, rank=rank), plain.manifest()
    found = State(listed, chosen, plain.base(listed))
    large = tuple((-1) ** m * (2**27 + m) for m in range(8))
    entries = [Update(t, large, 8) for t in range(5)]
    found.apply(*entries)
    for tensor in listed:
        delta = expected_delta(chosen, tensor, entries)
        assert np.array_equal(found.delta[tensor.name].values, delta.reshape(-1))
        assert found.delta[tensor.name].bound >= np.abs(delta).max()
    assert found.delta["matrix"].values.dtype == np.int64
    into = written(lambda into: found.write_member(1, 9, into), listed)
    tensor = next(iter(listed))
    delta = expected_delta(chosen, tensor, entries) + (
        (chosen.k << tensor.shift) * plain.epsilon(chosen, tensor, 9, 1)
    )
    start = plain.base(listed)[tensor.name]
    assert torch.equal(into[tensor.name], plain.weight(chosen, tensor, start, delta))


def test_a_member_near_the_edge_of_32_bits_does_not_wrap():
    chosen = plain.specification(k=2**20, population=2)
    listed = plain.manifest(shapes={"w": (4,)})
    base = plain.base(listed)
    found = State(listed, chosen, base)
    found.apply(Update(0, (2**31 - 1 - 2**10, 0), 2))
    assert found.delta["w"].values.dtype == np.int32
    into = written(lambda into: found.write_member(0, 0, into), listed)
    tensor = listed.tensors[0]
    noise = plain.epsilon(chosen, tensor, 0, 0)
    expected = plain.weight(chosen, tensor, base["w"], (2**31 - 1 - 2**10 + 2**20) * noise)
    assert torch.equal(into["w"], expected)


@pytest.mark.parametrize("rank", [1, 3])
def test_the_largest_low_rank_normal_is_within_its_bound(rank):
    """At the last k that 32 bits have room for, and the first that they have not."""
    listed = plain.manifest(shapes={"w": (3, 2000), "v": (6000,)})
    base = plain.base(listed)
    most = (2**31 - 1) // (92 * rank * 2)  # the vector's k is doubled by its shift
    for k, wide in ((most, False), (most + 1, True)):
        chosen = plain.specification(kind="gaussian8", rank=rank, k=k, scale=-40, population=2)
        assert chosen.largest == 92 * rank
        found = State(listed, chosen, base)
        into = written(lambda into, found=found: found.write_member(1, 0, into), listed)
        assert (found.delta["v"].values.dtype == np.int64) == wide
        for tensor in listed:
            noise = plain.epsilon(chosen, tensor, 0, 1)
            assert np.abs(noise).max() <= chosen.largest
            assert rank > 1 or np.abs(noise).max() == 92
            term = (k << tensor.shift) * noise
            assert torch.equal(
                into[tensor.name], plain.weight(chosen, tensor, base[tensor.name], term)
            )


def test_the_limit_is_refused():
    chosen, listed = plain.specification(), plain.manifest()
    found = State(listed, chosen, plain.base(listed))
    with pytest.raises(HistoryError, match="lower the learning rate"):
        found.apply(Update(0, (2**50, 0, 0, 0, 0, 0, 0, 0), 8))


def test_entries_out_of_turn_are_refused():
    chosen, listed = plain.specification(), plain.manifest()
    with pytest.raises(HistoryError, match="cannot follow"):
        State(listed, chosen, plain.base(listed)).apply(ENTRIES[2])


def test_the_base_is_a_copy_and_writing_is_restoring():
    chosen, listed = plain.specification(rank=1), plain.manifest("bfloat16")
    model = plain.base(listed)
    found = State(listed, chosen, model)
    found.write_member(3, 0, model)
    assert not torch.equal(model["matrix"], plain.base(listed)["matrix"])
    found.write_current(model)
    assert all(torch.equal(model[name], tensor) for name, tensor in plain.base(listed).items())


def test_strided_tensors_are_written_too():
    chosen, listed = plain.specification(rank=1), plain.manifest(shapes={"w": (4, 6)})
    base = plain.base(listed)
    strided = {"w": torch.empty(6, 4).T}
    State(listed, chosen, base).write_current(strided)
    assert torch.equal(strided["w"], base["w"])
