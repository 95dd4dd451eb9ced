"""Tasks of one's own: a JSONL file with one problem a line.

A line has `name`, `topic`, `difficulty` (1 to 10), then either a Lean `statement` (with, where
there is one, a reference `proof`) or the `prompt` of another kind of task, whose further fields go
to the reward function.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from proofgym.errors import TaskError, no_file
from proofgym.lean.statement import parse_statement
from proofgym.tasks.tasks import PROMPT_END, Problem, Tasks
from proofgym.types import Task

_OWN = ("name", "topic", "difficulty", "prompt", "proof")


class JsonlTasks(Tasks):
    """A choice of problems from one JSONL file."""

    path: str
    """The file."""

    def problems(self) -> list[Problem]:
        return [_problem(place, fields) for place, fields in read_lines(Path(self.path))]

    def describe(self) -> str:
        return self.path

    def files(self) -> list[Path]:
        return [Path(self.path)]


def from_jsonl(
    path: str | Path,
    topics: Iterable[str] | None = None,
    difficulty: tuple[int, int] = (1, 10),
    limit: int | None = None,
    seed: int = 0,
) -> JsonlTasks:
    """Tasks of your own; see `docs/tasks.md` for the format."""
    chosen = tuple(topics) if topics is not None else None
    return JsonlTasks(path=str(path), topics=chosen, difficulty=difficulty, limit=limit, seed=seed)


def read_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """(place, object) of each line of a JSONL file that is not blank.

    Raises:
        TaskError: names the file and the line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise TaskError(no_file(path)) from None
    except OSError as error:
        raise TaskError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        number = path.read_bytes()[: error.start].count(b"\n") + 1
        raise TaskError(f"{path}, line {number}: not UTF-8 text") from None
    for number, raw in enumerate(text.split("\n"), start=1):
        if not raw.strip():
            continue
        place = f"{path}, line {number}"
        try:
            fields = json.loads(raw)
        except json.JSONDecodeError as error:
            raise TaskError(f"{place}: not JSON: {error.msg} at column {error.colno}") from None
        except (ValueError, RecursionError) as error:  # a number of thousands of digits; deep lists
            raise TaskError(f"{place}: cannot be read as JSON: {error}") from None
        if not isinstance(fields, dict):
            raise TaskError(f"{place}: must be a JSON object")
        yield place, fields


def read_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The same, with the fields of `docs/tasks.md` checked and names that differ."""
    seen: dict[str, str] = {}
    for place, fields in read_rows(path):
        _check(place, fields)
        name = fields["name"]
        if name in seen:
            line = seen[name].rpartition(", ")[2]
            raise TaskError(
                f"{place}: task {name!r} was already given on {line}; names must differ"
            )
        seen[name] = place
        yield place, fields


def _problem(place: str, fields: dict[str, Any]) -> Problem:
    if "statement" in fields:
        statement = parse_statement(fields["statement"]).text
        prompt, data = statement + PROMPT_END, {"statement": statement}
    else:
        prompt = fields["prompt"]
        data = {key: value for key, value in fields.items() if key not in _OWN}
    task = Task(fields["name"], prompt, fields["topic"], fields["difficulty"], data)
    return Problem(task, place, fields.get("proof"))


def _check(place: str, fields: dict[str, Any]) -> None:
    if "statement" not in fields and "prompt" not in fields:
        raise TaskError(f"{place}: field 'statement' (or 'prompt') is missing")
    if "statement" in fields and "prompt" in fields:
        raise TaskError(f"{place}: give 'statement' or 'prompt', not both")
    for field, kind in _TYPES.items():
        if field in fields or field not in _OPTIONAL:
            check_field(place, fields, field, kind)
    for field in ("name", "prompt"):
        if field in fields and not fields[field].strip():
            raise TaskError(f"{place}: {field!r} is empty")
    if not 1 <= fields["difficulty"] <= 10:
        raise TaskError(f"{place}: 'difficulty' is {fields['difficulty']}; must be 1 to 10")
    if "statement" in fields:
        _check_statement(place, fields["name"], fields["statement"])


_TYPES: dict[str, type] = {
    "name": str,
    "topic": str,
    "difficulty": int,
    "statement": str,
    "prompt": str,
    "proof": str,
}
_OPTIONAL = ("statement", "prompt", "proof")
_WORDS = {str: "text", int: "a whole number", list: "a list"}


def check_field(place: str, fields: dict[str, Any], field: str, kind: type) -> Any:
    """The field's value. Raises TaskError where it is missing or of another kind."""
    if field not in fields:
        raise TaskError(f"{place}: field {field!r} is missing")
    value = fields[field]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TaskError(f"{place}: {field!r} is {value!r:.80}; must be {_WORDS[kind]}")
    if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise TaskError(f"{place}: {field!r} holds half a character (a lone surrogate)")
    return value


def _check_statement(place: str, name: str, statement: str) -> None:
    if statement != statement.strip():
        raise TaskError(f"{place}: 'statement' must end before ':=', without space around it")
    try:
        parsed = parse_statement(statement)
    except TaskError as error:
        raise TaskError(f"{place}: {error}") from None
    if parsed.name != name:
        raise TaskError(f"{place}: 'statement' must begin with 'theorem {name} '")
