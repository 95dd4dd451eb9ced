"""Keeps Lean's library initialised and forks a child for each check.

    python -I -S forkserver.py LIBLEANSHARED CONTROL_FD [SNAPSHOT HEADER]

Runs inside a sandbox as its only program, with the standard library alone; `server_process.py` is
the other end. Starting Lean takes about 100 ms, nearly all of it initialisation that is the same
for every check; a fork of a process that has it behind itself starts in a few. With the snapshot of
a header, and the file it was made of, the header is in memory too (`frontend.py`).

Nothing of one check reaches another or this process: a child inherits memory copy-on-write, holds
no descriptor but its own input and outputs, and runs under a system-call filter that leaves it
computing, reading files and starting threads: it cannot write or create a file, start a process,
open a socket, or signal or trace anyone. So a check is one process, and killing it ends it whole.

One request is a packet on the control socket: a marshalled dictionary, with the descriptors of
the source, standard output, standard error, and a connection. On the connection one report
(JSON) comes back at the end; closing its other end, or writing to it, kills the child.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import gc
import marshal
import os
import resource
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Sequence
from typing import Any, NoReturn

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from frontend import Frontend, LeanError
from host import disconnect

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 4, 22, 38
_PAGE = os.sysconf("SC_PAGE_SIZE")
_SAMPLE_S = 0.02
_DESCRIPTORS = 4  # source, standard output, standard error, connection
_RESERVED = 128 << 20  # that a check may map and not use: the allocator's arenas, stacks
_STACK = 64 << 20  # of the thread that formats messages
_FAILED = 125  # the status of a child that could not become Lean
_REHEARSAL_S = 60


class Child:
    """One check under way."""

    def __init__(self, pid: int, request: dict[str, Any], connection: socket.socket) -> None:
        self.pid, self.connection = pid, connection
        self.memory, self.threads = request["memory"], request["threads"]
        self.deadline = time.monotonic() + request["wall"]
        self.killed = ""
        self.peak = 0
        self.began = time.monotonic()
        self.pidfd = os.pidfd_open(pid)

    def kill(self, why: str) -> None:
        self.killed = self.killed or why
        os.kill(self.pid, signal.SIGKILL)  # not reaped yet, so the number is still its own

    def look(self) -> None:
        """End it if it holds too much or runs too long. `-M` and the caller come first."""
        try:
            with open(f"/proc/{self.pid}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            return
        self.peak = max(self.peak, int(fields[21]) * _PAGE)
        if self.peak > self.memory:
            self.kill("memory")
        elif int(fields[17]) > self.threads:
            self.kill("processes")
        elif time.monotonic() > self.deadline:
            self.kill("wall")

    def report(self) -> None:
        _, state, usage = os.wait4(self.pid, 0)
        code, cpu = os.waitstatus_to_exitcode(state), usage.ru_utime + usage.ru_stime
        peak = max(self.peak, usage.ru_maxrss * 1024)
        lived = time.monotonic() - self.began
        words = (
            f'{{"killed": "{self.killed}", "code": {code}, "cpu": {cpu}, "peak": {peak}, '
            f'"lived": {lived}, "server": {_own_bytes()}}}'
        )
        with contextlib.suppress(OSError):  # the caller is gone
            self.connection.send(words.encode())
        self.connection.close()
        os.close(self.pidfd)


def main(library_path: str, control_fd: int, *header: str) -> NoReturn:
    control = socket.socket(fileno=control_fd)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    os.environ["UV_USE_IO_URING"] = "0"
    _, most = resource.getrlimit(resource.RLIMIT_STACK)
    resource.setrlimit(resource.RLIMIT_STACK, (_STACK, most))
    library = ctypes.CDLL(library_path, mode=ctypes.RTLD_GLOBAL)
    library.lean_initialize()
    disconnect(library)
    frontend = _load(library, *header) if header else None
    gc.freeze()  # forks then leave the interpreter's objects where they are
    _prctl(_PR_SET_DUMPABLE, 0)  # children of the same user must not read or change our memory
    control.send(b"ready" if frontend is None else b"ready, header in memory")
    Server(library, frontend, control).serve()


def _load(library: ctypes.CDLL, snapshot: str, header: str) -> Frontend | None:
    """The header in memory, if a rehearsal in a fork shows that this Lean can be used so."""
    with open(header, "rb") as file:
        text = file.read()
    try:
        frontend = Frontend(library, snapshot, text)
    except (AttributeError, ValueError, LeanError):
        return None
    return frontend if frontend.rehearsed(*_rehearse(frontend)) else None


def _rehearse(frontend: Frontend) -> tuple[int, bytes]:
    """Exit status and output."""
    output = os.memfd_create("output")
    pid = os.fork()
    if pid == 0:
        status = _FAILED
        with contextlib.suppress(BaseException):
            os.dup2(output, 1)
            os.dup2(output, 2)
            resource.setrlimit(resource.RLIMIT_CPU, (_REHEARSAL_S, _REHEARSAL_S))
            status = frontend.rehearse()
            _libc.fflush(None)
        os._exit(status)
    _, state = os.waitpid(pid, 0)
    with os.fdopen(output, "rb") as file:
        file.seek(0)
        return os.waitstatus_to_exitcode(state), file.read()


class Server:
    """Forks, watches and reports until the control socket closes."""

    def __init__(
        self, library: ctypes.CDLL, frontend: Frontend | None, control: socket.socket
    ) -> None:
        self._library, self._frontend, self._control = library, frontend, control

    def serve(self) -> NoReturn:
        children: dict[int, Child] = {}  # by pidfd, and by connection
        poller = select.poll()
        poller.register(self._control, select.POLLIN)
        next_look = 0.0
        while True:
            for fd, _ in poller.poll(_SAMPLE_S * 1000 if children else None):
                if fd == self._control.fileno():
                    child = self._accept()
                    for key in (child.pidfd, child.connection.fileno()):
                        children[key] = child
                        poller.register(key, select.POLLIN)
                elif fd in children:
                    child = children[fd]
                    if fd == child.pidfd:
                        for key in (child.pidfd, child.connection.fileno()):
                            poller.unregister(key)
                            del children[key]
                        child.report()
                    else:
                        poller.modify(fd, 0)
                        child.kill("wall")
            if children and time.monotonic() >= next_look:
                for child in set(children.values()):
                    child.look()
                next_look = time.monotonic() + _SAMPLE_S

    def _accept(self) -> Child:
        space = socket.CMSG_SPACE(_DESCRIPTORS * 4)
        data, ancillary, _, _ = self._control.recvmsg(1 << 16, space)
        if not data:  # the orchestrator is gone; the sandbox ends with us
            os._exit(0)
        numbers = array.array("i")
        for _, _, content in ancillary:
            numbers.frombytes(content)
        request = marshal.loads(data)
        pid = os.fork()
        if pid == 0:
            self._check(request, list(numbers))
        for fd in numbers[:3]:
            os.close(fd)
        return Child(pid, request, socket.socket(fileno=numbers[3]))

    def _check(self, request: dict[str, Any], numbers: list[int]) -> NoReturn:
        """Become Lean for one file."""
        status = _FAILED
        try:
            _restrict(request, numbers)
            if self._frontend is None:
                status = _main(self._library, request["arguments"])
            else:
                with open(0, "rb", buffering=0, closefd=False) as file:
                    text = file.read()
                status = self._frontend.run(text, request["lean_memory"], request["stack"])
                sys.stderr.flush()
            _libc.fflush(None)
        except BaseException as error:
            os.write(2, f"forkserver: {error}\n".encode(errors="replace"))
        os._exit(status & 0xFF)


def _main(library: ctypes.CDLL, arguments: Sequence[str]) -> int:
    words = [b"lean", *map(os.fsencode, arguments)]
    vector = (ctypes.c_char_p * (len(words) + 1))(*words, None)
    status: int = library.lean_main(len(words), vector)
    return status


def _restrict(request: dict[str, Any], numbers: list[int]) -> None:
    os.setsid()
    for target, fd in enumerate(numbers[:3]):
        os.dup2(fd, target)
    os.closerange(3, 1024)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    cpu = request["cpu"]
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    _bound_reservations(request["memory"] + _RESERVED)
    _filter(request["filter"], request["pid_at"])


def _bound_reservations(size: int) -> None:
    """Refuse at once what could not be held anyway: a number of 500 MB would else be written page
    by page until the limit on memory in use ends it. What was mapped before the fork is free."""
    mapped = _statm(5)
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    if most == resource.RLIM_INFINITY or mapped + size < most:
        resource.setrlimit(resource.RLIMIT_DATA, (mapped + size, mapped + size))


def _filter(code: bytes, pid_at: int) -> None:
    """Install a filter that was made for process 0, with our own process id put in."""
    code = code[:pid_at] + struct.pack("=I", os.getpid()) + code[pid_at + 4 :]
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
    holder = ctypes.create_string_buffer(program, len(program))
    if _libc.prctl(_PR_SET_SECCOMP, 2, ctypes.byref(holder), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


def _own_bytes() -> int:
    """What this process holds, for the caller to see it grow."""
    return _statm(1)


def _statm(field: int) -> int:
    """Bytes by a field of /proc/self/statm: 1 is what is resident, 5 data and stacks as mapped."""
    with open("/proc/self/statm", "rb", buffering=0) as file:
        return int(file.read().split()[field]) * _PAGE


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
