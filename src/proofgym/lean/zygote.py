"""A process that has loaded Lean once and forks for every check.

    python -I -S zygote.py LIBLEANSHARED < requests > replies

Loading the library and running its initialisers is most of what a small check costs; a forked
child starts where they ended, and `lean_main`'s own initialisation finds itself done and returns.
Only the standard library is imported, and nothing of proofgym.

Wire format, both ways: four bytes, the length of what follows (big-endian), then a JSON object in
UTF-8. The first message out is `{"ready": true}`. End of input ends the process and its children.

Request (everything but `id` and `args` may be left out):
    id           any JSON value, echoed in the reply
    args         Lean's arguments, such as ["--json", "--stdin"]
    cwd          directory to run in
    stdin        text for standard input (read with Lean's `--stdin`)
    env          environment variables to set on top of the zygote's, such as LEAN_PATH
    timeout      seconds of wall clock before the child's process group is killed (default 60)
    cpu_seconds, memory_bytes, file_bytes
                 resource limits of the child (RLIMIT_CPU, RLIMIT_DATA, RLIMIT_FSIZE)
    output_bytes how much of each stream comes back (default 1 MiB)

Reply: `id`, `status` (exit status, or minus the signal), `timed_out`, `stdout`, `stderr`,
`truncated`, `seconds` (wall clock), `max_rss_kib`. A malformed request gets `{"id", "error"}`.

Requests may be sent without waiting: each runs at once in its own child, and replies come in
order of completion. How many may run together is the caller's business.

A child runs with the zygote's user and could signal it: whoever checks untrusted text puts the
zygote in a sandbox and treats its replies as that sandbox's word. The library starts one idle
thread (an event loop for timers and sockets), which children do not have and checks do not use.
"""

import contextlib
import ctypes
import json
import os
import resource
import selectors
import signal
import struct
import sys
import time

PR_SET_PDEATHSIG = 1
LIMITS = (
    ("cpu_seconds", resource.RLIMIT_CPU),
    ("memory_bytes", resource.RLIMIT_DATA),
    ("file_bytes", resource.RLIMIT_FSIZE),
)


class Child:
    """One running check."""

    def __init__(self, lean, libc, request):
        self.id = request["id"]
        self.output_bytes = int(request.get("output_bytes", 1 << 20))
        self.started = time.monotonic()
        self.deadline = self.started + float(request.get("timeout", 60.0))
        self.timed_out = False
        self.streams = [os.memfd_create(name) for name in ("stdin", "stdout", "stderr")]
        os.pwrite(self.streams[0], request.get("stdin", "").encode(), 0)
        parent = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            _run(lean, libc, request, self.streams, parent)
        # Set on both sides of the fork, so that a kill right now finds the group.
        _own_group(self.pid)
        self.pidfd = os.pidfd_open(self.pid)

    def kill(self):
        """Kills the child and what it started, short of what left its process group."""
        for send in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError):
                send(self.pid, signal.SIGKILL)

    def reply(self):
        """Reaps the child, which has ended, and describes how."""
        seconds = time.monotonic() - self.started
        _, status, usage = os.wait4(self.pid, 0)
        os.close(self.pidfd)
        texts = [self._read(fd) for fd in self.streams[1:]]
        for fd in self.streams:
            os.close(fd)
        return {
            "id": self.id,
            "status": os.waitstatus_to_exitcode(status),
            "timed_out": self.timed_out,
            "stdout": texts[0][0],
            "stderr": texts[1][0],
            "truncated": texts[0][1] or texts[1][1],
            "seconds": seconds,
            "max_rss_kib": usage.ru_maxrss,
        }

    def _read(self, fd):
        data = os.pread(fd, self.output_bytes, 0)
        return data.decode(errors="replace"), os.fstat(fd).st_size > len(data)


def _own_group(pid):
    with contextlib.suppress(OSError):  # the other side did it first
        os.setpgid(pid, pid)


def _run(lean, libc, request, streams, parent):
    """In the child: becomes `lean`. Never returns."""
    status = 126
    try:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(126)
        _own_group(0)
        for number, fd in enumerate(streams):
            os.dup2(fd, number)
        os.closerange(3, 1 << 16)
        os.lseek(0, 0, os.SEEK_SET)
        os.environ.update(request.get("env", {}))
        os.chdir(request.get("cwd", "."))
        for key, limit in LIMITS:
            if key in request:
                resource.setrlimit(limit, (request[key], request[key]))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        argv = [b"lean", *map(os.fsencode, request["args"])]
        status = lean.lean_main(len(argv), (ctypes.c_char_p * (len(argv) + 1))(*argv, None))
        libc.fflush(None)
    except BaseException as error:
        os.write(2, f"zygote child: {error!r}\n".encode())
    finally:
        os._exit(status & 0xFF)


class Zygote:
    """Reads requests, keeps the children, writes replies."""

    def __init__(self, lean, requests, replies):
        self.lean, self.libc = lean, ctypes.CDLL(None)
        self.requests, self.replies = requests, replies
        self.buffer = b""
        self.children = {}
        self.selector = selectors.DefaultSelector()
        self.selector.register(requests, selectors.EVENT_READ)

    def serve(self):
        self.send({"ready": True})
        while True:
            for key, _ in self.selector.select(self._wait()):
                if key.fd == self.requests:
                    if not self._receive():
                        return self._end()
                else:
                    self._finish(key.fd)
            now = time.monotonic()
            for child in self.children.values():
                if now >= child.deadline and not child.timed_out:
                    child.timed_out = True
                    child.kill()

    def send(self, message):
        data = json.dumps(message).encode()
        data = struct.pack(">I", len(data)) + data
        while data:
            data = data[os.write(self.replies, data) :]

    def _wait(self):
        """Seconds until the next deadline; None for no child."""
        pending = [child.deadline for child in self.children.values() if not child.timed_out]
        return max(0.0, min(pending) - time.monotonic()) if pending else None

    def _receive(self):
        """Takes in what has arrived and starts whole requests; False at end of input."""
        data = os.read(self.requests, 1 << 20)
        self.buffer += data
        while len(self.buffer) >= 4:
            end = 4 + struct.unpack(">I", self.buffer[:4])[0]
            if len(self.buffer) < end:
                break
            message, self.buffer = self.buffer[4:end], self.buffer[end:]
            self._start(message)
        return bool(data)

    def _start(self, message):
        request = {}
        try:
            request = json.loads(message)
            child = Child(self.lean, self.libc, request)
        except Exception as error:
            identity = request.get("id") if isinstance(request, dict) else None
            self.send({"id": identity, "error": repr(error)})
            return
        self.children[child.pidfd] = child
        self.selector.register(child.pidfd, selectors.EVENT_READ)

    def _finish(self, pidfd):
        child = self.children.pop(pidfd)
        self.selector.unregister(pidfd)
        child.kill()  # whatever it left in its group
        self.send(child.reply())

    def _end(self):
        for child in self.children.values():
            child.kill()
            os.waitpid(child.pid, 0)


def main(library):
    # One kernel thread fewer, and sandboxes often forbid io_uring anyway.
    os.environ["UV_USE_IO_URING"] = "0"
    lean = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    lean.lean_initialize()
    # Replies keep a descriptor of their own; a child's standard output is never the zygote's.
    replies = os.dup(1)
    os.dup2(2, 1)
    Zygote(lean, 0, replies).serve()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: zygote.py LIBLEANSHARED")
    main(sys.argv[1])
