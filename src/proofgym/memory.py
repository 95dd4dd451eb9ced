"""What to say where a GPU, or the machine, has no room left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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


def is_full(error: BaseException) -> bool:
    return isinstance(error, MemoryError) or any(sign in str(error) for sign in _SIGNS)
