"""ES whose members are scored by what the policy wrote."""

import math

import numpy as np
import pytest
import torch
from smallest_llama import build, llama

from proofgym.algorithms.es import ES
from proofgym.errors import ConfigError, EngineError, RunError
from proofgym.schedule import Schedule
from proofgym.types import Completion, Rollout, Sampling, Status, Task, Verdict

torch.set_num_threads(1)
TASKS = [Task(f"t{number}", f"say {number}") for number in range(3)]
GOOD = 11  # the token that is rewarded


def prompt(task):
    return tuple(task.prompt.encode()[-4:][i] % 23 for i in range(4))


def attempts(run, model, score=None):
    """The policy's attempts of an iteration, three tokens each, scored."""
    draw = torch.Generator().manual_seed(run.iteration)
    made = []
    for batch in run.batches(TASKS):
        assert batch.population is None
        for request, task in zip(batch.requests, batch.tasks, strict=True):
            assert request.member == 0
            ids, logs = list(prompt(task)), []
            for _ in range(3):
                weights = model(torch.tensor([ids])).logits[0, -1].softmax(-1)
                ids.append(int(torch.multinomial(weights, 1, generator=draw)))
                logs.append(math.log(weights[ids[-1]]))
            told = tuple(ids[4:])
            completion = Completion(tuple(ids[:4]), told, tuple(logs), "", "length")
            reward = sum(token == GOOD for token in told) / 3 if score is None else score(request)
            status = Status.INFRASTRUCTURE if reward is None else Status.PASSED
            verdict = Verdict(status, reward=reward)
            made.append(Rollout(run.iteration, task, request, (completion,), verdict))
    return made


CONFIG = ES(
    objective="likelihood", population=64, samples=8, sigma=2**-8, learning_rate=2**-5, prompts=3
)


def gradient(model, rollouts):
    """Of the mean of advantage · log-likelihood, by autograd."""
    model.requires_grad_(True)
    total, groups = 0.0, {}
    for item in rollouts:
        groups.setdefault(item.task.name, []).append(item)
    for group in groups.values():
        rewards = np.array([item.verdict.reward for item in group])
        spread = rewards.std(ddof=1) + 1e-4
        for item, reward in zip(group, rewards, strict=True):
            (turn,) = item.turns
            ids = torch.tensor([[*turn.prompt_ids, *turn.token_ids]])
            logs = model(ids).logits[0, 3:-1].log_softmax(-1)
            chosen = logs.gather(-1, torch.tensor(turn.token_ids)[:, None]).sum()
            total = total + (reward - rewards.mean()) / spread * chosen / len(rollouts)
    total.backward()
    found = {name: weight.grad.clone() for name, weight in model.named_parameters()}
    model.zero_grad()
    model.requires_grad_(False)
    return found


@pytest.mark.parametrize("settings", [{}, {"rank": None}, {"rank": None, "noise": "gaussian8"}])
def test_the_update_estimates_the_policy_gradient(tmp_path, settings):
    """Within a factor of the estimate's own error: the cosine of an estimate from n/2 antithetic
    directions of a space of d dimensions with the gradient is about sqrt(n / 2d)."""
    model = llama()
    config = CONFIG.model_copy(update={"population": 512, **settings})
    run = build(tmp_path, config, model)
    rollouts = attempts(run, model)
    expected = gradient(model, rollouts)
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    metrics = run.update(rollouts)
    moved = {name: weight - before[name] for name, weight in model.named_parameters()}
    run.close()
    dot = sum(float((moved[name] * expected[name]).sum()) for name in moved)
    norms = [math.sqrt(sum(float((x**2).sum()) for x in it.values())) for it in (moved, expected)]
    size = sum(weight.numel() for weight in moved.values())
    assert dot / (norms[0] * norms[1]) > 0.7 * math.sqrt(256 / (256 + size))
    assert 0 < metrics["informative"] <= 1
    assert metrics["member_sd"] > 0
    # The loop's phases end with _s and are summed; this is a part of its update.
    assert metrics["scoring_seconds"] > 0
    assert not any(name.endswith("_s") for name in metrics)


