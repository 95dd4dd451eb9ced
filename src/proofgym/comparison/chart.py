"""Pictures of a report, as SVG elements: curves with bands, and intervals beside a zero line.

Colours are CSS variables of the page (`--c0` to `--c7`, `--ink`, `--faint`), so that light, dark
and print need no second picture.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from proofgym.comparison.curves import Curve
from proofgym.comparison.intervals import Estimate

COLOURS = 8
_DASHES = ("", "8 4", "2 3", "10 3 2 3")  # of the first eight lines, of the next, …
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 520, 310, 52, 14, 26, 44


def colour(index: int) -> str:
    return f"var(--c{index % COLOURS})"


def _stroke(index: int) -> str:
    """How the line of a variant is drawn: where the colours are used up, dashes tell it apart."""
    dash = _DASHES[index // COLOURS % len(_DASHES)]
    return f"stroke='{colour(index)}' stroke-width='2'" + (
        f" stroke-dasharray='{dash}'" if dash else ""
    )


def sample(index: int) -> str:
    """A piece of the variant's line, for a legend."""
    return (
        "<svg viewBox='0 0 30 10' width='30' height='10' aria-hidden='true'>"
        f"<line x2='30' y1='5' y2='5' {_stroke(index)}/></svg>"
    )


def curves(found: Sequence[tuple[int, Curve]], across: str, up: str, percent: bool) -> str:
    """Curves in one picture, each with the number of its colour."""
    if not found:
        return "<p class='none'>Nothing to draw yet.</p>"
    most = max(float(it.x[-1]) for _, it in found) or 1.0
    low = min(float(it.low.min()) for _, it in found)
    high = max(float(it.high.max()) for _, it in found)
    ticks = _ticks(low, high)
    low, high = min(low, ticks[0]), max(high, ticks[-1])

    def place(x: float, y: float) -> str:
        right = _LEFT + (_WIDTH - _LEFT - _RIGHT) * x / most
        down = _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * (y - low) / (high - low)
        return f"{right:.1f},{down:.1f}"

    parts = [_grid(ticks, low, high, percent), _across(most, across)]
    parts.append(_text(_LEFT, 12, up, size=11))
    parts += [_band(index, curve, place) for index, curve in found]
    parts += [_line(index, curve, place) for index, curve in found]
    return _svg(_WIDTH, _HEIGHT, f"{up} over {across}", parts)


def _band(index: int, curve: Curve, place) -> str:  # type: ignore[no-untyped-def]
    upper = [place(x, y) for x, y in zip(curve.x, curve.high, strict=True)]
    lower = [place(x, y) for x, y in zip(curve.x, curve.low, strict=True)]
    points = " ".join([*upper, *reversed(lower)])
    return f"<polygon points='{points}' fill='{colour(index)}' fill-opacity='0.16'/>"


def _line(index: int, curve: Curve, place) -> str:  # type: ignore[no-untyped-def]
    points = [place(x, y) for x, y in zip(curve.x, curve.mean, strict=True)]
    drawn = f"<polyline points='{' '.join(points)}' fill='none' {_stroke(index)}"
    drawn += f" stroke-linejoin='round'><title>{escape(curve.name)}</title></polyline>"
    for point in points if curve.marked else []:
        x, y = point.split(",")
        drawn += f"<circle cx='{x}' cy='{y}' r='3' fill='{colour(index)}'/>"
    return drawn


