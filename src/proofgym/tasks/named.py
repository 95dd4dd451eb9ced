"""Tasks by name, as on the command line."""

from __future__ import annotations

from pathlib import Path

from proofgym.errors import ConfigError, nearest
from proofgym.tasks.jsonl import from_jsonl
from proofgym.tasks.lean_core import SPLITS, lean_core
from proofgym.tasks.tasks import Tasks


def named(text: str) -> Tasks:
    """Tasks by name: `lean_core:SPLIT`, or the path of a JSONL file."""
    family, _, split = text.partition(":")
    if family == "lean_core":
        return lean_core(split or "train")
    if split and not Path(text).exists():
        known = [f"lean_core:{name}" for name in SPLITS]
        raise ConfigError(f"tasks {text!r}: {nearest(text, known)}, or a JSONL file")
    return from_jsonl(text)
