"""Distributions of seconds: given by parameters, or measured.

As text, for the command line: `0.3` (always 0.3 s), `exponential:2` (mean), `lognormal:1,9`
(median, 99th percentile), `uniform:1,3`, or the path of a JSON file with a list of seconds.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from proofgym.config import Config
from proofgym.errors import ConfigError, nearest, no_file

Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
PositiveSeconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]

_P99 = 2.3263478740408408  # the standard normal's 99th percentile


class Distribution(Config):
    """Seconds, drawn independently."""

    def draw(self, generator: np.random.Generator, count: int) -> NDArray[np.float64]:
        """`count` draws, [count] seconds."""
        raise NotImplementedError

    def mean(self) -> float:
        """The mean, seconds."""
        raise NotImplementedError


class Constant(Distribution):
    """Always the same."""

    seconds: Seconds
    """Every draw."""

    def draw(self, generator: np.random.Generator, count: int) -> NDArray[np.float64]:
        return np.full(count, self.seconds)

    def mean(self) -> float:
        return self.seconds


class Exponential(Distribution):
    """Memoryless: many short, few long."""

    mean_s: PositiveSeconds
    """Mean, seconds."""

    def draw(self, generator: np.random.Generator, count: int) -> NDArray[np.float64]:
        return generator.exponential(self.mean_s, count)

    def mean(self) -> float:
        return self.mean_s


class LogNormal(Distribution):
    """Most near the median, with a long tail: the usual shape of service and start times."""

    median_s: PositiveSeconds
    """Half take longer, seconds."""
    p99_s: PositiveSeconds
    """One in a hundred takes longer, seconds."""

    @model_validator(mode="after")
    def _ordered(self) -> LogNormal:
        if self.p99_s < self.median_s:
            raise ValueError(f"p99_s = {self.p99_s} must be at least median_s = {self.median_s}")
        return self

    @property
    def _sigma(self) -> float:
        return math.log(self.p99_s / self.median_s) / _P99

    def draw(self, generator: np.random.Generator, count: int) -> NDArray[np.float64]:
        return generator.lognormal(math.log(self.median_s), self._sigma, count)

    def mean(self) -> float:
        return self.median_s * math.exp(self._sigma**2 / 2)


class Uniform(Distribution):
    """Evenly spread."""

    low_s: Seconds
    """Least, seconds."""
    high_s: Seconds
    """Most, seconds."""

    @model_validator(mode="after")
    def _ordered(self) -> Uniform:
        if self.high_s < self.low_s:
            raise ValueError(f"high_s = {self.high_s} must be at least low_s = {self.low_s}")
        return self

    def draw(self, generator: np.random.Generator, count: int) -> NDArray[np.float64]:
        return generator.uniform(self.low_s, self.high_s, count)

    def mean(self) -> float:
        return (self.low_s + self.high_s) / 2


class Measured(Distribution):
    """What was measured, drawn again with replacement."""

    seconds: Annotated[tuple[Seconds, ...], Field(min_length=1)]
    """The measured values."""

    def draw(self, generator: np.random.Generator, count: int) -> NDArray[np.float64]:
        return generator.choice(np.asarray(self.seconds), count)

    def mean(self) -> float:
        return float(np.mean(self.seconds))


_KINDS: dict[str, type[Distribution]] = {
    "constant": Constant,
    "exponential": Exponential,
    "lognormal": LogNormal,
    "uniform": Uniform,
}


def parse_distribution(text: str, name: str) -> Distribution:
    """The distribution that `text` describes; `name` is the option to blame in errors.

    Raises:
        ConfigError: it describes none, or its file is missing or no list of seconds.
    """
    if text.endswith(".json"):
        return _measured(Path(text), name)
    kind, colon, rest = text.partition(":")
    if not colon:
        kind, rest = ("constant", text) if _is_number(text) else (text, "")
    if kind not in _KINDS:
        raise ConfigError(
            f"{name} = {text!r}: {nearest(kind, _KINDS)}, a number of seconds, or a .json file"
        )
    parameters = [part.strip() for part in rest.split(",") if part.strip()]
    wanted = list(_KINDS[kind].model_fields)
    if len(parameters) != len(wanted) or not all(map(_is_number, parameters)):
        raise ConfigError(f"{name} = {text!r}: write {kind}:{','.join(wanted)} with numbers")
    try:
        return _KINDS[kind](**dict(zip(wanted, map(float, parameters), strict=True)))
    except ConfigError as error:
        raise ConfigError(f"{name} = {text!r}: {error}") from None


def _measured(path: Path, name: str) -> Measured:
    try:
        values: Any = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise ConfigError(f"{name}: {no_file(path)}") from None
    except OSError as error:
        raise ConfigError(f"{name}: {path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"{name}: {path} cannot be read as JSON: {error}") from None
    good = isinstance(values, list) and all(
        isinstance(it, int | float) and not isinstance(it, bool) and 0 <= it < math.inf
        for it in values
    )
    if not good or not values:
        raise ConfigError(f"{name}: {path} must hold a JSON list of seconds, such as [0.2, 1.5]")
    return Measured(seconds=tuple(values))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
