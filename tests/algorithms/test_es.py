"""ES as the loop sees it: batches, rewards, drops, durability, and that it ascends."""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
import smallest_llama
import torch
from smallest_llama import llama
from torch import nn

from proofgym.algorithms.es import ES
from proofgym.algorithms.normalise import normalise, per_prompt
from proofgym.durable import LEFTOVERS
from proofgym.errors import ConfigError, HistoryError, RunError
from proofgym.evolution import history, keyframe, replay
from proofgym.schedule import Schedule
from proofgym.types import Task

torch.set_num_threads(1)  # these matrices are too small to share
TASKS = [Task("a", "first"), Task("b", "second")]


def layers(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3)).requires_grad_(False)


def build(directory, config, model=None, **options):
    return smallest_llama.build(directory, config, layers() if model is None else model, **options)


def rewards(run, value):
    """Consume one iteration's batches, scoring each request with value(request)."""
    return {
        (request.key, request.member): value(request)
        for batch in run.batches(TASKS)
        for request in batch.requests
    }


def pseudo(request):
    """An arbitrary but fixed reward."""
    return math.sin(
        sum((place + 2) * part for place, part in enumerate(request.key)) + request.member
    )


def step(run, value=pseudo):
    return run.learn(rewards(run, value))


MATERIALISED = ES(population=4, evaluation="materialised", keyframe_every=2)


# What the engine is asked


def test_members_face_the_same_noise(tmp_path):
    run = build(tmp_path, ES(population=4, samples=3), llama())
    (batch,) = list(run.batches(TASKS))
    assert len(batch.requests) == len(batch.tasks) == 4 * 2 * 3
    assert batch.population is not None
    for request, task in zip(batch.requests, batch.tasks, strict=True):
        assert task is TASKS[request.key[1]]
        assert request.prompt == task.prompt
        assert request.key[0] == 0
    assert {r.key for r in batch.requests if r.member == 0} == {
        r.key for r in batch.requests if r.member == 3
    }
    run.close()


def test_materialised_batches_hold_each_members_weights(tmp_path):
    model = layers()
    run = build(tmp_path, MATERIALISED, model)
    base, seen = model[0].weight.clone(), []
    for member, batch in enumerate(run.batches(TASKS)):
        assert {request.member for request in batch.requests} == {member}
        assert batch.population is None
        seen.append(model[0].weight - base)
    assert torch.equal(model[0].weight, base)
    assert torch.allclose(seen[0], -seen[1], atol=1e-6)
    assert not torch.allclose(seen[0], seen[2], atol=1e-4)
    assert torch.allclose(
        seen[0].abs(), torch.full_like(base, run.state.specification.sigma), atol=1e-6
    )
    run.close()


def test_an_interrupted_batch_leaves_the_policy(tmp_path):
    model = layers()
    run = build(tmp_path, MATERIALISED, model)
    base = model[0].weight.clone()
    batches = run.batches(TASKS)
    next(batches)
    assert not torch.equal(model[0].weight, base)
    run.close()
    assert torch.equal(model[0].weight, base)

    run = build(tmp_path / "factored", ES(population=4), made := llama())
    batches = run.batches(TASKS)
    next(batches)
    assert any(module._forward_hooks for module in made.modules())
    run.close()
    assert not any(module._forward_hooks for module in made.modules())


# From rewards to coefficients


def test_the_update_is_the_published_one(tmp_path):
    """W = W_0 + α/n·Σ z_i·ε_i, to the rounding of the coefficients."""
    model = layers()
    run = build(tmp_path, MATERIALISED, model)
    base, noise = model[0].weight.clone(), []
    scores = [0.0, 1.0, 0.5, 3.0]
    for _ in run.batches(TASKS):
        noise.append((model[0].weight - base) / run.state.specification.sigma)
    metrics = run.learn(
        {((0, p, 0), member): scores[member] for p in range(2) for member in range(4)}
    )
    z = torch.tensor(scores)
    z = (z - z.mean()) / z.std(correction=0)
    expected = base + 2**-10 / 4 * sum(z[m] * noise[m] for m in range(4))
    assert torch.allclose(model[0].weight, expected, atol=1e-6)
    assert metrics["member_mean"] == pytest.approx(1.125)
    assert metrics["dropped_share"] == 0
    assert metrics["coefficient_bits"] >= 13
    moved = math.sqrt(sum(float(((a - b) ** 2).sum()) for a, b in pairs(model, layers())))
    assert metrics["update_norm"] == pytest.approx(moved, rel=0.35)
    run.close()


