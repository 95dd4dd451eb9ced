"""Checks with a Lean that is started once: fork servers in sandboxes, a child for each file.

See `inside/forkserver.py` for what keeps the children apart, `header.py` for how the header is
loaded once, and `sandboxes/pool.py` for how servers are started ahead and replaced. The deadline
of a check is kept here, by ending its child; if the server does not answer to that, the whole
sandbox is ended, and the checks that were under way in it are made again elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from proofgym.errors import SandboxError
from proofgym.lean.header import Header, load_header, shared_library
from proofgym.lean.runner import (
    ColdRunner,
    ToolchainLike,
    lean_memory,
    lean_options,
    stack_bytes,
)
from proofgym.lean.server_process import NEEDED, Server
from proofgym.sandboxes import Limits, Outcome, Sandbox, seccomp
from proofgym.sandboxes.cancel import Cancel
from proofgym.sandboxes.cancellation import current
from proofgym.sandboxes.limits import MIB
from proofgym.sandboxes.pool import BackendDown, Pool, PoolError
from proofgym.sandboxes.pool_settings import PoolSettings
from proofgym.sandboxes.sandbox import infrastructure
from proofgym.sandboxes.waits import Waits

Mode = Literal["attempt", "batch"]

_SLOTS = 4  # checks at once in one server: few enough that one server's end costs little
_SERVER_BYTES = 512 * MIB  # the server itself, and what the checks share with it
_PATIENCE_S = 20.0  # an outage of the pool delays checks for so long; then each runs alone, once
_LOST_IN_POOL = 2  # a check whose servers died so often gets a sandbox of its own


def can_be_warm(toolchain: ToolchainLike, sandbox: Sandbox) -> bool:
    """Whether this Lean can be kept warm in this sandbox without one check reaching another."""
    known = shared_library(toolchain) is not None
    return known and seccomp.supported() and sandbox.protections >= NEEDED


def checks_at_once() -> int:
    """One more than there are cores, which have work while one verdict is being read."""
    return len(os.sched_getaffinity(0)) + 1


def lean_pool_settings(
    limits: Limits, workers: int, mode: Mode = "attempt", batch: int = 64
) -> PoolSettings:
    """What fits Lean: `workers` checks at once, in servers of at most four each.

    In mode `batch` a server takes `batch` checks and ends; the next is started before that.
    """
    slots = min(workers, _SLOTS)
    return PoolSettings(
        smallest=1,
        largest=-(-workers // slots),
        slots=slots,
        at_once=workers,
        uses=batch if mode == "batch" else 20_000,
        job_s=limits.wall_s + 60,
    )


class WarmRunner:
    """Runs files in a pool of fork servers, `workers` at once; started when first needed.

    Args:
        header: trusted text with which the files begin, loaded once.
        pool: sizes and budgets; None: those of `lean_pool_settings`.
    """

    def __init__(
        self,
        toolchain: ToolchainLike,
        sandbox: Sandbox,
        limits: Limits,
        workers: int | None = None,
        header: str = "",
        pool: PoolSettings | None = None,
        options: Sequence[str] = (),
    ) -> None:
        self._toolchain, self._sandbox, self._text = toolchain, sandbox, header
        settings = pool or lean_pool_settings(limits, workers or checks_at_once())
        self.pool = Pool[Server](self._start, settings, name="warm Lean")
        self._lock = threading.Lock()
        self._header: Header | None = None
        self._possible: bool | None = None  # whether a server ever started; None: not tried
        self._in_memory = False
        self._cold = ColdRunner(toolchain, sandbox, options)
        self._options = options
        self._filter, self._pid_at = seccomp.compute_only_bytes()
        self._overheads = Waits()
        self._lost = self._alone = 0
        self._whole = Limits(
            wall_s=1e9,
            cpu_s=1e9,
            memory_bytes=_SERVER_BYTES + settings.slots * limits.memory_bytes,
            processes=16 + settings.slots * limits.processes,
        )

    def run(self, source: bytes, limits: Limits, cancel: Cancel | None = None) -> Outcome:
        """Run one file. If its server dies under it, it is run in another, at last in a sandbox
        of its own, where what happens is its own doing."""
        began, cancel = time.monotonic(), cancel or current()
        lost = 0
        while lost < _LOST_IN_POOL and self._possible is not False:
            try:
                outcome = self._try(source, limits, cancel)
            except BackendDown as error:
                if self._give_up(error):
                    break
                if self.pool.breaker.down_s() > _PATIENCE_S:
                    outcome = self._run_alone(source, limits, cancel)
                    pointless = outcome.pointless or outcome.ended_by == "infrastructure"
                    return replace(outcome, pointless=pointless)
                time.sleep(min(0.25, self.pool.breaker.opens_in()))  # nobody tries meanwhile
                continue
            except (OSError, SandboxError) as error:
                if self._give_up(error):
                    break
                return infrastructure(f"the warm Lean: {error}")
            lost += 1
            if outcome.ended_by != "infrastructure":
                return replace(outcome, wall_s=time.monotonic() - began)
        return self._run_alone(source, limits, cancel)

    def _run_alone(self, source: bytes, limits: Limits, cancel: Cancel | None) -> Outcome:
        with self._lock:
            self._alone += 1
        return self._cold.run(source, limits, cancel)

    def metrics(self) -> dict[str, Any]:
        """The pool's, and: the time a check takes beyond Lean's own, checks whose server died
        under them (`lost`), those that were run in a sandbox of their own (`alone`), and whether
        the last server that was started has the header in memory."""
        with self._lock:
            return self.pool.metrics() | {
                "overhead_p50_s": self._overheads.percentile(0.5),
                "overhead_p99_s": self._overheads.percentile(0.99),
                "lost": self._lost,
                "alone": self._alone,
                "header_in_memory": self._in_memory,
            }

    def prepare(self) -> None:
        """Have a server ready. A failure shows, and is dealt with, in the checks."""
        with contextlib.suppress(PoolError):
            self.pool.prepare()

    def close(self) -> None:
        """End the servers and everything in them."""
        self.pool.close()

    def _try(self, source: bytes, limits: Limits, cancel: Cancel | None) -> Outcome:
        began = time.monotonic()
        with self.pool.lease() as lease:
            answer = lease.worker.check(self._request(limits), source, limits, cancel)
            if answer.outcome.ended_by == "infrastructure":
                lease.spoil(answer.outcome.reason)
                with self._lock:
                    self._lost += 1
        if answer.service_s is not None:
            with self._lock:
                self._overheads.add(time.monotonic() - began - answer.service_s)
        return answer.outcome

    def _request(self, limits: Limits) -> Mapping[str, Any]:
        assert self._header is not None  # there is a server, so there is a header
        return {
            "arguments": [*self._header.arguments, *lean_options(limits), "--stdin"],
            "lean_memory": lean_memory(limits),
            "stack": stack_bytes(),
            "memory": limits.memory_bytes,
            "threads": limits.processes,
            "cpu": max(1, round(limits.cpu_s)),
            "filter": self._filter,
            "pid_at": self._pid_at,
        }

    def _start(self, seconds: float) -> Server:
        with self._lock:
            if self._header is None:  # may take long, but happens once
                self._header = load_header(self._toolchain, self._text, self._options)
        server = Server(self._toolchain, self._sandbox, self._whole, self._header, seconds)
        self._possible, self._in_memory = True, server.header_in_memory
        return server

    def _give_up(self, error: Exception) -> bool:
        """Whether servers cannot be had here at all; else this was a passing fault."""
        if self._possible is not None or not isinstance(error, PoolError):
            return self._possible is False
        with self._lock:
            if self._possible is None:
                self._possible = False
                warnings.warn(f"each check starts a Lean of its own: {error}", stacklevel=3)
        return True
