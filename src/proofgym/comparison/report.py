"""The report: one HTML file with everything in it, from the results alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from proofgym.budget import UNITS
from proofgym.comparison import chart
from proofgym.comparison.amounts import NO_DIFFERENCE, interval
from proofgym.comparison.claims import DIFFERENCES, sentences
from proofgym.comparison.curves import Curve, heldout, reward
from proofgym.comparison.decomposition import REST
from proofgym.comparison.elsewhere import section
from proofgym.comparison.html import Cell, share, table
from proofgym.comparison.record import Record
from proofgym.comparison.results import Results, VariantResult
from proofgym.comparison.style import STYLE
from proofgym.comparison.variant import label
from proofgym.progress import counted, duration

_ALIKE = {
    "tokens": "tokens the model wrote",
    "seconds": "seconds of training",
}
_MOST_DRAWN = 30  # pairs; a picture of more is taller than a screen, and the table has them all


def page(results: Results) -> str:
    """The HTML text."""
    name = escape(results.experiment.name)
    claims = "".join(f"<li>{escape(it)}</li>" for it in sentences(results))
    body = [
        f"<h1>{name}</h1><p class='quiet'>{escape(_summary(results))}</p>",
        f"<h2>What is and is not established</h2><ul class='claims'>{claims}</ul>",
        _success(results),
        _curves(results),
        _differences(results),
        _groups(results),
        section(results),
        _variance(results),
        _costs(results),
        _settings(results),
        _runs(results),
        _method(results),
    ]
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{name}: comparison</title><style>{STYLE}</style></head>\n<body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _summary(results: Results) -> str:
    it = results.experiment
    done = sum(record.state == "finished" for record in results.records)
    return (
        f"{counted(len(results.variants), 'variant')}, {counted(len(it.seeds), 'seed')}, "
        f"{it.budget} each; {counted(results.tasks, 'held-out task')} with "
        f"{counted(it.samples, 'attempt')} each; "
        f"{done} of {len(results.records)} runs finished."
    )


def _success(results: Results) -> str:
    ks = results.experiment.ks
    rows = [
        (index, it.variant.name, it.success[1])
        for index, it in enumerate(results.variants)
        if 1 in it.success
    ]
    head: list[Cell] = ["variant", ("seeds", "n")]
    head += [(f"pass@{k} {when}", "n") for k in ks for when in ("before", "after")]
    head += [("gain in pass@1", "n")]
    lines: list[list[Cell]] = []
    for it in results.variants:
        cells: list[Cell] = [it.variant.name, (str(len(it.finished)), "n")]
        cells += [(share(found.get(k)), "n") for k in ks for found in (it.start, it.success)]
        lines.append([*cells, (interval(it.gain) if it.gain else "–", "n")])
    drawn = chart.intervals(rows, zero=False)
    return (
        "<h2>Held-out success</h2><div class='pictures'><figure>"
        f"{drawn}<figcaption>Final pass@1 in %, with 95 % intervals over seeds and tasks, of one "
        f"seed over tasks alone.</figcaption></figure></div>{table(head, lines)}"
    )


def _curves(results: Results) -> str:
    legend = "".join(
        f"<span>{chart.sample(index)}{escape(it.variant.name)}</span>"
        for index, it in enumerate(results.variants)
    )
    figures = []
    for make, up, percent in (
        (heldout, "held-out success, %", True),
        (reward, "training reward", False),
    ):
        for over, across in _ALIKE.items():
            found = _found(results, make, over)
            figures.append(f"<figure>{chart.curves(found, across, up, percent)}</figure>")
    return (
        f"<h2>Learning curves</h2><div class='legend'>{legend}</div><div class='pictures'>"
        + "".join(figures)
        + "</div><p class='quiet'>Lines are means over seeds, bands go from the lowest to the "
        "highest seed; they are not intervals. Training reward is of perturbed members where the "
        "algorithm perturbs, so its height does not compare between algorithms.</p>"
    )


def _found(
    results: Results, make: Callable[[str, Sequence[Record], str], Curve | None], over: str
) -> list[tuple[int, Curve]]:
    made = [
        (index, make(it.variant.name, it.finished, over))
        for index, it in enumerate(results.variants)
    ]
    return [(index, curve) for index, curve in made if curve is not None]


def _differences(results: Results) -> str:
    if not results.pairs:
        return ""
    places = {it.variant.name: index for index, it in enumerate(results.variants)}
    rows = [(places[it.one], f"{it.one} − {it.other}", it.difference) for it in results.pairs]
    lines: list[list[Cell]] = [
        [
            f"{it.one} − {it.other}",
            (str(it.difference.seeds), "n"),
            (interval(it.difference, NO_DIFFERENCE), "n"),
            (f"{it.difference.p:.3f}", "n"),
            (f"{it.p:.3f}", "n"),
        ]
        for it in results.pairs
    ]
    head: list[Cell] = ["pair", ("shared seeds", "n"), ("difference", "n"), ("p", "n")]
    picture = (
        f"<div class='pictures'><figure>{chart.intervals(rows, zero=True)}</figure></div>"
        if len(rows) <= _MOST_DRAWN
        else ""
    )
    return (
        f"<h2>{DIFFERENCES}</h2>{picture}{table([*head, ('p, corrected (Holm)', 'n')], lines)}"
        "<p class='quiet'>Percentage points, paired by seed and task.</p>"
    )


def _groups(results: Results) -> str:
    parts = ["<h2>Success by topic and difficulty</h2>"]
    for name in ("topic", "difficulty"):
        values = list(dict.fromkeys(v for it in results.variants for v in it.groups.get(name, {})))
        if not any(value not in ("", "0") for value in values):
            parts.append(f"<p class='quiet'>The held-out tasks say nothing of their {name}.</p>")
            continue
        head: list[Cell] = [name, *((it.variant.name, "n") for it in results.variants)]
        lines: list[list[Cell]] = [
            [
                value or "none",
                *((share(it.groups.get(name, {}).get(value)), "n") for it in results.variants),
            ]
            for value in values
        ]
        parts.append(table(head, lines))
    parts.append(
        "<p class='quiet'>Final pass@1, %. Many small groups: some will differ by chance.</p>"
    )
    return "".join(parts)


def _variance(results: Results) -> str:
    head = "<h2>Where the variance comes from</h2>"
    if not results.parts:
        return f"{head}<p>{escape(results.part_names)}</p>"
    lines: list[list[Cell]] = [
        [
            part.name,
            (chart.bar(part.share, 7 if part.name == REST else 0), "s raw"),
            (f"{part.share:.0%}", "n"),
            (f"{part.by_chance:.0%}", "n"),
            ("–" if part.omega is None else f"{part.omega:.0%}", "n"),
            (str(part.freedom), "n"),
        ]
        for part in results.parts
    ]
    names: list[Cell] = ["source", "", ("share", "n"), ("by chance alone", "n"), ("ω²", "n")]
    return (
        f"{head}{table([*names, ('degrees of freedom', 'n')], lines)}<p class='quiet'>Main "
        f"effects on final held-out pass@1, over {escape(results.part_names)}. A factor near the "
        "share that chance alone gives it shows nothing.</p>"
    )


def _costs(results: Results) -> str:
    phases = list(dict.fromkeys(p for it in results.variants for p in it.costs.get("phases", {})))
    priced = results.experiment.price_per_hour is not None
    head: list[Cell] = ["a run of", ("iterations", "n"), ("attempts", "n"), ("tokens", "n")]
    head += [("wall time", "n"), ("verifier s", "n"), ("verified/s", "n")]
    head += [(f"{it.replace('_', ' ')} s", "n") for it in phases] + [("cost", "n")] * priced
    lines = [_cost(it, phases, priced) for it in results.variants if it.costs]
    return (
        f"<h2>Cost</h2>{table(head, lines)}<p class='quiet'>Means over finished runs. Wall time "
        "is that of the iterations; <em>measure</em> is held-out measurement, not part of the "
        f"budget{' but of the cost' if priced else ''}.</p>"
    )


def _cost(it: VariantResult, phases: Sequence[str], priced: bool) -> list[Cell]:
    found = it.costs
    rate = found["attempts_per_s"]
    cells = [f"{found[name]:,.0f}" for name in ("iterations", "attempts", "tokens")]
    cells += [duration(found["seconds"]), f"{found['verifier_seconds']:,.1f}"]
    cells += ["–" if rate is None else f"{rate:,.1f}"]
    cells += [f"{found['phases'].get(name, 0.0):,.1f}" for name in phases]
    cells += [f"{found['money']:.2f}"] if priced else []
    return [it.variant.name, *((cell, "n") for cell in cells)]


def _settings(results: Results) -> str:
    paths = list(dict.fromkeys(path for it in results.variants for path in it.variant.changes))
    lines: list[list[Cell]] = [
        [it.variant.name, *(it.variant.labels.get(path, "as the job") for path in paths)]
        for it in results.variants
    ]
    job = results.experiment.job
    fields = [(name, getattr(job, name)) for name in type(job).model_fields]
    rows: list[list[Cell]] = [
        [name, (f"<code>{escape(label(value))}</code>", "raw")]
        for name, value in fields
        if name not in ("seed", "iterations", "budget", "measure", "name")
    ]
    return (
        f"<h2>Settings</h2><h3>What differs</h3>{table(['variant', *paths], lines)}"
        f"<h3>The job, where nothing is said above</h3>{table(['field', 'value'], rows)}"
    )


def _runs(results: Results) -> str:
    kind = results.experiment.budget.kind or "tokens"
    lines: list[list[Cell]] = []
    for it in results.records:
        used = it.spent()[kind] / results.experiment.budget.amount
        final = f"{100 * it.last['success']:.1f}" if it.points else "–"
        unscored = sum(event.get("unscored", 0) for event in it.iterations)
        state = it.state if it.state == "finished" else f"<b class='bad'>{it.state}</b>"
        failures = "; ".join(it.failures) or "none"
        lines.append(
            [
                it.run.id,
                (state, "raw"),
                (f"{used:.1%}", "n"),
                (final, "n"),
                (str(unscored), "n"),
                failures,
            ]
        )
    head: list[Cell] = ["run", "state", (f"budget spent ({UNITS[kind]})", "n")]
    head += [("last held-out success, %", "n"), ("unscored", "n"), "failed starts"]
    return f"<h2>Runs</h2>{table(head, lines)}"


def _method(results: Results) -> str:
    it = results.experiment
    return (
        "<h2>How this was computed</h2><p class='quiet'>"
        "Every run met its tasks in the order of its seed, and was measured on the same held-out "
        f"tasks with the same draws (seed {it.measure_seed}), with unperturbed weights. pass@k is "
        "the unbiased estimate (Chen et al. 2021). Intervals: two-way bootstrap, 10 000 draws; "
        "seeds and tasks are drawn anew with replacement, the same for both sides of a difference, "
        "and row and column effects of the table seeds × tasks are averaged; the spread is set to "
        "the unbiased variance of crossed random effects, not less than that of tasks alone, and "
        "widened by Student's t at Satterthwaite's degrees of freedom, and never narrower than "
        "Student's own interval (docs/comparison.md has the formula). Variance: sums of squares of "
        "main effects on a full grid. Every number can be recomputed from "
        "<code>runs/*/events.jsonl</code>; <code>summary.json</code> and <code>results.csv</code> "
        "hold them too.</p>"
    )
