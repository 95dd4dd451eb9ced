"""Loads the one `Comparison` or `Sweep` that a file defines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from proofgym.comparison.experiment import Experiment
from proofgym.job_file import execute, the_one, with_overrides


def load(path: Path, overrides: Sequence[str] = ()) -> Experiment:
    """Execute `path` and return what it defines, with `field=value` overrides applied.

    Raises ConfigError: the file fails, defines none or several, or something in it is wrong.
    """
    found = the_one(Experiment, execute(path), path, called="Comparison or Sweep")
    return with_overrides(found, overrides)
