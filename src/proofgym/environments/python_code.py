"""The Python code in a completion: a fenced block, a whole function, or the rest of one."""

from __future__ import annotations

import re

_FENCE = re.compile(r"^[ ]*```[ ]*(\w*)[^\n]*$", re.M)
_TOP = re.compile(r"(?:[ \t]|def |async |class |import |from |@|#|$)")


def find_code(text: str, function: str, stub: str = "") -> str:
    """The code that defines `function`: the last fenced block that does, else the whole text if it
    does, else the text as the rest of `stub`, up to the first line that cannot belong to it."""
    defines = re.compile(rf"^[ \t]*(?:async[ \t]+)?def[ \t]+{re.escape(function)}[ \t]*\(", re.M)
    blocks = [block for block in _blocks(text) if defines.search(block)]
    if blocks:
        return blocks[-1]
    if found := defines.search(text):
        return _from_its_first_line(text, found.start())
    return stub + _rest(text)


def _blocks(text: str) -> list[str]:
    """Fenced blocks of Python or of no language; one that is not closed goes to the end."""
    marks, blocks = list(_FENCE.finditer(text)), []
    for at in range(0, len(marks), 2):
        end = marks[at + 1].start() if at + 1 < len(marks) else len(text)
        if marks[at].group(1).lower() in ("", "python", "python3", "py"):
            blocks.append(text[marks[at].end() + 1 : end])
    return blocks


def _from_its_first_line(text: str, start: int) -> str:
    """Prose before the imports and functions, and after them, is left out."""
    lines = text[:start].splitlines(keepends=True)
    first = len(lines)
    while first and _TOP.match(lines[first - 1]) and not lines[first - 1].startswith("```"):
        first -= 1
    return "".join(lines[first:]) + _rest(text[start:])


def _rest(text: str) -> str:
    kept = []
    for line in text.splitlines(keepends=True):
        if not _TOP.match(line):
            break
        kept.append(line)
    return "".join(kept)
