"""User functions that travel to other processes by value."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from typing import Any

import cloudpickle

from proofgym.errors import EnvironmentError as FunctionError


def portable(function: Callable[..., Any], name: str = "Reward.function", like: str = "") -> bytes:
    """Serialise `function` by value, or refuse it saying why; `name` is the field it stands in."""
    like = like or "(task, text) -> float"
    if not callable(function):
        raise FunctionError(f"{name} = {function!r}: not callable; give {like}")
    _require_arguments(function, name, like)
    module = sys.modules.get(getattr(function, "__module__", "") or "")
    by_value = module is not None and _is_user_code(module)
    try:
        if by_value:
            cloudpickle.register_pickle_by_value(module)
        data = cloudpickle.dumps(function)
    except Exception as error:  # any __reduce__ in the closure may raise anything
        raise FunctionError(
            f"{name} = {function!r} cannot be sent to its process: {error}. "
            "Something it captures (a lock, a file, a model) cannot be copied; create it inside."
        ) from error
    finally:
        if by_value:
            cloudpickle.unregister_pickle_by_value(module)
    return data


def _require_arguments(function: Callable[..., Any], name: str, like: str) -> None:
    """Raises FunctionError where a call such as `like` says would fail, if that can be known."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some that are not written in Python do not say
        return
    arguments = like[like.index("(") + 1 : like.index(")")].split(", ")
    try:
        signature.bind(*arguments)
    except TypeError as error:
        called = getattr(function, "__name__", type(function).__name__)
        raise FunctionError(
            f"{name} = {called}{signature}: cannot be called with ({', '.join(arguments)}): "
            f"{error}; give {like}"
        ) from error


def _is_user_code(module: Any) -> bool:
    """Code that a fresh interpreter may not find by name: job files and files beside them."""
    path = getattr(module, "__file__", None) or ""
    return (
        module.__name__ != "builtins"
        and "site-packages" not in path
        and (not module.__name__.startswith("proofgym.") and sys.prefix not in path)
    )


def without_secrets() -> dict[str, str]:
    """This process's environment without secrets, for a child that imports what this one does."""
    secret = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")
    kept = {k: v for k, v in os.environ.items() if not any(word in k.upper() for word in secret)}
    kept["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    return kept
