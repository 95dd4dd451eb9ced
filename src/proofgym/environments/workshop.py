"""Where the programs and proofs of episodes run: sandboxes that are started on first use."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from proofgym.environments.score import to_plain
from proofgym.errors import ProofgymError, SandboxError, TaskError
from proofgym.sandboxes.cancellation import Cancellation
from proofgym.sandboxes.limits import Limits
from proofgym.types import Status

Answer = Callable[[str, Any], None]
"""Takes a kind (`value`, or an exception's name) and the value."""


class Workshop:
    """Does what episodes ask for, at most `workers` things at once."""

    def __init__(self, limits: Limits, lean: Any, require: tuple[str, ...], workers: int) -> None:
        self._limits, self._lean, self._require = limits, lean, require
        self._workers = max(1, workers)
        self._threads = ThreadPoolExecutor(self._workers, thread_name_prefix="episode-sandbox")
        self._lock = threading.Lock()
        self._commands: Any = None
        self._judge: Any = None

    def open_bench(self) -> Bench:
        """A place for one episode."""
        return Bench(self)

    def submit(self, work: Callable[[], Any], answer: Answer) -> None:
        self._threads.submit(_answered, work, answer)

    def workspace(self) -> Any:
        """Files, and ready sandboxes for commands on them."""
        from proofgym.sandboxes import Workspace, choose_sandbox
        from proofgym.sandboxes.pool_settings import PoolSettings
        from proofgym.sandboxes.prepared import command_pool

        with self._lock:
            if self._commands is None:
                sandbox = choose_sandbox(self._require)
                settings = PoolSettings(largest=self._workers + 2)
                self._commands = sandbox, command_pool(sandbox, self._limits, settings=settings)
            sandbox, pool = self._commands
        return Workspace(sandbox, self._limits, pool=pool)

    def judge(self) -> Any:
        with self._lock:
            if self._judge is None:
                self._judge = self._lean.open(self._workers)
            return self._judge

    @property
    def longest(self) -> float:
        return self._limits.wall_s

    def close(self) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)
        if self._commands:
            self._commands[1].close()
        if self._judge:
            self._judge.close()


class Bench:
    """One episode's files, and what runs for it."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop
        self._cancellation = Cancellation()
        self._lock = threading.Lock()
        self._files: Any = None

    def ask(self, name: str, arguments: Mapping[str, Any], answer: Answer) -> None:
        """Do it in a thread, and then call `answer`, unless the bench is closed first."""
        do = {"run": self._run, "lean": self._prove}[name]
        self._workshop.submit(lambda: do(arguments), answer)

    def close(self) -> None:
        """End what is under way."""
        self._cancellation.cancel()

    def _run(self, call: Mapping[str, Any]) -> dict[str, Any]:
        limit, timeout = self._workshop.longest, call["timeout"]
        if timeout is not None and not 0 < timeout <= limit:
            raise ValueError(f"timeout = {timeout}: at most Episodes.limits.wall_s = {limit:g}")
        with self._lock:  # one command at a time changes the files
            if self._files is None:
                self._files = self._workshop.workspace()
            for name, content in call["files"].items():
                self._files.put(name, base64.b64decode(content))
            late = Cancellation()
            timer = threading.Timer(timeout or limit, late.cancel)
            timer.daemon = True
            if timeout is not None:
                timer.start()
            try:
                with self._cancellation.calls(late.cancel):
                    stdin = base64.b64decode(call["stdin"])
                    outcome = self._files.run(call["argv"], stdin=stdin, cancel=late)
            finally:
                timer.cancel()
        if outcome.ended_by == "infrastructure":
            raise RuntimeError(f"no sandbox: {outcome.reason}")
        ended = "wall" if outcome.ended_by == "cancelled" else outcome.ended_by
        return {
            "ended_by": ended,
            "status": outcome.status,
            "stdout": outcome.stdout.decode(errors="replace"),
            "stderr": outcome.stderr.decode(errors="replace"),
        }

    def _prove(self, call: Mapping[str, Any]) -> dict[str, Any]:
        judge = self._workshop.judge()
        with self._cancellation.active():
            verdict = judge.checker.check(call["statement"], call["proof"])
        if verdict.status is Status.INFRASTRUCTURE:
            raise RuntimeError(f"the proof could not be judged: {verdict.message}")
        return {"verdict": to_plain(verdict), "seconds": verdict.seconds}


def _answered(work: Callable[[], Any], answer: Answer) -> None:
    try:
        value = work()
    except (ValueError, TaskError, SandboxError) as error:
        answer("ValueError", str(error))
    except (ProofgymError, RuntimeError, OSError) as error:
        answer("RuntimeError", str(error))
    except Exception as error:  # whatever it is, somebody waits
        answer("RuntimeError", f"{type(error).__name__}: {error}")
    else:
        answer("value", value)
