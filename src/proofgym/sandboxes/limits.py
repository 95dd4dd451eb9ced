"""What one sandboxed run may use."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any

from proofgym.errors import ConfigError, FieldError, Problem, nearest

MIB = 1 << 20
_SECONDS = 1e9  # what every clock and timer of the kernel's can hold
_WHOLE = 1 << 62


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper bounds of one run. Whatever goes over one of them ends the whole process tree.

    Raises:
        ConfigError: a value is no number above 0, or no whole one where it must be; or a name is
            no field's.
    """

    wall_s: float = 10.0
    """Seconds from start to end, enforced from outside the sandbox."""
    cpu_s: float = 10.0
    """Processor seconds of any one process; of the whole tree where cgroups count them."""
    memory_bytes: int = 2048 * MIB
    """Memory of the whole tree (with cgroups), else of each process."""
    processes: int = 64
    """Processes and threads alive at once."""
    output_bytes: int = 4 * MIB
    """Standard output and standard error together."""
    scratch_bytes: int = 64 * MIB
    """Files in the scratch folder (the working directory, the only place to write)."""

    def __new__(cls, *values: Any, **named: Any) -> Limits:
        """Refuses a name that is none of ours, as `Config` does: no bare TypeError."""
        names = [item.name for item in fields(cls)]
        if len(values) > len(names):
            raise ConfigError(f"Limits takes at most {len(names)} values, not {len(values)}")
        for name in named:
            if name not in names:
                raise ConfigError(f"Limits has no field {name!r}; {nearest(name, names)}")
            if name in names[: len(values)]:
                raise ConfigError(f"Limits.{name} is given twice")
        return object.__new__(cls)

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            wrong = _not_whole(value) if isinstance(item.default, int) else _not_seconds(value)
            if wrong:
                raise FieldError(Problem("Limits", item.name, wrong, f"{value!r:.80}"))


def _not_seconds(value: Any) -> str:
    """What is allowed, if this is no number of seconds."""
    right = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    return "" if right and 0 < value <= _SECONDS else "must be a number above 0, at most 1e9"


def _not_whole(value: Any) -> str:
    right = isinstance(value, Integral) and not isinstance(value, bool)
    return "" if right and 0 < value <= _WHOLE else "must be a whole number above 0, at most 2**62"
