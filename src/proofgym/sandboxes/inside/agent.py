"""Runs one program inside a sandbox that was prepared ahead: files in, files and status out.

    python -I -S agent.py CHANNEL_FD ALONE

Standard library only; `prepared.py` is the other end. It says "ready" on the channel and waits for
one request: a marshalled dictionary with the descriptors of the files to place, of the standard
input, and of a pipe for the files as the program left them. The program can end this process, as
it runs as the same user, but not read or change it; that costs it its files.

ALONE is 1 where nothing but this sandbox is in the process namespace: then everything the
program started is ended before its files are read, so that they hold still.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import marshal
import os
import signal
import socket
import sys
import time
from typing import Any, NoReturn

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tree  # type: ignore[import-not-found]  # of this folder, by path

_PR_SET_DUMPABLE = 4
_DESCRIPTORS = 3
_CANNOT_START = 127


def main(channel: socket.socket, alone: bool) -> NoReturn:
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    channel.send(b"ready")
    data, ancillary, _, _ = channel.recvmsg(1 << 20, socket.CMSG_SPACE(_DESCRIPTORS * 4))
    if not data:
        os._exit(0)
    numbers = array.array("i")
    for _, _, content in ancillary:
        numbers.frombytes(content)
    request = marshal.loads(data)
    files, stdin, result = numbers
    try:
        with open(files, "rb") as file:
            tree.place_tree(tree.read_tree(file.read()), os.getcwd())
    except OSError as error:
        channel.send(f"cannot place the files: {error}".encode())
        os._exit(_CANNOT_START)
    status = _follow(_start(request, stdin), alone)
    channel.send(b"ended")
    _give(result, request["most"], channel)
    os._exit(status)


def _start(request: dict[str, Any], stdin: int) -> int:
    child = os.fork()
    if child:
        os.close(stdin)
        return child
    try:
        os.setsid()
        os.dup2(stdin, 0)
        os.closerange(3, 1024)
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        environment = {**os.environ, **request["env"]}
        os.execvpe(request["argv"][0], request["argv"], environment)
    except BaseException as error:
        os.write(2, f"{request['argv'][:1]}: {error}\n".encode(errors="replace"))
    os._exit(_CANNOT_START)


def _follow(child: int, alone: bool) -> int:
    """The program's status as a shell says it; what else it started is ended."""
    _, state = os.waitpid(child, 0)
    if alone:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            while True:  # spares this process and the first of the namespace
                os.kill(-1, signal.SIGKILL)
                time.sleep(0.001)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(-1, os.WNOHANG)
    else:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(state)
    return code if code >= 0 else 128 - code


def _give(result: int, most: int, channel: socket.socket) -> None:
    with open(result, "wb", buffering=0) as pipe:

        def send(data: bytes) -> None:
            view = memoryview(data)
            while view:
                view = view[pipe.write(view) :]

        try:
            tree.send_tree(os.getcwd(), most, send)
        except tree.TooLarge:
            channel.send(b"too large")
        except BrokenPipeError:
            pass


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])), sys.argv[2] == "1")
