"""Seconds of a piece of work, on whichever device it runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

GPU = torch.cuda.is_available()


def once(work: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds from an idle device to an idle device."""
    if GPU:
        torch.cuda.synchronize()
    began = clock()
    work()
    if GPU:
        torch.cuda.synchronize()
    return clock() - began
