"""One run of a comparison, in a process of its own that ends with the one that started it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from pathlib import Path

from proofgym.errors import ProofgymError


def work(file: Path, overrides: Sequence[str], directory: Path, name: str, log: Path) -> None:
    """The process: start or continue the run `name`; everything it prints goes to `log`."""
    os.setsid()  # Ctrl-C comes from the parent, once
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with log.open("ab") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    try:
        carry_out(file, overrides, directory, name)
    except ProofgymError as error:
        print(f"{error.boundary}: {error}", file=sys.stderr, flush=True)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception:
        traceback.print_exc()
        sys.exit(1)


def _end_with_parent() -> None:
    """Die with the process that compares; the kernel would only tell of the fork server, which
    lives as long as we do."""
    parent = multiprocessing.parent_process()
    if parent is not None:
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
