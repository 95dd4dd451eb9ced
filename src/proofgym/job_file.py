"""Loads the one `Job` that a job file defines, with overrides applied."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from proofgym.errors import ConfigError, ProofgymError, no_file
from proofgym.job import Job


def load_job(path: Path, overrides: Sequence[str] = (), beside: Path | None = None) -> Job:
    """Execute `path` and return its job; it imports from `beside` (default: its own folder)."""
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
    jobs = {name: value for name, value in vars(module).items() if isinstance(value, Job)}
    if len(jobs) != 1:
        found = ", ".join(jobs) or "none"
        raise ConfigError(f"{path} must define exactly one Job at its top level; found: {found}")
    job = next(iter(jobs.values()))
    for item in overrides:
        name, equals, text = item.partition("=")
        if not equals:
            raise ConfigError(f"--set {item}: write field=value, such as algorithm.sigma=2e-3")
        job = job.override(name.strip(), text.strip())
    return job


def _line(error: BaseException, path: Path) -> str:
    """Where in the job file an exception came from."""
    if isinstance(error, SyntaxError):
        return f", line {error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).name == path.name]
    return f", line {lines[-1]}" if lines else ""