def pairs(one, other):
    return zip(one.parameters(), other.parameters(), strict=True)


def test_normalisations():
    scores = {0: 1.0, 2: 3.0, 3: 1.0, 5: 7.0}
    z = normalise(scores, "zscore")
    assert list(z) == [0, 2, 3, 5]
    assert sum(z.values()) == pytest.approx(0)
    assert sum(value**2 for value in z.values()) == pytest.approx(4)
    assert list(normalise(scores, "centred_ranks").values()) == pytest.approx(
        [-1 / 3, 1 / 6, -1 / 3, 0.5]
    )
    assert normalise(scores, "none") == scores
    assert normalise(dict.fromkeys(range(3), 0.1), "zscore") == {0: 0.0, 1: 0.0, 2: 0.0}
    assert set(normalise(dict.fromkeys(range(3), 0.1), "centred_ranks").values()) == {0.0}


def test_an_unscored_attempt_drops_its_member_and_the_partner(tmp_path):
    run = build(tmp_path, ES(population=8, max_unscored=0.25))
    found = rewards(run, pseudo)
    found[(0, 1, 0), 5] = None
    metrics = run.learn(found)
    assert metrics["dropped_share"] == 0.25
    (entry,) = run.history.entries
    assert entry.kept == 6
    assert [c == 0 for c in entry.coefficients] == [m in (4, 5) for m in range(8)]
    full = build(tmp_path / "full", ES(population=8))
    step(full)
    kept = [c for m, c in enumerate(entry.coefficients) if m not in (4, 5)]
    assert abs(sum(kept)) <= len(kept)  # z-scored again among those that are left
    run.close()
    full.close()


@pytest.mark.parametrize("lost", [None, math.nan, math.inf])
def test_too_many_lost_members_stop_the_run_unharmed(tmp_path, lost):
    run = build(tmp_path, ES(population=8, max_unscored=0.2))
    found = rewards(run, pseudo)
    found[(0, 0, 0), 1] = lost
    before = (tmp_path / replay.HISTORY).read_bytes()
    with pytest.raises(RunError, match="25% of the members have no score"):
        run.learn(found)
    with pytest.raises(RunError, match="no answer"):
        run.learn(found, "The first of them says: no answer. ")
    assert (tmp_path / replay.HISTORY).read_bytes() == before
    step(run)
    assert run.iteration == 1
    run.close()


def test_without_pairs_only_the_member_itself_is_dropped(tmp_path):
    run = build(tmp_path, ES(population=5, antithetic=False))
    found = rewards(run, pseudo)
    del found[(0, 0, 0), 2]
    assert run.learn(found)["dropped_share"] == pytest.approx(0.2)
    run.close()


def test_equal_rewards_move_nothing_but_count(tmp_path):
    model = layers()
    run = build(tmp_path, ES(population=4), model)
    step(run, lambda request: 0.7)
    assert run.iteration == 1
    assert all(torch.equal(a, b) for a, b in pairs(model, layers()))
    run.close()


def test_the_order_of_rewards_does_not_matter(tmp_path):
    digests = []
    for name, order in (("a", 1), ("b", -1)):
        run = build(tmp_path / name, ES(population=4, samples=5))
        found = rewards(run, pseudo)
        run.learn(dict(list(found.items())[::order]))
        digests.append(run.state.digest())
        run.close()
    assert digests[0] == digests[1]


def test_the_control_shuffles_the_same_coefficients(tmp_path):
    runs = [build(tmp_path / str(c), ES(population=16), control=c) for c in (None, "permuted")]
    for run in runs:
        step(run)
    plain, shuffled = (run.history.entries[0].coefficients for run in runs)
    assert sorted(plain) == sorted(shuffled)
    assert plain != shuffled
    for run in runs:
        run.close()


def test_update_needs_batches(tmp_path):
    run = build(tmp_path, ES(population=4))
    with pytest.raises(RunError, match=r"must follow ES\.batches"):
        run.learn({})
    run.close()


def test_weight_decay_pulls_towards_the_base(tmp_path):
    model = layers()
    run = build(tmp_path, ES(population=4, learning_rate=0.1, weight_decay=0.5), model)
    step(run)
    far = distance(model)
    for _ in range(8):
        step(run, lambda request: 0.0)
    assert distance(model) == pytest.approx(far / 256, rel=0.1)
    run.close()


def distance(model):
    return math.sqrt(sum(float(((a - b) ** 2).sum()) for a, b in pairs(model, layers())))


