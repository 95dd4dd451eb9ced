"""Kills servers, checks and sandboxes at random, under load; counts what that did to the verdicts.

    python benchmarks/faults.py [--seconds 120] [--pause 1]

Proofs whose verdicts are known from a quiet run are checked again and again in the warm pool,
while a random process below this one is killed every `pause` seconds on average: a fork server,
a check's own process, or a process of the sandbox around them. By default the pause is four times
what a start of a server takes here, and half a second at least: where every start is killed there
is nothing to measure. The last line is JSON:
`injected` (kills), `lost` (no verdict), `wrong` (another verdict), `misattributed` (recorded as
a timeout, crash or lack of memory of the attempt), `left_behind` (processes, mounts, control
groups, files, descriptors).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mixed_proofs import LIMITS, Case, mixed

from proofgym.lean.checker import LeanChecker
from proofgym.lean.toolchain import find_toolchain
from proofgym.sandboxes import choose_sandbox
from proofgym.sandboxes.cgroups import own_cgroups
from proofgym.sandboxes.processes import descendants
from proofgym.types import Status

BLAME = {Status.TIMEOUT, Status.CRASHED, Status.OUT_OF_MEMORY}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--pause", type=float, default=0.0)
    arguments = parser.parse_args()
    toolchain, sandbox = find_toolchain("embedded"), choose_sandbox()
    own_cgroups()
    bystanders = set(descendants(os.getpid()))  # the guardian of the control groups
    before = traces(bystanders)
    cases = mixed(60, statements=30, bad=0.0, seed=3)
    counts: Counter[str] = Counter()
    with LeanChecker(toolchain, sandbox, LIMITS, workers=os.cpu_count()) as checker:
        known = {case: checker.check(case.statement, case.proof).status for case in cases}
        pause = arguments.pause or max(0.5, 4 * checker.metrics()["start_p50_s"])
        stop = threading.Event()
        killer = threading.Thread(target=kill, args=(stop, bystanders, pause, counts))
        killer.start()
        try:
            load(checker, known, arguments.seconds, counts)
        finally:
            stop.set()
            killer.join()
        metrics = checker.metrics()
    after = settled(bystanders, before)
    left = {name: after[name] - before[name] for name in after if after[name] != before[name]}
    print(f"{counts['checks']} checks in {arguments.seconds:g} s in {sandbox.name}")
    print(f"kills {pause:.2f} s apart on average")
    for name in sorted(counts):
        print(f"  {name:24s}{counts[name]:8d}")
    print(f"  pool: {metrics}\n  left behind: {left or 'nothing'}")
    names = ("injected", "lost", "wrong", "misattributed")
    result = {name: counts[name] for name in names} | {"left_behind": sum(map(abs, left.values()))}
    print(json.dumps(result))


def load(
    checker: LeanChecker, known: dict[Case, Status], seconds: float, counts: Counter[str]
) -> None:
    """Check from a few threads until the time is over; each proof is different from all before."""
    end = time.monotonic() + seconds
    cases, lock = list(known), threading.Lock()

    def one(thread: int) -> None:
        number = 0
        while time.monotonic() < end:
            case = cases[(number * 7 + thread) % len(cases)]
            number += 1
            verdict = checker.check(case.statement, f"{case.proof} {thread} {number}")
            with lock:
                counts["checks"] += 1
                counts[judge(verdict.status, known[case])] += 1

    threads = (os.cpu_count() or 1) + 1
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(one, range(threads)))


def judge(status: Status, expected: Status) -> str:
    if status is expected:
        return "as expected"
    if status is Status.INFRASTRUCTURE:
        return "lost"
    return "misattributed" if status in BLAME else "wrong"


def kill(stop: threading.Event, bystanders: set[int], pause: float, counts: Counter[str]) -> None:
    chooser = random.Random(0)
    while not stop.wait(chooser.expovariate(1 / pause)):
        kinds: dict[str, list[int]] = {}
        for pid in set(descendants(os.getpid())) - bystanders:
            kinds.setdefault(kind(pid), []).append(pid)
        if not kinds:
            continue
        name = chooser.choice(sorted(kinds))
        try:
            os.kill(chooser.choice(kinds[name]), signal.SIGKILL)
        except ProcessLookupError:
            continue
        counts["injected"] += 1
        counts[f"injected: {name}"] += 1


def kind(pid: int) -> str:
    """A fork server, a check (a child of one), or a process of the sandbox."""
    if not is_server(pid):
        return "sandbox"
    try:
        parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return "sandbox"
    return "check" if is_server(parent) else "server"


def is_server(pid: int) -> bool:
    try:
        return b"forkserver.py" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0", 5)[3]
    except (OSError, IndexError):
        return False


def traces(bystanders: set[int]) -> dict[str, int]:
    places = [place for place, _, _ in os.walk("/sys/fs/cgroup")]
    return {
        "processes": len(set(descendants(os.getpid())) - bystanders),
        "mounts": sum(map(is_ours, Path("/proc/self/mountinfo").read_text().splitlines())),
        "groups": sum(f"/proofgym-{os.getpid()}-" in place for place in places),
        "files": len(list(Path(tempfile.gettempdir()).glob("proofgym-*"))),
        "descriptors": len(os.listdir("/proc/self/fd")),
    }


def is_ours(mount: str) -> bool:
    """Whether a line of mountinfo is of a kind that sandboxes make: others may mount meanwhile."""
    point = mount.split()[4]
    made = ("scratch", "new", "old", "newroot", "oldroot")
    return point.split("/")[1] in made or point == "/tmp" or "proofgym" in mount


def settled(bystanders: set[int], before: dict[str, int]) -> dict[str, int]:
    for _ in range(50):
        if traces(bystanders) == before:
            break
        time.sleep(0.1)
    return traces(bystanders)


if __name__ == "__main__":
    main()
