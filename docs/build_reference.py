"""Writes docs/reference.md from the docstrings: python docs/build_reference.py"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import proofgym
from proofgym import tasks
from proofgym.config import Config

HERE = Path(__file__).parent


def build() -> str:
    """The page's text."""
    parts = ["# Reference", "Every public name, from its docstring. `import proofgym` gives these:"]
    parts += [_entry(name, getattr(proofgym, name)) for name in sorted(proofgym.__all__)]
    parts.append("`proofgym.tasks` gives these:")
    parts += [_entry(name, getattr(tasks, name)) for name in sorted(tasks.__all__)]
    return "\n\n".join(parts) + "\n"


def _entry(name: str, thing: Any) -> str:
    lines = [f"## {name}", inspect.getdoc(thing) or ""]
    if inspect.isclass(thing) and issubclass(thing, Config):
        rows = [_row(field, info) for field, info in thing.model_fields.items()]
        lines.append("\n".join(["| field | default | meaning |", "|---|---|---|", *rows]))
    elif inspect.isfunction(thing):
        lines.insert(1, f"```python\n{name}{inspect.signature(thing)}\n```")
    return "\n\n".join(lines)


def _row(name: str, info: Any) -> str:
    default = (
        "required" if info.is_required() else f"`{info.get_default(call_default_factory=True)!r}`"
    )
    meaning = " ".join((info.description or "").split())
    return f"| `{name}` | {default} | {meaning} |".replace("\n", " ")


if __name__ == "__main__":
    (HERE / "reference.md").write_text(build(), encoding="utf-8")
