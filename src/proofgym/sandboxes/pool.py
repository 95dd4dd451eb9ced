"""A warm pool: workers started and prepared ahead, so that no job waits for one to start.

A worker is anything with a health check and a `close` (`roster.Worker`); it may take several jobs
at once (`slots`). Jobs get their turn in the order in which they asked. A keeper thread starts
workers, at most `starting` at once, before the present ones are used up, and ends the worn out
ones: too many uses, too much memory, too old, a job over its budget, or dead. When starting fails
again and again a circuit breaker opens: jobs are refused at once until a trial start works.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Any, Generic

from proofgym.errors import SandboxError
from proofgym.sandboxes.breaker import Breaker
from proofgym.sandboxes.demand import Demand
from proofgym.sandboxes.pool_settings import PoolSettings
from proofgym.sandboxes.roster import Kept, Roster, W
from proofgym.sandboxes.waits import Waits

_TICK_S = 0.25  # how often the keeper looks when nobody wakes it


class PoolError(SandboxError):
    """No worker could be had: the pool's fault, never the job's."""


class PoolFull(PoolError):
    """Too many jobs wait already."""


class BackendDown(PoolError):
    """There is no worker, and the circuit breaker does not allow to start one."""


class _Waiter(Generic[W]):
    """One job that asks for a slot."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.ready = threading.Event()
        self.kept: Kept[W] | None = None
        self.error: PoolError | None = None


class Lease(Generic[W]):
    """The right to one slot of a worker, until the `with` block ends."""

    def __init__(self, pool: Pool[W], kept: Kept[W], number: int, waited_s: float) -> None:
        self._pool, self._kept, self._number = pool, kept, number
        self.worker = kept.worker
        self.waited_s = waited_s
        self._spoiled = ""

    def spoil(self, why: str) -> None:
        """The worker failed (not the job): it gets no new job, and the breaker hears of it."""
        self._spoiled = why

    def __enter__(self) -> Lease[W]:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool._done(self._kept, self._number, self._spoiled)


