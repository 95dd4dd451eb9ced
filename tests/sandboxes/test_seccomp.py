"""The filter under which candidates' proofs are elaborated: compute, read, and nothing else."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from proofgym.sandboxes import seccomp

pytestmark = pytest.mark.skipif(not seccomp.supported(), reason="another architecture")

INSTALL = """
import ctypes, os, signal, socket, struct, sys, threading, time
def install(code, pid_at):
    code = code[:pid_at] + struct.pack("=I", os.getpid()) + code[pid_at + 4:]
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
    holder = ctypes.create_string_buffer(program, len(program))
    libc = ctypes.CDLL(None)
    libc.prctl(38, 1, 0, 0, 0)
    assert libc.prctl(22, 2, ctypes.byref(holder), 0, 0) == 0
    return libc
"""


def attempt(action: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    code, pid_at = seccomp.compute_only_bytes()
    script = f"{INSTALL}\nlibc = install({code!r}, {pid_at})\n{textwrap.dedent(action)}"
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", script],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@pytest.mark.parametrize(
    "action",
    [
        "os.fork()",
        "os.posix_spawn('/bin/true', ['true'], {})",
        "os.execv('/bin/true', ['true'])",
        "socket.socket()",
        "socket.socketpair()",
        "open('new', 'w')",
        "open('old', 'a')",
        "open('old', 'r+')",
        "os.open('.', os.O_TMPFILE | os.O_RDWR)",
        "os.mkdir('folder')",
        "os.rename('old', 'new')",
        "os.unlink('old')",
        "os.symlink('old', 'new')",
        "os.link('old', 'new')",
        "os.chmod('old', 0o777)",
        "os.utime('old')",
        "os.truncate('old', 0)",
        "os.mkfifo('new')",
        "os.chdir('/')",
        "os.kill(os.getppid(), 0)",
        "os.kill(os.getpid(), 9)",
        "os.setpriority(os.PRIO_PROCESS, 0, 5)",
        "os.setsid()",
        "os.memfd_create('x')",
        "os.pidfd_open(os.getppid())",
        "os.sched_setaffinity(0, {0})",
        "assert libc.ptrace(16, os.getppid(), 0, 0) == 0",
        "assert libc.shmget(1, 4096, 0o1600) >= 0",
        "assert libc.tgkill(os.getppid(), os.getppid(), 6) == 0",
        "assert libc.unshare(0x10000000) == 0",
        "assert libc.syscall(435, 0, 0) >= 0",
    ],
)
def test_refused(action: str, tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.write_text("kept")
    result = attempt(action, tmp_path)
    assert result.returncode == 1, result
    assert "Error" in result.stderr
    assert (os.listdir(tmp_path), old.read_text()) == (["old"], "kept")


@pytest.mark.parametrize(
    ("action", "status"),
    [
        ("assert open('old').read() == 'kept'", 0),
        ("t = threading.Thread(target=print, args=('x',)); t.start(); t.join()", 0),
        ("x = bytearray(1 << 27); time.sleep(0.01); os.listdir('.')", 0),
        ("sys.exit(3)", 3),
        ("os.abort()", -6),
    ],
)
def test_allowed(action: str, status: int, tmp_path: Path) -> None:
    (tmp_path / "old").write_text("kept")
    result = attempt(action, tmp_path)
    assert result.returncode == status, result


def test_filters_are_whole_instructions() -> None:
    code, pid_at = seccomp.compute_only_bytes()
    for filter_ in (code, seccomp.filter_bytes(), seccomp.filter_bytes(network=False)):
        assert len(filter_) % 8 == 0
        assert len(filter_) // 8 <= 4096
    assert struct.unpack_from("=I", code, pid_at) == (0,)
