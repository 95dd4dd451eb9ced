"""Bubblewrap: namespaces set up by a small, well-known program. The preferred backend.

Traps that this avoids: run by root, bubblewrap keeps every capability unless told to drop them;
its root folder is writable unless remounted; the environment it is started with can be read in
/proc/1/environ inside.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache

from proofgym.sandboxes import seccomp
from proofgym.sandboxes.cgroups import own_cgroups
from proofgym.sandboxes.limits import Limits
from proofgym.sandboxes.sandbox import DEVICES, SYSTEM_PATHS, Job, Outcome, Sandbox, infrastructure
from proofgym.sandboxes.spawn import Plumbing, execute

_OWN = frozenset(
    {"process_tree", "orphans", "network", "filesystem", "processes_hidden", "privileges"}
)
SCRATCH = "/scratch"


class Bubblewrap(Sandbox):
    """Runs programs under `bwrap`. All namespaces, no capabilities, a private scratch folder."""

    name = "bubblewrap"

    def __init__(self, program: str | None = None) -> None:
        found = program or shutil.which("bwrap")
        self._program = os.path.abspath(found) if found else None

    @property
    def protections(self) -> frozenset[str]:
        more = {"scratch"} if self._sizes() else set()
        more |= {"syscalls"} if seccomp.supported() else set()
        return _OWN | own_cgroups().covers | more

    def _run(self, job: Job) -> Outcome:
        if self._program is None:
            return infrastructure("bubblewrap (bwrap) is not installed")
        program = self._program

        def build(plumbing: Plumbing) -> list[str]:
            return [
                program,
                *_isolation(plumbing),
                *_visible(job.read_only),
                *self._scratch(job.limits),
                *_contents(plumbing.files),
                *_environment(job),
                "--",
                *job.argv,
            ]

        hidden = {seccomp.NAME: seccomp.filter_bytes()} if seccomp.supported() else {}
        return execute(build, job, more=hidden)

    def _scratch(self, limits: Limits) -> list[str]:
        size = ["--size", str(limits.scratch_bytes)] if self._sizes() else []
        return [*size, "--perms", "0700", "--tmpfs", SCRATCH, "--chdir", SCRATCH]

    def _sizes(self) -> bool:
        return self._program is not None and "--size" in _help(self._program)


@cache
def _help(program: str) -> str:
    return subprocess.run([program, "--help"], capture_output=True, text=True, timeout=10).stdout


def _isolation(plumbing: Plumbing) -> list[str]:
    status, go = str(plumbing.status), str(plumbing.go)
    pipes = ["--json-status-fd", status, "--block-fd", go]
    filters = ["--seccomp", str(plumbing.files[seccomp.NAME])] if seccomp.supported() else []
    return [
        *("--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"),
        *("--hostname", "sandbox", "--clearenv"),
        *pipes,
        *filters,
    ]


def _visible(read_only: Sequence[str]) -> list[str]:
    options = ["--proc", "/proc"]
    for name in SYSTEM_PATHS:
        if os.path.islink(name):
            options += ["--symlink", os.readlink(name), name]
        elif os.path.exists(name):
            options += ["--ro-bind", name, name]
    for name in DEVICES:
        options += ["--dev-bind-try", name, name]
    for path in read_only:
        options += ["--ro-bind", path, path]
    return options


def _contents(files: Mapping[str, int]) -> list[str]:
    options = []
    for name, fd in files.items():
        if name != seccomp.NAME:
            options += ["--file", str(fd), f"{SCRATCH}/{name}"]
    return [*options, "--remount-ro", "/"]


def _environment(job: Job) -> list[str]:
    options = []
    for name, value in job.environment(SCRATCH).items():
        options += ["--setenv", name, value]
    return options
