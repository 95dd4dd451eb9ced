"""Every offline task family of the package `reasoning-gym` by name, countdown among them.

Equal seeds give equal tasks in every process (see `reasoning_maker.py`), so a resumed run meets the
same ones.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Literal

from pydantic import Field, field_validator

from proofgym.errors import ConfigError, TaskError, nearest
from proofgym.random import stream
from proofgym.tasks.reasoning_maker import remembered
from proofgym.tasks.tasks import Problem, Tasks
from proofgym.types import Task

REFUSED = {
    "composite": "is a mixture; name its families one by one",
    "game_of_life_halting": "counts every answer as right (in reasoning-gym 0.1.25)",
}
"""Families that cannot be trained on, and why."""

AnswerPlace = Literal["tag", "last_line", "boxed", "whole"]
"""Where a completion gives its answer."""

INSTRUCTIONS: Mapping[str, str] = {
    "tag": "Give your final answer between <answer> and </answer>.",
    "last_line": "Give your final answer alone on the last line.",
    "boxed": "Give your final answer in \\boxed{}.",
    "whole": "Give the final answer and nothing else.",
}
"""What the prompt says about it."""

_made: dict[str, list[Problem]] = {}


class ReasoningTasks(Tasks):
    """Generated problems of one family of reasoning-gym."""

    family: str
    """Its name there, such as `countdown` or `spell_backward`."""
    size: int = Field(500, ge=1)
    """How many different problems."""
    config: dict[str, Any] = Field(default_factory=dict)
    """Fields of the family's own configuration, such as {"min_numbers": 3}."""
    levels: tuple[int, ...] | None = None
    """Levels of the family's curriculum, from 0, in place of its usual difficulty; as many
    problems of each. A problem of level n has difficulty n + 1."""
    answer: AnswerPlace = "tag"
    """Where the completion must give its answer; the prompt says so."""
    prompt: str = "{question}\n\n{instruction}\n"
    """The prompt; a chat model's own markers can be put here."""
    apart_from: Tasks | None = None
    """Tasks (for training, say) whose questions are left out here."""

    @field_validator("family")
    @classmethod
    def _known(cls, name: str) -> str:
        if name in REFUSED:
            raise ValueError(f"the family {REFUSED[name]}")
        return name

    @field_validator("levels")
    @classmethod
    def _in_range(cls, levels: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if levels is not None and not (levels and all(0 <= level < 10 for level in levels)):
            raise ValueError("must be one or more levels from 0 to 9")
        return levels

    @field_validator("prompt")
    @classmethod
    def _asks(cls, text: str) -> str:
        if "{question}" not in text:
            raise ValueError("must contain {question}, and where wanted {instruction}")
        return text

    def describe(self) -> str:
        return f"reasoning_gym:{self.family}"

    def problems(self) -> list[Problem]:
        key = json.dumps(self.to_json(), sort_keys=True)
        if key not in _made:
            _made[key] = [self._problem(index, row) for index, row in enumerate(self._make())]
        return _made[key]

    def _make(self) -> list[dict[str, Any]]:
        """Rows as `reasoning_child.py` writes them."""
        if find_spec("reasoning_gym") is None:
            raise ConfigError("reasoning_gym needs a package: pip install -e '.[reasoning]'")
        other = self.apart_from.load() if self.apart_from else []
        request = {
            "family": self.family,
            "size": self.size,
            "config": self.config,
            "levels": self.levels,
            # It adds 0, 1, 2, … to its seed: seeds that are near each other give equal problems.
            "seed": stream(self.seed, "reasoning gym") % 2**31,
            "without": [task.data.get("question", task.prompt) for task in other],
        }
        reply = remembered(request)
        if "broken" in reply:
            raise TaskError(f"{self.describe()} cannot be made: {reply['broken']}")
        if "families" in reply:
            known = [name for name in reply["families"] if name not in REFUSED]
            raise ConfigError(
                f"reasoning_gym has no family {self.family!r}; {nearest(self.family, known)}"
            )
        if "wrong" in reply:
            raise ConfigError(f"{self.describe()}: {reply['wrong']}")
        rows: list[dict[str, Any]] = reply["rows"]
        if len(rows) < self.size:
            raise TaskError(
                f"{self.describe()}: only {len(rows)} different problems can be made with this "
                f"configuration, not ReasoningTasks.size = {self.size}{reply['why']}"
            )
        return rows

    def _problem(self, index: int, row: dict[str, Any]) -> Problem:
        question = row["question"].strip()
        prompt = self.prompt.replace("{instruction}", INSTRUCTIONS[self.answer])
        data = {
            "family": self.family,
            "config": row["config"],
            "question": row["question"],
            "entry": base64.b64decode(row["entry"]),
            "answer_in": self.answer,
        }
        task = Task(
            f"{self.family}-{self.seed}-{index:05d}",
            prompt.replace("{question}", question),
            self.family,
            row["level"] + 1 if row["level"] is not None else 0,
            data,
        )
        return Problem(task, self.describe(), row["answer"])


def reasoning_gym(family: str, size: int = 500, seed: int = 0, **fields: Any) -> ReasoningTasks:
    """Problems of one reasoning-gym family, judged by `Reasoning()`.

    Equal seeds give equal problems; `apart_from=` the training tasks keeps a held-out set apart
    from them. The further fields are those of `ReasoningTasks`.

    Raises:
        ConfigError: there is no such family or field.
    """
    return ReasoningTasks(family=family, size=size, seed=seed, **fields)


def countdown(size: int = 500, seed: int = 0, **fields: Any) -> ReasoningTasks:
    """The numbers game: make the target from all the given numbers, each used once.

    With `levels=(0,)` and the like, or `config={"min_numbers": 3, "max_numbers": 3}`, it is easier.
    """
    return reasoning_gym("countdown", size, seed, **fields)
