"""Does any cheat pass, is any right proof refused? The whole corpus of `tests/cheats`.

    python benchmarks/cheats.py [--threads 2] [--cold]

Prints a table by class (attacks, false accepts, slowest) and of the styles of right proofs. The
last line is JSON: `attacks`, `false_accepts`, `valid`, `false_rejects`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "cheats"))

from attacks import CLASSES
from run import Checkers
from styles import proofs

from proofgym.lean.toolchain import find_toolchain
from proofgym.sandboxes import choose_sandbox
from proofgym.types import Status


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cold", action="store_true", help="a fresh Lean for each check")
    arguments = parser.parse_args()
    warm = False if arguments.cold else None
    with Checkers(find_toolchain("embedded"), choose_sandbox(), warm) as checkers:
        attacks, accepted = run_attacks(checkers, arguments.threads)
        valid, refused = run_valid(checkers, arguments.threads)
    print(
        json.dumps(
            {
                "attacks": attacks,
                "false_accepts": accepted,
                "valid": valid,
                "false_rejects": refused,
            }
        )
    )


def run_attacks(checkers: Checkers, threads: int) -> tuple[int, int]:
    """(attacks, false accepts), with a table by class."""
    print(f"{'class':<26}{'attacks':>8}{'accepted':>9}{'slowest':>9}  ended by")
    total = accepted = 0
    for kind, attacks in CLASSES.items():
        verdicts = checkers.judge_all(attacks, threads)
        bad = [
            attack.name
            for attack, it in zip(attacks, verdicts, strict=True)
            # No score is no false accept, but it is not what an attack may end with either.
            if it.reward != 0.0 or it.status not in attack.ends
        ]
        ends = Counter(it.status.value for it in verdicts)
        slowest = max(it.seconds for it in verdicts)
        shown = ", ".join(f"{name} {count}" for name, count in ends.most_common())
        print(f"{kind:<26}{len(attacks):>8}{len(bad):>9}{slowest:>7.1f} s  {shown}", flush=True)
        for name in bad:
            print(f"    WRONG: {name}")
        total, accepted = total + len(attacks), accepted + len(bad)
    return total, accepted


def run_valid(checkers: Checkers, threads: int) -> tuple[int, int]:
    """(right proofs, false rejects), with a line for each style."""
    rows = proofs()
    verdicts = checkers.get().check_many([row[1:] for row in rows], threads)
    count, wrong = Counter(row[0] for row in rows), Counter[str]()
    for (style, _, proof), verdict in zip(rows, verdicts, strict=True):
        if verdict.status is not Status.PASSED:
            wrong[style] += 1
            print(f"    REFUSED ({style}): {verdict.message[:200]}\n{proof}")
    print(f"\n{'style of right proofs':<26}{'proofs':>8}{'refused':>9}")
    for style, number in count.items():
        print(f"{style:<26}{number:>8}{wrong[style]:>9}")
    return len(rows), sum(wrong.values())


if __name__ == "__main__":
    main()
