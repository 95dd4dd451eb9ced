"""Linux namespaces without any other program: the launcher script makes them itself.

For machines without bubblewrap where this process is root or user namespaces are allowed.
Run by root, the program becomes the user nobody where everyone may read what it needs;
otherwise it keeps the user's id, without any capability. Needs Linux 5.12 or later.
"""

from __future__ import annotations

import marshal
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from proofgym.sandboxes import seccomp
from proofgym.sandboxes.cgroups import own_cgroups
from proofgym.sandboxes.sandbox import DEVICES, SYSTEM_PATHS, Job, Outcome, Sandbox, infrastructure
from proofgym.sandboxes.spawn import Plumbing, execute

LAUNCHER = Path(__file__).parent / "launcher.py"
SPEC = ".specification"  # the key of the specification among the descriptors
_NOBODY = 65534
_OWN = frozenset(
    {
        *("process_tree", "orphans", "network", "filesystem", "processes_hidden"),
        *("privileges", "scratch"),
    }
)


class Namespaces(Sandbox):
    """Runs programs in namespaces of their own, with a private scratch folder."""

    name = "namespaces"

    @property
    def protections(self) -> frozenset[str]:
        more = {"syscalls"} if seccomp.supported() else set()
        return _OWN | own_cgroups().covers | more

    def _run(self, job: Job) -> Outcome:
        if not sys.platform.startswith("linux") or platform.machine() not in ("x86_64", "aarch64"):
            return infrastructure("only Linux on x86-64 or aarch64 has this backend")
        spec = {
            "mode": "namespaces",
            "argv": list(job.argv),
            "env": job.environment("/scratch"),
            "drop_to": user_to_become([job.argv[0], *visible(job.read_only)]),
            "symlinks": {path: os.readlink(path) for path in SYSTEM_PATHS if os.path.islink(path)},
            "read_only": visible(job.read_only),
            "devices": [path for path in DEVICES if os.path.exists(path)],
            "scratch_bytes": job.limits.scratch_bytes,
            "seccomp": seccomp.filter_bytes() if seccomp.supported() else b"",
        }
        return execute(
            lambda plumbing: launch(plumbing, {**spec, "files": _own(plumbing)}),
            job,
            more={SPEC: b""},
        )


def _own(plumbing: Plumbing) -> dict[str, int]:
    return {name: fd for name, fd in plumbing.files.items() if name != SPEC}


def launch(plumbing: Plumbing, spec: Mapping[str, object]) -> list[str]:
    """The launcher's command; the specification goes into the descriptor kept for it."""
    fd = plumbing.files[SPEC]
    view = memoryview(marshal.dumps(dict(spec)))
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    python = os.path.realpath(sys.executable)
    numbers = (fd, plumbing.status, plumbing.go)
    return [python, "-I", "-S", str(LAUNCHER), *map(str, numbers)]


def user_to_become(paths: Sequence[str]) -> int | None:
    """The user that root hands the program to: nobody, or None (itself, without capabilities)
    where not everyone may read what the program needs."""
    return _NOBODY if os.geteuid() == 0 and _others_may_read(paths) else None


def _others_may_read(paths: Sequence[str]) -> bool:
    """Whether any user may reach these, so that root can hand the program to nobody."""
    for path in paths:
        whole = Path(os.path.realpath(path))
        if any(not parent.stat().st_mode & 0o001 for parent in whole.parents):
            return False
        if not whole.stat().st_mode & (0o001 if whole.is_dir() else 0o004):
            return False
    return True


def visible(read_only: Sequence[str]) -> list[str]:
    """What the program may read: existing system paths that are no links, and the named ones."""
    system = [path for path in SYSTEM_PATHS if os.path.exists(path) and not os.path.islink(path)]
    return [*system, *read_only]
