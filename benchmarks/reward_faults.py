"""Everything that user code can do wrong, in real runs: is each fault put down to its own attempt?

    python benchmarks/reward_faults.py [--seconds 8]

Three runs of GRPO on a tiny model, with a sync reward, an async reward and an episode. Every task
is one fault, attempted twice, among healthy ones. A case counts as attributed when both of its
attempts have the right kind of no score (or the score that is due) and a message; the healthy tasks
must all have their score, no process may be left, and this process's memory may not grow by what
floods it. `--seconds` is the deadline of a reward and of an episode. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import fault_cases
from fault_cases import ANY, AWAITING, EPISODE, FINE

from proofgym import GRPO, Episodes, Job, Local, Reward, Sampling
from proofgym.sandboxes.processes import descendants
from proofgym.tasks import from_jsonl
from proofgym.training import train  # noqa: F401  loaded before memory is measured

HEALTHY = 24


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0)
    seconds = parser.parse_args().seconds
    runs: dict[str, tuple[dict[str, Any], dict[str, str | None]]] = {
        "sync": ({"reward": Reward(fault_cases.reward, timeout=seconds)}, ANY),
        "async": ({"reward": Reward(fault_cases.later, timeout=seconds)}, {**ANY, **AWAITING}),
        "episode": (
            {
                "environment": Episodes(
                    fault_cases.episode, timeout=seconds, stall=seconds, max_turns=6
                )
            },
            {**ANY, **EPISODE},
        ),
    }
    before = set(descendants(os.getpid()))
    # What sampling and training take by themselves.
    play({"environment": Episodes(fault_cases.episode)}, {}, healthy=HEALTHY + len(ANY) + 7)
    cases = attributed = 0
    finished, left, grown = True, 0, 0.0
    for name, (judged, expected) in runs.items():
        memory, began = peak_mb(), time.monotonic()
        lines, reason = play(judged, expected)
        grown = max(grown, peak_mb() - memory)
        right = {case: is_right(case, kind, lines) for case, kind in expected.items()}
        cases, attributed = cases + len(right), attributed + sum(right.values())
        finished = finished and reason == "finished"
        left += len(set(descendants(os.getpid())) - before) + leftovers()
        took = time.monotonic() - began
        print(f"{name}: {sum(right.values())} of {len(right)} in {took:.0f} s, run {reason}")
        print(f"  this process's memory grew by {grown:.0f} MB at most")
        for case in (case for case in right if not right[case]):
            print(f"  WRONG {case}: {[describe(it) for it in lines[case]]}")
    result = {"cases": cases, "attributed": attributed, "finished": finished}
    print(json.dumps(result | {"left_behind": left, "grown_mb": round(grown)}))


def play(
    judged: dict[str, Any], expected: dict[str, str | None], healthy: int = HEALTHY
) -> tuple[dict[str, list[dict[str, Any]]], str]:
    """The attempts of each task after one iteration, by case, and how the run ended."""
    names = [*expected, *(f"healthy {number}" for number in range(healthy))]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tasks.jsonl"
        path.write_text("".join(json.dumps(task(name)) + "\n" for name in names))
        job = Job(
            model="lean-tiny",
            tasks=from_jsonl(path),
            algorithm=GRPO(prompts=len(names), group=2, max_unscored=0.99),
            sampling=Sampling(max_tokens=8),
            cluster=Local(device="cpu"),
            iterations=1,
            **judged,
        )
        run = job.run(Path(folder) / "runs")
        lines: dict[str, list[dict[str, Any]]] = {}
        for line in run.rollouts():
            lines.setdefault(line["task"], []).append(line)
        return lines, run.events()[-1]["reason"]


def task(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "topic": "faults",
        "difficulty": 1,
        "prompt": f"{name}: ",
        "case": "healthy" if name.startswith("healthy") else name,
    }


def is_right(case: str, kind: str | None, lines: dict[str, list[dict[str, Any]]]) -> bool:
    """Whether both attempts, and those of the healthy tasks, came out as they must."""
    if case == "healthy":
        return all(
            line["reward"] == FINE
            for name, found in lines.items()
            if name.startswith("healthy")
            for line in found
        )
    mine = lines[case]
    if kind is None:
        return len(mine) == 2 and all(line["reward"] == FINE for line in mine)
    if kind in ("failed", "timeout"):
        own = [line for line in mine if (line["status"], line["reward"]) == (kind, 0.0)]
        return len(mine) == len(own) == 2 and all("budget exceeded" in it["message"] for it in own)
    lost = [line for line in mine if line.get("fault") == kind and line["reward"] is None]
    return len(mine) == len(lost) == 2 and all(line["message"] for line in lost)


def describe(line: dict[str, Any]) -> str:
    return f"{line['status']} {line['reward']} {line.get('fault')} {line['message'][-200:]!r}"


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def leftovers() -> int:
    """Processes that the cases started and that nobody is the parent of any more."""
    return sum(words[:2] == [b"sleep", b"1000"] for words in command_lines())


def command_lines() -> Iterable[list[bytes]]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                yield (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue


if __name__ == "__main__":
    main()
