"""Memory and process limits for a whole tree, where this process may make control groups.

Works with version 1 (one hierarchy a controller), version 2 (one tree) and the hybrid of both.
Groups live below this process's own group, so its limits still bind. A small guardian removes
them when this process dies, `kill -9` included.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import subprocess
import threading
import time
from pathlib import Path

from proofgym.sandboxes.limits import Limits

# Waits for the end of this process (its end of the pipe closes), then removes what it left.
_GUARDIAN = """
trap '' INT TERM HUP
read -r _
for pause in .01 .05 .1 .1 .1 .1 .2 .2 .5 .5 1 1 2 2 5 5 10 10; do
  left=0
  for base in "$@"; do
    rmdir "$base"/run-* "$base" 2>/dev/null
    [ -d "$base" ] && left=1
  done
  [ $left = 0 ] && exit 0
  sleep $pause
done
"""


class Cgroup:
    """The groups of one run. `add` before the process starts work; `close` when all are dead."""

    def __init__(self, paths: dict[str, Path], limits: Limits) -> None:
        self._paths = paths
        made = []
        try:
            for path in set(paths.values()):
                path.mkdir()
                made.append(path)
            self._limit(limits)
        except OSError:
            for path in made:
                path.rmdir()
            raise

    def _limit(self, limits: Limits) -> None:
        memory, pids = str(limits.memory_bytes), str(limits.processes)
        if "unified" in self._paths:
            self._write("unified", "memory.max", memory)
            with contextlib.suppress(OSError):  # absent without swap
                self._write("unified", "memory.swap.max", "0")
            self._write("unified", "pids.max", pids)
            return
        if "memory" in self._paths:
            self._write("memory", "memory.limit_in_bytes", memory)
            with contextlib.suppress(OSError):
                self._write("memory", "memory.memsw.limit_in_bytes", memory)
        if "pids" in self._paths:
            self._write("pids", "pids.max", pids)

    def _write(self, kind: str, name: str, value: str) -> None:
        (self._paths[kind] / name).write_text(value)

    def _read(self, kind: str, name: str) -> str:
        return _read(self._paths, kind, name)

    def add(self, pid: int) -> None:
        """Place a process; what it forks later is placed too."""
        for path in set(self._paths.values()):
            (path / "cgroup.procs").write_text(str(pid))

    def memory_kills(self) -> int:
        """How many processes the kernel has killed for memory."""
        text = self._read("unified", "memory.events") or self._read("memory", "memory.oom_control")
        counts = [line.split()[1] for line in text.splitlines() if line.startswith("oom_kill ")]
        return sum(map(int, counts))

    def peak_memory_bytes(self) -> int:
        """The highest use so far, pages of the scratch folder included; 0 if unknown."""
        text = self._read("unified", "memory.peak") or self._read(
            "memory", "memory.max_usage_in_bytes"
        )
        return int(text or 0)

    def cpu_s(self) -> float:
        """Processor seconds of the tree; 0 if unknown."""
        return _cpu_s(self._paths)

    def close(self) -> None:
        """Remove the groups. The kernel may need a moment after the last death."""
        for path in set(self._paths.values()):
            for pause in (0.001, 0.005, 0.02, 0.1, 0.3, None):
                try:
                    path.rmdir()
                except FileNotFoundError:
                    pass
                except OSError:
                    if pause is not None:
                        time.sleep(pause)
                        continue
                break


def _read(paths: dict[str, Path], kind: str, name: str) -> str:
    try:
        return (paths[kind] / name).read_text() if kind in paths else ""
    except OSError:
        return ""


def _cpu_s(paths: dict[str, Path]) -> float:
    for line in _read(paths, "unified", "cpu.stat").splitlines():
        if line.startswith("usage_usec "):
            return int(line.split()[1]) / 1e6
    return int(_read(paths, "cpuacct", "cpuacct.usage") or 0) / 1e9


class Cgroups:
    """This process's place for groups; `covers` says what they limit ("memory", "pids")."""

    def __init__(self) -> None:
        self._bases: dict[str, Path] = {}
        self._counter = itertools.count()
        self._guardian: subprocess.Popen[bytes] | None = None
        self._pid = os.getpid()
        mark = f"proofgym-{self._pid}-{os.urandom(3).hex()}"
        for kind, parents in _places().items():
            for parent in parents:
                _sweep(parent)
                if _usable(parent, kind, mark):
                    self._bases[kind] = parent / mark
                    break
        if "unified" in self._bases:
            self._bases = {"unified": self._bases["unified"]}
        if self._bases:
            self._guard()

    @property
    def covers(self) -> frozenset[str]:
        """What a group of ours limits for a whole tree."""
        if "unified" in self._bases:
            return frozenset({"memory", "pids"})
        return frozenset(self._bases) & {"memory", "pids"}

    def new(self, limits: Limits) -> Cgroup | None:
        """Make the groups of one run; None where there are none to be had."""
        if not self.covers:
            return None
        name = f"run-{next(self._counter)}"
        paths = {kind: base / name for kind, base in self._bases.items()}
        try:
            return Cgroup(paths, limits)
        except FileNotFoundError:  # our place was removed, by an administrator say
            self._make_bases()
            return Cgroup(paths, limits)

    def cpu_s(self) -> float:
        """Processor seconds of all that ever ran in groups of ours; 0 if unknown."""
        return _cpu_s(self._bases)

    def _make_bases(self) -> None:
        for base in set(self._bases.values()):
            base.mkdir(exist_ok=True)
            if "unified" in self._bases:
                (base / "cgroup.subtree_control").write_text("+memory +pids")

    def _guard(self) -> None:
        self._make_bases()
        self._guardian = subprocess.Popen(
            ["/bin/sh", "-c", _GUARDIAN, "sh", *map(str, set(self._bases.values()))],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={"PATH": "/usr/bin:/bin"},
        )
        atexit.register(self.close)

    def close(self) -> None:
        """Remove every group and end the guardian."""
        if self._guardian is None or os.getpid() != self._pid:
            return
        assert self._guardian.stdin is not None
        self._guardian.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._guardian.wait(5)
        self._guardian, self._bases = None, {}


