"""A process of a fleet: loads the model, holds a replica of the weights, and answers portions.

Started by `remote.py` as `python -m proofgym.engines.worker FD PARENT`. It is told pickled messages
on a socket and answers with others; it ends when the socket does, or with the run's process.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from proofgym.engines.portions import Opening
from proofgym.environments.frames import Frames, pack
from proofgym.errors import ProofgymError
from proofgym.types import Request, Sampling

_PDEATHSIG = 1
_PULSE_S = 1.0


@dataclass(frozen=True)
class Setup:
    """What a process needs to begin."""

    model: dict[str, Any]
    """Arguments of `load_model`; the digest among them is the run's."""
    device: str
    threads: int
    max_batch: int


@dataclass(frozen=True)
class Work:
    """A portion, with all that it depends on."""

    news: Any
    """For the replica, before anything else; None: nothing is new."""
    weights: Any
    requests: Sequence[Request]
    sampling: Sampling
    seed: int


class Worker:
    """Answers on `line`; every answer is (kind, …)."""

    def __init__(self, line: socket.socket) -> None:
        self._line, self._lock = line, threading.Lock()
        self._steps: Any = lambda: 0
        self._engines: dict[int, Any] = {}

    def serve(self) -> None:
        messages = self._messages()
        setup: Setup = next(messages)
        opening: Opening = next(messages)
        threading.Thread(target=self._pulse, daemon=True).start()
        self._load(setup, opening)
        for work in messages:
            self._answer(work, setup.max_batch)

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
            self._say("ready", self._replica.mark())
        engine = self._engine(work.seed, max_batch)
        self._steps = lambda: engine.steps_done
        place = {id(request): at for at, request in enumerate(work.requests)}
        with self._replica.lay(work.weights) as population:
            answers = engine.generate(work.requests, work.sampling, population)
            for request, completion in answers:
                self._say("completion", place[id(request)], completion)
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
            self._line.sendall(pack(answer))

    def _messages(self) -> Iterator[Any]:
        frames = Frames(None)
        while data := self._line.recv(1 << 20):
            yield from map(pickle.loads, frames.add(data))


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
    except (BrokenPipeError, ConnectionResetError):  # nobody listens any more
        pass
    except Exception:
        traceback.print_exc()
        status = 1
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
