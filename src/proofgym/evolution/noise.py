"""The noise of a run, by definition: small integers ε, as pure functions of where they are.

Plain NumPy. `kernels` computes the same numbers faster, and the tests hold it to this file bit for
bit. Every function takes any range of element indices, so a shard draws what the whole would.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from proofgym.evolution import philox

Kind = Literal["rademacher", "gaussian8", "gaussian"]

#: Standard deviation of ε, as an integer: ε / UNIT has unit variance.
UNIT: dict[str, int] = {"rademacher": 1, "gaussian8": 32, "gaussian": 1024}
#: Largest |ε|. For `gaussian`, √(-2 ln 2^-33) standard deviations bound Box-Muller.
LARGEST: dict[str, int] = {"rademacher": 1, "gaussian8": 92, "gaussian": 6927}
#: Directions that one Philox word serves.
PER_WORD: dict[str, int] = {"rademacher": 32, "gaussian8": 4, "gaussian": 1}

# The upper half of the table: normal quantiles at (v + 1/2)/256 times 32.043, one entry moved so
# that the 256 entries have variance 1024 exactly. The lower half mirrors it.
_UPPER = (
    "0 0 1 1 1 2 2 2 3 3 3 4 4 4 5 5 5 6 6 6 6 7 7 7 8 8 8 9 9 9 10 10 10 11 11 11 12 12 12 13 "
    "13 13 14 14 14 15 15 15 16 16 17 17 17 18 18 18 19 19 19 20 20 21 21 21 22 22 23 23 23 23 24 "
    "25 25 26 26 26 27 27 28 28 29 29 30 30 31 31 32 32 33 33 34 34 35 35 36 37 37 38 38 39 40 40 "
    "41 42 43 43 44 45 46 47 48 49 50 51 52 53 54 56 57 59 61 63 65 68 71 75 81 92"
)
_HALF = np.array([int(value) for value in _UPPER.split()], np.int8)
GAUSSIAN8: NDArray[np.int8] = np.concatenate([-_HALF[::-1], _HALF])


def direction(member: Any, antithetic: bool) -> tuple[Any, Any]:
    """(direction, sign) of a member, or of a tensor of them: members 2p and 2p+1 of a pair are
    +ε_p and -ε_p."""
    return (member // 2, 1 - 2 * (member % 2)) if antithetic else (member, 1)


def bits(words: philox.Words, index: Any) -> NDArray[np.int8]:
    """ε in {+1, -1} from bit `index` mod 32 of each word: a set bit is -1. Arguments broadcast."""
    place = np.asarray(index, np.uint32) & np.uint32(31)
    return np.int8(1) - (((words >> place) & np.uint32(1)) << np.uint32(1)).astype(np.int8)


def normals(words: philox.Words, index: Any) -> NDArray[np.int8]:
    """ε from byte `index` mod 4 of each word, by the table. Arguments broadcast."""
    place = (np.asarray(index, np.uint32) & np.uint32(3)) << np.uint32(3)
    return GAUSSIAN8[(words >> place) & np.uint32(255)]


#: ε of a kind from words and the number of the direction, which says the place in the word.
OF_WORDS: dict[str, Callable[[philox.Words, Any], NDArray[np.int8]]] = {
    "rademacher": bits,
    "gaussian8": normals,
}


def rademacher(key: int, iteration: int, index: int, start: int, stop: int) -> NDArray[np.int32]:
    """Signs of direction `index` for elements start..stop-1: bit index mod 32, block ⌊index/32⌋."""
    return bits(philox.words(key, iteration, index // 32, start, stop), index).astype(np.int32)


def gaussian8(key: int, iteration: int, index: int, start: int, stop: int) -> NDArray[np.int32]:
    """Table normals at 1/32: byte index mod 4 of the word, block ⌊index/4⌋."""
    return normals(philox.words(key, iteration, index // 4, start, stop), index).astype(np.int32)


def gaussian(key: int, iteration: int, index: int, start: int, stop: int) -> NDArray[np.int32]:
    """Box-Muller normals rounded to 1/1024, block = index. Not exact: log and cos vary."""
    first, last = start // 4 * 4, -(-stop // 4) * 4
    words = philox.words(key, iteration, index, first, last).reshape(-1, 2).astype(np.float64)
    radius = np.sqrt(-2 * np.log((words[:, 0] + 0.5) / 2**32))
    angle = 2 * np.pi * (words[:, 1] + 0.5) / 2**32
    normal = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(-1)
    return np.rint(1024 * normal[start - first : stop - first]).astype(np.int32)


def draw(
    kind: str, key: int, iteration: int, index: int, start: int, stop: int
) -> NDArray[np.int32]:
    """ε of direction `index` for elements start..stop-1 of one tensor, full rank."""
    function = {"rademacher": rademacher, "gaussian8": gaussian8, "gaussian": gaussian}[kind]
    return function(key, iteration, index, start, stop)
