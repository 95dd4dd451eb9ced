"""The last resort: no namespaces, as in most containers. Limits, a system-call filter, Landlock.

Much weaker than the other backends where the kernel has no Landlock (Linux 5.13; version 6 of
its interface, Linux 6.12, for signals): then the program can read what its user can read.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from proofgym.sandboxes import seccomp
from proofgym.sandboxes.cgroups import own_cgroups
from proofgym.sandboxes.namespaces import SPEC, launch, user_to_become, visible
from proofgym.sandboxes.sandbox import DEVICES, SYSTEM_PATHS, Job, Outcome, Sandbox, infrastructure
from proofgym.sandboxes.spawn import execute

_LANDLOCK_CREATE = 444


class LimitsOnly(Sandbox):
    """Runs programs beside everything else on this machine, within limits."""

    name = "limits_only"
    own_processes = False

    @property
    def protections(self) -> frozenset[str]:
        found = {"privileges"} | own_cgroups().covers
        if seccomp.supported():
            found |= {"syscalls", "network"}
        if landlock_version() >= 3:
            found |= {"filesystem"}
        if landlock_version() >= 6:  # the program cannot signal the launcher that ends its tree
            found |= {"process_tree", "orphans", "processes_hidden"}
        return frozenset(found)

    def _run(self, job: Job) -> Outcome:
        if not seccomp.supported():
            return infrastructure("only Linux on x86-64 or aarch64 has this backend")
        shown = visible(job.read_only)
        # Its scratch folder too must be where another user gets to.
        drop_to = user_to_become([job.argv[0], *shown, tempfile.gettempdir()])
        try:
            scratch = _make_scratch(job.files, drop_to)
        except OSError as error:
            return infrastructure(f"no scratch folder: {error}")
        spec = {
            "mode": "limits_only",
            "argv": list(job.argv),
            "env": job.environment(scratch),
            "read_only": shown + [path for path in SYSTEM_PATHS if os.path.islink(path)],
            "devices": [path for path in DEVICES if os.path.exists(path)],
            "scratch": scratch,
            "drop_to": drop_to,
            "landlock": landlock_version(),
            "seccomp": seccomp.filter_bytes(network=False),
        }
        try:
            return execute(
                lambda plumbing: launch(plumbing, spec),
                replace(job, files={}),  # they are in the scratch folder already
                more={SPEC: b""},
                kill_below=True,
            )
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


@cache
def landlock_version() -> int:
    """The kernel's Landlock interface; 0 if it has none or it is turned off."""
    libc = ctypes.CDLL(None, use_errno=True)
    return max(0, libc.syscall(_LANDLOCK_CREATE, None, 0, 1))


@cache
def _sweep() -> None:
    """Remove what processes left that died between making a folder and starting its launcher.
    Only after a day: a process that we cannot see may share the folder for temporary files."""
    for folder in Path(tempfile.gettempdir()).glob("proofgym-*-*"):
        owner = folder.name.split("-")[1]
        with contextlib.suppress(OSError):
            old = time.time() - folder.stat().st_mtime > 24 * 3600
            if old and owner.isdigit() and not Path("/proc", owner).exists():
                shutil.rmtree(folder)


def _make_scratch(files: Mapping[str, bytes], owner: int | None) -> str:
    _sweep()
    scratch = tempfile.mkdtemp(prefix=f"proofgym-{os.getpid()}-")
    try:
        _fill(scratch, files, owner)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    return scratch


def _fill(scratch: str, files: Mapping[str, bytes], owner: int | None) -> None:
    for name, data in files.items():
        path = Path(scratch, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    if owner is not None:
        for folder, _, names in os.walk(scratch):
            for entry in (folder, *(os.path.join(folder, name) for name in names)):
                os.chown(entry, owner, owner)
