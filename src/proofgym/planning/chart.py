"""A plan as a picture: a self-contained SVG, step time and cost over the pool's size."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from proofgym.planning.plan import Plan
from proofgym.planning.trial import Row

_WIDTH, _PANEL, _LEFT, _RIGHT, _TOP, _GAP = 760, 230, 70, 170, 72, 56
_HEIGHT = _TOP + 2 * _PANEL + _GAP + 60
_INK, _FAINT, _MARK = "#222222", "#dddddd", "#2a7f3f"
_STYLE = "font-family='system-ui,sans-serif' font-size='12'"


@dataclass(frozen=True, slots=True)
class Line:
    """One curve: its name, colour, and the figure of a row that it shows."""

    name: str
    colour: str
    figure: Callable[[Row], float]
    dash: str = ""


_TIMES = (
    Line("step", "#1f5fa8", lambda row: row.step_s),
    Line("generation", "#777777", lambda row: row.step_s - row.blocked_s, "5 4"),
    Line("99 of 100 wait at most", "#c0562b", lambda row: row.wait_p99_s),
)
_COSTS = (
    Line("total", "#1f5fa8", lambda row: row.cost),
    Line("blocked GPUs", "#c0562b", lambda row: row.blocked_cost),
    Line("idle sandboxes", "#8a5fb0", lambda row: row.idle_cost),
)


def draw(plan: Plan) -> str:
    """The SVG text."""
    places = _places(plan.rows)
    body = [_text(_LEFT, 22, "Sandboxes for one training step", weight="bold")]
    body.append(_text(_LEFT, 40, _summary(plan.recommended), _MARK))
    for index, (title, lines) in enumerate([("seconds", _TIMES), ("cost of a step", _COSTS)]):
        body += _panel(plan, places, _TOP + index * (_PANEL + _GAP), title, lines)
    body.append(
        _text(_LEFT, _HEIGHT - 10, "pool size; what lies below an axis is drawn at its bottom")
    )
    head = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH} {_HEIGHT}'"
    head += f" width='{_WIDTH}' height='{_HEIGHT}' {_STYLE}>"
    title = f"<title>{escape(plan.reason)}</title><rect width='100%' height='100%' fill='white'/>"
    return "\n".join([head, title, *body, "</svg>"]) + "\n"


def _summary(row: Row) -> str:
    return f"recommended: {row.label}, {row.buffer} of them kept warm"


def _places(rows: Sequence[Row]) -> dict[float, float]:
    """Where each size is, across: by its logarithm, unlimited at the right edge."""
    sizes = [row.limit for row in rows if row.size is not None]
    low, high = (math.log(min(sizes)), math.log(max(sizes))) if sizes else (0.0, 0.0)
    width = _WIDTH - _LEFT - _RIGHT
    room = width - 70 if any(row.size is None for row in rows) else width
    span = high - low or 1.0
    places = {size: _LEFT + room * (math.log(size) - low) / span for size in sizes}
    return places | {math.inf: float(_LEFT + width)}


def _panel(
    plan: Plan, places: dict[float, float], top: float, title: str, lines: Sequence[Line]
) -> list[str]:
    """Axes, grid, curves with their names, and the recommended size."""
    bottom = top + _PANEL
    low, high = _decades([line.figure(row) for line in lines for row in plan.rows])

    def height(value: float) -> float:
        power = math.log10(value) if value > 0 else low
        return bottom - _PANEL * (max(power, low) - low) / (high - low)

    parts = [_text(_LEFT, top - 6, title)]
    for power in range(low, high + 1):
        parts += [_rule(_LEFT, height(10.0**power), _WIDTH - _RIGHT, height(10.0**power), _FAINT)]
        parts += [_text(_LEFT - 8, height(10.0**power) + 4, f"{10.0**power:g}", anchor="end")]
    parts += _sizes(plan.rows, places, bottom)
    mark = places[plan.recommended.limit]
    parts.append(_rule(mark, top, mark, bottom, _MARK, "3 3"))
    names = _apart([height(line.figure(plan.rows[-1])) for line in lines])
    for line, beside in zip(lines, names, strict=True):
        points = " ".join(
            f"{places[row.limit]:.1f},{height(line.figure(row)):.1f}" for row in plan.rows
        )
        parts.append(
            f"<polyline points='{points}' fill='none' stroke='{line.colour}' stroke-width='2'"
            f" stroke-dasharray='{line.dash}'/>"
        )
        parts.append(_text(_WIDTH - _RIGHT + 8, beside + 4, line.name, line.colour))
    return parts


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """Whole powers of ten around the values, seven at most."""
    largest = max(values) or 1.0
    high = math.ceil(math.log10(largest))
    least = min((value for value in values if value > 0), default=largest)
    low = max(math.floor(math.log10(least)), high - 7)
    return min(low, high - 1), high


def _sizes(rows: Sequence[Row], places: dict[float, float], bottom: float) -> list[str]:
    """Labels below the axis, leaving out those that would touch."""
    parts, free = [], -math.inf
    for row in rows:
        place = places[row.limit]
        if place - 4 * len(row.label) > free and (
            row.size is None or place < places[math.inf] - 55
        ):
            parts.append(_text(place, bottom + 16, row.label, anchor="middle"))
            free = place + 4 * len(row.label) + 6
    return parts


def _apart(heights: Sequence[float]) -> list[float]:
    """The heights, moved down where two names would lie on one another."""
    moved = list(heights)
    order = sorted(range(len(moved)), key=lambda index: moved[index])
    for above, below in pairwise(order):
        moved[below] = max(moved[below], moved[above] + 14)
    return moved


def _text(
    x: float, y: float, text: str, fill: str = _INK, anchor: str = "start", weight: str = "normal"
) -> str:
    place = f"x='{x:.1f}' y='{y:.1f}' fill='{fill}' text-anchor='{anchor}' font-weight='{weight}'"
    return f"<text {place}>{escape(text)}</text>"


def _rule(x1: float, y1: float, x2: float, y2: float, stroke: str, dash: str = "") -> str:
    ends = f"x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}'"
    return f"<line {ends} stroke='{stroke}' stroke-dasharray='{dash}'/>"
