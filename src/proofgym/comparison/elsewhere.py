"""What training did beside the tasks that it was for: how far the weights moved, and probes."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from proofgym.comparison.claims import interval
from proofgym.comparison.html import Cell, share, table

if TYPE_CHECKING:
    from proofgym.comparison.results import Results, VariantResult


def section(results: Results) -> str:
    """Of the report; empty where no run has said how far its weights moved."""
    moved = [it for it in results.variants if it.change]
    if not moved:
        return ""
    names = list(results.experiment.probes)
    head: list[Cell] = ["variant", ("change of the weights, %", "n")]
    for name in names:
        head += [(f"{name} before", "n"), ("after", "n"), ("change", "n"), ("mean reward", "n")]
    lines = [
        [
            it.variant.name,
            (_change(it), "n"),
            *(cell for name in names for cell in _probe(it, name)),
        ]
        for it in moved
    ]
    said = (
        "Pass@1 of each probe in %, and its mean reward before and after training. "
        if names
        else ""
    )
    return (
        f"<h2>What it cost elsewhere</h2>{table(head, lines)}<p class='quiet'>{escape(said)}"
        "Change of the weights: ‖W − W₀‖ / ‖W₀‖ over all parameters after training, mean over "
        "seeds and range.</p>"
    )


def _change(it: VariantResult) -> str:
    mean, least, most = (100 * value for value in it.change or (0.0, 0.0, 0.0))
    return f"{mean:.3g}" if least == most else f"{mean:.3g} ({least:.3g} to {most:.3g})"


def _probe(it: VariantResult, name: str) -> list[Cell]:
    found = it.probes.get(name)
    if found is None:
        return [("–", "n")] * 4
    rewards = " → ".join("–" if value is None else f"{value:.3f}" for value in found.rewards)
    return [
        (share(found.before), "n"),
        (share(found.after), "n"),
        (interval(found.difference), "n"),
        (rewards, "n"),
    ]
