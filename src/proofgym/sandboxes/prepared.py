"""A sandbox that is started before anyone needs it, and then runs one program; used once.

What is slow about a sandbox (namespaces, control groups, the view of the file system) has been
done when the program comes. A `Worker` for a pool: see `command_pool`.
"""

from __future__ import annotations

import array
import contextlib
import marshal
import os
import select
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from proofgym.errors import SandboxError
from proofgym.sandboxes.cancel import Cancel
from proofgym.sandboxes.inside.tree import Entry, read_tree, write_tree
from proofgym.sandboxes.limits import MIB, Limits
from proofgym.sandboxes.pool import Pool
from proofgym.sandboxes.pool_settings import PoolSettings
from proofgym.sandboxes.sandbox import EndedBy, Outcome, Sandbox, infrastructure
from proofgym.sandboxes.spawn import memory_file, pipe

Tree = Mapping[str, Entry]
Hear = Callable[[str, bytes], None]

_INSIDE = Path(__file__).parent / "inside"
_START_S = 20.0
_COLLECT_S = 20.0  # for the files, once the program has ended
_LATE, _TOO_LARGE = "wall", "too large"
_HEAD_BYTES = 32 * MIB  # names and sizes, beside the contents


@dataclass(frozen=True, slots=True)
class Command:
    """A program to run: its name and arguments, environment and standard input."""

    argv: Sequence[str]
    env: Mapping[str, str]
    stdin: bytes = b""


