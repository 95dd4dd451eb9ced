"""What one sandboxed run may use."""

from __future__ import annotations

from dataclasses import dataclass, fields

from proofgym.errors import ConfigError

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper bounds of one run. Whatever goes over one of them ends the whole process tree."""

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

    def __post_init__(self) -> None:
        for item in fields(self):
            if not getattr(self, item.name) > 0:
                raise ConfigError(f"Limits.{item.name} must be more than 0")
