"""What a run's settings do not say: the contents of its tasks, and the code that scores."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from proofgym.types import Task

CODE = "code of the reward or the episode"


def of_tasks(tasks: Sequence[Task]) -> str:
    """SHA-256 of all that is said of them, in their order."""
    said = [(it.name, it.prompt, it.topic, it.difficulty, dict(it.data)) for it in tasks]
    return _digest(json.dumps(said, sort_keys=True, default=lambda it: type(it).__name__))


def of_code(function: Any) -> str | None:
    """SHA-256 of a user's function or object as it is written, with the functions and plain values
    of its module that it names; None where that is not known, or is proofgym's own."""
    made = inspect.unwrap(function)
    made = made if inspect.isroutine(made) else type(made)
    if (made.__module__ or "").split(".")[0] == "proofgym":
        return None
    try:
        return _digest("\n".join(_written(made, set())))
    except (OSError, TypeError):
        return None


def _written(made: Any, seen: set[str]) -> Iterator[str]:
    yield inspect.getsource(made)
    around = vars(sys.modules.get(made.__module__)) if made.__module__ in sys.modules else {}
    around = getattr(made, "__globals__", around)
    for name in sorted(set(re.findall(r"\w+", inspect.getsource(made))) & around.keys() - seen):
        seen.add(name)
        value = around[name]
        if isinstance(value, str | bytes | int | float | tuple | None):
            yield f"{name} = {value!r}"
        elif getattr(value, "__module__", "") == made.__module__ and inspect.isroutine(value):
            yield from _written(value, seen)


def differing(stored: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Names of what is known of both and is not the same."""
    return [name for name, digest in now.items() if stored.get(name, digest) != digest]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
