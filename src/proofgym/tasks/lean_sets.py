"""Reads the usual Lean data sets, as JSONL files: miniF2F, ProofNet, the rows of STP_Lean_SFT.

Columns decide what a row is: `prompt` and `target` (STP), else a Lean text in `formal_statement`
or a column that means the same, with `name`, `split`, `header` and words where there are some.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import field_validator

from proofgym.errors import ConfigError, TaskError, nearest
from proofgym.formats import Theorem, format_named
from proofgym.tasks.jsonl import check_field, read_rows
from proofgym.tasks.lean_source import Source, read_source
from proofgym.tasks.tasks import Problem, Tasks
from proofgym.types import Task

_NAMES = ("name", "id", "theorem_name", "problem_id")
_STATEMENTS = ("formal_statement", "lean4_formalization", "lean4_code", "statement")
_HEADERS = ("header", "lean4_src_header")
_WORDS = ("informal_prefix", "informal_statement", "nl_statement", "problem")

_BLOCK = re.compile(r"```(?:lean4?)?[ ]*\n(.*?)(?:```|\Z)", re.S)


class LeanSet(Tasks):
    """Theorems of a Lean data set."""

    path: str
    """The JSONL file."""
    split: str | None = None
    """Only rows with this `split`."""
    containing: str = ""
    """Only theorems with this in their name, such as `lean_workbook`."""
    header: str | None = None
    """Trusted Lean text before every statement, in place of the rows' own."""
    prompt_format: str = "plain"
    """How the model is asked: `plain`, `kimina`, … (`proofgym.formats`)."""

    @field_validator("prompt_format")
    @classmethod
    def _known(cls, name: str) -> str:
        try:
            return format_named(name).name
        except ConfigError as error:
            raise ValueError(str(error)) from None

    def describe(self) -> str:
        return self.path

    def files(self) -> list[Path]:
        return [Path(self.path)]

    def problems(self) -> list[Problem]:
        known: dict[str, Problem] = {}
        for place, name, source in self._sources():
            while name in known:
                if known[name].task.data["statement"] == source.statement:
                    break  # another proof of the same theorem
                name = _next(name)
            if name not in known:
                known[name] = self._problem(place, name, source)
        if not known:
            raise TaskError(f"{self.path}: no theorem has {self.containing!r} in its name")
        return list(known.values())

    def _problem(self, place: str, name: str, source: Source) -> Problem:
        theorem = Theorem(source.statement, source.header, source.informal)
        data: dict[str, Any] = {"statement": source.statement}
        if source.header:
            data["header"] = source.header
        if self.prompt_format != "plain":
            data["format"] = self.prompt_format
        prompt = format_named(self.prompt_format).prompt(theorem)
        topic = _topic(name)
        return Problem(Task(name, prompt, topic, 0, data), place, source.proof)

    def _sources(self) -> Iterator[tuple[str, str, Source]]:
        """(place, name, parts) of each row of the split."""
        splits: set[str] = set()
        chosen = 0
        for place, row in read_rows(Path(self.path)):
            if self.split is not None:
                splits.add(check_field(place, row, "split", str))
                if row["split"] != self.split:
                    continue
            chosen += 1
            if (found := self._read(place, row)) is not None:
                yield place, *found
        if self.split is not None and not chosen:
            hint = nearest(self.split, sorted(splits)) if splits else "it has no rows"
            raise TaskError(f"{self.path}: no row has split {self.split!r}; {hint}")

    def _read(self, place: str, row: dict[str, Any]) -> tuple[str, Source] | None:
        stp = "prompt" in row and "target" in row
        texts = _stp(place, row) if stp else _columns(place, row)
        if texts is None or (stp and self.containing not in texts[1]):
            return None
        name, text, informal, target = texts
        try:
            source = read_source(text)
        except TaskError as error:
            raise TaskError(f"{place}: {error}") from None
        name = name or source.name
        if self.containing not in name:
            return None
        header = source.header if self.header is None else self.header
        proof = source.proof if target is None else target
        return name, replace(
            source, header=header, informal=source.informal or informal, proof=proof
        )


def _columns(place: str, row: dict[str, Any]) -> tuple[str, str, str, str | None]:
    """(name, Lean text, words, proof) of a row with a formal statement."""
    statement = next((name for name in _STATEMENTS if name in row), None)
    if statement is None:
        raise TaskError(f"{place}: no column 'formal_statement' (or 'prompt' with 'target')")
    text = check_field(place, row, statement, str)
    header = _first(place, row, _HEADERS)
    words = _first(place, row, _WORDS).strip()
    return (
        _first(place, row, _NAMES),
        f"{header.rstrip()}\n\n{text}" if header.strip() else text,
        words.removeprefix("/--").removesuffix("-/").strip(),
        None,
    )


def _stp(place: str, row: dict[str, Any]) -> tuple[str, str, str, str | None] | None:
    """The same of a row with a prompt and its answer; None for one that asks for a conjecture."""
    prompt = check_field(place, row, "prompt", str)
    target = check_field(place, row, "target", str)
    if "<easy theorem>" in prompt or "<hard theorem>" in prompt:
        return None
    blocks = _BLOCK.findall(prompt)
    if not blocks:
        raise TaskError(f"{place}: 'prompt' has no ```lean4 block")
    return "", blocks[-1], "", target.partition("```")[0].rstrip() or None


def _first(place: str, row: dict[str, Any], names: Iterable[str]) -> str:
    """The first of these columns that the row has; empty where it has none, or null."""
    name = next((name for name in names if row.get(name) is not None), None)
    return str(check_field(place, row, name, str)) if name else ""


def _next(name: str) -> str:
    """Another name for another theorem of a name that is taken: `a`, `a.2`, `a.3`."""
    start, dot, number = name.rpartition(".")
    return f"{start}.{int(number) + 1}" if dot and number.isdigit() else f"{name}.2"


def _topic(name: str) -> str:
    """The letters that a name begins with: `mathd_algebra_182` is of `mathd_algebra`."""
    found = re.match(r"[A-Za-z]+(?:_[A-Za-z]+)*", name)
    return found[0] if found else "lean"


def lean_jsonl(
    path: str | Path,
    split: str | None = None,
    prompt_format: str = "plain",
    header: str | None = None,
    containing: str = "",
    topics: Iterable[str] | None = None,
    limit: int | None = None,
    seed: int = 0,
) -> LeanSet:
    """Theorems of miniF2F, ProofNet, STP_Lean_SFT (`containing="lean_workbook"`) and sets with the
    same columns, judged by `Lean()`.

    Raises:
        ConfigError: there is no such prompt format.
    """
    chosen = tuple(topics) if topics is not None else None
    return LeanSet(
        path=str(path),
        split=split,
        prompt_format=prompt_format,
        header=header,
        containing=containing,
        topics=chosen,
        limit=limit,
        seed=seed,
    )