@pytest.mark.parametrize("settings", [{}, {"rank": None}])
def test_it_learns_and_a_permuted_twin_does_not(tmp_path, settings):
    gains = {}
    for control in (None, "permuted"):
        model = llama()
        config = CONFIG.model_copy(update={"learning_rate": 2**-4, **settings})
        run = build(tmp_path / str(control), config, model, control=control)
        rewards = []
        for _ in range(25):
            rollouts = attempts(run, model)
            rewards.append(np.mean([item.verdict.reward for item in rollouts]))
            run.update(rollouts)
        gains[control] = np.mean(rewards[-5:]) - np.mean(rewards[:5])
        run.close()
    assert gains[None] > 0.2 > 0.1 > gains["permuted"]


def test_a_run_goes_on_from_its_history_with_the_same_numbers(tmp_path):
    digests = {}
    for name, stops in (("whole", ()), ("stopped", (1, 2))):
        model = llama()
        run = build(tmp_path / name, CONFIG, model)
        for number in range(4):
            if number in stops:
                run.close()
                model = llama()
                run = build(tmp_path / name, CONFIG, model)
                assert run.iteration == number
            run.update(attempts(run, model))
        digests[name] = run.history.digests[4]
        run.close()
    assert digests["whole"] == digests["stopped"]


def test_attempts_without_a_score_or_a_difference_teach_nothing(tmp_path):
    model = llama()
    run = build(tmp_path, CONFIG, model)
    start = [weight.clone() for weight in model.parameters()]
    metrics = run.update(attempts(run, model, score=lambda request: 1.0))
    assert metrics["informative"] == 0
    assert metrics["member_sd"] == 0
    assert all(map(torch.equal, start, model.parameters()))
    # of the first task alone a few have no score
    few = attempts(run, model, score=lambda it: None if it.key[1] == 0 and it.key[2] < 3 else 0.5)
    assert run.update(few)["informative"] == 0
    with pytest.raises(RunError, match=r"iteration 3: 38% of the attempts have no score"):
        run.update(attempts(run, model, score=lambda it: None if it.key[2] < 3 else 0.5))
    assert run.iteration == 2
    run.close()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"samples": 1}, r"set samples to 2 or\s+more"),
        ({"normalise": "per_prompt"}, "per_prompt.* has no use"),
        ({"stack": 4}, "stack has no use"),
        ({"evaluation": "stacked"}, "stacked.* has no use"),
        ({"objective": "reward", "advantage": "rloo"}, "advantage has a use with"),
        ({"objective": "likelyhood"}, "likelihood"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings, said):
    with pytest.raises((ConfigError, ValueError), match=said):
        ES(**{"objective": "likelihood", "samples": 8, **settings})


def test_greedy_attempts_are_refused_before_any_work():
    with pytest.raises(ConfigError, match=r"temperature = 0.*objective=\"likelihood\""):
        CONFIG.check(Sampling(temperature=0.0))
    ES().check(Sampling(temperature=0.0))


def test_groups_alike_within_teach_where_they_are_compared_with_others(tmp_path):
    spreads = {}
    for how in ("reinforce++", "grpo"):
        run = build(tmp_path / how, CONFIG.model_copy(update={"advantage": how}), model := llama())
        rollouts = attempts(run, model, score=lambda request: float(request.key[1]))
        spreads[how] = run.update(rollouts)["member_sd"]
        run.close()
    assert spreads["reinforce++"] > 0 == spreads["grpo"]


def test_members_that_overflow_are_named_and_nothing_is_updated(tmp_path):
    model = llama().half()
    run = build(tmp_path, CONFIG.model_copy(update={"sigma": 40.0, "population": 8}), model)
    with pytest.raises(EngineError, match=r"iteration 1: \d of 8 members .* lower sigma"):
        run.update(attempts(run, model))
    assert run.iteration == 0
    run.close()


def test_sigma_follows_its_schedule_where_nothing_is_learnt(tmp_path):
    model = llama()
    schedule = Schedule([(0, 1.0), (1, 0.25)])
    run = build(tmp_path, CONFIG.model_copy(update={"sigma_schedule": schedule}), model)
    one, two = (run.update(attempts(run, model, score=lambda it: 1.0))["sigma"] for _ in range(2))
    assert two == one / 4
    run.close()


def test_advantages_are_those_that_were_asked_for(tmp_path):
    found = []
    for how in ("grpo", None, "dr_grpo"):
        model = llama()
        config = CONFIG.model_copy(update={"advantage": how, "normalise": "none"})
        run = build(tmp_path / str(how), config, model)
        run.update(attempts(run, model))
        found.append(run.history.digests[1])
        record = run.history.record()
        (entry,) = record.between(0, 1)
        found[-1] = entry.coefficients
        run.close()
    assert found[0] == found[1] != found[2]
