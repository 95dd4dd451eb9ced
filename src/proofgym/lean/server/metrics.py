"""What the server counts, in Prometheus's text format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from proofgym.lean.server.pool_metrics import PoolMetrics

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


class Metrics:
    """One server's counters; every name begins with `proofgym_`.

    Args:
        pool: the metrics of the pool of warm Leans, read anew each time; empty without one.
    """

    def __init__(self, pool: Callable[[], dict[str, Any]]) -> None:
        self._registry = own = CollectorRegistry()
        self.requests = Counter(
            "proofgym_requests", "Requests answered.", ["path", "code"], registry=own
        )
        self.checks = Counter(
            "proofgym_checks", "Checks finished, by their result.", ["api", "status"], registry=own
        )
        self.cancelled = Counter(
            "proofgym_cancelled", "Checks ended because their client left.", registry=own
        )
        self.waiting = Gauge("proofgym_checks_waiting", "Checks that wait.", registry=own)
        self.running = Gauge("proofgym_checks_running", "Checks under way.", registry=own)
        self.slots = Gauge("proofgym_slots", "Checks that can be under way.", registry=own)
        self.queue_s = Histogram(
            "proofgym_queue_seconds", "Wait for a slot.", buckets=_SECONDS, registry=own
        )
        self.check_s = Histogram(
            "proofgym_check_seconds", "A check, once begun.", buckets=_SECONDS, registry=own
        )
        own.register(PoolMetrics(pool))

    def text(self) -> bytes:
        return generate_latest(self._registry)
