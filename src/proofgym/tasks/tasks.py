"""`Tasks`: which problems a job trains or is measured on, read from a JSONL file.

A line is one problem: `name`, `topic`, `difficulty` (1 to 10), then either a Lean `statement`
(with, where there is one, a reference `proof`) or the `prompt` of another kind of task, whose
further fields go to the reward function. Reference proofs never become part of a `Task`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pydantic import Field, field_validator

from proofgym.config import Config
from proofgym.errors import TaskError, nearest, no_file
from proofgym.random import shuffled
from proofgym.types import Task

PROMPT_END = " := by\n"
"""Follows a statement in the prompt: the model goes on with the first line of the proof."""


class Checker(Protocol):
    """What `check_statements` needs of a `LeanChecker`."""

    def check_statement(self, statement: str) -> None:
        """Raise TaskError where Lean refuses the statement."""


class Tasks(Config):
    """A choice of problems from one JSONL file."""

    path: str
    """The file; `lean_core(...)` and `from_jsonl(...)` fill this in."""
    topics: tuple[str, ...] | None = None
    """Only these topics; None is all."""
    difficulty: tuple[int, int] = (1, 10)
    """Least and greatest difficulty."""
    limit: int | None = Field(None, ge=1)
    """At most so many, chosen at random by the seed."""
    seed: int = Field(0, ge=0)
    """Which ones the limit keeps."""

    @field_validator("difficulty")
    @classmethod
    def _ordered(cls, value: tuple[int, int]) -> tuple[int, int]:
        if not 1 <= value[0] <= value[1] <= 10:
            raise ValueError("must be (least, greatest) with 1 <= least <= greatest <= 10")
        return value

    def load(self) -> list[Task]:
        """The chosen tasks, in the order of the file.

        Raises:
            TaskError: the file is missing or wrong (names file and line), or holds no such topic.
        """
        return [line.task() for line in self._chosen()]

    def reference_proofs(self) -> dict[str, str]:
        """Proofs of the chosen tasks by name, for supervised training and for tests.

        Raises:
            TaskError: as `load`, and where a chosen task has no proof.
        """
        proofs = {}
        for line in self._chosen():
            if "proof" not in line.fields:
                raise line.error("has no reference 'proof'")
            proofs[line.fields["name"]] = line.fields["proof"]
        return proofs

    def _chosen(self) -> list[Line]:
        lines = list(read_lines(Path(self.path)))
        known = sorted({line.fields["topic"] for line in lines})
        for topic in self.topics or ():
            if topic not in known:
                hint = nearest(topic, known)
                raise TaskError(f"{self.path}: no task has topic {topic!r}; {hint}")
        least, greatest = self.difficulty
        lines = [
            line
            for line in lines
            if least <= line.fields["difficulty"] <= greatest
            and (self.topics is None or line.fields["topic"] in self.topics)
        ]
        if self.limit is None or self.limit >= len(lines):
            return lines
        kept = set(shuffled(range(len(lines)), self.seed, "task limit")[: self.limit])
        return [line for index, line in enumerate(lines) if index in kept]


@dataclass(frozen=True)
class Line:
    """One line of a task file, already checked."""

    path: Path
    number: int
    fields: dict[str, Any]

    def error(self, what: str) -> TaskError:
        """An error that names the file, the line and the task."""
        return _error(self.path, self.number, f"task {self.fields.get('name')!r} {what}")

    def task(self) -> Task:
        """The task without its proof."""
        fields = self.fields
        if "statement" in fields:
            prompt = fields["statement"] + PROMPT_END
            data = {"statement": fields["statement"]}
        else:
            prompt = fields["prompt"]
            data = {key: value for key, value in fields.items() if key not in _OWN}
        return Task(fields["name"], prompt, fields["topic"], fields["difficulty"], data)


_OWN = ("name", "topic", "difficulty", "prompt", "proof")


def from_jsonl(
    path: str | Path,
    topics: Iterable[str] | None = None,
    difficulty: tuple[int, int] = (1, 10),
    limit: int | None = None,
    seed: int = 0,
) -> Tasks:
    """Tasks of your own; see `docs/tasks.md` for the format."""
    chosen = tuple(topics) if topics is not None else None
    return Tasks(path=str(path), topics=chosen, difficulty=difficulty, limit=limit, seed=seed)


def read_lines(path: Path) -> Iterator[Line]:
    """Read and check a task file.

    Raises:
        TaskError: names the file and the line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise TaskError(no_file(path)) from None
    except OSError as error:
        raise TaskError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        number = path.read_bytes()[: error.start].count(b"\n") + 1
        raise _error(path, number, "not UTF-8 text") from None
    seen: dict[str, int] = {}
    for number, raw in enumerate(text.split("\n"), start=1):
        if not raw.strip():
            continue
        line = Line(path, number, _parse(path, number, raw))
        name = line.fields["name"]
        if name in seen:
            raise line.error(f"was already given on line {seen[name]}; names must differ")
        seen[name] = number
        yield line


def check_statements(tasks: Tasks, checker: Checker) -> None:
    """Have Lean elaborate every chosen statement.

    Raises:
        TaskError: names file and line of the first statement that Lean refuses.
    """
    for line in tasks._chosen():
        if "statement" not in line.fields:
            continue
        try:
            checker.check_statement(line.fields["statement"])
        except TaskError as error:
            raise line.error(f"has a statement that Lean refuses: {error}") from None


def _parse(path: Path, number: int, raw: str) -> dict[str, Any]:
    try:
        fields = json.loads(raw)
    except json.JSONDecodeError as error:
        raise _error(path, number, f"not JSON: {error.msg} at column {error.colno}") from None
    if not isinstance(fields, dict):
        raise _error(path, number, "must be a JSON object")
    if "statement" not in fields and "prompt" not in fields:
        raise _error(path, number, "field 'statement' (or 'prompt') is missing")
    if "statement" in fields and "prompt" in fields:
        raise _error(path, number, "give 'statement' or 'prompt', not both")
    for field, type_ in _TYPES.items():
        _check_field(path, number, fields, field, type_)
    if not 1 <= fields["difficulty"] <= 10:
        raise _error(path, number, f"'difficulty' is {fields['difficulty']}; must be 1 to 10")
    if "statement" in fields:
        _check_statement(path, number, fields["name"], fields["statement"])
    return fields


_TYPES = {
    "name": str,
    "topic": str,
    "difficulty": int,
    "statement": str,
    "prompt": str,
    "proof": str,
}
_OPTIONAL = ("statement", "prompt", "proof")


def _check_field(path: Path, number: int, fields: dict[str, Any], field: str, type_: type) -> None:
    if field not in fields:
        if field in _OPTIONAL:
            return
        raise _error(path, number, f"field {field!r} is missing")
    value = fields[field]
    if not isinstance(value, type_) or isinstance(value, bool):
        wanted = {str: "text", int: "a whole number"}[type_]
        raise _error(path, number, f"{field!r} is {value!r}; must be {wanted}")
    if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise _error(path, number, f"{field!r} holds half a character (a lone surrogate)")


def _check_statement(path: Path, number: int, name: str, statement: str) -> None:
    words = statement.split(maxsplit=2)
    if words[:2] != ["theorem", name]:
        raise _error(path, number, f"'statement' must begin with 'theorem {name} '")
    if statement != statement.strip() or statement.endswith(":= by"):
        raise _error(path, number, "'statement' must end before ':=', without space around it")


def _error(path: Path, number: int, what: str) -> TaskError:
    return TaskError(f"{path}, line {number}: {what}")
