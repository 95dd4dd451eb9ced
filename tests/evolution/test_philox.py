"""Known answers published with Random123 (kat_vectors, philox4x32 10)."""

import numpy as np
import pytest

from proofgym.evolution import philox

PI = "243f6a88 85a308d3 13198a2e 03707344"
KNOWN = [
    ("00000000 " * 4, "00000000 " * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff " * 4, "ffffffff " * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    (PI, "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def hexadecimal(text):
    return [int(word, 16) for word in text.split()]


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_known_answers(counter, key, expected):
    low, high = hexadecimal(key)
    words = philox.philox(np.array(hexadecimal(counter), np.uint32)[:, None], high << 32 | low)
    assert words[:, 0].tolist() == hexadecimal(expected)


def test_words_do_not_depend_on_the_cut():
    whole = philox.words(12345678901234567890, 7, 3, 0, 101)
    for cut in range(102):
        parts = [philox.words(12345678901234567890, 7, 3, *span) for span in ((0, cut), (cut, 101))]
        assert np.array_equal(np.concatenate(parts), whole)


def test_element_layout_beyond_32_bits():
    element = (5 << 34) + 6  # counter low word 1, high word 5, word 2
    counter = np.array([[1], [5], [7], [3]], np.uint32)
    expected = philox.philox(counter, 42)[2, 0]
    assert philox.words(42, 7, 3, element, element + 1)[0] == expected


def test_keys_differ_by_each_part_and_are_fixed():
    keys = {
        philox.key(seed, purpose, name)
        for seed in (0, 1, 10)
        for purpose in ("noise", "left")
        for name in ("", "a", "b")
    }
    assert len(keys) == 18
    assert philox.key(0, "noise", "a") == philox.key(0, "noise", "a") < 2**64


def test_permutation_is_one():
    order = philox.permutation(99, 3, 1000)
    assert sorted(order.tolist()) == list(range(1000))
    assert order.tolist() != list(range(1000))
