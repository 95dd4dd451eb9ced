"""Every error proofgym raises, and the whole error model.

An error names the boundary it crossed (configuration, model, engine, environment, sandbox,
verifier, toolchain, run) and says what to do about it. User code raises plain Python exceptions;
`proofgym.rewards` classifies them into verdicts. A bad completion is data, not an error: it
becomes a `Verdict` and never an exception.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


class ProofgymError(Exception):
    """Base of all errors meant for the user; the CLI prints these without a traceback."""

    boundary = "proofgym"


class ConfigError(ProofgymError):
    """A job, override or argument is wrong. Raised before any work starts."""

    boundary = "configuration"


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with one field of a configuration object."""

    owner: str
    """The object's class."""
    field: str
    """Empty where it is about the whole; then the message names its fields in backquotes."""
    message: str
    value: str = ""
    """What was given, as Python writes it; empty to say nothing of it."""

    def __str__(self) -> str:
        where = f"{self.owner}.{self.field}" if self.field else self.owner
        return f"{where}{self.value and f' = {self.value}'}: {self.message}"


class FieldError(ConfigError):
    """Fields of a configuration object are wrong; the command line shows them as its options."""

    def __init__(self, *problems: Problem | str) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


class ModelError(ProofgymError):
    """A model, tokenizer or adapter cannot be found, loaded or trusted."""

    boundary = "model"


class EngineError(ProofgymError):
    """Generation failed."""

    boundary = "engine"


class TaskError(ProofgymError):
    """A task file or a task's statement is wrong."""

    boundary = "tasks"


class EnvironmentError(ProofgymError):
    """An environment or a reward function cannot be used."""

    boundary = "environment"


class BudgetExceeded(ProofgymError):
    """An episode has used up its turns, tokens or seconds. Raised inside it: it may catch this and
    return what it has; uncaught it is the attempt's own failure, with reward 0."""

    boundary = "environment"

    def __init__(self, message: str, budget: str = "") -> None:
        super().__init__(message)
        self.budget = budget
        """`turns`, `tokens` or `seconds`."""


class SandboxError(ProofgymError):
    """A sandbox cannot be started, or cannot give the protection asked for."""

    boundary = "sandbox"


class VerifierError(ProofgymError):
    """The verifier itself (not an attempt) is at fault."""

    boundary = "verifier"


class ToolchainError(ProofgymError):
    """No usable Lean was found."""

    boundary = "toolchain"


class HistoryError(ProofgymError):
    """An ES history is damaged, or does not belong to the weights it is applied to."""

    boundary = "history"


class RunError(ProofgymError):
    """A run directory is missing, damaged, finished or in use by another process."""

    boundary = "run"


_MOST_NAMED = 40


def nearest(value: object, allowed: Iterable[str]) -> str:
    """Say what is allowed, nearest match first: "did you mean 'x'? (allowed: 'x', 'y')", or
    "choose from 'x', 'y'" where none is near. Of many, the first few.
    """
    names = list(allowed)
    match = difflib.get_close_matches(str(value), names, n=1, cutoff=0.5)
    listed = ", ".join(repr(name) for name in names[:_MOST_NAMED])
    if len(names) > _MOST_NAMED:
        listed += f", and {len(names) - _MOST_NAMED} more"
    return f"did you mean {match[0]!r}? (allowed: {listed})" if match else f"choose from {listed}"


def no_file(path: Path) -> str:
    """Say that there is no such file, with the nearest there is: "no file a/b; did you mean 'a/c'?"
    or which folder is not there."""
    if path.is_dir():
        return f"{path} is a folder, not a file"
    if not path.parent.is_dir():
        return no_folder(path.parent)
    return f"no file {path}{_beside(path)}"


def no_folder(path: Path) -> str:
    """Say that there is no such folder; of several that are missing, the first."""
    while not path.parent.is_dir():
        path = path.parent
    return f"there is no folder {path}{_beside(path)}"


def _beside(path: Path) -> str:
    """The name in the same folder that is most like it."""
    try:
        names = sorted(it.name for it in path.parent.iterdir())
    except OSError:
        return ""
    match = difflib.get_close_matches(path.name, names, n=1, cutoff=0.6)
    return f"; did you mean {str(path.parent / match[0])!r}?" if match else ""
