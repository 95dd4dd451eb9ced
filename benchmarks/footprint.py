"""What the demo costs: import time, peak memory, seconds per phase, share outside generation.

    python benchmarks/footprint.py [--iterations 4] [--limit 40]

Runs the real demo, shortened by default (0 means its own full length). The last line is JSON:
`import_s`, `peak_gb`, `phases` (seconds), `outside_generation` (share of the training time).
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLE = Path(__file__).parent.parent / "examples" / "prove.py"
IMPORT = "import time; t = time.perf_counter(); import proofgym; print(time.perf_counter() - t)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=4)
    parser.add_argument("--limit", type=int, default=40)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "proofgym", "demo", str(EXAMPLE), "--runs", folder]
        if arguments.iterations:
            command += ["--set", f"iterations={arguments.iterations}"]
        if arguments.limit:
            command += ["--limit", str(arguments.limit)]
        summary = json.loads(subprocess.check_output(command, text=True).splitlines()[-1])
        phases = training_phases(Path(folder) / summary["run"] / "events.jsonl")
    total = sum(phases.values())
    result = {
        "import_s": import_seconds(),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20, 2),
        "phases": {name: round(value, 2) for name, value in phases.items()},
        "outside_generation": round(1 - phases.get("generate", 0) / total, 4),
        "demo_s": summary["seconds"],
    }
    print(json.dumps(result))


def import_seconds() -> float:
    runs = [float(subprocess.check_output([sys.executable, "-c", IMPORT])) for _ in range(5)]
    return round(sorted(runs)[2], 4)


def training_phases(events: Path) -> dict[str, float]:
    totals: dict[str, float] = {}
    for line in events.read_text().splitlines():
        event = json.loads(line)
        for name, value in event.items():
            if event["event"] == "iteration" and name.endswith("_s"):
                totals[name[:-2]] = totals.get(name[:-2], 0.0) + value
    return totals


if __name__ == "__main__":
    main()
