"""The metrics of the pool of warm Leans, as Prometheus reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, get_args

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from proofgym.sandboxes.breaker import State

_COUNTS = {
    "jobs": "Jobs that got a worker.",
    "refused": "Jobs that got none.",
    "started": "Workers started.",
    "start_failures": "Starts that failed.",
    "spoiled": "Workers that failed under a job.",
    "found_dead": "Workers found dead when a job was to get them.",
    "lost": "Checks whose worker died under them; they were made again.",
    "alone": "Checks made in a sandbox of their own, without the pool.",
    "breaker_opened": "How often the circuit breaker opened.",
}
_STATE = {
    "workers": "Workers up.",
    "starting": "Workers being started.",
    "wanted": "Workers that the demand asks for.",
    "in_use": "Slots of workers in use.",
    "idle_slots": "Slots of workers free.",
    "waiting": "Jobs that wait for a slot.",
}
_SECONDS = {
    "wait": "Wait of the newest jobs for a slot.",
    "start": "Starts of the newest workers.",
    "overhead": "What the newest checks took beyond their own process.",
}


class PoolMetrics(Collector):
    """Reads `LeanChecker.metrics` at each scrape; nothing where there is no pool."""

    def __init__(self, read: Callable[[], dict[str, Any]]) -> None:
        self._read = read

    def describe(self) -> list[Metric]:
        """Named at each scrape only: reading the pool to register it would be too early."""
        return []

    def collect(self) -> Iterator[Metric]:
        found = self._read()
        if not found:
            return
        for name, help in _COUNTS.items():
            yield CounterMetricFamily(f"proofgym_pool_{name}", help, value=found[name])
        for name, help in _STATE.items():
            yield GaugeMetricFamily(f"proofgym_pool_{name}", help, value=found[name])
        for name, help in _SECONDS.items():
            times = GaugeMetricFamily(f"proofgym_pool_{name}_seconds", help, labels=["quantile"])
            times.add_metric(["0.5"], found[f"{name}_p50_s"])
            times.add_metric(["0.99"], found[f"{name}_p99_s"])
            yield times
        recycled = CounterMetricFamily(
            "proofgym_pool_recycled", "Workers ended, by the reason.", labels=["reason"]
        )
        for reason, count in sorted(found["recycled"].items()):
            recycled.add_metric([reason], count)
        yield recycled
        breaker = GaugeMetricFamily(
            "proofgym_pool_breaker", "1 for the circuit breaker's state.", labels=["state"]
        )
        for state in get_args(State):
            breaker.add_metric([state], float(state == found["breaker"]))
        yield breaker
