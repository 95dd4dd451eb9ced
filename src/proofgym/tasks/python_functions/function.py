"""One function to write: what the model sees, a right body, and the arguments of its tests."""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Function:
    """A task of `python_core`."""

    name: str
    topic: str
    difficulty: int
    heldout: bool
    stub: str
    """Its first line and docstring."""
    body: str
    """The rest of the reference solution."""
    tests: tuple[tuple[list[Any], Any], ...]
    """(arguments, expected value), as JSON has them."""


class Topic:
    """Functions of one topic, collected by the decorator `task`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._collected: list[Callable[[], Function]] = []

    def task(self, difficulty: int, *calls: tuple[Any, ...], heldout: bool = False) -> Any:
        """Register the function below as a task that is tested by these calls."""

        def register(function: F) -> F:
            def build() -> Function:
                stub, body = _split(function)
                tests = tuple(_test(function, call) for call in calls)
                name = function.__name__
                return Function(name, self.name, difficulty, heldout, stub, body, tests)

            self._collected.append(build)
            return function

        return register

    def functions(self) -> list[Function]:
        """The tasks, with what their own solutions return as the expected values."""
        return [build() for build in self._collected]


def _test(function: Callable[..., Any], call: tuple[Any, ...]) -> tuple[list[Any], Any]:
    """What JSON makes of a call and its value; a function may change its arguments."""
    arguments = json.loads(json.dumps(call))
    value = function(*json.loads(json.dumps(call)))
    return arguments, json.loads(json.dumps(value))


def _split(function: Callable[..., Any]) -> tuple[str, str]:
    lines = textwrap.dedent(inspect.getsource(function)).splitlines(keepends=True)
    (definition,) = ast.parse("".join(lines)).body
    assert isinstance(definition, ast.FunctionDef)
    end = definition.body[0].end_lineno  # of the docstring
    assert end
    return "".join(lines[definition.lineno - 1 : end]), "".join(lines[end:])
