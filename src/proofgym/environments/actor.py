"""One process of episodes, as its parent sees it."""

from __future__ import annotations

import itertools
import selectors
import time
from dataclasses import dataclass
from typing import Any

from proofgym.environments.child import Child
from proofgym.environments.frames import Frames, pack
from proofgym.environments.pulse import Pulse
from proofgym.environments.record import Record

_OURS = "proofgym/environments/episode_worker.py"


@dataclass(frozen=True)
class Stagecraft:
    """How episodes are run."""

    function: bytes
    timeout: float
    """Seconds of an episode's own time."""
    stall: float
    """Seconds that a step may take."""
    processes: int
    at_once: int


class Actor:
    """One process, and the episodes that live in it."""

    def __init__(self, craft: Stagecraft, alone: bool) -> None:
        self.pulse = Pulse()
        try:
            self.child = Child("proofgym.environments.episode_worker", "episodes", [self.pulse.fd])
        except BaseException:
            self.pulse.close()
            raise
        self.alone = alone
        self.residents: dict[int, Record] = {}
        self.pid = 0
        """0: not ready yet."""
        self.started = time.monotonic()
        self.seen_hung = -1
        """The episode that seemed to hang at the last look."""
        self.frames = Frames()
        self.unsent = bytearray()
        self.child.channel.setblocking(False)
        self.say("load", craft.function, craft.timeout)

    def say(self, *message: Any) -> None:
        self.unsent += pack(message)

    def send(self) -> None:
        """What the channel takes now. Raises OSError."""
        while self.unsent:
            try:
                sent = self.child.channel.send(self.unsent)
            except BlockingIOError:
                return
            del self.unsent[:sent]

    def end(self, selector: selectors.BaseSelector) -> str:
        """End it, whatever it does; says how it had ended, if it had."""
        selector.unregister(self.child.channel)
        how = self.child.kill()
        self.pulse.close()
        return how

    def stack(self) -> str:
        """Where the process is now, as far as that is an episode's code."""
        lines = self.pulse.ask(self.pid)
        theirs = list(itertools.takewhile(lambda line: _OURS not in line, lines))
        return f", in {'; '.join(theirs[:3])}" if theirs else ""
