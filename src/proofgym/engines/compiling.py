"""Functions of a model's layers, compiled once for all layers and for all that they may be.

Compiled code holds for what its guards have seen: that a layer's modules have the classes that they
had, among the rest. Some releases of torch (2.11, no longer 2.13) take a module's `__dict__` that
was not touched for proof that nothing below it changed, and skip those guards. A population gives
modules other classes, which no `__dict__` shows: code compiled for the policy then answers for
members.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import Any

import torch

BACKEND = "inductor"
SKIPPED = "use_recursive_dict_tags_for_guards"


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, compiled where it is first called, for sizes of every kind. All guards are
    looked at in every call."""
    made = torch.compile(function, dynamic=True, backend=BACKEND)

    @wraps(function)
    def call(*arguments: Any) -> Any:
        with _every_guard():
            return made(*arguments)

    return call


def _every_guard() -> AbstractContextManager[Any]:
    """Guards that are made meanwhile skip none."""
    settings: Any = torch._dynamo.config
    return settings.patch(SKIPPED, False) if hasattr(settings, SKIPPED) else nullcontext()
