"""The recommendation, its reason, the picture and the command."""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from proofgym.cli.main import app
from proofgym.errors import ConfigError
from proofgym.planning import (
    Constant,
    Exponential,
    Goal,
    LogNormal,
    Measured,
    Pool,
    Prices,
    Step,
    Uniform,
    make_plan,
    parse_distribution,
    simulate,
)
from proofgym.planning.chart import draw
from proofgym.planning.trial import Trial
from proofgym.sandboxes.pool_settings import PoolSettings

SMALL = Step(rollouts=1500, service=Exponential(mean_s=1.0), gaps=Exponential(mean_s=0.05))


def test_the_recommended_pool_reaches_the_goal_and_a_much_smaller_one_does_not():
    plan = make_plan(SMALL)
    chosen = plan.recommended
    assert chosen in plan.rows
    assert chosen.wait_p99_s <= 0.1
    assert chosen.size is not None
    less = Pool(size=int(chosen.size * 0.8), buffer=min(chosen.buffer, int(chosen.size * 0.8)))
    assert simulate(SMALL, less).wait_p99_s > 0.1
    assert simulate(SMALL, Pool(size=chosen.size, buffer=chosen.buffer // 2)).wait_p99_s > 0.1


def test_rows_run_from_one_to_unlimited_and_more_sandboxes_never_block_longer():
    rows = make_plan(SMALL).rows
    assert (rows[0].size, rows[-1].size) == (1, None)
    blocked = [row.blocked_s for row in rows]
    assert all(a >= b - 0.01 * a - 1e-9 for a, b in pairwise(blocked))
    assert all(row.peak <= row.limit for row in rows)


def test_costs_are_seconds_times_prices():
    prices = Prices(gpu_hour=36.0, gpus=10, sandbox_hour=7.2)
    row = make_plan(SMALL, prices, sizes=[10], steps=1).recommended
    result = simulate(SMALL, Pool(size=10, buffer=row.buffer))
    assert row.blocked_cost == pytest.approx(result.blocked_s * 0.1)
    assert row.idle_cost == pytest.approx(result.idle_s * 0.002)
    together = result.idle_s + result.busy_s + result.starting_s
    assert row.cost == pytest.approx(result.blocked_s * 0.1 + together * 0.002)


@settings(max_examples=60, deadline=None)
@given(
    size=st.sampled_from([5, 20, 60, None]),
    warm=st.floats(0, 1),
    wait_s=st.sampled_from([0.0, 0.05, 0.5, 3.0]),
    failure=st.sampled_from([0.0, 0.2]),
    steps=st.integers(1, 3),
    seed=st.integers(0, 1000),
)
def test_a_pool_that_is_too_late_is_found_out_early_and_rightly(
    size, warm, wait_s, failure, steps, seed
):
    step = Step(rollouts=150, gaps=Exponential(mean_s=0.05), failure=failure, seed=seed)
    buffer = int(warm * (size or 100))
    full = Trial(step, Prices(), Pool(), steps).row(size, buffer)
    trial = Trial(step, Prices(), Pool(), steps)
    assert trial.waits_at_most(wait_s, size, buffer) == (full.wait_p99_s <= wait_s)
    assert trial.waits_at_most(1e9, size, buffer)
    assert trial.row(size, buffer) == full


def test_slow_starts_need_a_larger_buffer_and_instant_ones_none():
    def buffer(start_s: float) -> int:
        step = Step(rollouts=1500, gaps=SMALL.gaps, start=Constant(seconds=start_s))
        return make_plan(step).recommended.buffer

    assert buffer(0.05) == 0
    assert 10 < buffer(1.0) < buffer(4.0)  # 20 and 80 completions come while one starts


def test_a_goal_that_costs_far_more_than_it_saves_is_given_up():
    step = Step(rollouts=500, gaps=Constant(seconds=0.0), update_s=300.0)
    plan = make_plan(step)
    assert plan.recommended.wait_p99_s > 0.1
    assert "would cost" in plan.reason
    assert "warm ones would cost more than they save" in plan.reason
    kept = make_plan(step, goal=Goal(premium=1000.0))
    assert kept.recommended.wait_p99_s <= 0.1
    assert kept.recommended.cost > 2 * plan.recommended.cost


def test_it_says_when_no_pool_reaches_the_goal():
    plan = make_plan(SMALL, sizes=[2, 4])
    assert plan.recommended.size == 4
    assert plan.reason.startswith("No pool here reaches the goal of 0.10 s; take 4 sandboxes")


def test_the_reason_names_the_figures_of_its_row():
    plan = make_plan(SMALL)
    row = plan.recommended
    assert f"Take {row.size} sandboxes with {row.buffer} kept warm" in plan.reason
    assert f"at most {row.wait_p99_s:.2f} s" in plan.reason


def test_the_settings_make_a_real_pool_of_the_recommended_kind():
    plan = make_plan(SMALL, uses=3, starting=8)
    made = PoolSettings(**plan.settings())
    assert made == plan.pool.settings()
    row = plan.recommended
    assert (made.largest, made.buffer, made.uses, made.starting) == (row.size, row.buffer, 3, 8)


def test_the_picture_is_one_whole_svg_that_loads_nothing():
    plan = make_plan(SMALL)
    text = draw(plan)
    root = ElementTree.fromstring(text)
    lines = [item for item in root.iter() if item.tag.endswith("polyline")]
    assert len(lines) == 6
    for line in lines:
        points = [tuple(map(float, point.split(","))) for point in line.get("points", "").split()]
        assert len(points) == len(plan.rows)
        assert points == sorted(points, key=lambda point: point[0])
        assert all(0 <= x <= 760 and 0 <= y <= 660 and math.isfinite(y) for x, y in points)
    assert "href" not in text
    assert f"recommended: {plan.recommended.label}" in text


def test_a_plan_of_one_size_draws_too():
    for sizes in ([3], [None]):
        ElementTree.fromstring(draw(make_plan(SMALL, sizes=sizes)))


def test_distributions_from_text(tmp_path):
    file = tmp_path / "service.json"
    file.write_text("[0.5, 1, 2]")
    assert parse_distribution("0.3", "--start") == Constant(seconds=0.3)
    assert parse_distribution("exponential:2", "--start") == Exponential(mean_s=2.0)
    assert parse_distribution("lognormal:1,9", "--start") == LogNormal(median_s=1.0, p99_s=9.0)
    assert parse_distribution("uniform:1,3", "--start") == Uniform(low_s=1.0, high_s=3.0)
    assert parse_distribution(str(file), "--start") == Measured(seconds=(0.5, 1.0, 2.0))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("expo:2", "did you mean 'exponential'"),
        ("exponential:fast", "write exponential:mean_s"),
        ("uniform:3,1", "high_s = 1.0 must be at least low_s = 3.0"),
        ("lognormal:2", "write lognormal:median_s,p99_s"),
        ("-1", "greater than or equal to 0"),
        ("nan", "finite"),
        ("missing.json", "no file missing.json"),
    ],
)
def test_wrong_distributions_are_refused_by_name(text, message):
    with pytest.raises(ConfigError, match=rf"--service.*{message}"):
        parse_distribution(text, "--service")


