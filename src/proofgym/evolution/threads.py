"""One thread for each usable core, shared by all exact kernels of the process.

A plain pool of threads whose kernels release Python's lock: unlike OpenMP it survives a fork of the
process (sandboxes fork) and cannot nest.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def each(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Call `function` on every item, in parallel; results in order, the first error raised.

    On an error or an interrupt nothing is still running, or writing weights, when this raises.
    """
    pool = _pool(os.getpid())
    futures = [pool.submit(function, item) for item in items]
    try:
        return [future.result() for future in futures]
    except BaseException:
        for future in futures:
            future.cancel()
        wait(futures)
        raise


@functools.lru_cache(maxsize=1)
def _pool(process: int) -> ThreadPoolExecutor:
    """A pool of this process's own: a forked child must not wait for its parent's threads."""
    return ThreadPoolExecutor(cores(), thread_name_prefix="evolution")


def cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
