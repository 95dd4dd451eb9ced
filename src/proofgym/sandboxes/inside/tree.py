"""A folder's files as one value, and as bytes on the way in and out of a sandbox.

Standard library only, and no import of proofgym: `agent.py` uses it inside the sandbox. What comes
out was written by a hostile program: `read_tree` takes nothing on trust, and nothing is ever
written to a disk of ours under a name from there.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

MOST_ENTRIES = 100_000
_MAGIC = b"tree1\n"
_LENGTH = 8


class Entry(NamedTuple):
    """One file ("file"), folder ("folder") or symbolic link ("link"; its content is the target)."""

    kind: str
    mode: int
    content: bytes


class TooLarge(Exception):
    """More bytes or entries than may leave the sandbox."""


def write_tree(tree: Mapping[str, Entry]) -> bytes:
    """A tree as bytes."""
    items = sorted(tree.items())
    head = _head([(name, it.kind, it.mode, len(it.content)) for name, it in items])
    return b"".join([head, *(it.content for _, it in items)])


def read_tree(data: bytes) -> dict[str, Entry]:
    """The tree in these bytes.

    Raises:
        ValueError: they are no tree, or a name in it is not below the folder.
    """
    start = len(_MAGIC) + _LENGTH
    if not data.startswith(_MAGIC):
        raise ValueError("no tree")
    length = int.from_bytes(data[len(_MAGIC) : start], "little")
    try:
        rows = json.loads(data[start : start + length])
    except RecursionError as error:
        raise ValueError("no tree") from error
    tree, place = {}, start + length
    for name, kind, mode, size in rows:
        plain = type(name) is str and type(size) is int and type(mode) is int and size >= 0
        if not plain or kind not in ("file", "folder", "link") or not is_plain(name):
            raise ValueError(f"no tree: {str(name)[:100]!r}")
        content = data[place : place + size]
        if len(content) != size:
            raise ValueError("the tree is cut short")
        tree[name] = Entry(kind, mode & 0o777, content)
        place += size
    return tree


def is_word(text: object) -> bool:
    """Whether a program can be given it: text, no NUL, nothing that cannot be encoded."""
    if not isinstance(text, str) or "\0" in text:
        return False
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def is_plain(name: str) -> bool:
    """Whether it names something below a folder, in the one normal spelling."""
    return (
        bool(name)
        and is_word(name)
        and os.path.normpath(name) == name
        and not os.path.isabs(name)
        and name.split("/")[0] not in ("..", ".")
    )


def place_tree(tree: Mapping[str, Entry], folder: str) -> None:
    """Create everything below an empty folder."""
    for name, entry in sorted(tree.items()):
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if entry.kind == "folder":
            os.makedirs(path, exist_ok=True)
        elif entry.kind == "link":
            os.symlink(entry.content, os.fsencode(path))
        else:
            with open(path, "wb") as file:
                file.write(entry.content)
            os.chmod(path, entry.mode)


def send_tree(folder: str, most: int, send: Callable[[bytes], None]) -> None:
    """Everything below a folder, in pieces; special files and what cannot be read are left out.

    Raises:
        TooLarge: more than `most` bytes, or too many entries.
    """
    found = list(_walk(folder))
    if len(found) > MOST_ENTRIES or sum(size for *_, size in found) > most:
        raise TooLarge
    send(_head(found))
    for name, kind, _, size in found:
        if kind == "link":
            send(_exactly(os.fsencode(os.readlink(os.path.join(folder, name))), size))
        elif kind == "file":
            _send_file(os.path.join(folder, name), size, send)


def _head(rows: list[tuple[str, str, int, int]]) -> bytes:
    text = json.dumps(rows).encode()
    return _MAGIC + len(text).to_bytes(_LENGTH, "little") + text


def _walk(folder: str) -> Iterator[tuple[str, str, int, int]]:
    waiting = [""]
    count = 0
    while waiting and count <= MOST_ENTRIES:
        below = waiting.pop()
        with contextlib.suppress(OSError), os.scandir(os.path.join(folder, below)) as entries:
            for entry in entries:
                count += 1
                name = os.path.join(below, entry.name)
                row = _row(entry, name)
                if row:
                    yield row
                    waiting += [name] if row[1] == "folder" else []


def _row(entry: os.DirEntry[str], name: str) -> tuple[str, str, int, int] | None:
    info = entry.stat(follow_symlinks=False)
    mode = stat.S_IMODE(info.st_mode)
    if stat.S_ISDIR(info.st_mode):
        if not os.access(entry.path, os.R_OK | os.X_OK):
            os.chmod(entry.path, 0o700)
        return name, "folder", mode, 0
    if stat.S_ISLNK(info.st_mode):
        return name, "link", mode, len(os.fsencode(os.readlink(entry.path)))
    if not stat.S_ISREG(info.st_mode):
        return None
    if not os.access(entry.path, os.R_OK):
        os.chmod(entry.path, 0o600)
    return name, "file", mode, info.st_size


def _send_file(path: str, size: int, send: Callable[[bytes], None]) -> None:
    left = size
    with contextlib.suppress(OSError), open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as it:
        while left and (piece := it.read(min(left, 1 << 20))):
            send(piece)
            left -= len(piece)
    while left:  # it shrank meanwhile, which only a surviving process of the program can do
        piece = bytes(min(left, 1 << 20))
        send(piece)
        left -= len(piece)


def _exactly(data: bytes, size: int) -> bytes:
    return data[:size].ljust(size, b"\0")
