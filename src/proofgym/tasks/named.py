"""Tasks by name, as on the command line."""

from __future__ import annotations

from pathlib import Path

from proofgym.errors import ConfigError, nearest
from proofgym.tasks.jsonl import from_jsonl
from proofgym.tasks.lean_core import SPLITS as LEAN_SPLITS
from proofgym.tasks.lean_core import lean_core
from proofgym.tasks.python_core import SPLITS as PYTHON_SPLITS
from proofgym.tasks.python_core import python_core
from proofgym.tasks.reasoning import countdown, reasoning_gym
from proofgym.tasks.tasks import Tasks

HELDOUT_SEED = 1
"""Generated tasks by name are those of this seed: a job's own are by default those of seed 0."""


def named(text: str) -> Tasks:
    """Tasks by name: `lean_core:SPLIT`, `python_core:SPLIT`, `countdown`, `reasoning_gym:FAMILY`
    (100 problems of another seed than a job's), or the path of a JSONL file.

    Raises:
        ConfigError: there is no such family or split.
    """
    family, _, rest = text.partition(":")
    match family:
        case "lean_core":
            return lean_core(rest or "train")
        case "python_core":
            return python_core(rest or "train")
        case "countdown" if not rest:
            return countdown(size=100, seed=HELDOUT_SEED)
        case "reasoning_gym" if rest:
            return reasoning_gym(rest, size=100, seed=HELDOUT_SEED)
    if rest and not Path(text).exists():
        known = [f"lean_core:{name}" for name in LEAN_SPLITS]
        known += [f"python_core:{name}" for name in PYTHON_SPLITS]
        known += ["countdown", f"reasoning_gym:{rest}"]
        raise ConfigError(f"tasks {text!r}: {nearest(text, known)}, or a JSONL file")
    return from_jsonl(text)
