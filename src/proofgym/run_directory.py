"""A run's directory: everything about one run, in files that `cat`, `grep` and `zgrep` can read.

runs/<id>/
  job.py            the job file as it was
  job.json          the effective configuration, overrides applied
  environment.json  versions, machine, Lean toolchain, sandbox
  events.jsonl      one line an event (start, iteration, evaluation, end)
  rollouts/00012.jsonl.gz   every attempt of iteration 12
  history.pges keyframes/   the algorithm's own state (ES)
  lock              held while a process works on the run
"""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import secrets
import shutil
import time
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from proofgym.durable import whole_file
from proofgym.errors import RunError, nearest
from proofgym.rollout_lines import to_line
from proofgym.types import Rollout

_LOCK_S = 1.0


def write_atomically(path: Path, data: bytes) -> None:
    """Write to a temporary file beside `path`, fsync, rename: never half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with whole_file(path) as file:
            file.write(data)
    except OSError as error:
        raise RunError(
            f"cannot write {path}: {error.strerror}. Free some space and resume."
        ) from error


class RunDirectory:
    """One run on disk. `create` and `open` take the lock; `read` looks without it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: IO[str] | None = None

    @property
    def id(self) -> str:
        return self.path.name

    @classmethod
    def create(cls, root: Path, name: str) -> RunDirectory:
        return cls.make(root / f"{time.strftime('%Y%m%d-%H%M%S')}-{name}-{secrets.token_hex(2)}")

    @classmethod
    def make(cls, path: Path) -> RunDirectory:
        """The same under a name that is given; also where a start left an empty one."""
        run = cls(path)
        try:
            (run.path / "rollouts").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"cannot create {run.path}: {error.strerror}") from error
        run._take_lock()
        return run

    @classmethod
    def open(cls, root: Path, name: str) -> RunDirectory:
        """Open for writing; refused while another process holds it."""
        run = cls.read(root, name)
        run._take_lock()
        return run

    @classmethod
    def read(cls, root: Path, name: str) -> RunDirectory:
        """Find a run by id, a unique part of its id, `latest`, or its path."""
        if (Path(name) / "job.json").exists():
            return cls(Path(name))
        known = [run.id for run in list_runs(root)]
        found = known[-1:] if name == "latest" else [run for run in known if name in run]
        if name in known:
            found = [name]
        if len(found) != 1:
            many = f"{len(found)} runs match {name!r}" if found else f"no run {name!r} in {root}"
            names = ["latest", *known[-20:]]
            raise RunError(f"{many}; {nearest(name, names) if known else 'there are none yet'}")
        return cls(root / found[0])

    def _take_lock(self) -> None:
        file = (self.path / "lock").open("a+")
        if not _locked(file):
            file.seek(0)
            holder = file.read().strip() or "unknown"
            file.close()
            raise RunError(
                f"run {self.id} is in use by process {holder}; wait for it or end it first"
            )
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        self._lock = file

    def in_use(self) -> bool:
        """Whether a process works on it."""
        path = self.path / "lock"
        if not path.exists():
            return False
        with path.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return True
        return False

    def discard_unused(self) -> None:
        """Remove the directory if its work never began: bad input leaves nothing behind."""
        if not self.events():
            shutil.rmtree(self.path, ignore_errors=True)

    def close(self) -> None:
        if self._lock:
            self._lock.close()
            self._lock = None

    def write_json(self, name: str, value: Any) -> None:
        write_atomically(self.path / name, (json.dumps(value, indent=2) + "\n").encode())

    def read_json(self, name: str) -> Any:
        try:
            value = json.loads((self.path / name).read_text())
        except (OSError, ValueError) as error:
            raise RunError(f"run {self.id}: {name} cannot be read: {error}") from None
        if not isinstance(value, dict):
            raise RunError(f"run {self.id}: {name} is damaged: it holds no JSON object")
        return value

    def record(self, event: str, **fields: Any) -> None:
        """Append one event, durable when this returns."""
        line = json.dumps({"event": event, "time": round(time.time(), 3), **fields})
        try:
            with (self.path / "events.jsonl").open("ab") as file:
                file.write(line.encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise RunError(f"cannot write to {self.path}: {error.strerror}") from error

    def events(self) -> list[dict[str, Any]]:
        """All whole events; a line torn by a crash is left out."""
        path = self.path / "events.jsonl"
        if not path.exists():
            return []
        lines = path.read_bytes().split(b"\n")
        return [event for line in lines if (event := _json_line(line)) and "event" in event]

    def forget_from(self, iteration: int) -> None:
        """Drop events and rollouts of iterations that did not become durable, and a torn line."""
        kept = [event for event in self.events() if event.get("iteration", -1) < iteration]
        lines = "".join(json.dumps(event) + "\n" for event in kept)
        write_atomically(self.path / "events.jsonl", lines.encode())
        for path in (self.path / "rollouts").glob("*.jsonl.gz"):
            if int(path.name.split(".")[0]) >= iteration:
                path.unlink()

    def write_rollouts(self, iteration: int, rollouts: Iterable[Rollout]) -> None:
        text = "".join(json.dumps(to_line(item), ensure_ascii=False) + "\n" for item in rollouts)
        path = self.path / "rollouts" / f"{iteration:05d}.jsonl.gz"
        write_atomically(path, gzip.compress(text.encode("utf-8", "replace"), 5, mtime=0))

    def rollouts(self, iteration: int | None = None) -> Iterator[dict[str, Any]]:
        pattern = "*" if iteration is None else f"{iteration:05d}"
        for path in sorted((self.path / "rollouts").glob(f"{pattern}.jsonl.gz")):
            try:
                with gzip.open(path, "rt", encoding="utf-8") as file:
                    yield from map(json.loads, file)
            except (EOFError, OSError, zlib.error, ValueError) as error:
                raise RunError(f"run {self.id}: {path.name} is damaged: {error}") from error


def list_runs(root: Path) -> list[RunDirectory]:
    """All runs under `root`, oldest first."""
    if not root.is_dir():
        return []
    return [RunDirectory(path.parent) for path in sorted(root.glob("*/job.json"))]


def _json_line(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except ValueError:  # torn, or not text
        return None
    return value if isinstance(value, dict) else None


def _locked(file: IO[str]) -> bool:
    """Whether the lock could be had; one that was just killed may hold it for a moment."""
    deadline = time.monotonic() + _LOCK_S
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
