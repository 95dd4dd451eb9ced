"""Loads the one `Job` that a job file defines, with overrides applied."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from proofgym.config import Config, applied
from proofgym.errors import ConfigError, ProofgymError, no_file
from proofgym.job import Job

Wanted = TypeVar("Wanted", bound=Config)
_COMMANDS = {"Job": "train", "Comparison": "compare", "Sweep": "sweep"}
"""By the names of classes, so that a job alone loads nothing of comparisons."""


def load_job(path: Path, overrides: Sequence[str] = (), beside: Path | None = None) -> Job:
    """Execute `path` and return its job; it imports from `beside` (default: its own folder)."""
    return with_overrides(the_one(Job, execute(path, beside), path), overrides)


def execute(path: Path, beside: Path | None = None) -> ModuleType:
    """Run a Python file as a module. Raises ConfigError, naming the line where it fails."""
    if not path.is_file():
        raise ConfigError(f"job file: {no_file(path)}")
    folder = str((beside or path.parent).resolve())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location("proofgym_job", path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    if beside is not None:  # a run's copy: what lies beside the file is beside the original
        module.__file__ = str(beside / path.name)
    try:
        spec.loader.exec_module(module)
    except ProofgymError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{path}{_line(error, path)}: {type(error).__name__}: {error}") from error
    return module


def the_one(kind: type[Wanted], module: ModuleType, path: Path, called: str = "") -> Wanted:
    """The only object of a kind that a module defines, or else has. Raises ConfigError, which names
    the kind as it is `called` and the command for what else is there."""
    found = {name: value for name, value in vars(module).items() if isinstance(value, kind)}
    if len(found) > 1:
        found = {name: value for name, value in found.items() if _is_own(value, module)}
    if len(found) != 1:
        raise ConfigError(
            f"{path} must define exactly one {called or kind.__name__} at its top level; found: "
            f"{', '.join(found) or 'none' + _instead(module, path)}"
        )
    return next(iter(found.values()))


def _instead(module: ModuleType, path: Path) -> str:
    """The commands for what a module has."""
    every = [value for value in vars(module).values() if isinstance(value, Config)]
    own = [value for value in every if _is_own(value, module)]
    kinds = {type(value).__name__ for value in own or every}
    return "".join(
        f". It has a {kind}: proofgym {command} {path}"
        for kind, command in _COMMANDS.items()
        if kind in kinds
    )


def _is_own(value: Any, module: ModuleType) -> bool:
    """Whether a module did not import this from a file beside it."""
    return all(value is not it for other in _beside(module) for it in vars(other).values())


def _beside(module: ModuleType) -> list[ModuleType]:
    """Other modules of files in the folder of this one's."""
    folder = Path(module.__file__ or "").parent.resolve()
    named = [(it, getattr(it, "__file__", None)) for it in list(sys.modules.values())]
    return [it for it, file in named if it is not module and file and Path(file).parent == folder]


def with_overrides(config: Wanted, overrides: Sequence[str]) -> Wanted:
    """The configuration with `field=value` texts applied."""
    pairs = []
    for item in overrides:
        name, equals, text = item.partition("=")
        if not equals:
            raise ConfigError(f"--set {item}: write field=value, such as algorithm.sigma=2e-3")
        pairs.append((name.strip(), text.strip()))
    return applied(
        config,
        [lambda it, pair=pair: it.override(*pair) for pair in pairs],  # type: ignore[misc]
    )


def _line(error: BaseException, path: Path) -> str:
    """Where in the job file an exception came from."""
    if isinstance(error, SyntaxError):
        return f", line {error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).name == path.name]
    return f", line {lines[-1]}" if lines else ""
