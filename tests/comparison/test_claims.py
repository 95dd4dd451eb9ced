"""What is said of a comparison's numbers: simulated runs, and results by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from proofgym import Budget, Comparison, Likelihood, Sweep
from proofgym.budget import UNITS
from proofgym.comparison import chart, load, plan
from proofgym.comparison.amounts import interval, moved
from proofgym.comparison.claims import sentences
from proofgym.comparison.intervals import Estimate, two_way
from proofgym.comparison.record import Record
from proofgym.comparison.report import page
from proofgym.comparison.results import ProbeResult, compute


@pytest.fixture
def job(write):
    return load(write()).job


class Finished(Record):
    """A record of a run that ended."""

    state = "finished"


def simulated(job, tmp_path, gains, seeds=(0, 1, 2), tasks=60, missing=()):
    """Results of runs whose success before is a half and after it by variant is given, but for
    the missing (variant, seed)."""
    made = comparison(job, variants={name: {} for name in gains}, seeds=seeds)
    return measured(made, tmp_path, gains, tasks, missing)


def comparison(job, **fields):
    return Comparison(job=job, budget=Budget(tokens=100), samples=4, **fields)


def measured(made, tmp_path, gains, tasks=60, missing=()):
    generator = np.random.default_rng(0)
    records = []
    for run in plan(made, tmp_path):
        points = [
            {
                "passed": generator.binomial(4, p, tasks).tolist(),
                "scored": [4] * tasks,
                "success": p,
                "evaluation_seconds": 1.0,
                **dict.fromkeys(UNITS, spent),
            }
            for spent, p in ((0, 0.5), (100, 0.5 + gains[run.variant.name]))
        ]
        listed = [{"name": str(i), "topic": "t", "difficulty": 1} for i in range(tasks)]
        if (run.variant.name, run.seed) in missing:
            records.append(Record(run, [], [], [], ["out of memory"]))
        else:
            records.append(Finished(run, [], points, listed))
    return compute(made, records)


def said(results, *words):
    """The sentences that have all these words."""
    return [it for it in sentences(results) if all(word in it for word in words)]


def test_sentences_say_what_the_numbers_show_and_no_more(job, tmp_path):
    results = simulated(job, tmp_path, {"good": 0.3, "plain": 0.0, "same": 0.0})
    assert said(results, "Held-out pass@1 of good rises in training")
    assert said(results, "plain is not shown to change")
    assert said(results, "good is better than plain")
    assert said(results, "plain is not shown to differ from same")
    assert said(results, "There are 3 pairs")
    assert said(results, "n seeds = 3")
    assert not said(results, "Fewer seeds")
    assert not said(results, "The decomposition needs")


def test_one_seed_is_said_to_show_nothing_of_seeds(job, tmp_path):
    results = simulated(job, tmp_path, {"a": 0.3, "b": 0.0}, seeds=(0,))
    assert said(results, "n seeds = 1: nothing can be said about seeds")
    assert said(results, "nothing to decompose")


def test_what_one_or_two_seeds_show_is_said_of_them_alone(job, tmp_path):
    gains = {"a": 0.4, "b": 0.0}
    for seeds, only in {(0,): "With this one seed: ", (0, 1): "With these two seeds: "}.items():
        results = simulated(job, tmp_path, gains, seeds)
        for item in results.variants:
            item.gain = by_hand(*GAIN, seeds=len(seeds)).difference
            item.gain_p = 0.01 if item.variant.name == "a" else 0.3
        found = [by_hand(*it, seeds=len(seeds)) for it in (LOSS, ALONE)]
        probed(results, p=[LOSS, ALONE])
        for item, probe in zip(results.variants, found, strict=True):
            item.probes["p"] = probe
        results.pairs[0].difference, results.pairs[0].p = found[0].difference, 0.01
        for words in ("rises in training:", "taken by itself", "is worse than", "loses", "gains"):
            assert said(results, words)
            assert all(it.startswith(only) for it in said(results, words))
        assert bool(said(results, "the two may agree by accident")) == (len(seeds) == 2)
    plain = simulated(job, tmp_path, gains)
    assert not said(plain, "With th")
    assert not said(plain, "the two may agree by accident")


def test_of_many_variants_one_seed_is_in_what_is_counted(job, tmp_path):
    results = simulated(job, tmp_path, dict.fromkeys("abcdefg", 0.0), seeds=(0,))
    probed(results, p=[LOSS] * 7)
    for item in results.variants:
        item.probes["p"] = by_hand(*LOSS, seeds=1)
    assert said(results, "of 7 variants") == [
        "On the probe p, of 7 variants: 7 shown with this one seed to lose."
    ]


def test_a_control_that_learns_is_pointed_at(job, tmp_path):
    results = simulated(job, tmp_path, {"a": 0.3})
    item = results.variants[0]
    item.variant = type(item.variant)("a", {"control": "permuted"}, {})
    assert said(results, "doubt the other gains")


def test_of_many_pairs_what_is_not_shown_is_summed_up(job, tmp_path):
    plain = [f"plain {number}" for number in range(7)]
    results = simulated(job, tmp_path, {"good": 0.4, **dict.fromkeys(plain, 0.0)}, (0,))
    assert len(said(results, "good is better than plain")) == 7, "a sentence each"
    summed = said(results, "of 28 pairs")
    assert sum(int(it.split()[0]) for it in summed) == 21
    others = results.pairs[7:]
    largest = max(others, key=lambda it: abs(it.difference.mean))
    assert any(
        f"{interval(largest.difference)} ({largest.one} minus {largest.other})" in it
        for it in summed
    )
    assert not said(results, "from plain")
    (pointer,) = said(results, "There are 28 pairs", "the report's table")
    text = page(results)
    title = pointer.split('"')[1]
    table = text.split(f"<h2>{title}</h2>")[1].split("<table>")[1].split("</table>")[0]
    for pair in results.pairs:
        assert f"{pair.one} − {pair.other}" in table


def test_of_many_pairs_that_are_shown_each_winner_names_whom_it_beats(job, tmp_path):
    gains = {**dict.fromkeys("abcd", 0.0), **dict.fromkeys("stuv", 0.45)}
    results = simulated(job, tmp_path, gains, (0,))
    assert said(results, "is better than") == [
        f"With this one seed: {name} is better than 4 of the others: a; b; c; d." for name in "stuv"
    ]
    assert sum(int(it.split()[0]) for it in said(results, "of 28 pairs")) == 12


def test_what_is_not_shown_to_differ_says_what_from_what(job, tmp_path):
    results = simulated(job, tmp_path, {"a": 0.0, "b": 0.0})
    (pair,) = results.pairs
    amount = interval(pair.difference)
    assert said(results, f"a is not shown to differ from b: {amount} (a minus b).")
    pair.difference = two_way(np.zeros((3, 10)))
    assert said(results, "a is not shown to differ from b: the same on every task.")


def test_pairs_have_a_picture_unless_they_are_too_many(job, tmp_path):
    def section(names):
        text = page(simulated(job, tmp_path, dict.fromkeys(names, 0.0), (0,)))
        return text.split("<h2>Differences")[1].split("<h2>")[0]

    assert "<figure>" in section("abcdefgh")
    many = section("abcdefghi")
    assert "<figure>" not in many
    assert many.count("<tr>") == 1 + 36


def test_each_of_many_variants_has_a_line_of_its_own():
    assert len({chart.sample(index) for index in range(32)}) == 32


def test_success_is_given_before_and_after_for_each_k(job, tmp_path):
    made = comparison(job, variants={"a": {}}, seeds=(0, 1), k=(1, 2))
    results = measured(made, tmp_path, {"a": 0.3})
    (item,) = results.variants
    assert [*item.start] == [*item.success] == [1, 2]
    heads = [f">pass@{k} {when}<" for k in (1, 2) for when in ("before", "after")]
    assert all(head in page(results) for head in heads)
    for k, value in item.start.items():
        assert value.mean == pytest.approx(1 - 0.5**k, abs=0.1)


def test_a_missing_run_takes_its_seed_only_from_what_needs_it(job, tmp_path):
    gains = {"a": 0.3, "b": 0.0, "c": 0.0}
    results = simulated(job, tmp_path, gains, missing=[("b", 1)])
    assert [it.gain.seeds for it in results.variants] == [3, 2, 3]
    seeds = {(it.one, it.other): it.difference.seeds for it in results.pairs}
    assert seeds == {("a", "b"): 2, ("a", "c"): 3, ("b", "c"): 2}
    whole = simulated(job, tmp_path, gains)
    assert results.variants[0].gain == whole.variants[0].gain
    assert said(results, "n seeds = 3: ")
    assert said(results, "Fewer seeds have finished: 2 of b.")
    assert said(results, "3 of variant x 2 of seed")
    assert said(results, "The decomposition needs every variant with every seed: without seed 1.")
    assert not said(results, "n seeds = 1")


def test_a_variant_without_runs_leaves_the_others_to_be_decomposed(job, tmp_path):
    missing = [("c", seed) for seed in range(3)]
    results = simulated(job, tmp_path, {"a": 0.3, "b": 0.0, "c": 0.0}, missing=missing)
    assert said(results, "2 of variant x 3 of seed")
    assert said(results, "Fewer seeds have finished: none of c.")
    assert said(results, "The decomposition needs", "without c.")


def test_what_shares_one_seed_or_none_is_said(job, tmp_path):
    missing = [("a", 2), ("b", 0), ("c", 0), ("c", 1)]
    results = simulated(job, tmp_path, {"a": 0.3, "b": 0.0, "c": 0.0}, missing=missing)
    assert said(results, "Not compared, as no seed has finished with both: 1 pair.")
    assert said(results, "Where n seeds = 1")
    assert said(results, "Fewer seeds have finished: 1 of c.")
    assert said(results, "No seed has finished with every variant")


def test_a_sweep_with_a_gap_is_decomposed_by_variant(job, tmp_path):
    made = Sweep(
        job=job,
        grid={"algorithm.sigma": [0.25, 0.5], "algorithm.population": [4, 8]},
        budget=Budget(tokens=100),
        samples=4,
        seeds=(0, 1),
    )
    gains = {it.name: 0.1 for it in made.variants_named()}
    lost = list(gains)[-1]
    whole = measured(made, tmp_path, gains)
    assert "2 of algorithm.sigma x 2 of algorithm.population x 2 of seed" in whole.part_names
    results = measured(made, tmp_path, gains, missing=[(lost, 0), (lost, 1)])
    assert "3 of variant x 2 of seed" in results.part_names


def probed(results, **changes):
    """The same, with probes by name, and each variant's change on them: its mean, half the width
    of its interval, its corrected p."""
    probes = dict.fromkeys(changes, Likelihood(("some text",)))
    results.experiment = results.experiment.replace("probes", probes)
    for name, found in changes.items():
        for item, change in zip(results.variants, found, strict=True):
            if change is not None:
                item.probes[name] = by_hand(*change)
    return results


def by_hand(mean, half, p, before=0.5, seeds=3):
    def estimate(value, width):
        return Estimate(value, value - width, value + width, p, math.inf, seeds)

    return ProbeResult(
        "success",
        estimate(before, 0.1),
        estimate(before + mean, 0.1),
        estimate(mean, half),
        p=p,
    )


GAIN, LOSS, ALONE, OPEN = (0.2, 0.1, 0.01), (-0.2, 0.1, 0.01), (0.15, 0.1, 0.3), (-0.05, 0.1, 1.0)
ZERO = (0.0, 0.0, 1.0)


def test_few_variants_have_a_sentence_each_on_a_probe(job, tmp_path):
    results = simulated(job, tmp_path, dict.fromkeys("abcd", 0.0), seeds=(0,))
    assert said(probed(results, p=[GAIN, LOSS, ALONE, OPEN]), "the probe p") == [
        "a gains on the probe p: +20.0 points [10.0, 30.0].",
        "b loses on the probe p: -20.0 points [-30.0, -10.0].",
        "c gains on the probe p taken by itself (+15.0 points [5.0, 25.0]), but not when corrected "
        "for all variants and probes (p = 0.30).",
        "d is not shown to change on the probe p: -5.0 points [-15.0, 5.0].",
    ]


def test_many_variants_are_counted_on_a_probe_and_those_that_changed_named(job, tmp_path):
    results = simulated(job, tmp_path, dict.fromkeys("abcdefgh", 0.0), seeds=(0,))
    found = [GAIN, OPEN, OPEN, LOSS, ALONE, OPEN, ZERO, None]
    assert said(probed(results, p=found), "the probe p") == [
        "On the probe p, of 7 variants: 3 not shown to change, 1 shown to gain, 1 shown to lose, "
        "1 shown to gain only when taken alone, not once corrected, 1 without any change; the "
        "largest change that is not shown: +15.0 points [5.0, 25.0] (e).",
        "a gains on the probe p: +20.0 points [10.0, 30.0].",
        "d loses on the probe p: -20.0 points [-30.0, -10.0].",
        "h shows nothing on the probe p: a variant's runs have no scored task of it in common, or "
        "did not read the same texts.",
    ]


def test_a_probe_that_none_ever_passes_is_named_once(job, tmp_path):
    results = simulated(job, tmp_path, {"a": 0.0, "b": 0.0}, seeds=(0,))
    probed(results, floor=[ZERO, ZERO], still=[ZERO, OPEN])
    for item in results.variants:
        item.probes["floor"] = by_hand(*ZERO, before=0.0)
    assert said(results, "the probe") == [
        "a is not shown to change on the probe still: nothing changed.",
        "b is not shown to change on the probe still: -5.0 points [-15.0, 5.0].",
    ]
    assert said(results, "The probe floor") == [
        "The probe floor is 0 % before and after training for every variant: it can show no loss."
    ]
    results.variants[0].probes["floor"] = by_hand(*GAIN, before=0.0)
    assert not said(results, "The probe floor")


def test_nothing_changed_is_said_only_where_nothing_did():
    assert interval(two_way(np.zeros((3, 10)))) == "nothing changed"
    assert interval(two_way(np.zeros((1, 10))), "alike") == "alike"
    balanced = two_way(np.array([[0.5, -0.5, 0.0, 0.0]] * 3))
    assert balanced.mean == 0
    assert interval(balanced).startswith("+0.0 points [-")
    one_task = two_way(np.zeros((3, 1)))
    assert not one_task.all_zero, "nothing says how far other tasks would have moved"
    same = two_way(np.zeros((2, 5)))
    assert moved(ProbeResult("likelihood", same, same, same)) == "nothing changed"
