"""What each level of the Lean checker costs, on the held-out reference proofs of lean_core.

    python benchmarks/lean_levels.py [--limit 40]

Each proof is checked once at each level, the statements before and not counted. Prints a table,
and one JSON line last.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

from proofgym import tasks
from proofgym.lean.checker import LeanChecker
from proofgym.lean.toolchain import find_toolchain
from proofgym.sandboxes import choose_sandbox
from proofgym.types import LEVELS

HELD_OUT = Path(tasks.__file__).parent / "data/lean_core/heldout.jsonl"


def measure(level: str, pairs: list[tuple[str, str]]) -> dict[str, float]:
    with LeanChecker(find_toolchain("embedded"), choose_sandbox(), level=level) as checker:
        for statement, _ in pairs:
            checker.check_statement(statement)
        walls, verdicts = [], []
        for pair in pairs:
            began = time.perf_counter()
            verdicts.append(checker.check(*pair))
            walls.append(time.perf_counter() - began)
    return {
        "passed": sum(it.status == "passed" for it in verdicts),
        "wall_p50_ms": 1000 * statistics.median(walls),
        "cpu_p50_ms": 1000 * statistics.median(it.detail["cpu_s"] for it in verdicts),
        "wall_max_ms": 1000 * max(walls),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=int, help="only so many proofs")
    limit = parser.parse_args().limit
    rows = [json.loads(line) for line in HELD_OUT.read_text(encoding="utf-8").splitlines()]
    pairs = [(row["statement"], row["proof"]) for row in rows[:limit]]
    print(f"{len(pairs)} proofs\n{'level':10s} passed  wall p50   cpu p50  wall max  (ms)")
    results = {}
    for level in LEVELS:
        row = results[level] = measure(level, pairs)
        shown = "".join(f"{row[key]:10.0f}" for key in ("wall_p50_ms", "cpu_p50_ms", "wall_max_ms"))
        print(f"{level:10s} {row['passed']:6.0f}{shown}", flush=True)
    flat = {
        f"{level}_{key}": round(it, 1) for level, row in results.items() for key, it in row.items()
    }
    ratio = results["kernel"]["cpu_p50_ms"] / results["audit"]["cpu_p50_ms"]
    print(json.dumps({"proofs": len(pairs), **flat, "kernel_to_audit_cpu": round(ratio, 1)}))


if __name__ == "__main__":
    main()
