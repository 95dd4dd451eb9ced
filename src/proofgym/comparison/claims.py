"""What a comparison's numbers establish and what they do not, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator

from proofgym.comparison.decomposition import REST
from proofgym.comparison.intervals import Estimate
from proofgym.comparison.results import Pair, ProbeResult, Results, VariantResult

ALPHA = 0.05
_OVERSHOOT = 0.05  # of the budget, beyond which a reader must know


def sentences(results: Results) -> list[str]:
    """All of them, the most important first."""
    return [
        *_missing(results),
        *_gains(results),
        *_differences(results),
        *_probes(results),
        *_seeds(results),
        *_variance(results),
        *_budgets(results),
        *_tasks(results),
    ]


def points(value: float, sign: bool = False) -> str:
    """A share in percentage points: `1.6`, `+1.6`."""
    text = f"{100 * value:{'+' if sign else ''}.1f}"
    return text.replace("-0.0", "0.0") if not sign else text.replace("-0.0", "0.0", 1)


def interval(estimate: Estimate) -> str:
    """`+0.4 points [-1.1, 1.9]`."""
    return f"{points(estimate.mean, True)} points [{points(estimate.low)}, {points(estimate.high)}]"


def nats(value: float, sign: bool = False) -> str:
    """Nats per token: `2.1345`, `+0.0021`."""
    return f"{value:{'+' if sign else ''}.4f}".replace("-0.0000", "0.0000")


def moved(probe: ProbeResult) -> str:
    """`+0.4 points [-1.1, 1.9]`, or `+0.0021 nats per token [0.0011, 0.0031]`."""
    it = probe.difference
    if probe.measures == "success":
        return interval(it)
    return f"{nats(it.mean, True)} nats per token [{nats(it.low)}, {nats(it.high)}]"


def _missing(results: Results) -> Iterator[str]:
    by_state: dict[str, list[str]] = {}
    for record in results.records:
        by_state.setdefault(record.state, []).append(record.run.id)
    for state, names in by_state.items():
        if state != "finished":
            yield f"{len(names)} of {len(results.records)} runs are missing here ({state}): " + (
                ", ".join(names) + "."
            )
    retried = [it.run.id for it in results.records if it.failures and it.state == "finished"]
    if retried:
        yield f"Started again after a failure, then finished: {', '.join(retried)}."


def _gains(results: Results) -> Iterator[str]:
    for item in results.variants:
        if item.gain is not None:
            yield _gain(item)


def _gain(item: VariantResult) -> str:
    gain = item.gain
    assert gain is not None
    name, amount = item.variant.name, interval(gain)
    verb = "rises" if gain.mean > 0 else "falls"
    if gain.shows_sign and item.gain_p < ALPHA:
        text = f"Held-out pass@1 of {name} {verb} in training: {amount}."
    elif gain.shows_sign:
        text = (
            f"Held-out pass@1 of {name} {verb} in training taken by itself ({amount}), but not "
            f"when corrected for all variants (p = {item.gain_p:.2f})."
        )
    else:
        text = f"{name} is not shown to change held-out pass@1: {amount}."
    if item.variant.control and gain.shows_sign:
        text += " It is a control that should not learn: doubt the other gains too."
    return text


def _differences(results: Results) -> Iterator[str]:
    for pair in results.pairs:
        yield _difference(pair, len(results.pairs))
    if len(results.pairs) > 1:
        yield (
            f"There are {len(results.pairs)} pairs. Each interval is for its own pair; a "
            "difference is called shown only where its p-value survives Holm's correction for all."
        )


def _difference(pair: Pair, pairs: int) -> str:
    amount = interval(pair.difference)
    better = "better" if pair.difference.mean > 0 else "worse"
    if not pair.difference.shows_sign:
        return f"{pair.one} is not shown to differ from {pair.other}: {amount}."
    if pair.p < ALPHA:
        return f"{pair.one} is {better} than {pair.other}: {amount} (p = {pair.p:.2g})."
    return (
        f"{pair.one} is {better} than {pair.other} taken by itself ({amount}), but that is not "
        f"shown once corrected for {pairs} comparisons (p = {pair.p:.2f})."
    )


def _probes(results: Results) -> Iterator[str]:
    for item in results.variants:
        for name, probe in item.probes.items():
            amount = moved(probe) + (" (lower is better)" if probe.measures != "success" else "")
            changed = "loses" if probe.worse else "gains"
            if probe.difference.shows_sign and probe.p < ALPHA:
                yield f"{item.variant.name} {changed} on the probe {name}: {amount}."
            elif probe.difference.shows_sign:
                yield (
                    f"{item.variant.name} {changed} on the probe {name} taken by itself "
                    f"({amount}), but not when corrected for all gains (p = {probe.p:.2f})."
                )
            else:
                yield f"{item.variant.name} is not shown to change on the probe {name}: {amount}."
        for name in sorted(set(results.experiment.probes) - set(item.probes)):
            if item.success:
                yield (
                    f"{item.variant.name} shows nothing on the probe {name}: its runs have no "
                    "scored task of it in common, or did not read the same texts."
                )


def _seeds(results: Results) -> Iterator[str]:
    counts = {len(it.finished) for it in results.variants if it.finished}
    if not counts:
        return
    least = min(counts)
    if least == 1:
        yield (
            "n seeds = 1: nothing can be said about seeds. Intervals are over tasks alone; the "
            "same comparison with another seed may come out differently."
        )
    elif least < 5:
        yield (
            f"n seeds = {least}: how much seeds matter is itself hardly known; intervals are "
            "widened for that (Student's t)."
        )


def _variance(results: Results) -> Iterator[str]:
    if not results.parts:
        yield results.part_names
        return
    rest = next(part for part in results.parts if part.name == REST)
    if rest.freedom == 0:
        yield (
            "The variance decomposition cannot tell effects from chance: there are as many "
            "effects as runs. More seeds would help."
        )
    else:
        named = [part for part in results.parts if part.name != REST]
        listed = ", ".join(f"{part.name} {part.share:.0%}" for part in named)
        chance = ", ".join(f"{part.by_chance:.0%}" for part in named)
        yield (
            f"Of the variance of final held-out success between {results.part_names}, main effects "
            f"take: {listed}; the rest (interactions, chance) takes {rest.share:.0%}. Pure chance "
            f"would give {chance}."
        )
    if not any(part.name == "seed" for part in results.parts):
        yield "One comparable seed: the rest holds the effect of the seed too."
    if results.noise_share is not None:
        yield (
            "The limited number of held-out attempts alone would explain "
            + ("all" if results.noise_share >= 1 else f"about {results.noise_share:.0%}")
            + " of that variance, if draws were not shared."
        )


def _budgets(results: Results) -> Iterator[str]:
    budget = results.experiment.budget
    over = [
        (it.run.id, it.spent()[budget.kind or "tokens"] / budget.amount - 1)
        for it in results.records
        if it.state == "finished"
    ]
    large = [f"{name} {share:.0%}" for name, share in over if share > _OVERSHOOT]
    if large:
        yield (
            "A run stops after the iteration that reaches the budget; these spent notably more "
            f"than it: {', '.join(large)}."
        )


def _tasks(results: Results) -> Iterator[str]:
    if results.left_out:
        yield (
            f"{results.left_out} of {results.tasks} held-out tasks have too few scored attempts in "
            "some run and are left out everywhere."
        )
    yield (
        "All of this holds for this model, these tasks and these settings. No variant was tuned "
        "by this comparison; whether each had its best settings, it cannot say."
    )
