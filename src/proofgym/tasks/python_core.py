"""The task family `python_core`: short Python functions, judged by hidden tests.

Two splits of different functions: `train` and `heldout`. The tests are no part of the prompt; they
go to the judge `Python()` alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import field_validator

from proofgym.errors import ConfigError, nearest
from proofgym.tasks.python_functions.function import Function
from proofgym.tasks.tasks import Problem, Tasks
from proofgym.types import Task

SPLITS = ("train", "heldout")

_ASK = "Write this Python function. Answer with one fenced block of code.\n\n```python\n{stub}```"
PROMPTS = {
    "complete": "{stub}",
    "ask": f"{_ASK}\n",
    "chatml": f"<|im_start|>user\n{_ASK}<|im_end|>\n<|im_start|>assistant\n",
}
"""How the function is asked for."""


class PythonTasks(Tasks):
    """Functions of one split."""

    split: Literal["train", "heldout"] = "train"
    """`train` or `heldout`."""
    prompt: str = "complete"
    """`complete`: the function's first line and docstring, to go on with. `ask`: a request that is
    answered with a fenced block; `chatml`: the same in the markup of Qwen, SmolLM2 and others. Or a
    template of your own with `{stub}`."""

    @field_validator("prompt")
    @classmethod
    def _shows_it(cls, text: str) -> str:
        if text not in PROMPTS and "{stub}" not in text:
            raise ValueError(f"{nearest(text, PROMPTS)}, or a template with {{stub}}")
        return text

    def describe(self) -> str:
        return f"python_core:{self.split}"

    def files(self) -> list[Path]:
        return [Path(__file__).parent / "python_functions"]

    def problems(self) -> list[Problem]:
        heldout = self.split == "heldout"
        return [
            Problem(self._task(it), f"{self.describe()}, {it.topic}", it.body)
            for it in all_functions()
            if it.heldout == heldout
        ]

    def _task(self, function: Function) -> Task:
        data: dict[str, Any] = {
            "function": function.name,
            "stub": function.stub,
            "tests": function.tests,
        }
        template = PROMPTS.get(self.prompt, self.prompt)
        prompt = template.replace("{stub}", function.stub)
        return Task(function.name, prompt, function.topic, function.difficulty, data)


@cache
def all_functions() -> tuple[Function, ...]:
    """Every function of the family, from easy to hard."""
    from proofgym.tasks.python_functions.lists import LISTS
    from proofgym.tasks.python_functions.numbers import NUMBERS
    from proofgym.tasks.python_functions.strings import STRINGS
    from proofgym.tasks.python_functions.tables import TABLES

    topics = (NUMBERS, STRINGS, LISTS, TABLES)
    return tuple(sorted((it for topic in topics for it in topic.functions()), key=_difficulty))


def _difficulty(function: Function) -> tuple[int, str]:
    return function.difficulty, function.name


def python_core(
    split: str = "train",
    topics: Iterable[str] | None = None,
    difficulty: tuple[int, int] = (1, 10),
    limit: int | None = None,
    seed: int = 0,
    prompt: str = "complete",
) -> PythonTasks:
    """Python functions of one split (`train` or `heldout`), judged by `Python()`.

    Raises:
        ConfigError: there is no such split, difficulty or form of prompt.
    """
    if split not in SPLITS:
        raise ConfigError(f"python_core has no split {split!r}; {nearest(split, SPLITS)}")
    chosen = tuple(topics) if topics is not None else None
    return PythonTasks(
        split=split,
        topics=chosen,
        difficulty=difficulty,
        limit=limit,
        seed=seed,
        prompt=prompt,
    )