# Durability


def undisturbed(tmp_path, config, iterations=5):
    run = build(tmp_path / "whole", config)
    digests = [run.state.digest()]
    for _ in range(iterations):
        step(run)
        digests.append(run.state.digest())
    run.close()
    return digests


@pytest.mark.parametrize(
    "config", [MATERIALISED, ES(population=6, keyframe_every=2, weight_decay=0.01)]
)
def test_resuming_at_every_iteration_equals_going_on(tmp_path, config):
    digests = undisturbed(tmp_path, config)
    for iteration in range(5):
        model = layers()
        run = build(tmp_path / "stopped", config, model)
        assert (run.iteration, run.state.digest()) == (iteration, digests[iteration])
        step(run)
        assert run.state.digest() == digests[iteration + 1]
        run.close()
    exported = layers()
    replay.export(tmp_path / "stopped", exported)
    assert all(torch.equal(a, b) for a, b in pairs(model, exported))
    whole, stopped = (
        (tmp_path / name / replay.HISTORY).read_bytes() for name in ("whole", "stopped")
    )
    assert whole == stopped


class Killed(BaseException):
    """Stands for a kill: nothing of the process's own may run after it."""


def die_training(directory, config):
    run = build(directory, config)
    try:
        while run.iteration < 4:
            step(run)
        raise Killed
    finally:
        run.history._file.close()  # the system closes a dead process's files


@pytest.mark.parametrize("at", range(24))
def test_a_kill_at_any_system_call_loses_at_most_the_iteration_in_flight(tmp_path, monkeypatch, at):
    config = ES(population=4, keyframe_every=2, weight_decay=0.01)
    digests = undisturbed(tmp_path, config, 4)
    calls = iter(range(1000))

    def dying(function, after):
        def call(*args, **kwargs):
            number = next(calls)
            if number == at and not after:
                raise Killed
            result = function(*args, **kwargs)
            if number == at:
                raise Killed
            return result

        return call

    with monkeypatch.context() as patch:
        for name in ("fsync", "replace"):
            patch.setattr(os, name, dying(getattr(os, name), after=at % 2 == 0))
        patch.setattr(keyframe, "_compress", dying(keyframe._compress, after=False))
        with pytest.raises(Killed):
            die_training(tmp_path / "killed", config)
    path = tmp_path / "killed" / replay.HISTORY
    durable = history.read(path).iterations if path.exists() else 0
    run = build(tmp_path / "killed", config)
    assert (run.iteration, run.state.digest()) == (durable, digests[durable])
    while run.iteration < 4:
        step(run)
    assert run.state.digest() == digests[4]
    assert not list((tmp_path / "killed" / replay.KEYFRAMES).glob(LEFTOVERS))
    run.close()


def test_a_torn_entry_is_done_again(tmp_path):
    digests = undisturbed(tmp_path, MATERIALISED, 3)
    path = tmp_path / "whole" / replay.HISTORY
    data = path.read_bytes()
    path.write_bytes(data[:-5])
    run = build(tmp_path / "whole", MATERIALISED)
    assert run.iteration == 2
    step(run)
    assert run.state.digest() == digests[3]
    assert path.read_bytes() == data
    run.close()


@pytest.mark.parametrize(
    ("config", "options", "message"),
    [
        ({"learning_rate": 2**-9}, {}, "learning_rate = 0.0009765625"),
        ({"population": 6}, {}, "population = 4"),
        ({"parameters": ("0.*",)}, {}, "parameters = "),
        ({}, {"seed": 8}, "seed = 7"),
        ({}, {"base_digest": "other"}, "base_digest = 'base'"),
        ({}, {"adapter_digest": "a"}, "adapter_digest = None"),
        ({}, {"control": "permuted"}, "control = None"),
        ({}, {"model": layers(1)}, "not the ones that the history starts from"),
    ],
)
def test_a_history_is_continued_only_as_it_was_begun(tmp_path, config, options, message):
    build(tmp_path, ES(population=4)).close()
    with pytest.raises(HistoryError, match=message):
        build(tmp_path, ES(**{"population": 4, **config}), **options)
    build(tmp_path, ES(population=4, keyframe_every=3, max_unscored=0.5)).close()


def test_two_runs_cannot_share_a_directory(tmp_path):
    run = build(tmp_path, ES(population=4))
    with pytest.raises(RunError, match="in use"):
        build(tmp_path, ES(population=4))
    run.close()


