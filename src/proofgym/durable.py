"""Files that are there whole or not at all, and still there after the power fails."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

LEFTOVERS = ".*.tmp"
"""Matches what a kill may leave beside the files."""


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write that takes its place as `path` when it is whole. Raises OSError."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    sync(path.parent)


@contextmanager
def new_directory(target: Path) -> Iterator[Path]:
    """A directory to fill and to rename to `target`; what was not renamed is removed.

    It has the mode of any new one: a temporary one, which it lies in, is its owner's alone.
    """
    with tempfile.TemporaryDirectory(
        prefix=f".{target.name}.", dir=target.parent, ignore_cleanup_errors=True
    ) as scratch:
        directory = Path(scratch, target.name)
        directory.mkdir()
        yield directory


def share_files(directory: Path) -> None:
    """Give the files of a new directory the mode of any new file, which its own mode tells:
    safetensors writes some that are their owner's alone. Raises OSError."""
    mode = directory.stat().st_mode & 0o666
    for path in directory.rglob("*"):
        if path.is_file():
            path.chmod(mode)


def sync(path: Path) -> None:
    """Make a file's content, or a directory's entries, durable. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
