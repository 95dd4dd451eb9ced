"""Lean's `--json` messages."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Message:
    """One message; `line` from 1 and `column` from 0 (code points), as Lean counts them."""

    severity: str
    line: int
    column: int
    text: str


def read_messages(output: bytes) -> list[Message]:
    """Every line that is a message; other lines (traces, panics) are passed over."""
    found = []
    for line in output.split(b"\n"):
        if line.startswith(b"{"):
            try:
                item = json.loads(line)
                place = item["pos"]
                found.append(
                    Message(
                        str(item["severity"]),
                        int(place["line"]),
                        int(place["column"]),
                        str(item["data"]),
                    )
                )
            except (ValueError, KeyError, TypeError):
                continue
    return found
