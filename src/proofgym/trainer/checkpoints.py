"""Checkpoints of gradient training: whole or not there, written while training goes on.

checkpoints/00012/ holds what is needed to go on after 12 iterations: `tensors.safetensors` (trained
weights and the optimiser's moments) and `state.json`. Everything else that a run needs is a
function of its seed, its iteration and its record. `checkpoints/newest.json` says which was written
last, so that a run whose checkpoints are lost is told from one that had none yet.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proofgym.durable import share_files, sync
from proofgym.errors import RunError
from proofgym.run_directory import write_atomically

DIRECTORY = "checkpoints"
_TENSORS, _STATE, _NEWEST = "tensors.safetensors", "state.json", "newest.json"
log = logging.getLogger("proofgym")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One on disk."""

    path: Path
    iteration: int
    state: Mapping[str, Any]

    def require(self, origin: Mapping[str, Any]) -> None:
        """Refuse to go on from it with another origin. Raises RunError with the difference."""
        for name, value in origin.items():
            if self.state.get(name) != value:
                raise RunError(
                    f"{self.path}: its {name} is {self.state.get(name)!r}, this job's is {value!r}"
                    "; resume with what the run was started with"
                )

    def tensors(self, kind: str = "") -> dict[str, Any]:
        """Its tensors on the CPU; with `kind`, only those (`weight`), by bare name."""
        from safetensors import safe_open

        prefix = f"{kind}/" if kind else ""
        with safe_open(self.path / _TENSORS, framework="pt") as file:
            names = [name for name in file.keys() if name.startswith(prefix)]  # noqa: SIM118
            return {name.removeprefix(prefix): file.get_tensor(name) for name in names}


class Checkpoints:
    """The checkpoints of one run; keeps the last `last` and the `best` with the highest score.

    One is due `every` so many iterations; None: so often that writing takes a tenth of the time.
    """

    def __init__(self, directory: Path, last: int, best: int, every: int | None = None) -> None:
        self._every = every
        self.saved = 0
        """The iteration of the newest one, restored or saved; 0 before the first."""
        self._last_save = time.monotonic()
        self.directory, self._last, self._best = directory, last, best
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._pending: Future[float] | None = None
        self.seconds = 0.0
        """What writing the last one took."""
        self.new = not (directory / _NEWEST).exists()
        """Whether no process has kept checkpoints here before."""
        for left in directory.glob(".*.tmp"):  # of a process that was killed
            shutil.rmtree(left, ignore_errors=True)

    def begin(self) -> None:
        """Note that a run has begun: from now on a missing checkpoint is one that never was."""
        if not (self.directory / _NEWEST).exists():
            self._promise(0)

    def latest(self) -> Checkpoint | None:
        """The newest that is whole; None before the first. Raises RunError where all are lost."""
        found = whole(stored(self.directory))
        newest = 0 if self.new else json.loads((self.directory / _NEWEST).read_text())["iteration"]
        if found is None and newest:
            raise RunError(
                f"the checkpoint after iteration {newest} is missing from {self.directory} or "
                "damaged; put it back, or start a new run. Nothing was changed"
            )
        return found

    def due(self, iteration: int) -> bool:
        """Whether to save after so many iterations."""
        if self._every:
            return iteration % self._every == 0
        return self.saved == 0 or time.monotonic() - self._last_save > 10 * self.seconds

    def save(
        self, iteration: int, tensors: Mapping[str, Any], state: Mapping[str, Any], score: float
    ) -> None:
        """Begin to write a checkpoint of the tensors as they are now; waits for the one before.

        Raises RunError where that one could not be written.
        """
        self.wait()
        held = {name: tensor.detach().to("cpu", copy=True) for name, tensor in tensors.items()}
        content = {"format": 1, "iteration": iteration, "score": score, **state}
        self._pending = self._writer.submit(self._write, iteration, held, content)
        if self.saved == 0:  # nothing older to go back to
            self.wait()
        self.saved, self._last_save = iteration, time.monotonic()

    def wait(self) -> None:
        """Until what was saved is durable. Raises RunError where it could not be written."""
        pending, self._pending = self._pending, None
        if pending is None:
            return
        try:
            self.seconds = pending.result()
        except OSError as error:
            raise RunError(
                f"cannot write a checkpoint in {self.directory}: {error.strerror or error}. Free "
                "some space and resume"
            ) from error

    def close(self) -> None:
        try:
            self.wait()
        finally:
            self._writer.shutdown()

    def _write(
        self, iteration: int, tensors: Mapping[str, Any], content: Mapping[str, Any]
    ) -> float:
        from safetensors import SafetensorError
        from safetensors.torch import save_file

        from proofgym.model_cache import file_sha256

        began = time.monotonic()
        final = self.directory / f"{iteration:05d}"
        scratch = self.directory / f".{final.name}.{os.getpid()}.tmp"
        scratch.mkdir(parents=True)
        try:
            save_file(dict(tensors), scratch / _TENSORS)
            state = {**content, "sha256": file_sha256(scratch / _TENSORS)}
            (scratch / _STATE).write_text(json.dumps(state, indent=1) + "\n")
            share_files(scratch)
            for path in (scratch / _TENSORS, scratch / _STATE, scratch):
                sync(path)
            if final.exists():  # of the same iteration, before a resume: worth no less
                final.replace(scratch.with_name(f".{final.name}.old.tmp"))
            scratch.replace(final)
            shutil.rmtree(scratch.with_name(f".{final.name}.old.tmp"), ignore_errors=True)
            sync(self.directory)
            self._promise(iteration)
        except SafetensorError as error:
            raise OSError(str(error)) from error
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        self._prune()
        return time.monotonic() - began

    def _promise(self, iteration: int) -> None:
        text = json.dumps({"iteration": iteration}) + "\n"
        write_atomically(self.directory / _NEWEST, text.encode())

    def _prune(self) -> None:
        found = stored(self.directory)
        newest = found[-self._last :]
        best = sorted(found, key=lambda it: (it.state["score"], it.iteration))[-self._best :]
        kept = {it.iteration for it in newest + (best if self._best else [])}
        for checkpoint in found:
            if checkpoint.iteration not in kept:
                shutil.rmtree(checkpoint.path, ignore_errors=True)


def stored(directory: Path) -> list[Checkpoint]:
    """The checkpoints in a directory, oldest first. What cannot be read is named and left out;
    `whole` looks at the tensors."""
    found = []
    for path in sorted(directory.glob("[0-9]*"), key=lambda path: int(path.name)):
        try:
            state = json.loads((path / _STATE).read_text())
            found.append(Checkpoint(path, state["iteration"], state))
        except (OSError, ValueError, KeyError) as error:
            log.warning("checkpoint %s is damaged and not used: %s", path, error)
    return found


def whole(found: Sequence[Checkpoint]) -> Checkpoint | None:
    """The newest whose tensors are as they were written; the damaged ones after it are named."""
    from proofgym.model_cache import file_sha256

    for checkpoint in reversed(found):
        try:
            if file_sha256(checkpoint.path / _TENSORS) == checkpoint.state["sha256"]:
                return checkpoint
            problem = f"{_TENSORS} is not what was written"
        except (OSError, KeyError) as error:
            problem = str(error)
        log.warning("checkpoint %s is damaged and not used: %s", checkpoint.path, problem)
    return None
