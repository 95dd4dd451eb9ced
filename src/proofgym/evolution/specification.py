"""The arithmetic of a run, fixed at its start and written into the history's header."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Self

from proofgym.errors import ConfigError, HistoryError
from proofgym.evolution import noise

#: Of the noise specification, as docs/noise.md has them.
VERSIONS = (1, 2)
#: log2 of the least coefficient that a normalised reward of 1 turns into.
COEFFICIENT_BITS = 12
#: log2 of the least k, so that σ is rounded by at most 2^-9 of itself.
SIGMA_BITS = 8


@dataclass(frozen=True)
class Specification:
    """Everything besides the weights and the coefficients that replay needs.

    `scale` is log2 of s; a member is round(W_0 + s·(Δ + k·ε)) with σ = k·s·unit.
    """

    seed: int
    kind: noise.Kind
    rank: int | None
    antithetic: bool
    population: int
    scale: int
    k: int

    @property
    def version(self) -> int:
        """The first version that has this noise: what a reader of the history must know."""
        return 2 if self.rank and self.kind != "rademacher" else 1

    @property
    def step(self) -> float:
        """s, a power of two."""
        return 2.0**self.scale

    @property
    def unit(self) -> float:
        """Standard deviation of an element of ε: that of the noise, at rank r times √r."""
        return _unit(self.kind, self.rank)

    @property
    def largest(self) -> int:
        """Largest |ε|, of a tensor of any shape."""
        return noise.LARGEST[self.kind] * (self.rank or 1)

    @property
    def sigma(self) -> float:
        """The effective σ: what was asked for, rounded to a multiple of s·unit."""
        return self.k * self.step * self.unit

    @property
    def directions(self) -> int:
        """How many independent ε an iteration draws."""
        return self.population // 2 if self.antithetic else self.population

    def members_of(self, direction: int) -> list[int]:
        """Those whose noise is this direction, the one with its sign first."""
        return [2 * direction, 2 * direction + 1] if self.antithetic else [direction]

    @property
    def exact(self) -> bool:
        """Whether replay is bit for bit the same everywhere."""
        return self.kind != "gaussian"

    def scaled(self, factor: float) -> int:
        """k where σ is so much of itself."""
        return max(1, rne(self.k * factor))

    def coefficient(self, learning_rate: float, score: float, kept: int) -> int:
        """c = rne(α·z / (n·s·unit)), of one member with normalised reward z among n kept."""
        return rne(learning_rate * score / (kept * self.step * self.unit))

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "version": self.version}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        fields = dict(data)
        version = fields.pop("version", None)
        if version not in VERSIONS:
            raise HistoryError(
                f"noise specification {version} is not known to this version of proofgym, which "
                f"implements {' and '.join(map(str, VERSIONS))}"
            )
        made = cls(**fields)
        if made.version != version or (made.rank and made.kind not in noise.OF_WORDS):
            raise HistoryError(
                f"noise specification {version} has no {made.kind} noise of rank {made.rank}: the "
                "history's header was not written by proofgym"
            )
        return made


def choose(
    *,
    seed: int,
    kind: noise.Kind,
    rank: int | None,
    antithetic: bool,
    population: int,
    sigma: float,
    learning_rate: float,
    least_sigma: float = 1.0,
    least_rate: float = 1.0,
) -> Specification:
    """Choose s: the largest power of two with α/(n·s·unit) ≥ 2^12 and σ/(s·unit) ≥ 2^8, also
    where a schedule takes α and σ down to `least_rate` and `least_sigma` of themselves.

    A coefficient of |z| = 1 then keeps at least 12 bits below its leading one.
    """
    unit = _unit(kind, rank)
    finest = min(
        least_rate * learning_rate / (population * unit * 2**COEFFICIENT_BITS),
        least_sigma * sigma / (unit * 2**SIGMA_BITS),
    )
    scale = math.frexp(finest)[1] - 1
    k = rne(sigma / (unit * 2.0**scale))
    chosen = Specification(seed, kind, rank, antithetic, population, scale, k)
    if scale < -100 or k * chosen.largest >= 2**44:
        raise ConfigError(
            f"learning_rate {learning_rate:g} is too small for sigma {sigma:g} and {population} "
            "members: their ratio does not fit exact arithmetic"
        )
    return chosen


def _unit(kind: noise.Kind, rank: int | None) -> float:
    return noise.UNIT[kind] * math.sqrt(rank or 1)


def rne(value: float) -> int:
    """The nearest integer, halves to even (Python's own rule), for any magnitude."""
    return round(Fraction(value))
