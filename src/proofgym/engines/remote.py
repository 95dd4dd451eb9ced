"""One process of a fleet, seen from the run's process."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from proofgym.engines.parcels import Mail, send
from proofgym.engines.portions import Portion, Source
from proofgym.engines.work import Room, Setup, Turns, Work
from proofgym.errors import EngineError
from proofgym.types import Request, Sampling

_END_S = 10.0


class Remote:
    """Started by `launch`, as often as needed. `portion` is what it is working on."""

    def __init__(self, place: int, setup: Setup, patience: float) -> None:
        self.place, self.setup, self._patience = place, setup, patience
        self._process: subprocess.Popen[bytes] | None = None
        self._version: int | None = None
        self.portion: Portion | None = None
        self.waited_for = False
        """Whether it should be saying something about its portion."""
        self.ready = False
        """Whether it has its model."""
        self.silent = 0.0
        """Seconds in which it was listened to and said nothing."""
        self.lost = 0
        """How often it ended by itself since it last finished something."""
        self.finished = 0
        """Portions, in all."""

    @property
    def alive(self) -> bool:
        """Whether there is a process (or one whose end was not noticed yet)."""
        return self._process is not None

    @property
    def free(self) -> bool:
        return self.ready and self.portion is None

    @property
    def busy(self) -> bool:
        """Whether it should be saying something."""
        return self.alive and (not self.ready or self.waited_for)

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    def __str__(self) -> str:
        return f"engine {self.place} ({self.setup.device}, process {self.pid})"

    def launch(self) -> None:
        """Start the process; it imports what it needs before it listens."""
        self.line, theirs = socket.socketpair()
        self.line.settimeout(self._patience)
        self._mail = Mail(self.line)
        self.ready, self.silent = False, 0.0
        self._set(None)
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
        self._version, self._mark, self._afresh = source.version, source.mark(), False
        self._send(self.setup)
        self._send(source.opening())

    def give(
        self,
        portion: Portion,
        source: Source,
        requests: Sequence[Request],
        sampling: Sampling,
        seed: int,
        room: Room | None = None,
    ) -> None:
        """Have it answer a portion with the present weights; with `room`, the turns that `ask`
        brings, too, until `dismiss`."""
        news = None
        if self._version != source.version:
            self._afresh, news = self._version is None, source.news(self._version)
            self._version, self._mark = source.version, source.mark()
        self._set(portion)
        self.waited_for = room is None
        self._send(Work(news, self._mark, portion.weights, requests, sampling, seed, room))

    def ask(self, turns: Sequence[Request]) -> None:
        """More to answer, in the conversations that it was given room for."""
        self._expect()
        self._send(Turns(turns))

    def dismiss(self) -> None:
        """No more turns will come: it is to say when it is done."""
        self._expect()
        self._send(Turns(None))

    def finish(self) -> None:
        """Note that it is done with its portion."""
        self._set(None)
        self.lost = 0
        self.finished += 1

    def check(self, mark: str, source: Source) -> bool:
        """Whether its weights are those of the run; if not, it is told once more what they are.
        Raises EngineError where that is no use."""
        self.ready = True
        if mark == self._mark:
            return True
        if self._version is None or self._afresh or not source.astray():
            raise EngineError(
                f"{self} holds other weights than the run after update {self._version}: its memory "
                "or its device is at fault. Nothing was recorded; resume without that device"
            )
        self._version = None
        return False

    def drop(self) -> None:
        """Note that it does nothing about its portion."""
        self._set(None)

    def read(self) -> list[tuple[Any, ...]] | None:
        """What it has said; None: it is no more."""
        try:
            heard = self._mail.receive()
        except OSError:
            return None
        self.silent = 0.0
        return heard

    def end(self) -> str:
        """End the process, if it has not ended; says how it did: `signal SIGKILL`."""
        process, self._process = self._process, None
        self.ready = False
        self._set(None)
        if process is None:
            return ""
        self.line.close()
        try:
            code = process.wait(0.2)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait(_END_S)
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"

    def _set(self, portion: Portion | None) -> None:
        self.portion, self.waited_for, self.silent = portion, portion is not None, 0.0

    def _expect(self) -> None:
        if not self.waited_for:
            self.waited_for, self.silent = True, 0.0

    def _send(self, message: Any) -> None:
        try:
            send(self.line, message)
        except TimeoutError:
            self.silent = self._patience
        except OSError:
            pass  # it has ended, as reading will show