class Pool(Generic[W]):
    """Workers made by `start`, which is given its budget in seconds and must keep to it.

    Safe to use from many threads. Nothing starts before the first `lease` or `prepare`.
    """

    def __init__(
        self,
        start: Callable[[float], W],
        settings: PoolSettings | None = None,
        name: str = "pool",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = it = settings or PoolSettings()
        self._start, self._name, self._clock = start, name, clock
        self.breaker = Breaker(it.failures, it.pause_s, it.longest_pause_s, clock)
        self._demand = Demand(it.window_s, clock)
        self._waits, self._starts = Waits(), Waits()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._roster = Roster[W](it)
        self._waiters: deque[_Waiter[W]] = deque()
        self._starting = self._numbers = self._spoiled_in_a_row = 0
        self._counts: Counter[str] = Counter()
        self._recycled: Counter[str] = Counter()
        self._keeper: threading.Thread | None = None
        self._closed = False

    def lease(self, wait_s: float | None = None) -> Lease[W]:
        """Wait for a free slot of a healthy worker; use it in a `with` block.

        Raises:
            PoolFull: too many wait already.
            BackendDown: there is no worker, and the breaker does not allow to start one.
            PoolError: none came free in `wait_s` (by default the settings'), or it is closed.
        """
        began = self._clock()
        deadline = began + (self.settings.wait_s if wait_s is None else wait_s)
        front = False
        while True:
            waiter = self._ask(front)
            kept = self._await(waiter, deadline - self._clock())
            if kept.worker.healthy():
                break
            self._done(kept, waiter.number, "it was found dead", quiet=True)
            front = True  # it had its turn already
        waited_s = self._clock() - began
        with self._lock:
            self._waits.add(waited_s)
            self._counts["jobs"] += 1
        return Lease(self, kept, waiter.number, waited_s)

    def prepare(self, workers: int | None = None, wait_s: float | None = None) -> None:
        """Start `workers` (by default the smallest number) now, and wait until they are up.

        Raises:
            PoolError: they could not be started.
        """
        number = self._at_first(workers)
        budget = wait_s or self.settings.start_s
        deadline = self._clock() + budget
        while True:
            with self._lock:
                self._refuse_if_closed()
                self._demand.note(number * self.settings.slots)
                if len(self._roster.usable) >= number:
                    return
                if self.breaker.state == "open":
                    raise self._down()
            self._nudge()
            if self._clock() >= deadline:
                raise PoolError(f"{self._name}: {number} workers were not up after {budget:g} s")
            time.sleep(0.002)

    def _at_first(self, workers: int | None) -> int:
        """Workers to prepare; with a buffer, never more than stay idle."""
        it = self.settings
        kept = max(it.smallest, -(-(it.buffer or 0) // it.slots))
        most = it.largest if it.buffer is None else max(1, kept)
        return min(workers or max(1, kept), most, it.largest)

    def metrics(self) -> dict[str, Any]:
        """Counts since the start, the present state, and percentiles of the newest waits."""
        with self._lock:
            free = len(self._roster.usable) * self.settings.slots
            names = ("jobs", "refused", "started", "start_failures", "spoiled", "found_dead")
            return {
                **{name: self._counts[name] for name in names},
                "recycled": dict(self._recycled),
                "workers": len(self._roster.all),
                "starting": self._starting,
                "wanted": self._roster.wanted(self._slots()),
                "in_use": self._roster.leased,
                "idle_slots": max(0, free - self._roster.leased),
                "waiting": len(self._waiters),
                "wait_p50_s": self._waits.percentile(0.50),
                "wait_p99_s": self._waits.percentile(0.99),
                "start_p50_s": self._starts.percentile(0.50),
                "start_p99_s": self._starts.percentile(0.99),
                "breaker": self.breaker.state,
                "breaker_opened": self.breaker.opened,
            }

    def close(self) -> None:
        """Refuse new jobs and end every worker, those that are starting too."""
        with self._lock:
            self._closed = True
            waiters, self._waiters = list(self._waiters), deque()
        for waiter in waiters:
            self._fail(waiter, PoolError(f"{self._name} is closed"))
        self._wake.set()
        if self._keeper is not None and self._keeper is not threading.current_thread():
            self._keeper.join(self.settings.start_s + 20)
        with self._lock:
            left, self._roster.all = self._roster.all, []
        for kept in left:
            kept.worker.close()
        atexit.unregister(self.close)

    # --- turns ----------------------------------------------------------------------------------

    def _ask(self, front: bool) -> _Waiter[W]:
        with self._lock:
            self._refuse_if_closed()
            if len(self._waiters) >= self.settings.waiting:
                self._counts["refused"] += 1
                raise PoolFull(
                    f"{self._name}: {len(self._waiters)} jobs wait already "
                    f"(PoolSettings.waiting = {self.settings.waiting}); ask more slowly"
                )
            if not self._roster.usable and self.breaker.state == "open":
                self._counts["refused"] += 1
                raise self._down()
            self._numbers += 1
            waiter = _Waiter[W](self._numbers)
            (self._waiters.appendleft if front else self._waiters.append)(waiter)
            self._hand_out()
            self._demand.note(self._roster.leased + len(self._waiters))
            if waiter.kept is None and self._roster.leased < self.settings.jobs:
                self._demand.waited()
            nudge = waiter.kept is None or bool(waiter.kept.retiring) or self._keeper is None
            nudge = nudge or self.settings.buffer is not None  # one less is ready
        if nudge:
            self._nudge()
        return waiter

    def _await(self, waiter: _Waiter[W], seconds: float) -> Kept[W]:
        if not waiter.ready.wait(max(0.0, seconds)):
            with self._lock:
                if not waiter.ready.is_set():
                    self._waiters.remove(waiter)
                    waiter.error = PoolError(f"{self._name}: no worker came free in time")
        if waiter.kept is not None:
            return waiter.kept
        with self._lock:
            self._counts["refused"] += 1
        assert waiter.error is not None
        raise waiter.error

    def _hand_out(self) -> None:
        while self._waiters:
            kept = self._roster.take(self._waiters[0].number, self._clock())
            if kept is None:
                return
            waiter = self._waiters.popleft()
            waiter.kept = kept
            waiter.ready.set()

    def _done(self, kept: Kept[W], number: int, spoiled: str, quiet: bool = False) -> None:
        """A job's end. `quiet`: it was none, the worker had died in the pool."""
        with self._lock:
            self._roster.give_back(kept, number, self._clock())
            if spoiled:
                self._counts["found_dead" if quiet else "spoiled"] += 1
                kept.retiring = kept.retiring or ("dead" if quiet else "spoiled")
                self._spoiled_in_a_row += 0 if quiet else 1
            else:
                self._spoiled_in_a_row = 0
            if self._spoiled_in_a_row >= self.settings.failures:  # they start, and do not work
                self._spoiled_in_a_row = 0
                self.breaker.trip(spoiled)
            self._hand_out()
            self._demand.note(self._roster.leased + len(self._waiters))
            ends = bool(kept.retiring) or self.settings.buffer is not None
        if ends:
            self._nudge()

    def _fail(self, waiter: _Waiter[W], error: PoolError) -> None:
        waiter.error = error
        waiter.ready.set()

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise PoolError(f"{self._name} is closed")

    def _down(self) -> BackendDown:
        return BackendDown(
            f"{self._name}: workers cannot be started ({self.breaker.why}); next trial in "
            f"{self.breaker.opens_in():.1f} s"
        )

    # --- the keeper -----------------------------------------------------------------------------

    def _nudge(self) -> None:
        with self._lock:
            if self._keeper is None and not self._closed:
                self._keeper = threading.Thread(
                    target=self._keep, daemon=True, name=f"{self._name} keeper"
                )
                self._keeper.start()
        self._wake.set()

    def _keep(self) -> None:
        while True:
            self._wake.wait(_TICK_S)
            self._wake.clear()
            with self._lock:
                if self._closed and not self._starting:
                    return
                slots = 0 if self._closed else self._slots()
                leaving = self._roster.leave(slots, self._clock())
                for _, why in leaving:
                    self._recycled[why] += 1
            self._start_some()
            for kept, _ in leaving:
                kept.worker.close()
            self._give_up_if_down()

    def _slots(self) -> int:
        """How many to have: in use, waited for, and spare."""
        it = self.settings
        if it.buffer is None:
            return self._demand.slots()
        asked = self._roster.leased + len(self._waiters) + it.buffer
        return max(asked, it.smallest * it.slots)

    def _start_some(self) -> None:
        while True:
            with self._lock:
                lacks = self._roster.lacks(self._slots(), self._starting, self._clock())
                if self._closed or not lacks or self._starting >= self.settings.starting:
                    return
                if not self.breaker.allows():
                    return
                self._starting += 1
            name = f"{self._name} start"
            threading.Thread(target=self._start_one, daemon=True, name=name).start()

    def _start_one(self) -> None:
        began = self._clock()
        worker: W | None = None
        try:
            worker = self._start(self.settings.start_s)
            self.breaker.success()
        except Exception as error:  # whatever a backend raises must not end the pool
            self.breaker.failure(f"{error}")
        if worker and self._closed:
            worker.close()
            worker = None
        with self._lock:
            self._counts["started" if worker else "start_failures"] += 1
            if worker:
                now = self._clock()
                self._starts.add(now - began)
                self._roster.all.append(Kept(worker, now))
                self._hand_out()
            self._starting -= 1
        if worker:  # at exit the latest registered is called first: before its workers die
            atexit.unregister(self.close)
            atexit.register(self.close)
        self._wake.set()

    def _give_up_if_down(self) -> None:
        """Nobody waits for a backend that is known to be down."""
        if self.breaker.state != "open":
            return
        with self._lock:
            if self._roster.usable or self._starting:
                return
            waiters, self._waiters = list(self._waiters), deque()
        for waiter in waiters:
            self._fail(waiter, self._down())
