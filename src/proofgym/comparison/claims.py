"""What a comparison's numbers establish and what they do not, in plain sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import comb
from typing import Literal

from proofgym.comparison.amounts import NO_DIFFERENCE, interval, moved
from proofgym.comparison.decomposition import REST
from proofgym.comparison.intervals import Estimate
from proofgym.comparison.results import Pair, ProbeResult, Results, VariantResult, complete
from proofgym.progress import counted

ALPHA = 0.05
DIFFERENCES = "Differences in final held-out pass@1"
"""Title of the report's table of all pairs."""
_FEW = 6  # variants; of more, what is not shown is summed up
_FEW_PAIRS = comb(_FEW, 2)
_OVERSHOOT = 0.05  # of the budget, beyond which a reader must know
_FEW_SEEDS = {1: "with this one seed", 2: "with these two seeds"}
"""How many cannot speak for others: of one nothing is known of seeds, and two may well agree by
accident, which no interval can tell from seeds that do not matter."""


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
    verdict, only = _verdict(gain, item.gain_p), _only(gain)
    if verdict == "shown":
        text = f"{only}Held-out pass@1 of {name} {verb} in training: {amount}."
    elif verdict == "alone":
        text = (
            f"{only}Held-out pass@1 of {name} {verb} in training taken by itself ({amount}), but "
            f"not when corrected for all variants (p = {item.gain_p:.2f})."
        )
    else:
        text = f"{name} is not shown to change held-out pass@1: {amount}."
    if item.variant.control and gain.shows_sign:
        text += " It is a control that should not learn: doubt the other gains too."
    return text


def _verdict(estimate: Estimate, p: float) -> Literal["shown", "alone", "open"]:
    """Whether a sign is shown, is shown only when taken by itself, or is not."""
    if not estimate.shows_sign:
        return "open"
    return "shown" if p < ALPHA else "alone"


def _only(estimate: Estimate) -> str:
    """What a sentence that shows something begins with where its seeds are too few."""
    few = _FEW_SEEDS.get(estimate.seeds)
    return f"{few.capitalize()}: " if few else ""


def _differences(results: Results) -> Iterator[str]:
    pairs = results.pairs
    if len(pairs) > _FEW_PAIRS:
        yield from _many_differences(pairs)
    else:
        yield from (_difference(pair, len(pairs)) for pair in pairs)
    apart = comb(sum(bool(it.success) for it in results.variants), 2) - len(pairs)
    if apart:
        yield f"Not compared, as no seed has finished with both: {counted(apart, 'pair')}."
    if len(pairs) > 1:
        yield (
            f'There are {len(pairs)} pairs, all of them in the report\'s table "{DIFFERENCES}". '
            "Each interval is for its own pair; a difference is called shown only where its "
            "p-value survives Holm's correction for all."
        )


def _difference(pair: Pair, pairs: int) -> str:
    amount = interval(pair.difference, NO_DIFFERENCE)
    better = "better" if pair.difference.mean > 0 else "worse"
    verdict, only = _verdict(pair.difference, pair.p), _only(pair.difference)
    if verdict == "open":
        return f"{pair.one} is not shown to differ from {pair.other}: {_directed(pair)}."
    if verdict == "shown":
        return f"{only}{pair.one} is {better} than {pair.other}: {amount} (p = {pair.p:.2g})."
    return (
        f"{only}{pair.one} is {better} than {pair.other} taken by itself ({amount}), but that is "
        f"not shown once corrected for {pairs} comparisons (p = {pair.p:.2f})."
    )


def _many_differences(pairs: Sequence[Pair]) -> Iterator[str]:
    """Those that are shown, and two sentences for all others."""
    found: dict[str, list[Pair]] = {"shown": [], "alone": [], "open": []}
    for pair in pairs:
        found[_verdict(pair.difference, pair.p)].append(pair)
    if len(found["shown"]) > _FEW_PAIRS:
        for only, shown in _by_seeds(found["shown"]).items():
            yield from (only + it for it in _winners(shown))
    else:
        yield from (_difference(pair, len(pairs)) for pair in found["shown"])
    for only, alone in _by_seeds(found["alone"]).items():
        least = min(pair.p for pair in alone)
        yield (
            f"{only}{_some(alone, pairs)} shown to differ only when taken alone, not once "
            f"corrected for all (the least p is {least:.2f}); {_largest(alone)}."
        )
    if unshown := found["open"]:
        yield f"{_some(unshown, pairs)} not shown to differ; {_largest(unshown)}."


def _by_seeds(pairs: Sequence[Pair]) -> dict[str, list[Pair]]:
    """Pairs by what a sentence about them begins with."""
    found: dict[str, list[Pair]] = {}
    for pair in pairs:
        found.setdefault(_only(pair.difference), []).append(pair)
    return found


def _some(pairs: Sequence[Pair], of: Sequence[Pair]) -> str:
    return f"{len(pairs)} of {len(of)} pairs {'is' if len(pairs) == 1 else 'are'}"


def _largest(pairs: Sequence[Pair]) -> str:
    it = max(pairs, key=lambda pair: abs(pair.difference.mean))
    return f"the largest difference of them: {_directed(it)}"


def _directed(pair: Pair) -> str:
    """A difference, and of what from what."""
    if pair.difference.all_zero:
        return NO_DIFFERENCE
    return f"{interval(pair.difference)} ({pair.one} minus {pair.other})"


