"""Evaluate a whole population in one batch: a rank-r correction of the activations for each row.

For a linear layer y = W·x + b with member noise ε = A·Bᵀ (EGGROLL, arXiv 2511.16652, section 4):
y_i = W·x + b + σ'·A·(Bᵀ·x), where W is the model's *current* weights W_0 + s·Δ after rounding and
σ' = ±k·2^shift·s. All rows share W·x; the corrections of all directions are two thin matrix
products with a mask between them that keeps each row's own. A materialised member rounds W + σ'·ε
to the dtype instead, so the two agree to rounding: in float32, logits to about 1e-5 of their size.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import nn

from proofgym.errors import EngineError, ModelError
from proofgym.evolution import noise, perturbed
from proofgym.evolution.manifest import Manifest, Tensor
from proofgym.evolution.reach import LOUD
from proofgym.evolution.state import State
from proofgym.products import linear

#: Directions beyond which each row gathers its own factors instead of masking all of them.
_DENSE = 64
_LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks)\.(\d+)\.")


class Factored:
    """A population laid over a model. Use as a context manager; outside it the model is untouched.

    `select` before every forward pass says which member answers each batch row; the first axis of
    every activation must be those rows.
    """

    def __init__(self, model: nn.Module, state: State) -> None:
        if not state.specification.rank:
            raise ModelError("factored evaluation needs low-rank noise: set rank, or materialise")
        self._model, self._state = model, state
        self._patches = list(_patches(model, state.manifest, self))
        self._handles: list[Callable[[], None]] = []
        self.first_layer = first_layer(model, state.manifest)
        """The first decoder layer whose output depends on the member: all below can be shared."""
        self.rows: Rows | None = None
        self.iteration: int | None = None
        self._following = False
        self.compilable = all(perturbed.can_perturb(patch.module) for patch in self._patches)
        """Whether a pass that follows members is one of tensors alone."""

    layout = 0

    def expect(self, members: Sequence[int]) -> None:
        """Any rows will do."""

    @property
    def uses(self) -> int:
        """Of chosen tensors by modules: a tied tensor has several."""
        return len(self._patches)

    def prepare(self, iteration: int) -> None:
        """Draw the factors of one iteration; later `select`s refer to its members."""
        for patch in self._patches:
            patch.prepare(iteration)
        self.iteration = iteration
        self.rows = None

    def unreached(self, answer: Callable[[], Any]) -> Iterator[str | None]:
        """For each use of a tensor, its name if noise there, and nowhere else, leaves `answer()` as
        it is without noise; else None. `answer` has an engine compute something for a member."""
        assert self.iteration is not None
        try:
            for patch in self._patches:
                patch.silence()
            without = answer()
            for patch in self._patches:
                patch.prepare(self.iteration)
                patch.amplify()
                yield patch.tensor.name if answer() == without else None
                patch.silence()
        finally:
            self.prepare(self.iteration)

    def select(self, members: torch.Tensor | Iterable[int] | None) -> None:
        """Member of each batch row, shape [B]; None for the unperturbed policy."""
        self._leave()
        if members is None:
            self.rows = None
            return
        listed = members if torch.is_tensor(members) else list(members)
        chosen = torch.as_tensor(listed, dtype=torch.long, device="cpu")
        if self.rows is not None and torch.equal(self.rows.members, chosen):
            return
        population = self._state.specification.population
        if self.iteration is None:
            raise EngineError("Factored.prepare must draw an iteration's noise before select")
        if chosen.dim() != 1 or bool(((chosen < 0) | (chosen >= population)).any()):
            raise EngineError(f"members must be a list of numbers below {population}")
        self.rows = Rows(self._state, chosen)

    def follow(self, members: torch.Tensor) -> None:
        """Member of each batch row, [≥ B] on the model's device, as it is when a pass runs.

        The same numbers to rounding: products with B are summed in float32 here.
        """
        if self.iteration is None:
            raise EngineError("Factored.prepare must draw an iteration's noise before follow")
        if not self.compilable:
            self.rows = Rows(self._state, members, exactly=False)
            return
        if not self._following:
            self._unhook()
            self._following = True
        for patch in self._patches:
            patch.follow(members)

    def _leave(self) -> None:
        """Back from the modules of `follow` to hooks."""
        if self._following:
            self._following = False
            for patch in self._patches:
                perturbed.restore(patch.module)
            self._hook()

    def __enter__(self) -> Factored:
        self.detach()
        self._hook()
        return self

    def __exit__(self, *_: object) -> None:
        self.detach()

    def detach(self) -> None:
        """Leave the model as it was; harmless where nothing is attached."""
        self._leave()
        self._unhook()

    def _hook(self) -> None:
        self._handles = [patch.attach() for patch in self._patches]
        self.rows = None

    def _unhook(self) -> None:
        for detach in self._handles:
            detach()
        self._handles = []
        self.rows = None


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


class _Patch:
    """A module whose weight is perturbed. Subclasses say how its output is corrected."""

    left: torch.Tensor
    right: torch.Tensor

    def __init__(self, owner: Factored, module: nn.Module, tensor: Tensor) -> None:
        self.owner, self.module, self.tensor = owner, module, tensor
        self.state = owner._state

    def prepare(self, iteration: int) -> None:
        """A [P, r, M], scaled by σ'·unit, and Bᵀ / unit [P, r, N] in the weight's dtype: with a
        unit of 1 or 32 both are exact, and of a size that float16 has room for."""
        chosen = self.state.specification
        left, right = self.state.factors[self.tensor.name].vectors(iteration, chosen.directions)
        unit = noise.UNIT[chosen.kind]
        scale = (self.state.k << self.tensor.shift) * chosen.step * unit
        weight = self.module.get_parameter("weight")
        scaled = torch.from_numpy(left).to(weight.device, torch.float32) * scale
        self.left = _into(vars(self).get("left"), scaled.to(weight.dtype))
        shares = torch.from_numpy(right).to(weight.device, weight.dtype) / unit
        self.right = _into(vars(self).get("right"), shares)

    def follow(self, members: torch.Tensor) -> None:
        """Give the module its perturbed class, with the factors that are this patch's."""
        pairs = self.state.specification.antithetic
        perturbed.perturb(self.module, pairs, members, **self.factors())

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

    def amplify(self) -> None:
        """Noise that shows in any dtype."""
        self.left.mul_(LOUD)


