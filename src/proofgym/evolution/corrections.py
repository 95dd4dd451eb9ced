"""How the modules of a factored population compute: their own output and each row's correction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
from torch import nn

from proofgym.errors import EngineError
from proofgym.evolution import noise
from proofgym.evolution.manifest import Tensor
from proofgym.evolution.modules import for_rows, kind, uses, with_gain
from proofgym.evolution.perturbed import perturb
from proofgym.evolution.reach import LOUD
from proofgym.evolution.state import Factor, State
from proofgym.products import linear

#: Directions beyond which each row gathers its own factors instead of masking all of them.
_DENSE = 64


class Selects(Protocol):
    """Says which members the rows of the pass are; None: of none."""

    rows: Rows | None


class Rows:
    """The members of a batch: direction and sign of each row, and masks made from them. If not
    `exactly`, a pass may be one of the first rows alone."""

    def __init__(self, state: State, members: torch.Tensor, exactly: bool = True) -> None:
        specification = state.specification
        self.members, self._exactly = members, exactly
        self.directions, signs = noise.direction(members, specification.antithetic)
        self.signs = torch.ones_like(members, dtype=torch.float32) * signs
        self.dense = specification.directions <= _DENSE
        self._count, self._rank = specification.directions, specification.rank or 1
        self._made: dict[Any, Any] = {}

    def mask(self, like: torch.Tensor) -> torch.Tensor:
        """[B, 1…, P·r] with the row's sign in its own direction's columns, 0 elsewhere."""
        return self._cached("mask", like, self._mask)[: like.shape[0]]

    def _mask(self) -> torch.Tensor:
        listed = torch.arange(self._count, device=self.members.device)
        mask = (self.directions[:, None] == listed) * self.signs[:, None]
        return mask.repeat_interleave(self._rank, dim=1)

    def index(self, like: torch.Tensor) -> torch.Tensor:
        index = self._placed("index", like.device, lambda: self.directions.to(like.device))
        return index[: like.shape[0]]

    def member_index(self, like: torch.Tensor) -> torch.Tensor:
        members = self._placed("member", like.device, lambda: self.members.to(like.device))
        return members[: like.shape[0]]

    def sign(self, like: torch.Tensor) -> torch.Tensor:
        """[B, 1…]."""
        return self._cached("sign", like, lambda: self.signs[:, None])[: like.shape[0]]

    def check(self, activation: torch.Tensor) -> None:
        rows = activation.shape[0]
        if rows > len(self.members) or (self._exactly and rows < len(self.members)):
            raise EngineError(f"a batch of {rows} rows met {len(self.members)} selected members")

    def _cached(self, name: str, like: torch.Tensor, make: Callable[[], torch.Tensor]) -> Any:
        def place() -> torch.Tensor:
            value = make().to(like.device, like.dtype)
            return value.view(value.shape[0], *[1] * (like.dim() - 2), value.shape[1])

        return self._placed((name, like.dtype, like.dim()), like.device, place)

    def _placed(self, name: Any, device: torch.device, make: Callable[[], Any]) -> Any:
        key = name, device
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]


class Correction:
    """A module whose weight is perturbed. Subclasses say how its output is corrected."""

    left: torch.Tensor
    right: torch.Tensor

    def __init__(self, owner: Selects, state: State, module: nn.Module, tensor: Tensor) -> None:
        self.owner, self.state = owner, state
        self.module, self.tensor = module, tensor

    def prepare(self, drawn: Factor) -> None:
        """From A and Bᵀ as drawn: A [P, r, M], scaled by σ'·unit, and Bᵀ / unit [P, r, N] in the
        weight's dtype. With a unit of 1 or 32 both are exact, and of a size that float16 has room
        for."""
        chosen = self.state.specification
        left, right = map(torch.as_tensor, drawn)
        unit = noise.UNIT[chosen.kind]
        scale = (self.state.k << self.tensor.shift) * chosen.step * unit
        self.left = self._room("left", left.shape).copy_(left).mul_(scale)
        self.right = self._room("right", right.shape).copy_(right)
        if unit != 1:
            self.right.div_(unit)

    def _room(self, name: str, shape: Sequence[int]) -> torch.Tensor:
        """The memory that was so named, if it fits: what was captured reads it from there."""
        weight = self.module.get_parameter("weight")
        kept = vars(self).get(name)
        if kept is None or (kept.dtype, kept.device) != (weight.dtype, weight.device):
            return weight.new_empty(shape)
        return kept

    def follow(self, members: torch.Tensor) -> None:
        """Give the module its perturbed class, with the factors that are this patch's."""
        pairs = self.state.specification.antithetic
        perturb(self.module, pairs, members=members, **self.factors())

    def factors(self) -> dict[str, torch.Tensor]:
        return {"left": self.left, "right": self.right}

    def attach(self) -> Callable[[], None]:
        def hook(module: nn.Module, inputs: Any, output: torch.Tensor) -> torch.Tensor:
            rows = self.owner.rows
            if rows is None:
                return output
            rows.check(output)
            return self.correct(rows, inputs[0], output)

        return self.module.register_forward_hook(hook).remove

    def correct(self, rows: Rows, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError

    def silence(self) -> None:
        """No noise, until `prepare` draws it again."""
        self.left.zero_()

    def amplify(self, direction: int) -> None:
        """Noise in this direction alone, that shows in any dtype."""
        loud = LOUD * self.left[direction]
        self.silence()
        self.left[direction] = loud


class _Linear(Correction):
    def correct(self, rows: Rows, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """y [B, …, M] + σ'·A·(Bᵀ·x) for x [B, …, N]; in place, as y is the layer's own output."""
        if rows.dense:
            inner = linear(x, self.right.flatten(0, 1)) * rows.mask(x)
            left = self.left.flatten(0, 1)
            y.view(-1, y.shape[-1]).addmm_(inner.view(-1, left.shape[0]), left)
            return y
        index = rows.index(x)
        shape = x.shape[0], -1, x.shape[-1]
        inner = torch.bmm(x.reshape(shape), self.right[index].transpose(1, 2))
        inner = inner * rows.sign(inner)
        return y + torch.bmm(inner, self.left[index]).view(y.shape)


class _Embedding(Correction):
    table: torch.Tensor

    def prepare(self, drawn: Factor) -> None:
        super().prepare(drawn)
        by_token = self.left.permute(2, 0, 1)  # [V, P, r]
        self.table = self._room("table", by_token.shape).copy_(by_token)

    def factors(self) -> dict[str, torch.Tensor]:
        return {"table": self.table, "right": self.right}

    def silence(self) -> None:
        super().silence()
        self.table.zero_()

    def amplify(self, direction: int) -> None:
        super().amplify(direction)
        self.table[:, direction] = self.left[direction].T

    def correct(self, rows: Rows, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """y [B, T, N] + σ'·A[token]·Bᵀ for tokens x [B, T]."""
        if rows.dense:
            return y + (self.table.flatten(1)[x] * rows.mask(y)) @ self.right.flatten(0, 1)
        index = rows.index(x)
        inner = self.left[index[:, None], :, x] * rows.sign(y)  # [B, T, r]
        return y + torch.bmm(inner, self.right[index])


class _Vector(Correction):
    """A 1-D tensor: each row gets its member's own vector, by the materialised member rule."""

    name = "weight"
    vectors: torch.Tensor

    def factors(self) -> dict[str, torch.Tensor]:
        return {"vectors": self.vectors}

    def prepare(self, drawn: Factor) -> None:
        parameter = self.module.get_parameter(self.name)
        population = self.state.specification.population
        shape = population, *parameter.shape
        if "vectors" not in vars(self):
            self.vectors = torch.empty(shape, dtype=parameter.dtype, device=parameter.device)
        self.state.write_vectors(self.tensor, drawn, self.vectors)  # [n, N]

    def silence(self) -> None:
        self.vectors.copy_(self.module.get_parameter(self.name).expand_as(self.vectors))

    def amplify(self, direction: int) -> None:
        base = self.module.get_parameter(self.name)
        members = self.state.specification.members_of(direction)
        loud = base + LOUD * (self.vectors[members] - base)
        self.silence()
        self.vectors[members] = loud

    def of(self, rows: Rows, like: torch.Tensor) -> torch.Tensor:
        """[B, 1…, N]."""
        return for_rows(self.vectors, rows.member_index(like), like)


class _Bias(_Vector):
    name = "bias"

    def correct(self, rows: Rows, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return y + (self.of(rows, y) - self.module.get_parameter("bias"))


class _Norm(_Vector):
    """A norm gain: the module runs with a gain for each row in the place of the shared one."""

    def attach(self) -> Callable[[], None]:
        module, original = self.module, self.module.forward

        def forward(x: torch.Tensor) -> torch.Tensor:
            rows = self.owner.rows
            if rows is None:
                return original(x)
            rows.check(x)
            return with_gain(module, original, self.of(rows, x), x)

        module.forward = forward  # type: ignore[method-assign]
        return lambda: module.__dict__.pop("forward", None)


def corrections(model: nn.Module, state: State, owner: Selects) -> list[Correction]:
    """One for each use of a chosen tensor; a tied one is used by several modules. Raises
    ModelError."""
    made: list[Correction] = []
    for module, name, tensor in uses(model, state.manifest):
        how = {"linear": _Linear, "embedding": _Embedding, "norm": _Norm}[kind(module)]
        made.append((_Bias if name == "bias" else how)(owner, state, module, tensor))
    return made
