"""Stands between proofgym and a process that runs user code, so that nothing outlives it.

It forks the worker, adopts whatever the worker starts and abandons, and ends all of it when the
worker ends, or when the lifeline closes: when proofgym says so or is no more. It then says on the
lifeline how the worker ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import select
import signal
import socket
import sys
from typing import NoReturn

from proofgym.sandboxes.processes import kill_descendants

_PDEATHSIG, _SUBREAPER = 1, 36


def main() -> NoReturn:
    lifeline, channel, module = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    rest = [int(word) for word in sys.argv[4:]]
    ctypes.CDLL(None).prctl(_SUBREAPER, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's
    worker = os.fork()
    if worker == 0:
        os.close(lifeline)
        ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)
        importlib.import_module(module).main(socket.socket(fileno=channel), *rest)
        os._exit(0)
    for fd in (channel, *rest):
        os.close(fd)
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):  # the worker's output ends with the worker
        os.dup2(nothing, fd)
    status = keep(worker, lifeline)
    kill_descendants(os.getpid())
    with socket.socket(fileno=lifeline) as line:
        try:
            line.send(str(status).encode())
        except OSError:  # nobody wants to know
            os._exit(1)
    os._exit(0)


def keep(worker: int, lifeline: int) -> int:
    """Wait for the worker's end, or bring it about; its exit status, or minus its signal."""
    watch = os.pidfd_open(worker)
    poller = select.poll()
    poller.register(watch, select.POLLIN)
    poller.register(lifeline, select.POLLIN)
    while True:
        if any(fd == lifeline for fd, _ in poller.poll(1000)):
            poller.unregister(lifeline)
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(watch, signal.SIGKILL)
        while True:  # adopted orphans that ended, too
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return 0
            if pid == worker:
                return os.waitstatus_to_exitcode(status)
            if pid == 0:
                break


if __name__ == "__main__":
    main()
