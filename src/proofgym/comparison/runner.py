"""Carries out the runs of a comparison, several at once, each in a process of its own.

The processes are forked from a server that has imported what they need and done nothing else, so
that many small runs do not each load PyTorch, and none inherits a thread or a GPU.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

from proofgym.comparison.gpus import Gpus, wanted
from proofgym.comparison.plan import PlannedRun
from proofgym.comparison.worker import FULL, HOPELESS, work
from proofgym.progress import Progress
from proofgym.training import say

STARTS = "starts.jsonl"
_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(["proofgym.comparison.preload"])
_LOOK_S = 0.3
_STOP_S = 60.0  # for a run that was asked to stop to end by itself


@dataclass
class _Running:
    run: PlannedRun
    process: BaseProcess
    began: float
    gpus: tuple[str, ...]


class Runner:
    """Starts what is not finished, again what failed, and shows how far all is."""

    def __init__(
        self,
        runs: Sequence[PlannedRun],
        file: Path,
        directory: Path,
        overrides: Sequence[str],
        retries: int,
    ) -> None:
        self._runs, self._file, self._directory = runs, file, directory
        self._overrides, self._retries = overrides, retries
        self._tries = {run.id: 0 for run in runs}
        self._running: list[_Running] = []
        self._gpus = Gpus()
        self._jobs = 1
        self.failed: list[PlannedRun] = []
        """Those that were given up."""

    def carry_out(self, jobs: int) -> None:
        """Until every run is finished or given up; `jobs` at a time, or fewer where memory is too
        small for as many."""
        self._jobs = jobs
        waiting = [run for run in self._runs if not run.finished]
        budget = self._runs[0].job.budget
        total = round(budget.amount * len(self._runs))
        with Progress("comparing", total, "tokens" if budget.kind == "tokens" else "s") as progress:
            try:
                while waiting or self._running:
                    while waiting and len(self._running) < self._jobs:
                        self._start(waiting.pop(0))
                    time.sleep(_LOOK_S)
                    waiting += self._ended()
                    self._show(progress, len(waiting))
            finally:
                self._stop()

    def _start(self, run: PlannedRun) -> None:
        self._tries[run.id] += 1
        run.path.parent.mkdir(parents=True, exist_ok=True)
        gpus = self._gpus.take(wanted(run.job.cluster))
        process = _SERVER.Process(
            target=work,
            args=(self._file, self._overrides, self._directory, run.id, _log(run).resolve(), gpus),
            name=run.id,
        )
        process.start()
        self._running.append(_Running(run, process, time.time(), gpus))

    def _ended(self) -> list[PlannedRun]:
        """Take note of processes that ended; returns runs to be started again."""
        again = []
        for item in [it for it in self._running if not it.process.is_alive()]:
            self._running.remove(item)
            self._gpus.give_back(item.gpus)
            run, code = item.run, item.process.exitcode
            error = "" if run.finished else _last_line(_log(run)) or f"ended with {code}"
            self._note(item, error)
            if not error:
                say(f"{run.id}: finished")
            elif code == FULL and self._running:
                self._crowded(run)
                again.append(run)
            elif self._tries[run.id] <= self._retries and code != HOPELESS:
                say(f"{run.id}: try {self._tries[run.id]} failed ({error}); starting it again")
                again.append(run)
            else:
                tried = self._tries[run.id]
                words = "1 try" if tried == 1 else f"{tried} tries"
                say(f"{run.id}: given up after {words}: {error}")
                self.failed.append(run)
        return again

    def _crowded(self, run: PlannedRun) -> None:
        """Memory did not hold one more run: no fault of this one's, which goes on later."""
        self._tries[run.id] -= 1
        self._jobs = max(1, min(self._jobs - 1, len(self._running)))
        say(f"{run.id}: out of memory beside the others; from now on {self._jobs} at a time")

    def _note(self, item: _Running, error: str) -> None:
        """One line on a start of a run, durable before anything follows from it."""
        line = {
            "run": item.run.id,
            "began": round(item.began, 3),
            "seconds": round(time.time() - item.began, 3),
            "code": item.process.exitcode,
            "error": error,
        }
        with (self._directory / STARTS).open("a") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _show(self, progress: Progress, waiting: int) -> None:
        spent = round(sum(run.spent() for run in self._runs))
        shares = [
            f"{it.run.id} {it.run.spent() / it.run.job.budget.amount:.0%}" for it in self._running
        ]
        done = sum(run.finished for run in self._runs)
        note = f"{done}/{len(self._runs)} runs done; {', '.join(shares) or 'none running'}"
        note += f"; {waiting} waiting" if waiting else ""
        note += f"; {len(self.failed)} failed" if self.failed else ""
        progress.advance(spent - progress.done, note)

    def _stop(self) -> None:
        """End what is still running: politely, then at once."""
        for item in self._running:
            if item.process.is_alive() and item.process.pid:
                os.kill(item.process.pid, signal.SIGINT)
        deadline = time.monotonic() + _STOP_S
        for item in self._running:
            item.process.join(max(0.1, deadline - time.monotonic()))
            if item.process.is_alive():
                item.process.kill()
                item.process.join()
        self._running.clear()


def starts(directory: Path) -> list[dict[str, object]]:
    """Every start of a run, and how it ended; a line torn by a crash is left out."""
    path = directory / STARTS
    found = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def _log(run: PlannedRun) -> Path:
    return run.path.with_suffix(".log")


def _last_line(path: Path) -> str:
    lines = path.read_text(errors="replace").strip().splitlines() if path.exists() else []
    return lines[-1].strip()[:300] if lines else ""
