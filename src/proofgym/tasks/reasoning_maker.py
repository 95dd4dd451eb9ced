"""One child process that makes problems of reasoning-gym, kept for the next request.

It has a fixed hash seed, since some families depend on the order of Python's sets, and global
random generators of its own, which others use.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from importlib import metadata
from typing import IO, Any

from proofgym.errors import RunError
from proofgym.model_cache import cache_root
from proofgym.run_directory import write_atomically


class Maker:
    """Starts with the first request, which pays for seconds of imports; ends with this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._errors: IO[bytes] | None = None

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """What `reasoning_child.answer` replies, or {"broken": what the process said}."""
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._start()
            assert self._process
            assert self._process.stdin
            assert self._process.stdout
            try:
                self._process.stdin.write(json.dumps(request) + "\n")
                self._process.stdin.flush()
                line = self._process.stdout.readline()
            except BrokenPipeError:
                line = ""
            except BaseException:  # an answer that nobody took would be taken for the next one
                self._process.kill()
                raise
            if not line:
                self._process.wait()
                return {"broken": self._said()}
            reply: dict[str, Any] = json.loads(line)
            return reply

    def _start(self) -> None:
        environment = {**os.environ, "PYTHONHASHSEED": "0", "MPLBACKEND": "Agg"}
        environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  it lives as long as the process
        self._process = subprocess.Popen(
            [sys.executable, "-m", "proofgym.tasks.reasoning_child"],
            stdin=subprocess.PIPE,  # closed with this process: then it ends
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=environment,
        )

    def _said(self) -> str:
        assert self._errors
        self._errors.seek(0)
        return self._errors.read()[-1000:].decode(errors="replace").strip()


_maker = Maker()


def remembered(request: dict[str, Any]) -> dict[str, Any]:
    """The reply to a request, from the disk if it was made before: some families take a tenth of a
    second for each problem."""
    version = metadata.version("reasoning_gym")
    key = json.dumps([version, request], sort_keys=True).encode()
    path = cache_root() / "reasoning" / f"{hashlib.sha256(key).hexdigest()[:24]}.json"
    with contextlib.suppress(OSError, ValueError):
        reply: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return reply
    reply = _maker.ask(request)
    if "rows" in reply:
        with contextlib.suppress(RunError):  # a full disk: it is made again the next time
            write_atomically(path, json.dumps(reply).encode())
    return reply
