"""Pieces of HTML that the sections of a report share."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from proofgym.comparison.amounts import points
from proofgym.comparison.intervals import Estimate

Cell = str | tuple[str, str]


def share(estimate: Estimate | None) -> str:
    """In %, with its interval: `36.5 [33.1, 39.8]`."""
    if estimate is None:
        return "–"
    return f"{points(estimate.mean)} [{points(estimate.low)}, {points(estimate.high)}]"


def table(head: Sequence[Cell], lines: Sequence[Sequence[Cell]]) -> str:
    """A table of cells, each a text or a text and its classes; "raw" is HTML already."""

    def cell(tag: str, value: Cell) -> str:
        text, kind = value if isinstance(value, tuple) else (value, "")
        shown = text if "raw" in kind else escape(text)
        return f"<{tag} class='{kind}'>{shown}</{tag}>" if kind else f"<{tag}>{shown}</{tag}>"

    titles = "".join(cell("th", it) for it in head)
    rows = "".join(f"<tr>{''.join(cell('td', it) for it in line)}</tr>" for line in lines)
    whole = f"<table><thead><tr>{titles}</tr></thead><tbody>{rows}</tbody></table>"
    return f"<div class='wide'>{whole}</div>"