@pytest.mark.parametrize("content", ["[]", "{}", "[1, -2]", '["a"]', "[true]", "[1, NaN]"])
def test_a_file_that_is_no_list_of_seconds_is_refused(tmp_path, content):
    file = tmp_path / "service.json"
    file.write_text(content)
    with pytest.raises(ConfigError, match="JSON list of seconds"):
        parse_distribution(str(file), "--service")


@pytest.mark.parametrize(
    ("kind", "mean"),
    [
        (Constant(seconds=2.0), 2.0),
        (Exponential(mean_s=2.0), 2.0),
        (LogNormal(median_s=1.0, p99_s=5.0), 1.27),
        (Uniform(low_s=1.0, high_s=2.0), 1.5),
        (Measured(seconds=(1.0, 4.0)), 2.5),
    ],
)
def test_draws_have_the_stated_mean(kind, mean):
    drawn = Step(rollouts=200_000, service=kind, cap_s=1e9).draw().services_N
    assert drawn.mean() == pytest.approx(mean, rel=0.02)
    assert kind.mean() == pytest.approx(mean, rel=0.01)
    if isinstance(kind, LogNormal):
        assert (drawn > 5.0).mean() == pytest.approx(0.01, rel=0.1)


def test_the_command_prints_a_table_a_reason_and_json_last(tmp_path):
    picture = tmp_path / "plan.svg"
    options = ["--rollouts", "300", "--rate", "20", "--pools", "4,40,unlimited", "--steps", "1"]
    result = CliRunner().invoke(app, ["plan", "sandboxes", *options, "--plot", str(picture)])
    assert result.exit_code == 0, result.output
    last = json.loads(result.output.splitlines()[-1])
    assert [row["size"] for row in last["rows"]] == [4, 40, None]
    assert last["recommended"] in last["rows"]
    assert last["reason"] in result.output
    assert f"PoolSettings(smallest={last['recommended']['buffer']}, " in result.output
    assert last["step"]["rollouts"] == 300
    assert re.search(r"│ +unlimited │", result.output)
    assert picture.read_text().startswith("<svg")


