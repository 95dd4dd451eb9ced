"""Refuses a run that no sandbox could make, before anything starts: the caller's mistake."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from proofgym.errors import SandboxError
from proofgym.sandboxes.inside.tree import is_plain, is_word

_LONGEST = 255  # bytes of one part of a name, on every file system we could meet


def check_words(argv: Sequence[str]) -> None:
    """The program and its arguments. Raises SandboxError."""
    if isinstance(argv, str | bytes) or not argv:
        raise SandboxError(
            f"argv = {argv!r:.80}: must be a list of words, the program first; "
            "['/bin/sh', '-c', …] runs a line of text"
        )
    for word in argv:
        if not is_word(word):
            raise SandboxError(f"argv holds {word!r:.80}: {_TEXT}")


def check_environment(env: Mapping[str, str]) -> None:
    """Variables by name. Raises SandboxError."""
    for name, value in env.items():
        if not is_word(name) or not name or "=" in name:
            raise SandboxError(f"env has a variable {name!r:.80}: must be a name without '='")
        if not is_word(value):
            raise SandboxError(f"env[{name!r:.80}] = {value!r:.80}: {_TEXT}")


def check_files(files: Mapping[str, bytes]) -> None:
    """Contents by relative name. Raises SandboxError."""
    for name, data in files.items():
        if not is_plain(name) or name.startswith("."):
            raise SandboxError(f"{name!r:.80} is no plain relative name of a file")
        parts = name.split("/")
        if max(len(os.fsencode(part)) for part in parts) > _LONGEST:
            raise SandboxError(f"{name!r:.80}… is no name of a file: it is over {_LONGEST} bytes")
        above = ("/".join(parts[:count]) for count in range(1, len(parts)))
        if both := next((it for it in above if it in files), None):
            raise SandboxError(f"{both!r:.80} cannot be a file and hold {name!r:.80}")
        check_bytes(f"files[{name!r:.80}]", data)


def check_bytes(what: str, data: Any) -> None:
    """Raises SandboxError for anything but bytes."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise SandboxError(f"{what} is {type(data).__name__}: must be bytes")


_TEXT = "must be text without NUL that the file system's encoding can carry"
