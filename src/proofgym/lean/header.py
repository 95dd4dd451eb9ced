"""Loads a header once: a snapshot of Lean's state after it, which every check starts from.

Lean's `--incr-save` writes its state after elaborating a file, and `--incr-load` maps it into
memory again, shared by all processes that do so. A check whose file begins with the same text
starts behind the header; a file that begins otherwise is elaborated from its own start. The
snapshot is written by the trusted side from the trusted header, and the checks cannot write.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from proofgym.durable import new_directory
from proofgym.lean import embedded
from proofgym.lean.inside.frontend import SUPPORTED
from proofgym.lean.runner import ToolchainLike, preloaded

_LOAD = "--incr-load="
_SECONDS = 900.0  # for a header such as `import Mathlib` on a cold disk
_KEPT_S = 7 * 24 * 3600.0  # a snapshot that nobody used for so long is removed


@dataclass(frozen=True, slots=True)
class Header:
    """Arguments that let Lean start behind a header, and the paths that they need to see."""

    arguments: tuple[str, ...] = ()
    paths: tuple[Path, ...] = ()
    text: Path = Path(os.devnull)
    """The file with the header's text; it is in one of `paths`."""

    def in_memory(self, version: str) -> tuple[str, ...]:
        """The snapshot and the text, for a fork server to load; nothing if it cannot."""
        snapshots = [it.removeprefix(_LOAD) for it in self.arguments if it.startswith(_LOAD)]
        if len(snapshots) != 1 or not version.startswith(SUPPORTED):
            return ()
        return snapshots[0], str(self.text)


def load_header(toolchain: ToolchainLike, header: str, options: Sequence[str] = ()) -> Header:
    """A snapshot for this header, made now where missing; `options` are Lean's (`-D…`).

    Where Lean cannot make one (too old, or the header is wrong, which the checks then report),
    the checks import the header each by itself, or start behind the core library at least.
    """
    if not header.strip() and toolchain.kind == "embedded":
        return Header(preloaded(toolchain, options))
    library = shared_library(toolchain)
    # A snapshot holds the options it was made with: with others, the header is read each time.
    if not header.strip() or library is None or options or not _can_save(library):
        return Header(preloaded(toolchain, options))
    folder = _root() / _digest(toolchain, header)
    file = folder / "header.snap"
    if not file.is_file() and not _save(toolchain, library, header, folder):
        return Header(preloaded(toolchain, options))
    with contextlib.suppress(OSError):
        os.utime(folder)  # for `_forget_old`
    return Header((f"{_LOAD}{file}",), (folder,), folder / "header.lean")


def shared_library(toolchain: ToolchainLike) -> Path | None:
    """The Lean library that a fork server can load; None if this toolchain has none."""
    if toolchain.kind == "embedded":
        return Path(toolchain.argv[-1])
    if len(toolchain.argv) != 1:
        return None
    library = Path(toolchain.argv[0]).parent.parent / "lib" / "lean" / "libleanshared.so"
    return library if library.is_file() else None


def library_environment(toolchain: ToolchainLike) -> Mapping[str, str]:
    """What Lean needs to know when it runs in another program than `lean`, whose place in the
    file system would tell it where its own modules are."""
    if toolchain.kind == "embedded":
        return toolchain.env
    own = str(Path(toolchain.argv[0]).parent.parent / "lib" / "lean")
    path = os.pathsep.join(filter(None, (toolchain.env.get("LEAN_PATH", ""), own)))
    return {**toolchain.env, "LEAN_PATH": path}


def _root() -> Path:
    return embedded.cache_root() / "headers"


def _digest(toolchain: ToolchainLike, header: str) -> str:
    """Names header, Lean and modules; the latter by place and time of change."""
    parts = [header, toolchain.version, *toolchain.argv, repr(sorted(toolchain.env.items()))]
    for path in (*toolchain.argv, *toolchain.env.get("LEAN_PATH", "").split(os.pathsep)):
        with contextlib.suppress(OSError):
            parts.append(str(os.stat(path).st_mtime_ns))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


@cache
def _can_save(library: Path) -> bool:
    command = [*embedded.lean_command(library), "--help"]
    try:
        result = subprocess.run(command, env={}, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return False
    return "--incr-save" in result.stdout + result.stderr


def _save(toolchain: ToolchainLike, library: Path, header: str, folder: Path) -> bool:
    """Have Lean elaborate the header and write its state; True if it did so without an error."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    _forget_old(folder.parent)
    with new_directory(folder) as scratch:
        source, made = scratch / "header.lean", scratch / "header.snap"
        source.write_text(f"{header.rstrip()}\n", encoding="utf-8")
        # By the library, not by `lean`: a snapshot holds the library's path as it was loaded.
        command = [*embedded.lean_command(library), f"--incr-save={made}", str(source)]
        if not _run(command, library_environment(toolchain)) or not made.is_file():
            return False
        with contextlib.suppress(OSError):  # another process was faster: it made the same
            scratch.rename(folder)
        return (folder / "header.snap").is_file()


def _run(command: list[str], env: Mapping[str, str]) -> bool:
    whole = {"PATH": os.defpath, "HOME": os.devnull, **env}
    try:
        result = subprocess.run(command, env=whole, capture_output=True, timeout=_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return False
    return result.returncode == 0


def _forget_old(root: Path) -> None:
    for folder in root.iterdir():
        with contextlib.suppress(OSError):
            if time.time() - folder.stat().st_mtime > _KEPT_S:
                shutil.rmtree(folder)
