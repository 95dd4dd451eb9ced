"""One run of a comparison, in a process of its own that ends with the one that started it."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from proofgym.comparison.gpus import VISIBLE
from proofgym.errors import ConfigError, ProofgymError, TaskError
from proofgym.memory import is_full

HOPELESS = 3
"""The exit status where another try would fail as well."""
FULL = 4
"""The exit status where memory ran out."""
_F_SETSIG = 10  # of Linux's fcntl.h; the module fcntl has no name for it


def work(
    file: Path,
    overrides: Sequence[str],
    directory: Path,
    name: str,
    log: Path,
    gpus: Sequence[str],
) -> None:
    """The process: start or continue the run `name`; everything it prints goes to `log`. It sees
    `gpus` alone, if any are named."""
    if gpus:
        os.environ[VISIBLE] = ",".join(gpus)
    os.setsid()  # Ctrl-C comes from the parent, once
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _end_with_parent()
    with log.open("ab") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    try:
        carry_out(file, overrides, directory, name)
    except ProofgymError as error:
        print(f"{error.boundary}: {' '.join(str(error).split())}", file=sys.stderr, flush=True)
        sys.exit(_status(error, 2))
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        traceback.print_exc()
        sys.exit(_status(error, 1))


def _status(error: Exception, otherwise: int) -> int:
    if isinstance(error, ConfigError | TaskError):
        return HOPELESS
    return FULL if is_full(error) else otherwise


def _end_with_parent() -> None:
    """Die with the process that compares, at once. (PR_SET_PDEATHSIG would only tell of the fork
    server, which lives as long as we do.)"""
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    if sys.platform == "linux":
        # The kernel kills us when the pipe that the parent holds open closes. A thread of ours may
        # have to wait for seconds: while Numba compiles, no other Python code runs.
        pipe = parent.sentinel
        fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(pipe, _F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)
    threading.Thread(target=_follow, args=(parent,), daemon=True).start()


def _follow(parent: Any) -> None:
    """Where the kernel does not do it, or the parent ended before it was asked to."""
    parent.join()
    os.kill(os.getpid(), signal.SIGKILL)


def carry_out(file: Path, overrides: Sequence[str], directory: Path, name: str) -> None:
    """When this returns the run is finished."""
    from proofgym.comparison.file import load
    from proofgym.comparison.plan import plan
    from proofgym.run_directory import RunDirectory

    (run,) = [it for it in plan(load(file, overrides), directory) if it.id == name]
    if run.begun:
        run.job.resume(RunDirectory.open(run.path.parent, str(run.path)))
    else:
        run.job.begin(RunDirectory.make(run.path), control=run.variant.control)
