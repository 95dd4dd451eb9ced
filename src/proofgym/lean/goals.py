"""The goals at the first error of a failed proof: what the next attempt wants to know.

Where Lean's own message shows the goals, that is all. Otherwise the file is checked once more with
`done; ` put before the tactic that failed: it fails there and says what is still to be proved,
while the rest of the proof keeps its shape.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_PLACE = re.compile(r"(?:(\d+):(\d+)|the theorem): error: ")
_MARKS = re.compile(r"(?:· |\. |<;> |; |=> |\bby )")
_LONGEST = 4000
_UNSOLVED = "unsolved goals"


def find_goals(
    proof: str, message: str, ask: Callable[[str], Sequence[tuple[str, str]]]
) -> str | None:
    """The goals before the tactic that the error `message` of `proof` is about, or None.

    Args:
        ask: checks another proof text and returns (place, text) of Lean's messages.
    """
    match = _PLACE.match(message)
    if match is None:
        return None
    text = message[match.end() :]
    if (start := _stated(text)) is not None:
        return start[:_LONGEST]
    if match.group(1) is None:
        return None
    lines = proof.split("\n")
    number, column = int(match.group(1)), int(match.group(2))
    if not 1 <= number <= len(lines):
        return None
    for at in _places(lines[number - 1], column):
        changed = list(lines)
        changed[number - 1] = f"{lines[number - 1][:at]}done; {lines[number - 1][at:]}"
        for place, said in ask("\n".join(changed)):
            if place == f"{number}:{at}" and said.startswith(_UNSOLVED):
                return said.removeprefix(_UNSOLVED).strip()[:_LONGEST]
    return None


def _stated(text: str) -> str | None:
    """The goals in Lean's own words."""
    if text.startswith(_UNSOLVED):
        return text.removeprefix(_UNSOLVED).strip()
    lines = text.split("\n")
    turnstile = next((at for at, line in enumerate(lines) if line.startswith("⊢ ")), None)
    if turnstile is None:
        return None
    start = turnstile
    while start and re.match(r"(?:case |[^\s:][^:]* : |  )", lines[start - 1]):
        start -= 1
    return "\n".join(lines[start:]).strip()


def _places(line: str, column: int) -> list[int]:
    """Where the failing tactic may begin: after the last mark before the error, then earlier."""
    start = len(line) - len(line.lstrip(" "))
    before = [it.end() for it in _MARKS.finditer(line) if it.end() <= max(column, start)]
    return [*reversed(before), start][:3]
