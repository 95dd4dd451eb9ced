"""How much room the machine has left, and what to say where it, or a GPU, has none."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from proofgym.errors import ProofgymError

_SIGNS = ("out of memory", "CUBLAS_STATUS_ALLOC_FAILED", "can't allocate memory")


@contextmanager
def saying_when_full(instead: ProofgymError) -> Iterator[None]:
    """Raises `instead` for what PyTorch raises where memory runs out: its own error from its
    allocator, the driver's where another process has taken the rest, or a library's."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if is_full(error):
            raise instead from error
        raise


def available(root: Path = Path("/")) -> float:
    """Bytes that may still be taken: what Linux says is free or can be freed, and no more than the
    container's own limit leaves. Infinity where neither is known."""
    lines = _read(root / "proc/meminfo").splitlines()
    free = [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    limit, used = (_read(root / f"sys/fs/cgroup/memory.{it}").strip() for it in ("max", "current"))
    if limit.isdecimal() and used.isdecimal():
        free.append(max(0, int(limit) - int(used)))
    return min(free, default=math.inf)


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def is_full(error: BaseException) -> bool:
    return isinstance(error, MemoryError) or any(sign in str(error) for sign in _SIGNS)
