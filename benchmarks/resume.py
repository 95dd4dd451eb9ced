"""Kill training with SIGKILL at random moments, resume it, and compare the final weights.

    python benchmarks/resume.py [--kills 10]

Trains the job of examples/prove.py in real processes: once undisturbed, once killed again and
again at random. The last line is JSON: `kills`, `identical`, both digests, processes left over.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXAMPLE = Path(__file__).parent.parent / "examples" / "prove.py"
SMALL = ["algorithm.population=8", "algorithm.prompts=12", "sampling.max_tokens=32"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        iterations = 5 * arguments.kills
        say(f"undisturbed: {iterations} iterations")
        start(root / "calm", iterations).wait()
        calm = digest(root / "calm")
        kills = disturb(root / "killed", iterations, arguments.kills, random.Random(arguments.seed))
        killed = digest(root / "killed")
    result = {
        "kills": kills,
        "identical": calm == killed,
        "undisturbed": calm,
        "killed": killed,
        "left_over": len(leftovers()),
    }
    print(json.dumps(result))
    sys.exit(0 if result["identical"] and kills >= arguments.kills else 1)


def disturb(root: Path, iterations: int, wanted: int, draw: random.Random) -> int:
    """Kill at random moments until `wanted` kills hit a live run, then let it finish."""
    process, kills = start(root, iterations), 0
    while kills < wanted:
        # One kill in five falls while the program starts, the others while it trains.
        launched, early = time.time(), draw.random() < 0.2
        while not early and not trains(root, launched) and process.poll() is None:
            time.sleep(0.05)
        time.sleep(draw.uniform(0, 5))
        if process.poll() is not None:
            break  # finished before enough kills: reported as it is
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        kills += 1
        say(f"kill {kills}/{wanted}: {durable(root)} iterations recorded")
        process = resume(root) if any(root.glob("*/history.pges")) else start(root, iterations)
    process.wait()
    return kills


def start(root: Path, iterations: int) -> subprocess.Popen[bytes]:
    sets = [item for text in [*SMALL, f"iterations={iterations}"] for item in ("--set", text)]
    return proofgym("train", str(EXAMPLE), *sets, "--runs", str(root))


def resume(root: Path) -> subprocess.Popen[bytes]:
    run = max(root.glob("*/history.pges")).parent
    return proofgym("resume", str(run), "--runs", str(root))


def digest(root: Path) -> str:
    run = max(root.glob("*/history.pges")).parent
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "proofgym", "export", str(run), "--to", f"{folder}/model"]
        return subprocess.check_output(command, text=True).split()[-1]


def durable(root: Path) -> int:
    found = sorted(root.glob("*/events.jsonl"))
    lines = found[-1].read_text().splitlines() if found else []
    return sum(line.startswith('{"event": "iteration"') for line in lines)


def trains(root: Path, launched: float) -> bool:
    """Whether the process launched then has begun to record."""
    return any(path.stat().st_mtime > launched for path in root.glob("*/events.jsonl"))


def proofgym(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "proofgym", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def leftovers() -> list[str]:
    """Command lines of Lean processes still alive."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue  # it ended while we looked
        if "libleanshared" in line:
            found.append(line)
    return found


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
