"""The order of tasks: what is passed over and comes back, and a resume that changes nothing."""

from __future__ import annotations

import itertools
import json
import random
import warnings

import pytest

from proofgym import training
from proofgym.errors import ConfigError, RunError
from proofgym.job_file import load_job
from proofgym.run_directory import RunDirectory
from proofgym.tasks.order import Order, OrderWarning, Past, past_of
from proofgym.types import Completion, Request, Rollout, Status, Task, Verdict

TASKS = [Task(f"t{number:02d}", "", difficulty=1 + number // 3) for number in range(30)]
KINDS = [
    Order(),
    Order(by="difficulty", start=0.2, widen=6),
    Order(by="success", memory=8),
    Order(skip="both", attempts=4, memory=8),
    Order(by="difficulty", skip="solved", attempts=2, memory=4, again=0.0),
    Order(by="success", skip="unsolved", attempts=4, memory=6, again=0.3),
]


def rollout(task, solved, iteration=0, index=0, sample=0):
    """An attempt; `solved` None has no score."""
    status = {True: Status.PASSED, False: Status.FAILED, None: Status.INFRASTRUCTURE}[solved]
    verdict = Verdict(status, None if solved is None else float(solved))
    completion = Completion((1,), (2,), (-0.5,), "x", "stop")
    request = Request((iteration, index, sample), "")
    return Rollout(iteration, task, request, (completion,), verdict)


def solved(task, iteration, sample):
    """Easy tasks always, hard ones never, those between by chance; now and then no score."""
    draw = random.Random(f"{iteration} {task.name} {sample}").random()
    if draw > 0.95:
        return None
    return task.difficulty <= 3 or (task.difficulty <= 6 and draw < 0.4)


def iterate(order, iteration, count=5, more=3):
    """One iteration, which asks twice: the tasks' names, and the attempts."""
    tasks = order.take(count) + order.take(more)
    rollouts = [
        rollout(task, solved(task, iteration, sample), iteration, index, sample)
        for index, task in enumerate(tasks)
        for sample in range(4)
    ]
    order.see(rollouts)
    return [task.name for task in tasks], rollouts


@pytest.mark.parametrize("config", KINDS, ids=lambda it: f"{it.by} {it.skip}")
def test_a_resume_changes_nothing(config, tmp_path):
    run = RunDirectory(tmp_path)
    (tmp_path / "rollouts").mkdir()
    calm = config.open(TASKS, 3)
    calm_names = []
    for iteration in range(16):
        names, rollouts = iterate(calm, iteration)
        run.write_rollouts(iteration, rollouts)
        calm_names.append(names)
    for resumed_at in (0, 1, 7, 12):
        order = config.open(TASKS, 3)
        order.replay(past_of(8, run.rollouts(iteration)) for iteration in range(resumed_at))
        assert [iterate(order, it)[0] for it in range(resumed_at, 16)] == calm_names[resumed_at:]
    assert [iterate(config.open(TASKS, 4), 0)[0]] != calm_names[:1]


def test_every_task_once_an_epoch():
    order = Order().open(TASKS, 0)
    names = [task.name for _ in range(6) for task in order.take(10)]
    assert sorted(names[:30]) == sorted(names[30:]) == [task.name for task in TASKS]
    assert names[:30] != names[30:]
    assert len(order.take(1000)) == 30


def test_difficulty_opens_the_easy_ones_first():
    order = Order(by="difficulty", start=0.2, widen=4).open(TASKS, 0)
    hardest = []
    for _ in range(6):
        hardest.append(max(task.difficulty for task in order.take(30)))
        order.see([])
    assert hardest == [2, 4, 6, 8, 10, 10]
    with pytest.raises(ConfigError, match="no task says how difficult"):
        Order(by="difficulty").open([Task("a", "")], 0)


def test_what_is_always_or_never_solved_is_skipped_and_can_come_back():
    order = Order(skip="both", attempts=4, memory=8, again=0.2).open(TASKS, 0)
    easy, hard, between, unscored = TASKS[:4]
    order.see([rollout(easy, True)] * 4 + [rollout(hard, False)] * 4)
    order.see([rollout(between, True)] * 3 + [rollout(between, False)])
    order.see([rollout(unscored, None)] * 9)
    assert [order.skipped(task) for task in TASKS[:5]] == [True, True, False, False, False]
    assert (order.success(easy), order.success(between), order.success(unscored)) == (1, 0.75, None)
    names = [task.name for _ in range(40) for task in order.take(30)]
    assert 0 < names.count(easy.name) < 0.5 * names.count(between.name)
    order.see([rollout(hard, True)])
    assert not order.skipped(hard)
    order.see([rollout(hard, True)] * 8)  # what it once was is forgotten
    assert order.skipped(hard)


@pytest.mark.parametrize(
    ("skip", "expected"), [("solved", [True, False]), ("unsolved", [False, True])]
)
def test_only_what_is_asked_is_skipped(skip, expected):
    order = Order(skip=skip, attempts=1).open(TASKS, 0)
    order.see([rollout(TASKS[0], True), rollout(TASKS[1], False)])
    assert [order.skipped(task) for task in TASKS[:2]] == expected


def test_tasks_near_one_half_are_preferred():
    order = Order(by="success", again=0.0).open(TASKS[:3], 0)
    often, half, rarely = TASKS[:3]
    order.see(
        [rollout(often, number < 62) for number in range(64)]
        + [rollout(half, number % 2 == 0) for number in range(64)]
        + [rollout(rarely, number < 2) for number in range(64)]
    )
    names = [task.name for _ in range(200) for task in order.take(3)]
    share = {task.name: names.count(task.name) / 600 for task in TASKS[:3]}
    assert share[half.name] > 0.6
    assert 0.05 < share[often.name] < 0.25
    assert 0.05 < share[rarely.name] < 0.25


@pytest.mark.parametrize("again", [0.0, 0.05, 1.0])
def test_all_skipped_does_not_stall_and_is_said(again):
    order = Order(skip="both", attempts=1, again=again).open(TASKS[:4], 0)
    order.see([rollout(task, True) for task in TASKS[:4]])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert len(order.take(3)) == 3
        assert len(order.take(3)) == 3
    assert all(order.skipped(task) for task in TASKS[:4])
    if again == 0:
        assert [it.category for it in said] == [OrderWarning]
        assert "every task is always or never solved" in str(said[0].message)
    if again == 1:
        assert not said


def test_replay_needs_no_outcomes_where_nothing_is_learnt():
    order, other = (Order(by="difficulty").open(TASKS, 1) for _ in range(2))
    for _ in range(3):
        order.take(7)
        order.see([])
    other.replay(itertools.repeat(Past(7), 3))
    assert other.take(9) == order.take(9)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"by": "sucess"}, "did you mean 'success'"),
        ({"skip": "all"}, "choose from 'solved', 'unsolved', 'both'"),
        ({"again": 2}, "less than or equal to 1"),
    ],
)
def test_wrong_fields_are_refused(fields, words):
    with pytest.raises(ConfigError, match=words):
        Order(**fields)


