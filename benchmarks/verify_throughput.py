"""How near verification comes to what the cores allow, with hanging and greedy proofs among them.

    python benchmarks/verify_throughput.py [--count 3840] [--subset 192] [--batches 4]

Checks `count` mixed proofs (2 % hang, 2 % exhaust memory) through the warm pool, as many at once
as a checker takes by itself: one more than there are cores. Compared in the same run with one
process per proof without a pool (on `subset` proofs of the same mixture) and with one server per
batch of 64, started for it and ended after it (on `batches` of them); both extrapolated to
`count`. Statements are elaborated before the clock runs, in all three. Equal checks are never
remembered: every proof is different.

The ideal is (processor time of the honest checks' own processes + the processor time that the
hanging ones must be allowed) / cores. `ideal_ratio` compares wall time with it, which other work
on the machine lengthens; `cpu_ratio` compares all the processor time that was spent, by checks
(the greedy ones too), servers and this process, which it does not. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from mixed_proofs import EXPECTED, HANG_CPU_S, LIMITS, Case, mixed

from proofgym.lean.checker import LeanChecker
from proofgym.lean.toolchain import find_toolchain
from proofgym.lean.warm import checks_at_once
from proofgym.sandboxes import choose_sandbox
from proofgym.types import Verdict

CORES = os.cpu_count() or 1
SLOTS = checks_at_once()


@dataclass
class Run:
    """One way to check some proofs: verdicts, seconds of each, seconds and CPU of all."""

    verdicts: list[Verdict]
    latencies: list[float]
    wall_s: float
    cpu_s: float

    def scaled(self, count: int) -> float:
        return self.wall_s * count / len(self.verdicts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=3840)
    parser.add_argument("--subset", type=int, default=192)
    parser.add_argument("--batches", type=int, default=4)
    arguments = parser.parse_args()
    cases = mixed(arguments.count)
    pool = pooled(cases)
    overhead_p50_ms = 1000 * overhead(cases)
    alone = one_process_each(mixed(arguments.subset, seed=1))
    batch = server_per_batch(mixed(64 * arguments.batches, seed=2))
    honest = [kind in ("right", "wrong") for kind in (case.kind for case in cases)]
    honest_cpu = sum(
        it.detail.get("cpu_s", 0.0) for it, good in zip(pool.verdicts, honest, strict=True) if good
    )
    hangs = sum(case.kind == "hang" for case in cases)
    ideal_s = (honest_cpu + hangs * HANG_CPU_S) / CORES
    fine = sorted(s for s, good in zip(pool.latencies, honest, strict=True) if good)
    result = {
        "ideal_ratio": round(pool.wall_s / ideal_s, 3),
        "cpu_ratio": round(pool.cpu_s / (ideal_s * CORES), 3),
        "vs_no_pool": round(alone.scaled(len(cases)) / pool.wall_s, 2),
        "vs_batch_server": round(batch.scaled(len(cases)) / pool.wall_s, 2),
        "checks_per_core_s": round(len(cases) / pool.wall_s / CORES, 2),
        "pool_overhead_p50_ms": round(overhead_p50_ms, 2),
        "p50_ms": round(1000 * statistics.median(fine), 1),
        "p99_ms": round(1000 * fine[int(0.99 * (len(fine) - 1))], 1),
        "unexpected": unexpected(cases, pool.verdicts),
        "load_average": round(os.getloadavg()[1], 1),
    }
    show(cases, pool, alone, batch, ideal_s)
    print(json.dumps(result))


def check_all(checker: LeanChecker, cases: Sequence[Case]) -> tuple[list[Verdict], list[float]]:
    def one(case: Case) -> tuple[Verdict, float]:
        began = time.perf_counter()
        verdict = checker.check(case.statement, case.proof)
        return verdict, time.perf_counter() - began

    with ThreadPoolExecutor(SLOTS) as threads:
        pairs = list(threads.map(one, cases))
    return [verdict for verdict, _ in pairs], [seconds for _, seconds in pairs]


def open_checker(warm: bool = True) -> LeanChecker:
    toolchain, sandbox = find_toolchain("embedded"), choose_sandbox()
    return LeanChecker(toolchain, sandbox, LIMITS, warm=warm, workers=SLOTS)


def elaborate_statements(checker: LeanChecker, cases: Sequence[Case]) -> None:
    with ThreadPoolExecutor(SLOTS) as threads:
        list(threads.map(checker.check_statement, {case.statement for case in cases}))


def pooled(cases: Sequence[Case]) -> Run:
    with open_checker() as checker:
        elaborate_statements(checker, cases)
        before = spent()
        served_before = served_cpu()
        began = time.perf_counter()
        verdicts, latencies = check_all(checker, cases)
        wall_s = time.perf_counter() - began
        served = served_cpu() - served_before
        return Run(verdicts, latencies, wall_s, spent() - before + served)


def served_cpu() -> float:
    """Processor seconds of the servers and all their children, dead ones too."""
    from proofgym.sandboxes.cgroups import own_cgroups

    return own_cgroups().cpu_s()


def spent() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def overhead(cases: Sequence[Case], checks: int = 100) -> float:
    """Seconds a check takes beyond its own process's life, one at a time, median."""
    right = [case for case in cases if case.kind == "right"][:checks]
    with open_checker() as checker:
        elaborate_statements(checker, right[:1])
        for case in right:
            checker.check(case.statement, case.proof)
        return checker.metrics()["overhead_p50_s"]


def one_process_each(cases: Sequence[Case]) -> Run:
    with open_checker(warm=False) as checker:
        elaborate_statements(checker, cases)
        began = time.perf_counter()
        verdicts, latencies = check_all(checker, cases)
        return Run(verdicts, latencies, time.perf_counter() - began, 0.0)


def server_per_batch(cases: Sequence[Case]) -> Run:
    """A server is started, takes 64 proofs, is ended; then the next."""
    verdicts, latencies, wall_s = [], [], 0.0
    with open_checker() as known:
        elaborate_statements(known, cases)
        for first in range(0, len(cases), 64):
            batch = cases[first : first + 64]
            began = time.perf_counter()
            with open_checker() as checker:
                checker._baselines = known._baselines
                got, times = check_all(checker, batch)
            wall_s += time.perf_counter() - began
            verdicts += got
            latencies += times
    return Run(verdicts, latencies, wall_s, 0.0)


def unexpected(cases: Sequence[Case], verdicts: Sequence[Verdict]) -> int:
    pairs = zip(cases, verdicts, strict=True)
    return sum(verdict.status not in EXPECTED[case.kind] for case, verdict in pairs)


def show(cases: Sequence[Case], pool: Run, alone: Run, batch: Run, ideal_s: float) -> None:
    counts = Counter(
        f"{case.kind}: {verdict.status}" for case, verdict in zip(cases, pool.verdicts, strict=True)
    )
    print(", ".join(f"{number} {what}" for what, number in sorted(counts.items())))
    print(f"{'way':28s}{'proofs':>8s}{'wall s':>9s}{f'for {len(cases)}':>12s}{'x ideal':>9s}")
    rows = [
        ("warm pool", pool),
        ("one process per proof", alone),
        ("server per batch of 64", batch),
    ]
    for name, run in rows:
        whole = run.scaled(len(cases))
        print(
            f"{name:28s}{len(run.verdicts):8d}{run.wall_s:9.1f}{whole:12.1f}{whole / ideal_s:9.2f}"
        )


if __name__ == "__main__":
    main()
