"""Evaluate a whole population in one batch: a rank-r correction of the activations for each row.

For a linear layer y = W·x + b with member noise ε = A·Bᵀ (EGGROLL, arXiv 2511.16652, section 4):
y_i = W·x + b + σ'·A·(Bᵀ·x), where W is the model's *current* weights W_0 + s·Δ after rounding and
σ' = ±k·2^shift·s. All rows share W·x; the corrections of all directions are two thin matrix
products with a mask between them that keeps each row's own. A materialised member rounds W + σ'·ε
to the dtype instead, so the two agree to rounding: in float32, logits to about 1e-5 of their size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from proofgym.errors import EngineError, ModelError
from proofgym.evolution import reach
from proofgym.evolution.corrections import Rows, corrections
from proofgym.evolution.modules import first_layer
from proofgym.evolution.perturbed import is_known
from proofgym.evolution.state import Factor, State
from proofgym.evolution.swapped import NOT_LAID, restore


class Factored:
    """A population laid over a model. Use as a context manager; outside it the model is untouched.
    Inside, modules may have other classes and more buffers: a model is not to be copied, saved or
    loaded then.

    `select` before every forward pass says which member answers each batch row; the first axis of
    every activation must be those rows.
    """

    def __init__(self, model: nn.Module, state: State) -> None:
        if not state.specification.rank:
            raise ModelError("factored evaluation needs low-rank noise: set rank, or materialise")
        self._model, self._state = model, state
        self._patches = corrections(model, state, self)
        self._handles: list[Callable[[], None]] = []
        self.first_layer = first_layer(model, state.manifest)
        """The first decoder layer whose output depends on the member: all below can be shared."""
        self.rows: Rows | None = None
        self.iteration: int | None = None
        self._laid = self._following = False
        self.compilable = all(is_known(patch.module) for patch in self._patches)
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
        self._prepare(iteration, self._state.draw(iteration))

    def _prepare(self, iteration: int, drawn: Mapping[str, Factor]) -> None:
        for patch in self._patches:
            patch.prepare(drawn[patch.tensor.name])
        self.iteration = iteration
        self.rows = None

    def unreached(
        self, iteration: int, answers: Callable[[Sequence[int]], Sequence[Any]]
    ) -> Iterator[str | None]:
        """`reach.unreached` for each use of a tensor, for what `answers` has an engine compute for
        members: one of each direction, as a pair shares its factors. Draws the iteration's noise
        for it, and leaves it drawn."""
        chosen = self._state.specification
        members = [chosen.members_of(direction)[0] for direction in range(chosen.directions)]

        @contextmanager
        def loud(number: int, direction: int) -> Iterator[None]:
            patch = self._patches[number]
            patch.prepare(drawn[patch.tensor.name])
            patch.amplify(direction)
            yield
            patch.silence()

        drawn = self._state.draw(iteration)
        self._prepare(iteration, drawn)
        names = [patch.tensor.name for patch in self._patches]
        try:
            for patch in self._patches:
                patch.silence()
            yield from reach.unreached(names, loud, len(members), lambda: answers(members))
        finally:
            self._prepare(iteration, drawn)

    def select(self, members: torch.Tensor | Iterable[int] | None) -> None:
        """Member of each batch row, shape [B]; None for the unperturbed policy."""
        self._require_laid()
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

    def follow(self, members: torch.Tensor, rows: int) -> None:
        """Member of each batch row, [≥ rows] on the model's device, as it is when a pass runs.

        The same numbers to rounding: products with B are summed in float32 here.
        """
        self._require_laid()
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

    def _require_laid(self) -> None:
        if not self._laid:
            raise EngineError(NOT_LAID)

    def _leave(self) -> None:
        """Back from the modules of `follow` to hooks."""
        if self._following:
            self._following = False
            for patch in self._patches:
                restore(patch.module)
            self._hook()

    def __enter__(self) -> Factored:
        self.detach()
        self._hook()
        self._laid = True
        return self

    def __exit__(self, *_: object) -> None:
        self.detach()

    def detach(self) -> None:
        """Leave the model as it was; harmless where nothing is attached."""
        self._laid = False
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