def _places() -> dict[str, list[Path]]:
    """Where groups could go, by controller: below our own group, else (version 2) beside it."""
    mounts = _mounts()
    places: dict[str, list[Path]] = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        kinds = controllers.split(",") if controllers else ["unified"]
        for kind in kinds:
            if kind in mounts:
                own = mounts[kind] / path.lstrip("/")
                parents = [own if own.is_dir() else mounts[kind]]
                # Version 2 allows no processes in an inner group, so a sibling is the usual place.
                if kind == "unified" and own != mounts[kind]:
                    parents.append(parents[0].parent)
                places[kind] = parents
    return places


def _mounts() -> dict[str, Path]:
    wanted = {"memory", "pids", "cpuacct"}
    mounts: dict[str, Path] = {}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.split(" ", 2)
        point = Path(left.split()[4])
        if kind == "cgroup2":
            mounts["unified"] = point
        elif kind == "cgroup":
            mounts |= dict.fromkeys(wanted & set(options.split(",")), point)
    return mounts


def _sweep(parent: Path) -> None:
    """Remove what a dead process of ours left, should its guardian have been killed with it."""
    for base in parent.glob("proofgym-*-*"):
        if not Path("/proc", base.name.split("-")[1]).exists():
            for path in (*base.glob("run-*"), base):
                with contextlib.suppress(OSError):  # in use, or gone already
                    path.rmdir()


def _usable(parent: Path, kind: str, mark: str) -> bool:
    """Try it: make a group with the controllers we need and remove it again."""
    probe = parent / f"{mark}-probe"
    needed = ["memory.max", "pids.max"] if kind == "unified" else ["cgroup.procs"]
    try:
        if kind == "unified" and not {"memory", "pids"} <= set(
            (parent / "cgroup.subtree_control").read_text().split()
        ):
            return False
        probe.mkdir()
    except OSError:
        return False
    try:
        return all(os.access(probe / name, os.W_OK) for name in needed) and _moves(probe)
    finally:
        probe.rmdir()


def _moves(probe: Path) -> bool:
    """Whether a process of ours may be placed there (version 2 asks for the common ancestor)."""
    child = subprocess.Popen(["/bin/sh", "-c", "read -r _"], stdin=subprocess.PIPE)
    try:
        (probe / "cgroup.procs").write_text(str(child.pid))
        return True
    except OSError:
        return False
    finally:
        child.communicate()
        for _ in range(20):  # the group is busy until the process is fully gone
            if not (probe / "cgroup.procs").read_text():
                break
            time.sleep(0.005)


_lock = threading.Lock()
_mine: Cgroups | None = None


def own_cgroups() -> Cgroups:
    """The groups of this process, found once (and again after a fork)."""
    global _mine
    with _lock:
        if _mine is None or _mine._pid != os.getpid():
            _mine = Cgroups()
        return _mine
