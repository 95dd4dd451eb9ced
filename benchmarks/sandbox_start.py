"""What starting a sandbox costs: each backend cold, and from a pool of prepared ones.

    python benchmarks/sandbox_start.py [--runs 60] [--seconds 5]

Each run executes /bin/true in a fresh sandbox with all its limits, from the call until nothing of
it is left. `spawn` is the reference: the same program without any sandbox. `starts_per_s` is with
one thread a core. `memory_mb` is what the sandbox itself holds while /bin/true's place is taken by
a program that waits. The last line is JSON, by backend: `start_p50_ms, starts_per_s, memory_mb`.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from proofgym.sandboxes import Limits, Sandbox, Workspace
from proofgym.sandboxes.bubblewrap import Bubblewrap
from proofgym.sandboxes.limits_only import LimitsOnly
from proofgym.sandboxes.namespaces import Namespaces
from proofgym.sandboxes.pool_settings import PoolSettings
from proofgym.sandboxes.prepared import command_pool
from proofgym.sandboxes.processes import descendants

TRUE = "/bin/true"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=5.0)
    arguments = parser.parse_args()
    result: dict[str, dict[str, float]] = {}
    result["spawn"] = measure(lambda: subprocess.run([TRUE], check=True), arguments) | {
        "memory_mb": 0.0
    }
    for sandbox in (Bubblewrap(), Namespaces(), LimitsOnly()):
        if sandbox.run([TRUE]).ended_by != "exit":
            print(f"{sandbox.name}: not available here")
            continue
        row = measure(lambda sandbox=sandbox: good(sandbox.run([TRUE])), arguments)
        result[sandbox.name] = row | {"memory_mb": memory_mb(sandbox)}
        result[f"{sandbox.name}, prepared"] = prepared(sandbox, arguments)
    show(result)
    print(json.dumps(result))


def measure(run: Callable[[], object], arguments: argparse.Namespace) -> dict[str, float]:
    run()
    times = []
    for _ in range(arguments.runs):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return {
        "start_p50_ms": round(statistics.median(times) * 1000, 2),
        "starts_per_s": round(rate(run, arguments.seconds), 1),
    }


def rate(run: Callable[[], object], seconds: float) -> float:
    """Runs a second with one thread a core."""
    end = time.monotonic() + seconds

    def loop(_: int) -> int:
        count = 0
        while time.monotonic() < end:
            run()
            count += 1
        return count

    cores = os.cpu_count() or 1
    with ThreadPoolExecutor(cores) as threads:
        return sum(threads.map(loop, range(cores))) / seconds


def prepared(sandbox: Sandbox, arguments: argparse.Namespace) -> dict[str, float]:
    """The same through a pool: latency with time to prepare in between, then as fast as it goes."""
    limits = Limits()
    pool = command_pool(sandbox, limits, settings=PoolSettings(smallest=4, largest=8))
    try:
        pool.prepare(4)
        work = Workspace(sandbox, limits, pool=pool)
        times = []
        for _ in range(max(10, arguments.runs // 3)):
            time.sleep(0.1)
            began = time.perf_counter()
            good(work.run([TRUE]))
            times.append(time.perf_counter() - began)
        fast = rate(
            lambda: good(Workspace(sandbox, limits, pool=pool).run([TRUE])), arguments.seconds
        )
    finally:
        pool.close()
    return {
        "start_p50_ms": round(statistics.median(times) * 1000, 2),
        "starts_per_s": round(fast, 1),
        "memory_mb": memory_mb(sandbox),
    }


def good(outcome: object) -> None:
    ended_by, status = outcome.ended_by, outcome.status  # type: ignore[attr-defined]
    if (ended_by, status) != ("exit", 0):
        raise SystemExit(f"a run failed: {outcome}")


def memory_mb(sandbox: Sandbox) -> float:
    """Proportional memory of all processes of one sandbox, the waiting program's own included."""
    ours, theirs = socket.socketpair()
    before = set(descendants(os.getpid()))
    service = sandbox.serve(
        ["/bin/sh", "-c", f"read -r _ <&{theirs.fileno()}"],
        channel=theirs.fileno(),
        limits=Limits(wall_s=60),
    )
    threading.Event().wait(0.3)
    held = sum(map(proportional_kb, set(descendants(os.getpid())) - before))
    service.close()
    ours.close()
    theirs.close()
    return round(held / 1024, 2)


def proportional_kb(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def show(result: dict[str, dict[str, float]]) -> None:
    print(f"{'backend':24s}{'p50 ms':>10s}{'starts/s':>10s}{'MB':>8s}{'x spawn':>10s}")
    reference = result["spawn"]["start_p50_ms"]
    for name, row in result.items():
        print(
            f"{name:24s}{row['start_p50_ms']:10.2f}{row['starts_per_s']:10.1f}"
            f"{row['memory_mb']:8.2f}{row['start_p50_ms'] / reference:10.1f}"
        )


if __name__ == "__main__":
    main()
