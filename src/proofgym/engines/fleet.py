"""Several processes that generate as one engine, each on a device of its own.

Each holds a model and a replica of the weights (`portions.py`). A batch falls into portions, which
are handed out one by one to whoever is free. A portion's completions depend on nothing but the
portion, so who answered it, in which order, and how often it had to be begun changes nothing.
"""

from __future__ import annotations

import copy
import logging
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

from proofgym.engines.engine import Feed
from proofgym.engines.portions import Portion, Shared, Source, equal_shares
from proofgym.engines.remote import Remote
from proofgym.engines.worker import Setup
from proofgym.errors import EngineError
from proofgym.types import Completion, Request, Sampling

if TYPE_CHECKING:
    from proofgym.engines.transformers import TransformersEngine

#: A portion, or a place, that has lost this many processes in a row stops the run.
MOST_LOST = 3
_LOOK_S = 0.5
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
        self.workers = [Remote(place, setup, patience) for place, setup in enumerate(setups)]
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    @property
    def positions(self) -> int | None:
        return self._own.positions

    def score(self, prompt_ids: Sequence[int], token_ids: Sequence[int]) -> tuple[float, ...]:
        """In the run's process."""
        return self._own.score(prompt_ids, token_ids)

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
        if feed is not None:
            raise EngineError("the turns of an episode need Local.engines = 1")
        waiting = deque(self._portions(requests, population))
        left, lost, known = len(waiting), Counter[str](), set[int]()
        try:
            while left:
                self._start()
                for worker in self.workers:
                    if waiting and worker.ready and worker.portion is None:
                        portion = waiting.popleft()
                        asked = [requests[place] for place in portion.places]
                        worker.give(portion, self._source, asked, sampling, self.seed)
                for worker, (kind, *rest) in self._hear():
                    portion_of = worker.portion
                    if kind == "completion" and portion_of is not None:
                        place = portion_of.places[rest[0]]
                        if place not in known:  # who began this portion before may have got so far
                            known.add(place)
                            yield requests[place], rest[1]
                    elif kind == "done":
                        worker.portion, worker.lost = None, 0
                        worker.finished += 1
                        left -= 1
                    elif kind == "ended":
                        self._lose(worker, lost)
                        if portion_of is not None:
                            waiting.appendleft(portion_of)
        finally:
            for worker in self.workers:
                if worker.portion is not None:  # given up halfway
                    worker.end()

    def _portions(self, requests: Sequence[Request], population: Any) -> list[Portion]:
        if population is None:
            return equal_shares(requests, len(self.workers))
        if not isinstance(population, Shared):
            raise EngineError(
                f"{type(population).__name__} is for one engine; several need the weights' source"
            )
        return population.portions(requests, len(self.workers))

    def _start(self) -> None:
        """Those that are not there, side by side."""
        new = [worker for worker in self.workers if not worker.alive]
        for worker in new:
            worker.launch()
        for worker in new:
            worker.equip(self._source)

    def _hear(self) -> Iterator[tuple[Remote, tuple[Any, ...]]]:
        """What the processes say, `ended` of those that are no more. Raises EngineError."""
        alive = [worker for worker in self.workers if worker.alive]
        began = time.monotonic()
        speaking = wait([worker.line for worker in alive], _LOOK_S)
        waited = time.monotonic() - began
        for worker in alive:
            if worker.line not in speaking:
                worker.silent += waited if worker.busy else 0.0
                if worker.silent >= self._patience:
                    self._give_up(worker)
                continue
            heard = worker.read()
            for message in [("ended",)] if heard is None else heard:
                if message[0] == "failed":
                    raise EngineError(f"{worker}: {message[1]}")
                if message[0] == "ready":
                    worker.check(message[1])
                yield worker, message

    def _lose(self, worker: Remote, lost: Counter[str]) -> None:
        """A process has ended by itself: it will be started again, unless that is no use."""
        doing = worker.portion.name if worker.portion else ""
        said = f"{worker} ended while it " + (f"answered {doing}" if doing else "had nothing to do")
        if not worker.ready:
            said = f"{worker} ended while it loaded the model"
        how = worker.end()
        worker.lost += 1
        lost[doing] += 1
        if worker.lost >= MOST_LOST or (doing and lost[doing] >= MOST_LOST):
            raise EngineError(
                f"{said} ({how}), the {max(worker.lost, lost[doing])}rd time in a row. Look for "
                "its last words above, and at the memory of the machine and the device; then resume"
            )
        log.warning("%s (%s); starting it again", said, how)

    def _give_up(self, worker: Remote) -> None:
        doing = f" on {worker.portion.name}" if worker.portion else " on loading the model"
        said = f"{worker} made no progress{doing} for {self._patience:g} s"
        worker.end()
        raise EngineError(f"{said} and was ended; resume, or raise Local.engine_patience")
