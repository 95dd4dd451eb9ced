"""What training did beside the tasks that it was for: how far the weights moved, and probes."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from proofgym.comparison.amounts import moved, nats
from proofgym.comparison.html import Cell, share, table

if TYPE_CHECKING:
    from proofgym.comparison.intervals import Estimate
    from proofgym.comparison.results import Results, VariantResult


_HEADS = {
    "success": ("before", "after", "change", "p, corrected", "mean reward"),
    "likelihood": ("before, nats per token", "after", "change", "p, corrected"),
}
_SAID = {
    "success": "Success: pass@1 of a probe in %, and its mean reward before and after training. ",
    "likelihood": (
        "Nats per token: mean negative log-likelihood over all tokens of a probe's texts; lower is "
        "better, so that a rise is a loss. "
    ),
}


def section(results: Results) -> str:
    """Of the report; empty where no run has said how far its weights moved."""
    shown = [it for it in results.variants if it.change]
    if not shown:
        return ""
    probes = {name: it.measures for name, it in results.experiment.probes.items()}
    head: list[Cell] = ["variant", ("seeds", "n"), ("change of the weights, %", "n")]
    for name, measures in probes.items():
        first, *rest = _HEADS[measures]
        head += [(title, "n") for title in (f"{name} {first}", *rest)]
    lines: list[list[Cell]] = []
    for it in shown:
        cells = [cell for name, measures in probes.items() for cell in _probe(it, name, measures)]
        cells = [str(len(it.finished)), _change(it), *cells]
        lines.append([it.variant.name, *((text, "n") for text in cells)])
    said = "".join(text for measures, text in _SAID.items() if measures in probes.values())
    said += "p is corrected (Holm) over all variants and probes. " if probes else ""
    return (
        f"<h2>What it cost elsewhere</h2>{table(head, lines)}<p class='quiet'>{escape(said)}"
        "Change of the weights: ‖W − W₀‖ / ‖W₀‖ over all parameters after training, mean over "
        "seeds and range.</p>"
    )


def _change(it: VariantResult) -> str:
    mean, least, most = (100 * value for value in it.change or (0.0, 0.0, 0.0))
    return f"{mean:.3g}" if least == most else f"{mean:.3g} ({least:.3g} to {most:.3g})"


def _probe(it: VariantResult, name: str, measures: str) -> list[str]:
    """What stands under `_HEADS`."""
    found = it.probes.get(name)
    if found is None:
        return ["–"] * len(_HEADS[measures])
    change = [moved(found), f"{found.p:.3f}"]
    if measures == "likelihood":
        return [_nats(found.before), _nats(found.after), *change]
    rewards = " → ".join("–" if value is None else f"{value:.3f}" for value in found.rewards)
    return [share(found.before), share(found.after), *change, rewards]


def _nats(estimate: Estimate) -> str:
    return f"{nats(estimate.mean)} [{nats(estimate.low)}, {nats(estimate.high)}]"
