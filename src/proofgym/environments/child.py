"""A process that runs user code: a channel, bounded output, and an end that leaves nothing."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence

from proofgym.environments.output import Output
from proofgym.environments.portable import without_secrets
from proofgym.sandboxes.processes import descendants

_END_S = 20.0


class Child:
    """Runs `module.main(channel, *fds)` in a process of its own, under a keeper.

    `channel` is our end of a socket. Raises OSError where it cannot be started.
    """

    def __init__(self, module: str, what: str, fds: Sequence[int] = ()) -> None:
        self.channel, theirs = socket.socketpair()
        self._lifeline, lifeline = socket.socketpair()
        reading, writing = os.pipe()
        numbers = [lifeline.fileno(), theirs.fileno()]
        words = [str(numbers[0]), str(numbers[1]), module, *map(str, fds)]
        try:
            self._keeper = subprocess.Popen(
                [sys.executable, "-m", "proofgym.environments.keeper", *words],
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                start_new_session=True,
                pass_fds=[*numbers, *fds],
                env=without_secrets(),
            )
        except BaseException:
            for end in (self.channel, self._lifeline):
                end.close()
            os.close(reading)
            raise
        finally:
            os.close(writing)
            theirs.close()
            lifeline.close()
        self.output = Output(reading, what)
        self._ended: str | None = None

    def started(self, pid: int) -> bool:
        """Whether `pid` is a process that was started here."""
        return pid in descendants(self._keeper.pid)

    def kill(self) -> str:
        """End the process and everything it started; says how it had ended, if it had."""
        if self._ended is None:
            self._lifeline.shutdown(socket.SHUT_WR)
            self._ended = self._wait()
            self.output.finish()
            self._lifeline.close()
            self.channel.close()
        return self._ended

    def last_words(self) -> str:
        """The end of what it printed, for a message."""
        text = self.output.tail().strip()
        return f"; its last words: {text[-1500:]}" if text else ""

    def _wait(self) -> str:
        self._lifeline.settimeout(_END_S)
        try:
            said = self._lifeline.recv(16).decode()
        except OSError:
            said = ""
        try:
            self._keeper.wait(1.0 if said else 0.1)
        except subprocess.TimeoutExpired:  # it was stopped, or killed while it ended the others
            os.killpg(self._keeper.pid, signal.SIGKILL)
            self._keeper.wait()
        return _exit(int(said)) if said else "killed"


def _exit(code: int) -> str:
    try:
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
    except ValueError:
        return f"signal {-code}"