# Configuration


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"population": 5}, "even"),
        ({"population": 1}, "greater than or equal to 2"),
        ({"noise": "gaussian"}, "rank=None"),
        ({"noise": "gauss"}, "did you mean 'gaussian'"),
        ({"rank": None, "evaluation": "factored"}, "needs a rank"),
        ({"weight_decay": 1e-7}, "rounds to nothing"),
        ({"sigma": 0}, "greater than 0"),
        ({"learning_rate": math.nan}, "learning_rate"),
        ({"sigmas": 1}, "did you mean 'sigma'"),
    ],
)
def test_wrong_settings_are_refused(fields, message):
    with pytest.raises(ConfigError, match=message):
        ES(**fields)


def test_wrong_controls_and_patterns_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="did you mean 'permuted'"):
        build(tmp_path, ES(population=4), control="permute")
    with pytest.raises(ConfigError, match="matches no tensor"):
        build(tmp_path, ES(population=4, parameters=("2.weights",)))
    assert not list(tmp_path.iterdir())


def test_the_effective_sigma_is_shown(tmp_path):
    run = build(tmp_path, ES(population=4, sigma=0.001))
    assert "asked 0.001" in run.describe()
    assert run.state.specification.sigma == pytest.approx(0.001, rel=2**-9)
    run.close()


# Learning


@pytest.mark.parametrize(
    "config",
    [
        ES(population=16, sigma=0.02, learning_rate=0.02, evaluation="materialised"),
        ES(population=16, sigma=0.02, learning_rate=0.02, rank=None, noise="gaussian8"),
        ES(population=16, sigma=0.02, learning_rate=0.02, noise="gaussian8").override(
            "evaluation", "materialised"
        ),
        ES(population=16, sigma=0.02, learning_rate=0.02, normalise="centred_ranks", rank=2)
        .override("evaluation", "materialised")
        .override("learning_rate", "0.06"),
    ],
    ids=["rank1", "gaussian8", "rank1-gaussian8", "ranks"],
)
def test_it_ascends_a_toy_reward(tmp_path, config):
    """Fit a small network to a target function through rewards alone."""
    model, x = layers(), torch.randn(32, 4, generator=torch.Generator().manual_seed(3))
    target = torch.stack([x[:, 0], -x[:, 1], x[:, 2] * 0.5], dim=1)

    def reward():
        return -float(((model(x) - target) ** 2).mean())

    run, before = build(tmp_path, config, model), reward()
    for _ in range(60):
        found = {}
        for batch in run.batches(TASKS[:1]):
            found |= {(request.key, request.member): reward() for request in batch.requests}
        run.learn(found)
    assert reward() > 0.4 * before
    run.close()


@pytest.mark.parametrize("noise", ["rademacher", "gaussian8"])
def test_factored_members_ascend_the_likelihood_of_a_token(tmp_path, noise):
    model, ids = llama(), torch.arange(6)[None]

    def likelihood(rows):
        return model(ids.expand(rows, -1)).logits[:, -1].log_softmax(-1)[:, 11].tolist()

    config = ES(population=16, sigma=2**-6, learning_rate=2**-5, noise=noise)
    run = build(tmp_path, config, model)
    before = likelihood(1)[0]
    for _ in range(25):
        for batch in run.batches(TASKS[:1]):
            batch.population.select([request.member for request in batch.requests])
            scores = likelihood(len(batch.requests))
            batch.population.select(None)
            found = {(r.key, r.member): s for r, s in zip(batch.requests, scores, strict=True)}
        run.learn(found)
    assert likelihood(1)[0] > before + 0.7
    run.close()


# A real kill

PROGRAM = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
import test_es as t
run = t.build(Path(sys.argv[1]), t.MATERIALISED)
while True:
    t.step(run)
    print(run.iteration, flush=True)
