"""Compiled kernels give the bits of the NumPy ones."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from proofgym.evolution import kernels, noise, philox, weights

pytest.importorskip("numba")
FAST, PLAIN = kernels.NumbaKernels(), kernels.NumpyKernels()
WIDTHS = st.sampled_from([np.int32, np.int64])


def integers(random, dtype, shape, bits=20):
    return random.integers(-(2**bits), 2**bits, shape).astype(dtype)


@settings(max_examples=40, deadline=None)
@given(
    key=st.integers(0, 2**64 - 1),
    start=st.integers(0, 2**66),
    size=st.integers(0, 70),
    iteration=st.integers(0, 2**32 - 1),
    block=st.integers(0, 2**20),
)
def test_words(key, start, size, iteration, block):
    start = min(start, 2**66 - 80)
    arguments = key, iteration, block, start, start + size
    assert np.array_equal(FAST.words(*arguments), philox.words(*arguments))


@settings(max_examples=40, deadline=None)
@given(
    kind=st.sampled_from(["rademacher", "gaussian8"]),
    key=st.integers(0, 2**64 - 1),
    iteration=st.integers(0, 2**32 - 1),
    count=st.sampled_from([1, 3, 4, 5, 32, 33, 70]),
    size=st.integers(0, 70),
)
def test_draws(kind, key, iteration, count, size):
    start = np.zeros((count, size), np.int8)
    assert same(lambda k, out: k.draw(kind, key, iteration, out), start)
    PLAIN.draw(kind, key, iteration, start)
    for index in {0, count // 2, count - 1}:
        assert np.array_equal(start[index], noise.draw(kind, key, iteration, index, 0, size))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 999), size=st.integers(0, 70), dtype=WIDTHS, scale=st.integers(-60, 0))
def test_flat_kernels(seed, size, dtype, scale):
    random = np.random.default_rng(seed)
    base = random.normal(size=size).astype(np.float32)
    delta, term = integers(random, dtype, size, 30), integers(random, dtype, size)
    words = random.integers(0, 2**32, size, dtype=np.uint32)
    tables = integers(random, dtype, (4, 256))
    step = 2.0**scale
    for call in (
        lambda k, out: k.current(base, delta, step, out),
        lambda k, out: k.member(base, delta, term, step, out),
        lambda k, out: k.lookup_member(base, delta, words, 16, tables[1], step, out),
    ):
        assert same(call, np.zeros(size, np.float32))
    assert same(lambda k, out: k.lookup_add(out, words, tables), delta)
    for m in (1, 3, 2**15, 2**16 - 1):
        assert same(lambda k, out, m=m: k.decay(out, m), delta)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 999),
    shape=st.tuples(st.integers(1, 9), st.integers(1, 40)),
    rank=st.integers(1, 4),
    count=st.sampled_from([1, 3, 8, 13, 32, 33, 70]),
    dtype=WIDTHS,
)
def test_outer_kernels(seed, shape, rank, count, dtype):
    random = np.random.default_rng(seed)
    rows, columns = shape
    base = random.normal(size=shape).astype(np.float32)
    delta = integers(random, dtype, shape)
    left, right = integers(random, dtype, (rows, rank)), integers(random, dtype, (rank, columns), 3)
    assert same(
        lambda k, out: k.outer_member(base, delta, left, right, 2.0**-26, out), np.zeros_like(base)
    )
    for real, bits in ((np.float32, 16), (np.float64, 40)):
        a = integers(random, real, (rows, count), bits)
        b = random.choice(np.array([-1, 1], real), (count, columns))
        exact = (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int64)
        if dtype == np.int32 and real == np.float64:
            continue
        assert same(lambda k, out, a=a, b=b: k.outer_add(out, a, b), delta)
        out = delta.copy()
        FAST.outer_add(out, a, b)
        assert np.array_equal(out, delta + exact)


def same(call, start):
    fast, slow = start.copy(), start.copy()
    call(FAST, fast)
    call(PLAIN, slow)
    return np.array_equal(fast, slow)


def test_decay_rounds_half_to_even():
    values = np.array([1, 3, -1, -3, 5, 2], np.int32)
    FAST.decay(values, 2**15)
    assert values.tolist() == [1, 1, -1, -1, 3, 1]  # rne of .5, 1.5, -.5, -1.5, 2.5, 1


@pytest.mark.parametrize("kernel", [FAST, PLAIN])
def test_bfloat16_is_torchs(kernel):
    random = np.random.default_rng(0)
    bits = random.integers(0, 2**32, 20000, dtype=np.uint64).astype(np.uint32)
    edges = [0x7F800000, 0xFF800000, 0x7F7FFFFF, 0x3F808000, 0x3F818000, 0x00008000, 0x7FC00001, 1]
    values = np.concatenate([bits, np.array(edges, np.uint32)]).view(np.float32)
    out = np.empty(values.size, np.uint16)
    kernel.encode_bfloat16(values, out)
    expected = torch.from_numpy(values).to(torch.bfloat16)
    nan = np.isnan(values)
    assert np.array_equal(out[~nan], weights.read(expected)[~nan])
    assert np.isnan(kernel.decode_bfloat16(out)[nan]).all()
    assert np.array_equal(kernel.decode_bfloat16(out)[~nan], expected.float().numpy()[~nan])


def test_without_numba_the_numpy_kernels_serve(monkeypatch):
    import builtins

    real = builtins.__import__

    def blocked(name, *args, **kwargs):
        if name == "proofgym.evolution" and "compiled" in (args[2] or ()):
            raise ImportError("numba")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", blocked)
    kernels.load.cache_clear()
    try:
        assert isinstance(kernels.load(), kernels.NumpyKernels)
    finally:
        kernels.load.cache_clear()
