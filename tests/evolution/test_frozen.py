"""No version of the noise or of the history ever changes: old runs must replay for ever.

A failure here means a new version number, not new constants.
"""

import numpy as np
import plain_arithmetic as plain
import pytest
import torch

from proofgym.evolution import history, noise, philox
from proofgym.evolution.history import Decay, Update
from proofgym.evolution.state import State

ENTRIES = [
    Update(0, (5, -7, 100, 3, 0, 0, -9, 1), 8),
    Decay(1, 3000),
    Update(1, (1, 2, 3, 4, 5, 6, 7, -8), 8),
    Update(2, (-3000, 250000, 0, 0, 40, 41, 42, 43), 6),
]
DIGESTS = {
    ("rademacher", None): ("2f3b383cc4f108e5", "1d77cf499e9f781e", "444d79314bfad220"),
    ("gaussian8", None): ("698721b9a610dd72", "fcbb53e6e6d76fb2", "3da1b518c130abef"),
    ("rademacher", 1): ("a8f604f39225e0d3", "c146710df58d213d", "de237732d6fdb0a3"),
    ("rademacher", 3): ("c639f08f7d4692b3", "c143d60da61487d1", "c645d0bfc31ed1f6"),
    ("gaussian8", 1): ("af82220cf41aa129", "be0ee1ecfd0624ee", "9a6e6d2efb977c32"),
    ("gaussian8", 3): ("4ecfe2c8891fdc9a", "fe5721609c0e247b", "8c91b6cbf4180de0"),
}


def test_keys_and_words():
    key = philox.key(0, "noise", "w")
    assert philox.key(1234, "noise", "model.embed_tokens.weight") == 0x13D36B224A401691
    assert philox.words(key, 1, 0, 0, 5).tolist() == [
        0x999C4660,
        0x2F376C11,
        0xC417AD95,
        0x1301DAE6,
        0x9B41262E,
    ]


def test_noise():
    key = philox.key(0, "noise", "w")
    assert noise.rademacher(key, 1, 3, 0, 8).tolist() == [1, 1, 1, 1, -1, 1, 1, -1]
    assert noise.gaussian8(key, 1, 6, 0, 8).tolist() == [19, -56, -14, 71, -53, 1, -16, 38]
    assert noise.gaussian(key, 1, 6, 0, 4).tolist() == [1122, -1673, -474, -35]


@pytest.mark.parametrize(("kind", "rank"), DIGESTS)
def test_weights(kind, rank):
    for dtype, expected in zip(
        ("float32", "bfloat16", "float16"), DIGESTS[kind, rank], strict=True
    ):
        listed = plain.manifest(dtype)
        base = {
            tensor.name: torch.from_numpy((np.arange(tensor.size) % 7 - 3).astype(np.float32) / 16)
            .to(getattr(torch, dtype))
            .reshape(tensor.shape)
            for tensor in listed
        }
        state = State(listed, plain.specification(kind=kind, rank=rank), base)
        state.apply(*ENTRIES)
        assert state.digest()[:16] == expected


def test_an_entry():
    entry = history.encode(Update(5, (1, -2, 300000), 2), bytes(range(32)))
    assert entry.hex() == (
        "0104000005000000020000000300000024609c00"
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
        "01000000feffffffe0930400"
        "4a1f900bceaa1af7c072a98728d59925b1dc7cb90022e5141e1d57f1dd8aa2f3"
    )