"""


def test_kill_9_then_resume_equals_an_undisturbed_run(tmp_path):
    directory = tmp_path / "killed"
    program = PROGRAM.format(tests=str(Path(__file__).parent))
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(directory)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    for line in process.stdout:
        if int(line) >= 25:
            process.kill()
            break
    process.wait()
    process.stdout.close()
    run = build(directory, MATERIALISED)
    reached = run.iteration
    assert reached >= 25
    step(run)
    digests = undisturbed(tmp_path, MATERIALISED, reached + 1)
    assert run.state.digest() == digests[reached + 1]
    run.close()


# Schedules


def test_a_schedule_is_straight_between_its_points():
    schedule = Schedule(((2, 0.5), (4, 1.0), (8, 0.25)))
    assert [schedule.at(t) for t in (0, 2, 3, 4, 6, 8, 99)] == [
        *(0.5, 0.5, 0.75, 1.0, 0.625, 0.25, 0.25)
    ]
    assert schedule.least == 0.25
    assert (Schedule().at(5), Schedule().least) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ([[3, 1.0], [3, 0.5]], "must be 0 or more and rise"),
        ([[-1, 1.0]], "must be 0 or more and rise"),
        ([[0, 0.0]], "factors must be from"),
        ([[0, 1.5]], "factors must be from"),
    ],
)
def test_a_wrong_schedule_is_refused(points, words):
    with pytest.raises(ConfigError, match=words):
        ES(sigma_schedule=points)


@pytest.mark.parametrize("evaluation", ["materialised", "factored"])
def test_sigma_follows_its_schedule(tmp_path, evaluation):
    config = ES(
        population=4, sigma=2**-6, evaluation=evaluation, sigma_schedule=[(0, 1.0), (2, 0.25)]
    )
    model = llama()
    run = build(tmp_path, config, model)
    sigmas, before = [], dict(model.named_parameters())
    before = {name: value.clone() for name, value in before.items()}
    for iteration in range(3):
        if evaluation == "materialised":
            current = model.lm_head.weight.clone()
            for _ in run.batches(TASKS):
                moved = (model.lm_head.weight - current).abs().max()
                sigmas.append(float(moved))
        sigma = step(run)["sigma"]
        assert sigma == pytest.approx(2**-6 * (1.0, 0.625, 0.25)[iteration], rel=2**-8)
        if sigmas:
            assert sigmas.pop() == pytest.approx(sigma, rel=2**-7)
            sigmas.clear()
    run.close()


def test_the_learning_rate_follows_its_schedule(tmp_path):
    plain = build(tmp_path / "plain", ES(population=4, learning_rate=2**-8))
    slower = ES(population=4, learning_rate=2**-7, learning_rate_schedule=[[0, 0.5]])
    other = build(tmp_path / "slower", slower)
    for run in (plain, other):
        step(run)
    changes = [
        run.state.specification.step * run.state.delta["0.weight"].values for run in (plain, other)
    ]
    assert changes[0] == pytest.approx(changes[1], rel=1e-3, abs=1e-9)
    for run in (plain, other):
        run.close()


def test_a_schedule_is_part_of_a_run(tmp_path):
    build(tmp_path, ES(population=4)).close()
    with pytest.raises(HistoryError, match="sigma_schedule"):
        build(tmp_path, ES(population=4, sigma_schedule=[[0, 0.5]]))


# Rewards by prompt


def test_each_prompt_counts_alike():
    """A hard prompt with few successes weighs as much as an easy one with many differences."""
    hard, easy, settled = {0: 0.0, 1: 0.01}, {0: 1.0, 1: 0.0}, {0: 0.5, 1: 0.5}
    assert per_prompt([hard]) == {0: -1.0, 1: 1.0}
    assert per_prompt([hard, easy]) == {0: 0.0, 1: 0.0}
    assert per_prompt([hard, hard, easy, settled]) == {0: -0.25, 1: 0.25}
    assert per_prompt([]) == {}


def test_an_iteration_by_prompts(tmp_path):
    run = build(tmp_path, ES(population=4, samples=2, normalise="per_prompt"))

    def reward(request):
        _, prompt, sample = request.key
        return (0.001 if prompt else 1.0) * (request.member % 2) + 0.5 * sample

    step(run, reward)
    (entry,) = [it for it in run.history.record().entries if hasattr(it, "coefficients")]
    one = run.state.specification.coefficient(run.config.learning_rate, 1.0, 4)
    assert entry.coefficients == (-one, one, -one, one)
    run.close()


# Keyframes


def test_keyframes_by_cost(tmp_path, monkeypatch):
    """One each time that the updates since the last cost more than writing one."""
    run = build(tmp_path, ES(population=4))
    written = []
    monkeypatch.setattr(keyframe, "save", lambda *_: written.append(run.iteration))
    run._keyframe_s, clock = 0.0, iter(range(1000))
    monkeypatch.setattr("proofgym.algorithms.es_run.time.perf_counter", lambda: next(clock))
    run._keyframe_s = 2.5  # an update takes a tick, and so does writing
    for _ in range(7):
        step(run)
    assert written == [3, 5, 7]
    run.close()