class _Linear(_Patch):
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


class _Embedding(_Patch):
    table: torch.Tensor

    def prepare(self, iteration: int) -> None:
        super().prepare(iteration)
        by_token = self.left.permute(2, 0, 1).contiguous()  # [V, P, r]
        self.table = _into(vars(self).get("table"), by_token)

    def factors(self) -> dict[str, torch.Tensor]:
        return {"table": self.table, "right": self.right}

    def silence(self) -> None:
        super().silence()
        self.table.zero_()

    def amplify(self) -> None:
        super().amplify()
        self.table.mul_(LOUD)

    def correct(self, rows: Rows, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """y [B, T, N] + σ'·A[token]·Bᵀ for tokens x [B, T]."""
        if rows.dense:
            return y + (self.table.flatten(1)[x] * rows.mask(y)) @ self.right.flatten(0, 1)
        index = rows.index(x)
        inner = self.left[index[:, None], :, x] * rows.sign(y)  # [B, T, r]
        return y + torch.bmm(inner, self.right[index])


class _Vector(_Patch):
    """A 1-D tensor: each row gets its member's own vector, by the materialised member rule."""

    name = "weight"
    vectors: torch.Tensor

    def factors(self) -> dict[str, torch.Tensor]:
        return {"vectors": self.vectors}

    def prepare(self, iteration: int) -> None:
        parameter = self.module.get_parameter(self.name)
        population = self.state.specification.population
        shape = population, *parameter.shape
        if "vectors" not in vars(self):
            self.vectors = torch.empty(shape, dtype=parameter.dtype, device=parameter.device)
        self.state.write_vectors(self.tensor, iteration, self.vectors)  # [n, N]

    def silence(self) -> None:
        self.vectors.copy_(self.module.get_parameter(self.name).expand_as(self.vectors))

    def amplify(self) -> None:
        base = self.module.get_parameter(self.name)
        self.vectors.copy_(base + LOUD * (self.vectors - base))

    def of(self, rows: Rows, like: torch.Tensor) -> torch.Tensor:
        """[B, 1…, N]."""
        vectors = self.vectors[rows.member_index(like)]
        return vectors.view(vectors.shape[0], *[1] * (like.dim() - 2), vectors.shape[1])


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
            gain = self.of(rows, x)
            if isinstance(module, nn.LayerNorm | nn.RMSNorm):  # these insist on a 1-D gain
                return self._with(torch.ones_like(module.weight), lambda: original(x)) * gain
            return self._with(gain, lambda: original(x))

        module.forward = forward  # type: ignore[method-assign]
        return lambda: module.__dict__.pop("forward", None)

    def _with(self, gain: torch.Tensor, call: Callable[[], torch.Tensor]) -> torch.Tensor:
        parameters = self.module._parameters
        kept = parameters["weight"]
        parameters["weight"] = gain  # type: ignore[assignment]
        try:
            return call()
        finally:
            parameters["weight"] = kept


def _into(kept: torch.Tensor | None, new: torch.Tensor) -> torch.Tensor:
    """`new` in the memory of `kept` if it fits there: what was captured reads it from there."""
    if kept is None or (kept.shape, kept.dtype, kept.device) != (new.shape, new.dtype, new.device):
        return new
    return kept.copy_(new)


def _patches(model: nn.Module, manifest: Manifest, owner: Factored) -> Iterable[_Patch]:
    """One patch for each use of a chosen tensor; a tied one is used by several modules."""
    parameters = dict(model.named_parameters())
    wanted = {id(parameters[tensor.name]): tensor for tensor in manifest}
    used = set()
    for module in model.modules():
        for name, parameter in module.named_parameters(recurse=False):
            tensor = wanted.get(id(parameter))
            if tensor is not None:
                yield _kind(module, name, tensor)(owner, module, tensor)
                used.add(tensor.name)
    missing = [tensor.name for tensor in manifest if tensor.name not in used]
    if missing:
        raise ModelError(f"factored evaluation found no module that uses {missing[0]}")


def _kind(module: nn.Module, name: str, tensor: Tensor) -> type[_Patch]:
    if isinstance(module, nn.Linear):
        return {"weight": _Linear, "bias": _Bias}[name]
    if isinstance(module, nn.Embedding):
        return _Embedding
    if name == "weight" and len(tensor.shape) == 1 and getattr(module, "bias", None) is None:
        return _Norm
    raise ModelError(
        f"factored evaluation does not know how {type(module).__name__} uses {tensor.name}: "
        f'leave it out (parameters = "*", "!{tensor.name}") or set evaluation="materialised"'
    )


def first_layer(model: nn.Module, manifest: Manifest) -> int:
    """Index of the first decoder layer with a chosen tensor; the depth if none has one."""
    embedding = getattr(model, "get_input_embeddings", lambda: None)()
    depth, first = 0, None
    for name, _ in model.named_parameters():
        if found := _LAYER.search(name):
            depth = max(depth, int(found[1]) + 1)
    parameters = dict(model.named_parameters())
    for tensor in manifest:
        found = _LAYER.search(tensor.name)
        if embedding is not None and parameters[tensor.name] is embedding.weight:
            return 0
        layer = int(found[1]) if found else depth
        first = layer if first is None else min(first, layer)
    return depth if first is None else first
