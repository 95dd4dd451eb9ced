"""What one short check costs by the way in which Lean is started: processor milliseconds, median.

    python benchmarks/lean_start.py [--checks 100]

Three ways, on the same files, one at a time, in turns so that other work on the machine meets all:
a cold process, a fork that starts Lean by its `main` (with a snapshot of the header), and a fork
that has the header in memory; each for an empty file and for a right proof of a held-out theorem.
The last line is JSON: `empty_ms` and `proof_ms` of each way, and `vs_main`, how many times less
processor time a proof takes with the header in memory than by Lean's `main`.
"""

from __future__ import annotations

import argparse
import json
import statistics
from unittest import mock

from proofgym.lean import header
from proofgym.lean.assembly import assemble_check
from proofgym.lean.checker import LEAN_LIMITS
from proofgym.lean.runner import ColdRunner, Runner
from proofgym.lean.statement import parse_statement
from proofgym.lean.toolchain import find_toolchain
from proofgym.lean.warm import WarmRunner
from proofgym.sandboxes import choose_sandbox
from proofgym.tasks.lean_core import lean_core


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checks", type=int, default=100)
    count = parser.parse_args().checks
    family = lean_core("heldout")
    answers = family.reference_proofs()
    proofs = [
        assemble_check("", parse_statement(it.data["statement"]), answers[it.name]).source.encode()
        for it in family.load()[:count]
    ]
    runners = make_runners()
    times: dict[str, dict[str, list[float]]] = {
        name: {"empty": [], "proof": []} for name in runners
    }
    for number, proof in enumerate(proofs):
        for name, runner in runners.items():
            if name == "cold process" and number >= count // 5:
                continue
            times[name]["empty"].append(milliseconds(runner, b""))
            times[name]["proof"].append(milliseconds(runner, proof))
    for runner in runners.values():
        runner.close()
    show(times)


def make_runners() -> dict[str, Runner]:
    toolchain, sandbox = find_toolchain("embedded"), choose_sandbox()

    def warm() -> WarmRunner:
        runner = WarmRunner(toolchain, sandbox, LEAN_LIMITS, workers=1)
        runner.run(b"", LEAN_LIMITS)
        return runner

    with mock.patch.object(header, "SUPPORTED", ()):
        by_main = warm()
    in_memory = warm()
    if by_main.metrics()["header_in_memory"] or not in_memory.metrics()["header_in_memory"]:
        raise SystemExit("the two ways cannot be compared with this Lean")
    return {
        "cold process": ColdRunner(toolchain, sandbox),
        "fork, Lean's main": by_main,
        "fork, header in memory": in_memory,
    }


def milliseconds(runner: Runner, source: bytes) -> float:
    outcome = runner.run(source, LEAN_LIMITS)
    assert (outcome.ended_by, outcome.status) == ("exit", 0), outcome
    return 1000 * outcome.cpu_s


def show(times: dict[str, dict[str, list[float]]]) -> None:
    print(f"{'processor ms, median':28s}{'empty file':>12s}{'a proof':>10s}")
    medians = {
        name: {what: round(statistics.median(values), 1) for what, values in both.items()}
        for name, both in times.items()
    }
    for name, both in medians.items():
        print(f"{name:28s}{both['empty']:12.1f}{both['proof']:10.1f}")
    result = {
        "empty_ms": {name: both["empty"] for name, both in medians.items()},
        "proof_ms": {name: both["proof"] for name, both in medians.items()},
        "vs_main": round(
            medians["fork, Lean's main"]["proof"] / medians["fork, header in memory"]["proof"], 2
        ),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
