"""The circuit breaker and the measure of demand, with a clock of our own."""

from __future__ import annotations

from proofgym.sandboxes.breaker import Breaker
from proofgym.sandboxes.demand import Demand
from proofgym.sandboxes.waits import Waits


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_it_opens_after_failures_in_a_row_only() -> None:
    breaker = Breaker(failures=3, clock=Clock())
    for _ in range(5):
        breaker.failure("a")
        breaker.failure("b")
        breaker.success()
    assert breaker.state == "closed"
    for _ in range(3):
        assert breaker.allows()
        breaker.failure("no fork")
    assert (breaker.state, breaker.why, breaker.opened) == ("open", "no fork", 1)
    assert not breaker.allows()


def test_half_open_allows_one_trial_and_doubles_the_pause() -> None:
    clock = Clock()
    breaker = Breaker(failures=1, pause_s=2, longest_s=5, clock=clock)
    breaker.failure("x")
    for pause in (2, 4, 5, 5):
        clock.now += pause - 0.01
        assert breaker.state == "open"
        clock.now += 0.02
        assert breaker.state == "half_open"
        assert [breaker.allows() for _ in range(3)] == [True, False, False]
        breaker.failure("x")
        assert breaker.state == "open"
    clock.now += 6
    assert breaker.allows()
    breaker.success()
    assert breaker.state == "closed"
    breaker.failure("x")
    assert 0 < breaker.opens_in() <= 2  # back to the first pause


def test_demand_follows_the_peak_of_the_window() -> None:
    clock = Clock()
    demand = Demand(window_s=10, clock=clock)
    demand.note(7)
    demand.note(2)
    assert demand.slots() == 7
    clock.now += 6
    demand.note(3)
    assert demand.slots() == 7
    clock.now += 6
    assert demand.slots() == 3
    clock.now += 20
    assert demand.slots() == 0


def test_spare_slots_come_with_waits_and_go_without() -> None:
    clock = Clock()
    demand = Demand(window_s=10, clock=clock)
    for _ in range(3):
        demand.waited()
        clock.now += 1
    assert demand.slots() == 3
    for left in (2, 1, 0, 0):
        clock.now += 10.5
        assert demand.slots() == left


def test_percentiles() -> None:
    waits = Waits(kept=100)
    assert waits.percentile(0.5) == 0
    for number in range(1, 201):
        waits.add(number)
    assert (waits.percentile(0.5), waits.percentile(0.99), waits.percentile(1)) == (150, 199, 200)