def _winners(pairs: Sequence[Pair]) -> Iterator[str]:
    """One sentence for each variant that others are shown to be worse than."""
    beaten: dict[str, list[str]] = {}
    for pair in pairs:
        names = pair.one, pair.other
        better, worse = names if pair.difference.mean > 0 else reversed(names)
        beaten.setdefault(better, []).append(worse)
    for name, others in sorted(beaten.items(), key=lambda it: -len(it[1])):
        yield f"{name} is better than {len(others)} of the others: {'; '.join(others)}."


def _probes(results: Results) -> Iterator[str]:
    for name in results.experiment.probes:
        measured = {it.variant.name: it for it in results.variants if it.success}
        found = {of: it.probes[name] for of, it in measured.items() if name in it.probes}
        if found:
            yield from _probe(name, found)
        if lacking := [of for of in measured if of not in found]:
            yield (
                f"{'; '.join(lacking)} {'shows' if len(lacking) == 1 else 'show'} nothing on the "
                f"probe {name}: a variant's runs have no scored task of it in common, or did not "
                "read the same texts."
            )


def _probe(name: str, found: Mapping[str, ProbeResult]) -> Iterator[str]:
    """What variants, by name, did on a probe."""
    if all(it.never_passed for it in found.values()):
        yield (
            f"The probe {name} is 0 % before and after training for every variant: it can show no "
            "loss."
        )
    elif len(found) <= _FEW:
        yield from (_probed(name, of, it) for of, it in found.items())
    else:
        yield _tally(name, found)
        shown = {of: it for of, it in found.items() if _verdict(it.difference, it.p) == "shown"}
        yield from (_probed(name, of, it) for of, it in shown.items())


def _probed(name: str, of: str, probe: ProbeResult) -> str:
    amount, verdict = _moved(probe), _verdict(probe.difference, probe.p)
    only = _only(probe.difference)
    changed = "loses" if probe.worse else "gains"
    if verdict == "open":
        return f"{of} is not shown to change on the probe {name}: {amount}."
    if verdict == "shown":
        return f"{only}{of} {changed} on the probe {name}: {amount}."
    return (
        f"{only}{of} {changed} on the probe {name} taken by itself ({amount}), but not when "
        f"corrected for all variants and probes (p = {probe.p:.2f})."
    )


def _moved(probe: ProbeResult) -> str:
    lower = probe.measures != "success" and not probe.difference.all_zero
    return moved(probe) + (", lower is better" if lower else "")


def _tally(name: str, found: Mapping[str, ProbeResult]) -> str:
    """How many variants did what on a probe, and the largest change that is not shown."""
    counts = Counter(_outcome(it) for it in found.values()).most_common()
    text = f"On the probe {name}, of {len(found)} variants: " + ", ".join(
        f"{count} {outcome}" for outcome, count in counts
    )
    others = {
        of: it
        for of, it in found.items()
        if _verdict(it.difference, it.p) != "shown" and not it.difference.all_zero
    }
    if not others:
        return f"{text}."
    of = max(others, key=lambda name: abs(others[name].difference.mean))
    return f"{text}; the largest change that is not shown: {_moved(others[of])} ({of})."


def _outcome(probe: ProbeResult) -> str:
    if probe.difference.all_zero:
        return "without any change"
    verdict = _verdict(probe.difference, probe.p)
    if verdict == "open":
        return "not shown to change"
    few = _FEW_SEEDS.get(probe.difference.seeds)
    text = f"shown{f' {few}' if few else ''} to {'lose' if probe.worse else 'gain'}"
    return text if verdict == "shown" else f"{text} only when taken alone, not once corrected"


def _seeds(results: Results) -> Iterator[str]:
    counts = {it.variant.name: len(it.finished) for it in results.variants}
    most = max(counts.values())
    if most == 0:
        return
    fewer = [f"{count or 'none'} of {name}" for name, count in counts.items() if count < most]
    if most == 1:
        yield (
            "n seeds = 1: nothing can be said about seeds. Intervals are over tasks alone; the "
            "same comparison with another seed may come out differently."
        )
    elif most < 5:
        yield (
            f"n seeds = {most}: how much seeds matter is itself hardly known; intervals are "
            "widened for that (Student's t)."
        )
    found = {*counts.values(), *(it.difference.seeds for it in results.pairs)}
    if 2 in found:
        yield (
            "Where n seeds = 2, the two may agree by accident and hide how much seeds matter: what "
            "they show need not hold with others."
        )
    if fewer:
        yield (
            f"Fewer seeds have finished: {'; '.join(fewer)}. A variant is judged by all the seeds "
            "that it has, a pair by those that both have."
        )
    if most > 1 and 1 in found:
        yield "Where n seeds = 1, intervals are over tasks alone and say nothing about seeds."


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
    yield from _not_decomposed(results)
    if not any(part.name == "seed" for part in results.parts):
        yield "One comparable seed: the rest holds the effect of the seed too."
    if results.noise_share is not None:
        yield (
            "The limited number of held-out attempts alone would explain "
            + ("all" if results.noise_share >= 1 else f"about {results.noise_share:.0%}")
            + " of that variance if each run had draws of its own. All runs share them, and what "
            "two runs have in common cancels in their difference, which can be shown all the same."
        )


def _not_decomposed(results: Results) -> Iterator[str]:
    _, seeds = complete(results.experiment, results.variants)
    out = [f"seed {seed}" for seed in results.experiment.seeds if seed not in seeds]
    out += [it.variant.name for it in results.variants if not it.finished]
    if out:
        yield f"The decomposition needs every variant with every seed: without {'; '.join(out)}."


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