def test_the_command_refuses_what_it_does_not_know():
    for options, message in [
        (["--arrivals", "poison"], "did you mean 'poisson'"),
        (["--rate", "0"], "--rate = 0.0: must be more than 0"),
        (["--pools", "4,many"], "'many' is neither"),
        (["--pools", "4,unlimitd"], "did you mean 'unlimited'?"),
        (["--pools", "0"], "--pools: 0 must be at least 1"),
        (["--pools", ","], "--pools: is empty"),
        (["--rollouts", "0"], "--rollouts = 0: "),
        (["--wait", "-1"], "--wait = -1.0: "),
        (["--failure", "2"], "--failure = 2.0: "),
        (["--cap", "0"], "--cap = 0.0: "),
        (["--gpu-price", "-1"], "--gpu-price = -1.0: "),
        (["--uses", "-1"], "--uses = -1: "),
        (["--steps", "0"], "--steps = 0: must be at least 1"),
    ]:
        result = CliRunner().invoke(app, ["plan", "sandboxes", *options])
        assert isinstance(result.exception, ConfigError), (options, result.output)
        assert message in str(result.exception)


def test_no_plan_where_every_rollout_is_lost():
    options = ["--rollouts", "50", "--failure", "1"]
    result = CliRunner().invoke(app, ["plan", "sandboxes", *options])
    assert isinstance(result.exception, ConfigError)
    assert str(result.exception) == (
        "--failure = 1.0: each of the 50 rollouts is lost after 3 attempts, whatever the pool"
    )
    step = Step(rollouts=50, gaps=Exponential(mean_s=0.05), failure=0.5, retries=0)
    plan = make_plan(step, steps=1)
    lost = plan.recommended.lost
    assert 5 < lost < 45
    assert f"{lost:g} of 50 completions are lost with their only attempt" in plan.reason
    assert "lost" not in make_plan(SMALL).reason


def test_a_picture_that_cannot_be_written_is_refused_before_the_work(tmp_path, monkeypatch):
    def no_work(*_, **__):
        raise AssertionError("the simulation was begun")

    monkeypatch.setattr("proofgym.planning.make_plan", no_work)
    (tmp_path / "folder.svg").mkdir()
    for path, message in [
        ("plan.png", "the picture is SVG; name a file that ends in .svg"),
        ("plan", "the picture is SVG"),
        ("no/plan.svg", f"there is no folder {tmp_path}/no"),
        ("foldre.svg/a/plan.svg", f"did you mean '{tmp_path}/folder.svg'?"),
        ("folder.svg", "is a folder"),
    ]:
        result = CliRunner().invoke(app, ["plan", "sandboxes", "--plot", str(tmp_path / path)])
        assert isinstance(result.exception, ConfigError), result.exception
        assert message in str(result.exception)


def test_a_picture_that_fails_after_all_does_not_lose_the_plan(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("proofgym.planning.chart.draw", full)
    options = ["--rollouts", "50", "--pools", "4", "--steps", "1"]
    options += ["--plot", str(tmp_path / "a.svg")]
    result = CliRunner().invoke(app, ["plan", "sandboxes", *options])
    assert "No space left" in str(result.exception)
    assert json.loads(result.output.splitlines()[-1])["recommended"]["size"] == 4
