"""Draws are pure functions, match the published generator, and look uniform."""

import numpy as np

from proofgym.random import permutation, philox, shuffled, stream, uniform, uniforms


def _words(key: int, counter: int) -> list[str]:
    words = philox(np.asarray([key], np.uint64), np.asarray([counter], np.uint64))
    return [f"{int(word[0]):08x}" for word in words]


def test_philox_matches_the_published_vector():
    # Random123's known answers for philox4x32-10: counter 0, key 0.
    assert _words(0, 0) == ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]


def test_a_draw_does_not_depend_on_the_batch():
    streams = [stream(7, "sample", index) for index in range(50)]
    together = uniforms(streams, np.arange(50))
    backwards = uniforms(streams[::-1], np.arange(50)[::-1])[::-1]
    alone = [uniforms([streams[i]], [i])[0] for i in range(50)]
    assert together.tolist() == backwards.tolist() == alone


def test_arguments_name_different_streams():
    names = {stream(1, "a", 2, 3), stream(1, "a", 23), stream(1, "b", 2, 3), stream(12, "a", 3)}
    assert len(names | {stream(1, "a"), stream(-1, "a", 2, 3), stream(2**80, "a")}) == 7


def test_draws_look_uniform():
    draws = uniforms([stream(0, "test")], np.arange(20_000))
    assert 0 <= draws.min() < 0.001
    assert 0.999 < draws.max() < 1
    assert abs(draws.mean() - 0.5) < 0.01
    assert abs(np.corrcoef(draws[:-1], draws[1:])[0, 1]) < 0.03
    assert uniform(0, "test") == draws[0]


def test_permutation_is_a_permutation():
    order = permutation(100, 5, "order", 1)
    assert sorted(order) == list(range(100))
    assert order != permutation(100, 5, "order", 2)
    assert shuffled("abc", 1, "x") == shuffled("abc", 1, "x")
    assert permutation(0, 1, "x") == []