class Prepared:
    """One sandbox with limits of its own, ready for one command.

    Raises:
        SandboxError: it was not ready within `seconds`.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        limits: Limits,
        read_only: Sequence[Path] = (),
        seconds: float = _START_S,
    ) -> None:
        self._limits = limits
        self._hear: Hear | None = None
        self._raised: Exception | None = None
        self._used = False
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        python, alone = os.path.realpath(sys.executable), str(int(sandbox.own_processes))
        with theirs:
            try:
                self._service = sandbox.serve(
                    [python, "-I", "-S", str(_INSIDE / "agent.py"), str(theirs.fileno()), alone],
                    channel=theirs.fileno(),
                    read_only=[*read_only, _INSIDE, Path(sys.base_prefix)],
                    limits=replace(limits, wall_s=1e9),  # it may wait long for its command
                    counts_itself=False,
                    on_output=self._forward,
                )
            except BaseException:
                self._channel.close()
                raise
        self._channel.settimeout(seconds)
        try:
            ready = self._channel.recv(16)
        except OSError:
            ready = b""
        if ready != b"ready":
            self.close()
            raise SandboxError(f"a prepared sandbox did not start: {self._service.why()}")

    def healthy(self) -> bool:
        return self._service.alive and not self._used

    def memory_bytes(self) -> int:
        return 0  # used once, so it has no time to grow

    def close(self) -> None:
        self._service.close()
        self._channel.close()

    def run(
        self,
        command: Command,
        tree: Tree,
        cancel: Cancel | None = None,
        on_output: Hear | None = None,
    ) -> tuple[Outcome, Tree | None]:
        """Run the command among these files: how it ended, and the files then.

        None in place of the files: it ended in such a way that there are none to be had. Raises
        what `on_output` raised.
        """
        if self._used:
            raise SandboxError("a prepared sandbox runs one command; start another")
        self._used, self._hear = True, on_output
        began = time.monotonic()
        with ExitStack() as stack:
            if cancel is not None:
                stack.enter_context(cancel.calls(self._service.kill))
            try:
                result = self._send(command, tree, stack)
                why, data = self._receive(result)
            except OSError as error:
                why, data = f"the prepared sandbox: {error}", b""
        if why or not self._service.ended(_COLLECT_S):
            self._service.kill()
            self._service.ended(_COLLECT_S)
        if self._raised is not None:
            raise self._raised
        outcome = replace(self._outcome(why, cancel), wall_s=time.monotonic() - began)
        return outcome, self._files(outcome, data)

    def _forward(self, name: str, data: bytes) -> None:
        """What the caller's function raises ends the command, and is raised in its thread."""
        if self._hear is None or self._raised is not None:
            return
        try:
            self._hear(name, data)
        except Exception as error:
            self._raised = error
            self._service.kill()

    def _send(self, command: Command, tree: Tree, stack: ExitStack) -> int:
        result, result_in = pipe(stack)
        files, stdin = (
            memory_file(write_tree(tree), stack),
            memory_file(command.stdin, stack),
        )
        request = {
            "argv": list(command.argv),
            "env": dict(command.env),
            "most": self._limits.scratch_bytes,
        }
        numbers = array.array("i", (files, stdin, result_in.fileno()))
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, numbers)
        self._channel.sendmsg([marshal.dumps(request)], [rights])
        result_in.close()
        return result.fileno()

    def _receive(self, result: int) -> tuple[str, bytes]:
        """(why we end it, "" if it ends by itself; what came through the pipe)."""
        data, deadline = bytearray(), time.monotonic() + self._limits.wall_s
        late = _LATE
        poller = select.poll()
        for fd in (result, self._channel.fileno()):
            poller.register(fd, select.POLLIN)
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return late, b""
            for fd, _ in poller.poll(min(left, 3600) * 1000):
                if fd != result:
                    word = self._channel.recv(1 << 12)
                    if word == b"ended":
                        late, deadline = "its files came too slowly", time.monotonic() + _COLLECT_S
                    elif word:
                        return word.decode(errors="replace"), b""
                    else:
                        poller.unregister(fd)
                elif piece := os.read(fd, 1 << 16):
                    data += piece
                    if len(data) > self._limits.scratch_bytes + _HEAD_BYTES:
                        return _TOO_LARGE, b""
                else:
                    return self._last_word(), bytes(data)

    def _last_word(self) -> str:
        """What the agent said besides "ended" until it was gone."""
        self._channel.settimeout(_COLLECT_S)
        with contextlib.suppress(OSError):
            while word := self._channel.recv(1 << 12):
                if word != b"ended":
                    return word.decode(errors="replace")
        return ""

    def _outcome(self, why: str, cancel: Cancel | None) -> Outcome:
        outcome = self._service.outcome or infrastructure("the prepared sandbox did not end")
        ended_by: EndedBy = outcome.ended_by
        decided = ended_by not in ("infrastructure", "signal", "exit")
        if cancel is not None and cancel.cancelled and ended_by != "exit":
            return replace(outcome, ended_by="cancelled", status=None, signal=None)
        if not why or decided:
            return outcome
        if why == _LATE:
            return replace(outcome, ended_by="wall", status=None, signal=None, reason="")
        if why == _TOO_LARGE:
            words = f"more than {self._limits.scratch_bytes} bytes in the scratch folder"
            return replace(outcome, ended_by="output", status=None, signal=None, reason=words)
        return replace(outcome, ended_by="infrastructure", status=None, signal=None, reason=why)

    def _files(self, outcome: Outcome, data: bytes) -> Tree | None:
        if outcome.ended_by == "infrastructure" or not data:
            return None
        try:
            return read_tree(data)
        except (ValueError, TypeError):
            return None  # the program ended the agent while it spoke


def command_pool(
    sandbox: Sandbox,
    limits: Limits | None = None,
    read_only: Sequence[Path] = (),
    settings: PoolSettings | None = None,
) -> Pool[Prepared]:
    """A pool of prepared sandboxes, each used for one command."""
    chosen = settings or PoolSettings(largest=2 * (os.cpu_count() or 1))
    return Pool(
        lambda seconds: Prepared(sandbox, limits or Limits(), read_only, seconds),
        PoolSettings(**{**dict(chosen), "uses": 1, "slots": 1}),
        name=f"{sandbox.name} sandboxes",
    )
