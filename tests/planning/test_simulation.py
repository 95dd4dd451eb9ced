"""The simulation against exact results, and against another model of the same rules."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simpy_model import Model

from proofgym.errors import ConfigError
from proofgym.planning import (
    Constant,
    Exponential,
    LogNormal,
    Measured,
    Pool,
    Step,
    Uniform,
    simulate,
)

NOW = Constant(seconds=0.0)


def queue(servers: int, load: float, count: int = 400_000, **more: object) -> Step:
    """Poisson arrivals, exponential service of mean 1."""
    return Step(
        rollouts=count,
        gaps=Exponential(mean_s=1 / (load * servers)),
        service=Exponential(mean_s=1.0),
        cap_s=1e6,
        start=NOW,
        **more,
    )


def erlang_c(servers: int, load: float) -> float:
    """Probability that a customer of M/M/c waits (Erlang, 1917)."""
    offered = load * servers
    top = offered**servers / math.factorial(servers) / (1 - load)
    return top / (sum(offered**k / math.factorial(k) for k in range(servers)) + top)


@pytest.mark.parametrize(("servers", "load"), [(1, 0.6), (4, 0.7), (30, 0.9)])
def test_a_fixed_pool_waits_as_erlang_c_says(servers, load):
    step = queue(servers, load)
    result = simulate(step, Pool(size=servers, buffer=servers, uses=None))
    waits = result.waits_N[20_000:]
    expected = erlang_c(servers, load)
    assert np.mean(waits > 0) == pytest.approx(expected, rel=0.05)
    assert waits.mean() == pytest.approx(expected / (servers * (1 - load)), rel=0.08)
    p99 = math.log(100 * expected) / (servers * (1 - load))
    assert np.quantile(waits, 0.99) == pytest.approx(p99, rel=0.1)


@pytest.mark.parametrize(("cores", "load"), [(1, 0.7), (4, 0.8)])
def test_shared_processors_slow_actions_as_m_m_c_processor_sharing_does(cores, load):
    step = queue(cores, load, cores=cores)
    result = simulate(step, Pool(uses=None))
    mean_inside = result.busy_s / result.step_s  # the same law as in M/M/c
    waiting = erlang_c(cores, load) * load / (1 - load)
    assert mean_inside == pytest.approx(cores * load + waiting, rel=0.06)


def test_a_start_before_each_action_lengthens_the_service_exactly():
    """With an endless line, each of c sandboxes is one row of starts and actions."""
    step = Step(rollouts=1000, gaps=NOW, service=Constant(seconds=2.0), start=Constant(seconds=0.5))
    assert simulate(step, Pool(size=10)).step_s == pytest.approx(100 * 2.5)
    assert simulate(step, Pool(size=10, buffer=10)).step_s == pytest.approx(100 * 2.5 - 0.5)
    assert simulate(step, Pool(size=10, uses=None)).step_s == pytest.approx(100 * 2.0 + 0.5)
    assert simulate(step, Pool(size=10, uses=5)).step_s == pytest.approx(100 * 2.0 + 20 * 0.5)
    assert simulate(step, Pool()).step_s == pytest.approx(2.5)
    assert simulate(step, Pool(starting=4)).step_s == pytest.approx(250 * 0.5 + 2.0)


def test_without_limit_nothing_waits_longer_than_a_start():
    step = Step(rollouts=5000, gaps=Exponential(mean_s=0.01), start=Constant(seconds=0.4))
    result = simulate(step, Pool())
    assert result.waits_N.max() <= 0.4 + 1e-9
    assert result.step_s >= result.generation_s
    assert simulate(step, Pool(buffer=5000)).waits_N.max() == 0


def test_the_cap_and_hanging_actions():
    step = Step(rollouts=2000, gaps=NOW, service=Constant(seconds=30.0), cap_s=10.0, start=NOW)
    assert simulate(step, Pool(size=1, uses=None)).step_s == pytest.approx(20_000)
    assert simulate(step, Pool(size=1, uses=None)).started == 2000  # none survives its cap
    short = Step(rollouts=20_000, gaps=NOW, service=NOW, cap_s=10.0, hanging=0.02, start=NOW)
    assert simulate(short, Pool(size=1)).busy_s == pytest.approx(0.02 * 20_000 * 10, rel=0.15)


def test_failures_are_retried_with_a_bound_and_then_lost():
    step = Step(rollouts=50_000, failure=0.2, retries=1, failure_after=Constant(seconds=0.1))
    result = simulate(step, Pool())
    assert result.retried == pytest.approx(0.2 * 50_000, rel=0.05)
    assert result.lost == pytest.approx(0.04 * 50_000, rel=0.1)
    certain = Step(rollouts=10, failure=1.0, retries=2, service=Constant(seconds=1.0), start=NOW)
    assert simulate(certain, Pool()).lost == 10
    assert simulate(certain, Pool()).busy_s == pytest.approx(30.0)


def test_idle_sandboxes_are_counted_through_the_update():
    step = Step(
        rollouts=1, gaps=Constant(seconds=3.0), service=Constant(seconds=2.0), update_s=100.0
    )
    result = simulate(step, Pool(size=4, buffer=4, uses=None))
    assert result.idle_s == pytest.approx(4 * 3.0 + 3 * 2.0 + 4 * 100.0)


times = st.sampled_from(
    [
        Exponential(mean_s=0.5),
        LogNormal(median_s=0.4, p99_s=3.0),
        Uniform(low_s=0.1, high_s=1.7),
        Measured(seconds=(0.11, 0.52, 2.03)),
    ]
)


@st.composite
def pools(draw: st.DrawFn) -> Pool:
    size = draw(st.sampled_from([1, 2, 5, 17, None]))
    buffer = draw(st.integers(0, 6 if size is None else size))
    counts = st.sampled_from([1, 2, 7, None])
    return Pool(size=size, buffer=buffer, uses=draw(counts), starting=draw(counts))


@settings(max_examples=150, deadline=None)
@given(
    pool=pools(),
    rollouts=st.integers(1, 120),
    service=times,
    start=times,
    failure=st.sampled_from([0.0, 0.3]),
    hanging=st.sampled_from([0.0, 0.2]),
    seed=st.integers(0, 10**6),
)
def test_it_agrees_with_a_simpy_model_to_the_last_wait(
    pool, rollouts, service, start, failure, hanging, seed
):
    step = Step(
        rollouts=rollouts,
        gaps=Exponential(mean_s=0.1),
        service=service,
        cap_s=2.5,
        start=start,
        failure=failure,
        failure_after=Uniform(low_s=0.0, high_s=1.0),
        hanging=hanging,
        seed=seed,
    )
    draws = step.draw()
    if isinstance(service, Measured) or isinstance(start, Measured):
        # Equal times end together, and the order among them is nobody's business.
        jitter = np.random.default_rng(seed)
        draws.services_N[:] += jitter.uniform(0, 1e-3, rollouts)
        draws.starts_S[:] += jitter.uniform(0, 1e-3, draws.starts_S.size)
    model, result = Model(step, pool, draws), simulate(step, pool, draws)
    assert model.run() == pytest.approx(result.step_s, abs=1e-6)
    assert model.waits == pytest.approx(list(result.waits_N), abs=1e-6)
    assert (model.started, model.lost) == (result.started, result.lost)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(0, 1000))
def test_more_sandboxes_of_a_fixed_pool_never_slow_a_step(size, seed):
    step = Step(rollouts=200, gaps=Exponential(mean_s=0.05), seed=seed)
    smaller = simulate(step, Pool(size=size, buffer=size, uses=None))
    larger = simulate(step, Pool(size=size + 1, buffer=size + 1, uses=None))
    assert larger.step_s <= smaller.step_s + 1e-9
    assert smaller.busy_s == pytest.approx(step.draw().services_N.sum())
    assert smaller.step_s >= smaller.busy_s / size - 1e-9


def test_the_draws_are_a_pure_function_of_seed_and_index():
    step = Step(rollouts=100, failure=0.1)
    assert np.array_equal(step.draw(3).services_N, step.draw(3).services_N)
    assert not np.array_equal(step.draw(3).services_N, step.draw(4).services_N)
    longer = Step(rollouts=100, failure=0.1, start=Constant(seconds=9.0))
    assert np.array_equal(step.draw().services_N, longer.draw().services_N)


def test_impossible_pools_are_refused():
    with pytest.raises(ConfigError, match="buffer = 5 must be at most size = 4"):
        Pool(size=4, buffer=5)
    with pytest.raises(ConfigError, match=r"Pool\.size = 0"):
        Pool(size=0)


def test_without_numba_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"\.\[plan\]"):
        simulate(Step(rollouts=1), Pool())