def intervals(rows: Sequence[tuple[int, str, Estimate]], zero: bool, least: float = 0.0) -> str:
    """One line an estimate, in percentage points: its interval, its mean, its name."""
    if not rows:
        return "<p class='none'>Nothing to draw yet.</p>"
    name_width, line = 196, 30
    height = _TOP + line * len(rows) + 34
    ends = [value for _, _, it in rows for value in (it.low, it.high)]
    low, high = min(ends), max(ends)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    ticks = _ticks(low, high)
    low, high = min(low, ticks[0]), max(high, ticks[-1])
    bottom = height - 30

    def right(value: float) -> float:
        return name_width + (_WIDTH - name_width - _RIGHT - 6) * (value - low) / (high - low)

    parts = []
    for tick in ticks:
        strong = zero and abs(tick) < 1e-12
        parts.append(_rule(right(tick), _TOP - 4, right(tick), bottom, strong))
        parts.append(_text(right(tick), bottom + 15, _percent(tick), "middle", 11))
    for number, (index, name, it) in enumerate(rows):
        y = _TOP + line * number + line / 2
        stroke = f"stroke='{colour(index)}' stroke-width='3' stroke-linecap='round'"
        parts.append(_text(name_width - 10, y + 4, _short(name), "end", 12, name))
        parts.append(
            f"<line x1='{right(it.low):.1f}' y1='{y}' x2='{right(it.high):.1f}' y2='{y}' {stroke}/>"
        )
        parts.append(f"<circle cx='{right(it.mean):.1f}' cy='{y}' r='5' fill='{colour(index)}'/>")
    return _svg(_WIDTH, height, "estimates with 95 % intervals", parts)


def bar(share: float, index: int = 0) -> str:
    """A share of 1 as a small bar."""
    width = 120 * min(1.0, max(0.0, share))
    return (
        "<svg class='bar' viewBox='0 0 120 12' width='120' height='12' role='img' "
        f"aria-label='{share:.0%}'><rect width='120' height='12' rx='3' fill='var(--faint)'/>"
        f"<rect width='{width:.1f}' height='12' rx='3' fill='{colour(index)}'/></svg>"
    )


def _svg(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    head = f"<svg viewBox='0 0 {width} {height}' role='img' aria-label='{escape(title)}'>"
    return "\n".join([head, *parts, "</svg>"])


def _grid(ticks: Sequence[float], low: float, high: float, percent: bool) -> str:
    parts = []
    for tick in ticks:
        y = _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * (tick - low) / (high - low)
        parts.append(_rule(_LEFT, y, _WIDTH - _RIGHT, y))
        shown = _percent(tick) if percent else f"{tick:.4g}"
        parts.append(_text(_LEFT - 7, y + 4, shown, "end", 11))
    return "".join(parts)


def _across(most: float, name: str) -> str:
    parts = []
    for tick in _ticks(0.0, most):
        if tick <= most * 1.001:
            x = _LEFT + (_WIDTH - _LEFT - _RIGHT) * tick / most
            anchor = "end" if x > _WIDTH - 40 else "middle"
            parts.append(_text(x, _HEIGHT - _BOTTOM + 17, short_number(tick), anchor, 11))
    parts.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 8, name, "middle", 11))
    return "".join(parts)


def _ticks(low: float, high: float) -> list[float]:
    """About five round numbers around a range."""
    span = high - low or max(abs(high), 0.01)
    step = 10.0 ** math.floor(math.log10(span / 4))
    step *= next(factor for factor in (1, 2, 5, 10) if span / (step * factor) <= 5)
    first = math.floor(low / step + 1e-9)
    last = max(first + 1, math.ceil(high / step - 1e-9))
    return [round(place * step, 12) for place in range(first, last + 1)]


def short_number(value: float) -> str:
    """`1.5k`, `2M`."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def _percent(value: float) -> str:
    return f"{100 * value:.4g}"


def _short(name: str, most: int = 30) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def _text(
    x: float, y: float, text: str, anchor: str = "start", size: int = 12, whole: str = ""
) -> str:
    title = f"<title>{escape(whole)}</title>" if whole and whole != text else ""
    place = f"x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' font-size='{size}'"
    return f"<text {place} fill='var(--ink)'>{title}{escape(text)}</text>"


def _rule(x1: float, y1: float, x2: float, y2: float, strong: bool = False) -> str:
    stroke = "var(--ink)" if strong else "var(--faint)"
    ends = f"x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}'"
    return f"<line {ends} stroke='{stroke}'/>"
