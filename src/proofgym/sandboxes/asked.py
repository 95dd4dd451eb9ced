"""Refuses a run that no sandbox could make, before anything starts: the caller's mistake."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from proofgym.errors import SandboxError
from proofgym.sandboxes.cancel import Cancel
from proofgym.sandboxes.inside.tree import is_plain, is_word

_LONGEST = 255  # bytes of one part of a name, on every file system we could meet


def check_words(argv: Sequence[str]) -> None:
    """The program and its arguments. Raises SandboxError."""
    check_list(argv)
    for word in argv:
        if not is_word(word):
            raise SandboxError(f"argv holds {word!r:.80}: {_TEXT}")


def check_list(argv: Sequence[str]) -> None:
    """The program and its arguments, as far as their types go. Raises SandboxError."""
    is_list = isinstance(argv, Sequence) and not isinstance(argv, str | bytes | bytearray)
    if not is_list or not argv:
        raise SandboxError(
            f"argv = {argv!r:.80}: must be a list of words, the program first, such as "
            "['python3', 'a.py']; ['/bin/sh', '-c', …] runs a line of text"
        )
    for word in argv:
        if not isinstance(word, str):
            raise SandboxError(f"argv holds {word!r:.80}, which is {_type(word)}: {_TEXT}")


def check_environment(env: Mapping[str, str]) -> None:
    """Variables by name. Raises SandboxError."""
    check_variables(env)
    for name, value in env.items():
        if not is_word(name) or not name or "=" in name:
            raise SandboxError(f"env has a variable {name!r:.80}: must be a name without '='")
        if not is_word(value):
            raise SandboxError(f"env[{name!r:.80}] = {value!r:.80}: {_TEXT}")


def check_variables(env: Mapping[str, str]) -> None:
    """Variables by name, as far as their types go. Raises SandboxError."""
    _check_mapping("env", env, "values by name, such as {'SEED': '1'}")
    for name, value in env.items():
        if not isinstance(name, str):
            raise SandboxError(f"env has a variable {name!r:.80}: must be a name without '='")
        if not isinstance(value, str):
            raise SandboxError(
                f"env[{name!r:.80}] = {value!r:.80}, which is {_type(value)}: {_TEXT}"
            )


def check_cancel(cancel: object) -> None:
    """Raises SandboxError for what is no `Cancel`."""
    if cancel is not None and not isinstance(cancel, Cancel):
        raise SandboxError(
            f"cancel = {cancel!r:.80}: must be a `Cancel()` of proofgym.sandboxes.cancel"
        )


def check_files(files: Mapping[str, bytes]) -> None:
    """Contents by relative name. Raises SandboxError."""
    _check_mapping("files", files, "contents by relative name, such as {'a.txt': b'1'}")
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
        raise SandboxError(f"{what} is {_type(data)}: must be bytes")


def _check_mapping(what: str, given: object, allowed: str) -> None:
    if not isinstance(given, Mapping):
        raise SandboxError(f"{what} = {given!r:.80}: must be a mapping, {allowed}")


def _type(value: object) -> str:
    return "None" if value is None else type(value).__name__


_TEXT = "must be text without NUL that the file system's encoding can carry"
