"""One run of a comparison, in a process of its own that ends with the one that started it:

python -m proofgym.comparison.worker FILE DIRECTORY RUN [field=value ...]
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path

from proofgym.errors import ProofgymError

_PDEATHSIG = 1


def main(file: str, directory: str, name: str, parent: str, *overrides: str) -> None:
    """Start or continue a run; when this returns it is finished."""
    ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):  # it ended before we could ask to be told
        return
    from proofgym.comparison.file import load
    from proofgym.comparison.plan import plan
    from proofgym.run_directory import RunDirectory

    (run,) = [it for it in plan(load(Path(file), overrides), Path(directory)) if it.id == name]
    if run.finished:
        return
    if run.begun:
        run.job.resume(RunDirectory.open(run.path.parent, str(run.path)))
    else:
        run.job.begin(RunDirectory.make(run.path), control=run.variant.control)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except ProofgymError as error:
        print(f"{error.boundary}: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
