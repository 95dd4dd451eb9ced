"""Several processes that generate as one engine, each on a device of its own.

Each holds a model and a replica of the weights (`portions.py`). A batch falls into portions, which
are handed out one by one to whoever is free. A portion's completions depend on nothing but the
portion, so who answered it, in which order, and how often it had to be begun changes nothing.
Conversations go to whoever has the fewest (`conversations.py`).
"""

from __future__ import annotations

import copy
import logging
import time
from collections import Counter, deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

from proofgym.engines.engine import Feed, Population
from proofgym.engines.portions import Portion, Shared, Source, groups
from proofgym.engines.remote import Remote
from proofgym.engines.work import Room, Setup
from proofgym.errors import EngineError
from proofgym.types import Completion, Request, Sampling

if TYPE_CHECKING:
    from proofgym.engines.transformers import TransformersEngine

#: Work, or a place, that has lost this many processes in a row stops the run.
MOST_LOST = 3
_LOOK_S = 0.5
_LOADING_S = 600.0  # least patience with loading a model, which shows no progress
log = logging.getLogger("proofgym")


class Fleet:
    """An engine of one process for each of `setups`.

    Args:
        own: an engine over the run's own model, for what is not generation.
        source: of the weights.
        patience: seconds that a process may make no progress.

    Raises:
        EngineError: a process cannot do what it should, hangs, or dies again and again.
    """

    def __init__(
        self,
        own: TransformersEngine,
        setups: Sequence[Setup],
        source: Source,
        *,
        seed: int = 0,
        patience: float = 600.0,
    ) -> None:
        self.model, self.tokenizer, self.seed = own.model, own.tokenizer, seed
        self._own, self._source, self._patience = own, source, patience
        self._loading = max(patience, _LOADING_S)
        self.workers = [Remote(place, setup, patience) for place, setup in enumerate(setups)]
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    @property
    def positions(self) -> int | None:
        return self._own.positions

    def score(
        self,
        prompt_ids: Sequence[int],
        token_ids: Sequence[int],
        population: Population | None = None,
        member: int = 0,
    ) -> tuple[float, ...]:
        """In the run's process."""
        return self._own.score(prompt_ids, token_ids, population, member)

    def seeded(self, seed: int) -> Fleet:
        """The same processes, with draws that follow from another seed."""
        view = copy.copy(self)
        view.seed = seed
        return view

    def close(self) -> None:
        """End all processes."""
        for worker in self.workers:
            worker.end()

    def generate(
        self,
        requests: Sequence[Request],
        sampling: Sampling,
        population: Any = None,
        feed: Feed | None = None,
    ) -> Iterator[tuple[Request, Completion]]:
        """Yield every request with its completion, in the order in which they arrive."""
        from proofgym.engines.conversations import Conversations

        if population is not None and not isinstance(population, Shared):
            raise EngineError(
                f"{type(population).__name__} is for one engine; several need the weights' source"
            )
        try:
            if feed is None:
                yield from self._share_out(requests, sampling, population)
            else:
                yield from Conversations(self, sampling, population, feed).answers(requests)
        finally:
            for worker in self.workers:
                if worker.portion is not None:  # given up halfway
                    worker.end()

    def start(self) -> None:
        """Those that are not there, side by side."""
        new = [worker for worker in self.workers if not worker.alive]
        for worker in new:
            worker.launch()
        for worker in new:
            worker.equip(self._source)

    def give(
        self,
        worker: Remote,
        portion: Portion,
        requests: Sequence[Request],
        sampling: Sampling,
        room: Room | None = None,
    ) -> None:
        """Have a process that is free answer a portion."""
        worker.give(portion, self._source, requests, sampling, self.seed, room)

    def hear(self, *others: Any) -> Iterator[tuple[Remote, tuple[Any, ...]]]:
        """What the processes say: `astray` those that did nothing about their portion, and must be
        given another, `ended` those that are no more. It waits for that, or for one of the `others`
        to be readable. Raises EngineError."""
        alive = [worker for worker in self.workers if worker.alive]
        began = time.monotonic()
        speaking = wait([*(worker.line for worker in alive), *others], _LOOK_S)
        waited = time.monotonic() - began
        for worker in alive:
            if worker.line not in speaking:
                worker.silent += waited if worker.busy else 0.0
                if worker.silent >= (self._patience if worker.ready else self._loading):
                    self._give_up(worker)
                continue
            heard = worker.read()
            for message in [("ended",)] if heard is None else heard:
                if message[0] == "failed":
                    raise EngineError(f"{worker}: {message[1]}")
                if message[0] == "ready" and not worker.check(message[1], self._source):
                    message = ("astray",)
                yield worker, message

    def lose(self, worker: Remote, lost: Counter[Hashable], doing: Iterable[Hashable]) -> None:
        """A process has ended by itself: it will be started again, unless that is no use. `lost`
        counts for each piece of work the processes that ended while they were `doing` it."""
        said = f"{worker} ended while it "
        said += f"answered {worker.portion.name}" if worker.portion else "had nothing to do"
        if not worker.ready:
            said = f"{worker} ended while it loaded the model"
        how = worker.end()
        worker.lost += 1
        lost.update(doing)
        most = max([worker.lost, *(lost[it] for it in doing)])
        if most >= MOST_LOST:
            raise EngineError(
                f"{said} ({how}), the {most}rd time in a row. Look for its last words above, and "
                "at the memory of the machine and the device; then resume"
            )
        log.warning("%s (%s); starting it again", said, how)

    def _share_out(
        self, requests: Sequence[Request], sampling: Sampling, population: Shared | None
    ) -> Iterator[tuple[Request, Completion]]:
        waiting = deque(self._portions(requests, population))
        left, lost, known = len(waiting), Counter[Hashable](), set[int]()
        while left:
            self.start()
            for worker in self.workers:
                if waiting and worker.free:
                    portion = waiting.popleft()
                    asked = [requests[place] for place in portion.places]
                    self.give(worker, portion, asked, sampling)
            for worker, (kind, *rest) in self.hear():
                portion_of = worker.portion
                if kind == "completion" and portion_of is not None:
                    place = portion_of.places[rest[0]]
                    if place not in known:  # who began this portion before may have got so far
                        known.add(place)
                        yield requests[place], rest[1]
                elif kind == "done":
                    worker.finish()
                    left -= 1
                elif kind in ("ended", "astray"):
                    if kind == "ended":
                        self.lose(worker, lost, [portion_of.name] if portion_of else [])
                    worker.drop()
                    if portion_of is not None:
                        waiting.appendleft(portion_of)

    def _portions(self, requests: Sequence[Request], population: Shared | None) -> list[Portion]:
        count = len(self.workers)
        if population is None:
            return groups(requests, count, self.workers[0].setup.max_batch)
        return population.portions(requests, count)

    def _give_up(self, worker: Remote) -> None:
        doing = f" on {worker.portion.name}" if worker.portion else " on loading the model"
        said = f"{worker} made no progress{doing} for {worker.silent:.0f} s"
        worker.end()
        raise EngineError(f"{said} and was ended; resume, or raise Local.engine_patience")
