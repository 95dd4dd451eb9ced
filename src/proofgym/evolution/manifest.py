"""Which tensors a run may change, under which names, shapes, dtypes and shifts of k."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any, Self

from proofgym.errors import ConfigError, HistoryError, ModelError, nearest
from proofgym.evolution.specification import Specification

#: Significant bits of each dtype that weights may have.
PRECISION = {"float32": 24, "bfloat16": 8, "float16": 11}


@dataclass(frozen=True)
class Tensor:
    """One logical Hugging Face tensor; `aliases` are its other names where weights are tied."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    perturbed: bool
    shift: int = 0
    aliases: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def matrix(self) -> tuple[int, int]:
        """Rows and columns under the low-rank rule; a vector is one row."""
        if len(self.shape) < 2:
            return 1, self.size
        return self.shape[0], math.prod(self.shape[1:])


@dataclass(frozen=True)
class Manifest:
    """All tensors of a model in its own order, tied ones once."""

    tensors: tuple[Tensor, ...]

    def __iter__(self) -> Iterator[Tensor]:
        """The tensors that are perturbed."""
        return (tensor for tensor in self.tensors if tensor.perturbed)

    def to_json(self) -> list[dict[str, Any]]:
        return [asdict(tensor) for tensor in self.tensors]

    @classmethod
    def from_json(cls, data: Sequence[Mapping[str, Any]]) -> Self:
        return cls(
            tuple(
                Tensor(**{**item, "shape": tuple(item["shape"]), "aliases": tuple(item["aliases"])})
                for item in data
            )
        )

    def check(self, model: Any) -> None:
        """Refuse a model whose tensors are not the ones listed. Raises HistoryError."""
        found = {tensor.name: tensor for tensor in _read(model)}
        for tensor in self.tensors:
            other = found.pop(tensor.name, None)
            if other is None:
                raise HistoryError(f"the history names {tensor.name}, which this model lacks")
            if (other.shape, other.dtype) != (tensor.shape, tensor.dtype):
                raise HistoryError(
                    f"{tensor.name} is {other.dtype} {list(other.shape)} in this model but "
                    f"{tensor.dtype} {list(tensor.shape)} in the history"
                )
        if found:
            raise HistoryError(f"this model has {next(iter(found))}, unknown to the history")


def build(model: Any, patterns: Sequence[str], specification: Specification) -> Manifest:
    """List a model's tensors and choose those that `patterns` match.

    Patterns are globs over tensor names; one that begins with "!" takes tensors out again. Raises
    ConfigError for a pattern that matches nothing, ModelError for a tensor without a usable dtype
    and for a model that holds packed weights, which no pattern could name.
    """
    from proofgym.quantised import require_plain

    require_plain(type(model).__name__, model)
    tensors = _read(model)
    chosen = _choose(tensors, patterns)
    parameters = dict(model.named_parameters())
    listed = []
    for tensor in tensors:
        if tensor.name in chosen:
            if tensor.dtype not in PRECISION:
                raise ModelError(
                    f"{tensor.name} is {tensor.dtype}; ES needs {', '.join(PRECISION)}"
                )
            shift = _shift(parameters[tensor.name], tensor.dtype, specification.sigma)
            tensor = Tensor(**{**asdict(tensor), "perturbed": True, "shift": shift})
        listed.append(tensor)
    return Manifest(tuple(listed))


def _read(model: Any) -> list[Tensor]:
    """Tensors in the model's order; a tied tensor goes by the first of its names."""
    names: dict[int, list[str]] = {}
    parameters: dict[int, Any] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
        parameters[id(parameter)] = parameter
    return [
        Tensor(
            name=names[key][0],
            shape=tuple(parameter.shape),
            dtype=str(parameter.dtype).removeprefix("torch."),
            perturbed=False,
            aliases=tuple(names[key][1:]),
        )
        for key, parameter in parameters.items()
    ]


def _choose(tensors: Sequence[Tensor], patterns: Sequence[str]) -> set[str]:
    chosen: set[str] = set()
    for pattern in patterns:
        glob = pattern.removeprefix("!")
        matched = {
            tensor.name
            for tensor in tensors
            if any(fnmatchcase(name, glob) for name in (tensor.name, *tensor.aliases))
        }
        if not matched:
            names = [name for tensor in tensors for name in (tensor.name, *tensor.aliases)]
            hint = nearest(glob, names)
            raise ConfigError(f"ES.parameters: {pattern!r} matches no tensor; {hint}")
        chosen = chosen - matched if pattern.startswith("!") else chosen | matched
    if not chosen:
        raise ConfigError(f"ES.parameters: {list(patterns)} leaves no tensor to change")
    return chosen


def _shift(parameter: Any, dtype: str, sigma: float) -> int:
    """How far k is doubled, so that σ is at least the dtype's grid at the tensor's own size.

    A norm gain near 1 in bfloat16 has a grid of 2^-7: a smaller σ would round away or up at random.
    """
    if dtype == "float32" or parameter.numel() == 0:
        return 0
    size = float(parameter.detach().float().square().mean().sqrt())
    if not 0 < size < math.inf:
        return 0
    grid = 2.0 ** (math.floor(math.log2(size)) - (PRECISION[dtype] - 1))
    return max(0, math.ceil(math.log2(grid / sigma)))