JOB = """
from proofgym import ES, Job, Local, Model, Sampling
from proofgym.tasks import from_jsonl
from proofgym.tasks.order import Order

def vowels(task, text):
    return "e" in text

job = Job(
    model=Model({model!r}),
    tasks=from_jsonl({tasks!r}),
    reward=vowels,
    algorithm=ES(population=4, prompts=3, sigma=2**-6, learning_rate=2**-5),
    order=Order(by="success", skip="both", attempts=2, memory=8),
    sampling=Sampling(max_tokens=4),
    cluster=Local(workers=2, threads=1, device="cpu"),
    iterations=6,
)
"""


def test_a_job_resumes_where_it_was_or_says_what_is_missing(tiny_model, tmp_path, monkeypatch):
    tasks = tmp_path / "tasks.jsonl"
    lines = [
        {"name": f"t{i}", "prompt": f"say {i}: ", "topic": "letters", "difficulty": 1}
        for i in range(8)
    ]
    tasks.write_text("".join(json.dumps(line) + "\n" for line in lines))
    path = tmp_path / "job.py"
    path.write_text(JOB.format(model=str(tiny_model), tasks=str(tasks)))

    calm = load_job(path).run(tmp_path / "calm", source=path)
    names = [line["task"] for line in calm.rollouts()]
    monkeypatch.setattr(training, "print_iteration", stop_after_three)
    with pytest.raises(KeyboardInterrupt):
        load_job(path).run(tmp_path / "cut", source=path)
    monkeypatch.undo()
    run = RunDirectory.read(tmp_path / "cut", "latest")
    lost = run.path / "rollouts" / "00001.jsonl.gz"
    kept = lost.read_bytes()
    lost.unlink()
    with pytest.raises(RunError, match=r"rollouts/00001\.jsonl\.gz is missing.*order of tasks"):
        load_job(path).resume(RunDirectory.open(tmp_path / "cut", run.id))
    lost.write_bytes(kept)
    load_job(path).resume(RunDirectory.open(tmp_path / "cut", run.id))
    assert [line["task"] for line in run.rollouts()] == names


def stop_after_three(metrics):
    if metrics["iteration"] == 2:
        raise KeyboardInterrupt
