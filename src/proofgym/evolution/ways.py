"""The ways in which an engine is lent the members of a population, some at a time.

Materialised, one after the other in the model's own weights; stacked, some whole ones side by side
(`stacked.py`); factored, all of them as corrections of the activations (`factored.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from proofgym.engines.engine import Population
from proofgym.engines.portions import cut
from proofgym.evolution import reach
from proofgym.evolution.state import State, named

#: Has an engine answer something for these members of a population, in their order.
Answers = Callable[[Sequence[int], Population | None], Sequence[Any]]


class Lent:
    """A model whose weights are those of a state's policy, or of one member."""

    def __init__(self, model: Any, state: State) -> None:
        self.model, self.state = model, state
        self.tensors = named(model, state.manifest)
        self._current = False

    def policy(self) -> None:
        """Put the current, unperturbed weights into the model, if they are not there."""
        if not self._current:
            self.state.write_current(self.tensors)
            self._current = True

    def member(self, member: int, iteration: int) -> None:
        """Put a member's there instead."""
        self.changed()
        self.state.write_member(member, iteration, self.tensors)

    def changed(self) -> None:
        """The policy is no longer what the model holds."""
        self._current = False


class Way(Protocol):
    """How members are evaluated."""

    size: int
    """Members at once, at most."""
    uses: int
    """Chosen tensors, or uses of them, that `unreached` looks at."""

    def lay(
        self, iteration: int, members: Sequence[int]
    ) -> AbstractContextManager[Population | None]:
        """Have the model compute these members meanwhile; each way has a size for them. The
        model may hold a member's weights afterwards."""
        ...

    def unreached(self, iteration: int, answers: Answers) -> Iterator[str | None]:
        """For each use of a chosen tensor, its name if noise there, and nowhere else, leaves what a
        member answers as it is without noise; else None. What is answered may depend on no other
        member of the batch."""
        ...

    def detach(self) -> None:
        """Leave the model's modules as they were; harmless where nothing is attached."""
        ...


def make(name: str, lent: Lent, most: int | None) -> Way:
    """`factored`, `stacked` (at most so many members at once) or `materialised`."""
    if name == "factored":
        return Factoring(lent)
    return Stacking(lent, most) if name == "stacked" else Materialising(lent)


class Materialising:
    """One after the other."""

    size = 1

    def __init__(self, lent: Lent) -> None:
        self._lent = lent
        self.uses = len(lent.tensors)

    @contextmanager
    def lay(self, iteration: int, members: Sequence[int]) -> Iterator[None]:
        (member,) = members
        self._lent.member(member, iteration)
        yield None

    def unreached(self, iteration: int, answers: Answers) -> Iterator[str | None]:
        self._lent.policy()
        state, held = self._lent.state, [self._lent.tensors]
        return reach.unreached_weights(state, held, iteration, lambda: answers([0], None))

    def detach(self) -> None:
        pass


class Stacking:
    """Some side by side."""

    def __init__(self, lent: Lent, most: int | None) -> None:
        from proofgym.evolution.stacked import Stacked

        self._lent, self._stacked = lent, Stacked(lent.model, lent.state, most)
        self.size, self.uses = self._stacked.size, len(lent.tensors)

    @contextmanager
    def lay(self, iteration: int, members: Sequence[int]) -> Iterator[Population]:
        self._lent.policy()
        self._stacked.prepare(iteration, members)
        with self._stacked:
            yield self._stacked

    def unreached(self, iteration: int, answers: Answers) -> Iterator[str | None]:
        self._lent.policy()
        with self._stacked as laid:
            yield from laid.unreached(iteration, lambda members: answers(members, laid))

    def detach(self) -> None:
        self._stacked.detach()


class Factoring:
    """All in one batch."""

    def __init__(self, lent: Lent) -> None:
        from proofgym.evolution.factored import Factored

        self._lent, self._factored = lent, Factored(lent.model, lent.state)
        self.size, self.uses = lent.state.specification.population, self._factored.uses

    @contextmanager
    def lay(self, iteration: int, members: Sequence[int]) -> Iterator[Population]:
        self._lent.policy()
        self._factored.prepare(iteration)
        with self._factored:
            yield self._factored

    def unreached(self, iteration: int, answers: Answers) -> Iterator[str | None]:
        self._lent.policy()
        with self._factored as laid:
            yield from laid.unreached(iteration, lambda members: answers(members, laid))

    def detach(self) -> None:
        self._factored.detach()


def groups(population: int, size: int) -> list[Sequence[int]]:
    """All members, in as few groups of at most so many as there can be, each as large as any."""
    return cut(range(population), -(-population // size))
