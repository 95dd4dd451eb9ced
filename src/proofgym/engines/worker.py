"""A process of a fleet: loads the model, holds a replica of the weights, and answers portions.

Started by `remote.py` as `python -m proofgym.engines.worker FD PARENT`. It is told pickled messages
on a socket and answers with others; it ends when the socket does, or with the run's process.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import socket
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from proofgym.engines.parcels import Mail, send
from proofgym.engines.portions import Opening
from proofgym.engines.work import Room, Setup, Turns, Work
from proofgym.errors import ProofgymError
from proofgym.types import Request

_PDEATHSIG = 1
_PULSE_S = 1.0
_GATHER_S = 0.005
"""For more turns to come, where there is nothing to do: many together are faster."""


class Worker:
    """Answers on `line`; every answer is (kind, …)."""

    def __init__(self, line: socket.socket) -> None:
        self._line, self._lock = line, threading.Lock()
        self._mail, self._heard = Mail(line), deque[Any]()
        self._steps: Any = lambda: 0
        self._engines: dict[int, Any] = {}

    def serve(self) -> None:
        setup: Setup = self.hear()
        opening: Opening = self.hear()
        threading.Thread(target=self._pulse, daemon=True).start()
        self._load(setup, opening)
        while True:
            work = self.hear()
            if isinstance(work, Work):  # not turns of one that was not begun
                self._answer(work, setup.max_batch)

    def hear(self, patience: float | None = None) -> Any:
        """The next message; None: there was none so long. Raises EOFError at the end of the run."""
        while not self._heard:
            if patience is not None and not select.select([self._line], [], [], patience)[0]:
                return None
            heard = self._mail.receive()
            if heard is None:
                raise EOFError
            self._heard += heard
        return self._heard.popleft()

    def _load(self, setup: Setup, opening: Opening) -> None:
        import torch

        from proofgym.models import load_model

        torch.set_num_threads(setup.threads)
        if setup.device.startswith("cuda"):
            torch.cuda.set_device(setup.device)
        self._loaded = load_model(**setup.model, device=setup.device)
        self._replica = opening.open(self._loaded.model)
        self._say("ready", self._replica.mark())

    def _answer(self, work: Work, max_batch: int) -> None:
        if work.news is not None:
            self._replica.follow(work.news)
            mark = self._replica.mark()
            self._say("ready", mark)
            if mark != work.mark:
                return
        engine = self._engine(work.seed, max_batch)
        self._steps = lambda: engine.steps_done
        asked = Asked(work.requests, work.room, self.hear)
        feed = asked if work.room else None
        with self._replica.lay(work.weights) as population:
            answers = engine.generate(work.requests, work.sampling, population, feed)
            for request, completion in answers:
                self._say("completion", asked.number(request), completion)
        self._say("done")

    def _engine(self, seed: int, max_batch: int) -> Any:
        """One a seed: what an engine keeps between calls serves only itself."""
        from proofgym.engines.transformers import TransformersEngine

        if seed not in self._engines:
            made = TransformersEngine(self._loaded, seed=seed, max_batch=max_batch)
            self._engines[seed] = made
        return self._engines[seed]

    def _pulse(self) -> None:
        """Say now and then that steps are made: some completions take long."""
        seen = -1
        while True:
            time.sleep(_PULSE_S)
            if (steps := self._steps()) != seen:
                seen = steps
                with contextlib.suppress(OSError):
                    self._say("pulse")

    def fail(self, message: str) -> None:
        """What the user must mend: starting again would not help."""
        with contextlib.suppress(OSError):
            self._say("failed", message)

    def _say(self, *answer: Any) -> None:
        with self._lock:
            send(self._line, answer)


class Asked:
    """The requests of a portion, with the numbers that the run's process knows them by: those that
    it began with first, and as an engine's feed those that come later."""

    def __init__(
        self, requests: Sequence[Request], room: Room | None, hear: Callable[..., Turns | None]
    ) -> None:
        self.context, self.rows = (room.context, room.rows) if room else (0, 0)
        self._hear, self._open = hear, room is not None
        self._count = 0
        self._under_way: dict[int, tuple[int, Request]] = {}
        self._add(requests)

    def take(self, wait: bool) -> list[Request] | None:
        new: list[Request] = []
        while self._open:
            turns = self._hear(0.0 if not wait else _GATHER_S if new else None)
            if turns is None:
                break
            self._open = turns.requests is not None
            new += self._add(turns.requests or ())
        return new if self._open or new else None

    def ended(self) -> list[tuple[tuple[int, ...], int]]:
        """Nobody says so here; what is kept of conversations makes room for newer ones."""
        return []

    def number(self, request: Request) -> int:
        """Of a request that has its completion now."""
        number, _ = self._under_way.pop(id(request))
        return number

    def _add(self, requests: Sequence[Request]) -> Sequence[Request]:
        for request in requests:
            self._under_way[id(request)] = self._count, request
            self._count += 1
        return requests


def main() -> None:
    line = socket.socket(fileno=int(sys.argv[1]))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != int(sys.argv[2]):  # it was gone before this
            return
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run's process decides what Ctrl-C means
    worker, status = Worker(line), 0
    try:
        worker.serve()
    except ProofgymError as error:
        worker.fail(str(error))
    except (EOFError, BrokenPipeError, ConnectionResetError):  # nobody listens any more
        pass
    except Exception:
        traceback.print_exc()
        status = 1
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
