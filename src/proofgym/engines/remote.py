"""One process of a fleet, seen from the run's process."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
from typing import Any

from proofgym.engines.portions import Portion, Source
from proofgym.engines.worker import Setup, Work
from proofgym.environments.frames import Frames, pack
from proofgym.errors import EngineError
from proofgym.types import Request, Sampling

_END_S = 10.0


class Remote:
    """Started by `start`, as often as needed. `portion` is what it is working on."""

    def __init__(self, place: int, setup: Setup, patience: float) -> None:
        self.place, self._setup, self._patience = place, setup, patience
        self._process: subprocess.Popen[bytes] | None = None
        self.portion: Portion | None = None
        self.ready = False
        """Whether it has its model."""
        self.silent = 0.0
        """Seconds in which it was listened to and said nothing."""
        self.lost = 0
        """How often it ended by itself since it last finished a portion."""
        self.finished = 0
        """Portions, in all."""

    @property
    def alive(self) -> bool:
        """Whether there is a process (or one whose end was not noticed yet)."""
        return self._process is not None

    @property
    def busy(self) -> bool:
        """Whether it should be saying something."""
        return self.alive and (not self.ready or self.portion is not None)

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    def __str__(self) -> str:
        return f"engine {self.place} ({self._setup.device}, process {self.pid})"

    def launch(self) -> None:
        """Start the process; it imports what it needs before it listens."""
        self.line, theirs = socket.socketpair()
        self.line.settimeout(self._patience)
        self._frames = Frames(None)
        self.ready, self.silent, self.portion = False, 0.0, None
        words = [str(theirs.fileno()), str(os.getpid())]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "proofgym.engines.worker", *words],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
                },
            )
        except BaseException:
            self.line.close()
            raise
        finally:
            theirs.close()

    def equip(self, source: Source) -> None:
        """Tell it what to load."""
        self._version, self._mark = source.version, source.mark()
        self._send(self._setup)
        self._send(source.opening())

    def give(
        self,
        portion: Portion,
        source: Source,
        requests: list[Request],
        sampling: Sampling,
        seed: int,
    ) -> None:
        """Have it answer a portion with the present weights."""
        news = None
        if self._version != source.version:
            news = source.news(self._version)
            self._version, self._mark = source.version, source.mark()
        self.portion, self.silent = portion, 0.0
        self._send(Work(news, portion.weights, requests, sampling, seed))

    def check(self, mark: str) -> None:
        """Raise EngineError where its weights are not those of the run."""
        self.ready = True
        if mark != self._mark:
            raise EngineError(
                f"{self} holds other weights than the run after iteration {self._version}: its "
                "memory or its device is at fault. Nothing was recorded; resume without that device"
            )

    def read(self) -> list[tuple[Any, ...]] | None:
        """What it has said; None: it is no more."""
        try:
            data = self.line.recv(1 << 20)
        except OSError:
            data = b""
        if not data:
            return None
        self.silent = 0.0
        return [pickle.loads(it) for it in self._frames.add(data)]

    def end(self) -> str:
        """End the process, if it has not ended; says how it did: `signal SIGKILL`."""
        process, self._process = self._process, None
        self.ready, self.portion = False, None
        if process is None:
            return ""
        self.line.close()
        try:
            code = process.wait(0.2)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait(_END_S)
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"

    def _send(self, message: Any) -> None:
        try:
            self.line.sendall(pack(message))
        except TimeoutError:
            self.silent = self._patience
        except OSError:
            pass  # it has ended, as reading will show
