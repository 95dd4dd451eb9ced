"""The pool's promises, with workers that are real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from proofgym.errors import ConfigError
from proofgym.sandboxes.pool import BackendDown, Pool, PoolError, PoolFull
from proofgym.sandboxes.pool_settings import PoolSettings


class Process:
    """A worker: a `cat` that echoes a line."""

    def __init__(self, delay_s: float = 0.0) -> None:
        time.sleep(delay_s)
        self.process = subprocess.Popen(
            ["/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        self.held = 1 << 20
        self.closed = False

    def echo(self, line: bytes) -> bytes:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line)
        return self.process.stdout.read(len(line)) or b""

    def healthy(self) -> bool:
        return self.process.poll() is None

    def memory_bytes(self) -> int:
        return self.held

    def close(self) -> None:
        self.closed = True
        self.process.kill()
        self.process.communicate()


class Factory:
    """Starts processes, remembers them, and fails or dawdles when told to."""

    def __init__(self) -> None:
        self.made: list[Process] = []
        self.broken = False
        self.most = 1000
        self.delay_s = 0.0
        self.attempts = self.starting = self.most_starting = 0
        self._lock = threading.Lock()

    def __call__(self, seconds: float) -> Process:
        with self._lock:
            self.attempts += 1
            number = self.attempts
            self.starting += 1
            self.most_starting = max(self.most_starting, self.starting)
        try:
            if self.broken or number > self.most:
                raise OSError("no more processes")
            worker = Process(self.delay_s)
            self.made.append(worker)
            return worker
        finally:
            with self._lock:
                self.starting -= 1

    @property
    def living(self) -> int:
        return sum(worker.healthy() for worker in self.made)


@pytest.fixture
def factory() -> Factory:
    return Factory()


Maker = Callable[..., Pool[Process]]


@pytest.fixture
def make(factory: Factory) -> Iterator[Maker]:
    pools: list[Pool[Process]] = []

    def one(**settings: float) -> Pool[Process]:
        pools.append(Pool(factory, PoolSettings(**settings)))
        return pools[-1]

    yield one
    for pool in pools:
        pool.close()
    assert factory.living == 0


def until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def use(pool: Pool[Process], line: bytes = b"word") -> None:
    with pool.lease() as lease:
        assert lease.worker.echo(line) == line


def test_one_worker_serves_many_jobs(make: Maker, factory: Factory) -> None:
    pool = make(largest=1)
    for _ in range(20):
        use(pool)
    assert len(factory.made) == 1
    assert pool.metrics()["jobs"] == 20


def test_nothing_starts_before_it_is_asked_for(make: Maker, factory: Factory) -> None:
    make(smallest=2)
    time.sleep(0.3)
    assert factory.attempts == 0


def test_prepared_ahead_nobody_waits(make: Maker, factory: Factory) -> None:
    factory.delay_s = 0.2
    pool = make(smallest=2, largest=2)
    pool.prepare()
    for _ in range(10):
        use(pool)
    assert pool.metrics()["wait_p99_s"] < 0.05


def test_a_bounded_number_starts_at_once(make: Maker, factory: Factory) -> None:
    factory.delay_s = 0.05
    make(smallest=8, largest=8, starting=3).prepare()
    assert factory.most_starting == 3


def test_turns_come_in_the_order_of_asking(make: Maker) -> None:
    pool = make(largest=1)
    order: list[int] = []
    with ThreadPoolExecutor(6) as threads:
        first = pool.lease()

        def job(number: int) -> None:
            with pool.lease():
                order.append(number)

        for number in range(6):
            threads.submit(job, number)
            until(lambda number=number: pool.metrics()["waiting"] == number + 1)
        first.__exit__()
    assert order == list(range(6))


def test_slots_and_the_bound_on_jobs_hold(make: Maker, factory: Factory) -> None:
    pool = make(largest=3, slots=2, at_once=5)
    most, now, lock = 0, 0, threading.Lock()

    def job(_: int) -> None:
        nonlocal most, now
        with pool.lease():
            with lock:
                now += 1
                most = max(most, now)
            time.sleep(0.02)
            with lock:
                now -= 1

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(job, range(60)))
    assert most == 5
    assert len(factory.made) == 3


def test_backpressure_and_the_bound_on_waiting(make: Maker) -> None:
    pool = make(largest=1, waiting=2)
    with pool.lease(), ThreadPoolExecutor(2) as threads:
        waiting = [threads.submit(pool.lease, 0.5) for _ in range(2)]
        until(lambda: pool.metrics()["waiting"] == 2)
        with pytest.raises(PoolFull, match=r"PoolSettings\.waiting = 2"):
            pool.lease()
        for one in waiting:
            with pytest.raises(PoolError, match="no worker came free"):
                one.result()
    assert pool.metrics()["waiting"] == 0
    use(pool)


def test_a_dead_worker_is_never_handed_out(make: Maker, factory: Factory) -> None:
    pool = make(smallest=1, largest=1)
    for _ in range(5):
        use(pool)
        os.kill(factory.made[-1].process.pid, signal.SIGKILL)
        factory.made[-1].process.wait()
    use(pool)
    counted = pool.metrics()
    assert counted["jobs"] == 6
    assert counted["breaker"] == "closed"
    assert sum(counted["recycled"].values()) >= 5


@pytest.mark.parametrize(
    ("settings", "reason"),
    [({"uses": 3}, "uses"), ({"growth_mb": 1}, "memory"), ({"life_s": 0.15}, "age")],
)
def test_worn_out_workers_are_replaced(
    make: Maker, factory: Factory, settings: dict[str, float], reason: str
) -> None:
    pool = make(largest=1, **settings)
    for _ in range(10):
        with pool.lease() as lease:
            lease.worker.held += 1 << 20
        time.sleep(0.03)
    until(lambda: pool.metrics()["recycled"].get(reason, 0) >= 2)
    until(lambda: factory.living <= 2)
    assert all(worker.closed for worker in factory.made if not worker.healthy())


def test_a_replacement_is_started_before_the_last_use(make: Maker, factory: Factory) -> None:
    factory.delay_s = 0.1
    pool = make(largest=1, uses=40)
    pool.prepare()
    waits = []
    for _ in range(130):
        with pool.lease() as lease:
            waits.append(lease.waited_s)
        time.sleep(0.02)
    assert len(factory.made) >= 3
    assert sum(wait > 0.05 for wait in waits) <= 1


def test_used_once_each_job_gets_a_new_one(make: Maker, factory: Factory) -> None:
    pool = make(largest=2, uses=1)
    for _ in range(6):
        use(pool)
    assert len(factory.made) >= 6
    until(lambda: pool.metrics()["recycled"].get("uses", 0) == 6)


def test_a_job_over_its_budget_loses_its_worker(make: Maker, factory: Factory) -> None:
    pool = make(largest=1, job_s=0.2)
    with pool.lease() as lease:
        assert lease.worker.process.stdout is not None
        assert lease.worker.process.stdout.read(1) == b""  # until the keeper ends it
    assert pool.metrics()["recycled"]["overdue"] == 1
    use(pool)


def test_the_size_follows_the_demand_both_ways(make: Maker, factory: Factory) -> None:
    pool = make(smallest=1, largest=6, window_s=0.4)
    leases = [pool.lease() for _ in range(5)]
    assert pool.metrics()["workers"] >= 5
    for lease in leases:
        lease.__exit__()
    until(lambda: pool.metrics()["workers"] == 1)
    until(lambda: factory.living == 1)
    assert pool.metrics()["recycled"]["idle"] >= 4


def test_a_buffer_stays_ready_beyond_those_in_use(make: Maker, factory: Factory) -> None:
    pool = make(smallest=0, largest=9, buffer=2)
    leases = []
    for used in range(4):
        leases.append(pool.lease())
        until(lambda used=used: pool.metrics()["workers"] == used + 3)
    assert pool.metrics()["idle_slots"] == 2
    for lease in leases:
        lease.__exit__()
    until(lambda: factory.living == 2)
    assert pool.metrics()["workers"] == 2


@pytest.mark.parametrize("uses", [1, 100])
def test_with_a_buffer_the_largest_bounds_all_workers(
    make: Maker, factory: Factory, uses: int
) -> None:
    pool = make(largest=3, buffer=3, uses=uses)
    pool.prepare()
    assert factory.living == 3
    leases = [pool.lease() for _ in range(3)]
    with pytest.raises(PoolError, match="came free"):
        pool.lease(wait_s=0.3)
    assert len(factory.made) == 3
    for lease in leases:
        lease.__exit__()
    use(pool)
    assert len(factory.made) == 3 if uses > 1 else len(factory.made) > 3


def test_a_buffer_counts_the_slots_of_workers(make: Maker, factory: Factory) -> None:
    pool = make(largest=9, buffer=3, slots=2)
    pool.prepare()
    assert pool.metrics()["workers"] == 2
    with pool.lease(), pool.lease():  # two of four slots: one more worker keeps three ready
        until(lambda: pool.metrics()["workers"] == 3)
    until(lambda: factory.living == 2)


def test_a_broken_backend_is_not_hammered(make: Maker, factory: Factory) -> None:
    factory.broken = True
    pool = make(largest=4, failures=3, pause_s=0.5, starting=1)
    with pytest.raises(BackendDown, match="no more processes"):
        pool.lease()
    began = time.monotonic()
    for _ in range(200):
        with pytest.raises(BackendDown):
            pool.lease()
    assert time.monotonic() - began < 0.4
    assert factory.attempts <= 4
    time.sleep(1.2)
    assert factory.attempts <= 5  # the one trial at 0.5 s; the next comes a second later
    factory.broken = False
    until(lambda: pool.metrics()["breaker"] == "closed")
    use(pool)
    assert pool.metrics()["breaker_opened"] >= 1


def test_workers_that_live_still_serve_while_the_breaker_is_open(
    make: Maker, factory: Factory
) -> None:
    factory.most = 1
    pool = make(largest=2, failures=1, pause_s=30)
    first = pool.lease()
    with pytest.raises(PoolError):
        pool.lease(0.3)
    assert pool.metrics()["breaker"] == "open"
    first.__exit__(None)
    use(pool)


def test_spoiled_workers_go_and_the_breaker_hears_of_them(make: Maker) -> None:
    pool = make(largest=1, failures=2, pause_s=30)
    for _ in range(2):
        with pool.lease() as lease:
            lease.spoil("it forgot everything")
    assert pool.metrics()["spoiled"] == 2
    assert pool.breaker.state == "open"
    assert pool.breaker.why == "it forgot everything"


def test_closing_ends_all_and_refuses_more(make: Maker, factory: Factory) -> None:
    factory.delay_s = 0.1
    pool = make(smallest=3, largest=3)
    use(pool)
    pool.close()
    assert factory.living == 0
    with pytest.raises(PoolError, match="closed"):
        pool.lease()


def test_no_thread_is_left(factory: Factory) -> None:
    before = threading.active_count()
    pool = Pool(factory, PoolSettings(smallest=2))
    pool.prepare()
    pool.close()
    until(lambda: threading.active_count() == before)


def test_killing_at_random_under_load_loses_no_turn(make: Maker, factory: Factory) -> None:
    pool = make(smallest=2, largest=4, failures=1000)
    stop = threading.Event()

    def killer() -> None:
        while not stop.wait(0.01):
            for worker in factory.made[-4:]:
                worker.process.kill()

    done, again = 0, 0

    def job(number: int) -> bool:
        nonlocal again
        for _ in range(200):
            with pool.lease() as lease:
                try:
                    if lease.worker.echo(b"%06d" % number) == b"%06d" % number:
                        return True
                except (OSError, ValueError):  # killed, or closed as dead meanwhile
                    pass
                lease.spoil("killed")
                again += 1
        return False

    thread = threading.Thread(target=killer)
    thread.start()
    try:
        with ThreadPoolExecutor(8) as threads:
            done = sum(threads.map(job, range(150)))
    finally:
        stop.set()
        thread.join()
    assert done == 150
    assert pool.metrics()["in_use"] == 0


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigError, match=r"smallest = 5: must not be more than largest = 2"):
        PoolSettings(smallest=5, largest=2)
    with pytest.raises(ConfigError, match="did you mean 'largest'"):
        PoolSettings(largst=2)
