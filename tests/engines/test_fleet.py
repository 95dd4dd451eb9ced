"""Several processes do what one does, to the byte, whatever becomes of them meanwhile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest
import torch
from fleets import SAMPLING, both_ready, opened, workers_of

from proofgym import ES, Job, Local, Measure
from proofgym.algorithms.algorithm import Algorithm
from proofgym.engines.fleet import Fleet
from proofgym.engines.portions import Portion, cut, groups
from proofgym.engines.remote import Remote
from proofgym.engines.work import Setup
from proofgym.errors import ConfigError, EngineError
from proofgym.evolution import replay
from proofgym.evolution.replica import Members
from proofgym.tasks import from_jsonl
from proofgym.types import Request, Task

torch.set_num_threads(1)
TASKS = [Task(f"t{i}", f"say {i}: ") for i in range(4)]
FULL = ES(population=6, rank=None, noise="gaussian8", prompts=4, sigma=2**-6, learning_rate=2**-5)
LOW = FULL.override("noise", "rademacher").override("rank", "1").override("weight_decay", "0.01")


@pytest.fixture(autouse=True)
def pipelined():
    """Once is enough here: how steps are made is the engine's matter."""


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    assert not workers_of(os.getpid())


def vowels(task, text):
    return text.count("e") / 12


def reward(completion):
    return completion.text.count("e") / 12


def iterate(it, meanwhile=lambda number: None):
    """One iteration; `meanwhile` is called with the number of each completion that came."""
    found = {}
    for batch in it.run.batches(TASKS):
        for request, completion in it.engine.generate(batch.requests, SAMPLING, batch.population):
            assert (request.key, request.member) not in found
            found[request.key, request.member] = completion
            meanwhile(len(found))
    it.run.learn({key: reward(completion) for key, completion in found.items()})
    return found


def history(directory):
    return (directory / replay.HISTORY).read_bytes()


def test_members_go_to_whoever_is_free_and_come_back_from_the_dead(tiny_model, tmp_path):
    with opened(tiny_model, tmp_path / "one", FULL, 1) as one:
        alone = [iterate(one) for _ in range(4)]
    with opened(tiny_model, tmp_path / "two", FULL, 2) as two:
        assert iterate(two) == alone[0]
        first, second = two.engine.workers
        both_ready(two.engine)

        def slow(number):
            if number == 1:
                os.kill(second.pid, signal.SIGSTOP)
            if number == 5 * len(TASKS):
                os.kill(second.pid, signal.SIGCONT)

        before = first.finished, second.finished
        assert iterate(two, slow) == alone[1]
        assert first.finished - before[0] >= 4 > 2 >= second.finished - before[1]

        def kill(number):
            if number == 2:
                os.kill(second.pid, signal.SIGKILL)

        killed = second.pid
        assert iterate(two, kill) == alone[2]
        assert iterate(two) == alone[3]
        assert history(tmp_path / "two") == history(tmp_path / "one")
        both_ready(two.engine)

        def hang(number):
            if number == 1:
                os.kill(first.pid, signal.SIGSTOP)

        two.engine._patience = 5.0
        with pytest.raises(EngineError, match=r"engine 0 .* no progress on member \d for 5 s"):
            iterate(two, hang)
    assert not os.path.exists(f"/proc/{killed}")


def test_a_factored_job_is_shared_out_measured_interrupted_and_leaves_nothing(tiny_model, tmp_path):
    for name in ("train", "heldout"):
        about = {"topic": "letters", "difficulty": 1}
        lines = [{"name": f"{name}{i}", "prompt": f"{name} {i}: ", **about} for i in range(4)]
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    runs = {}
    for engines in (1, 2):
        root = tmp_path / str(engines)
        job = Job(
            model=str(tiny_model),
            tasks=from_jsonl(str(tmp_path / "train")),
            evaluation=from_jsonl(str(tmp_path / "heldout")),
            measure=Measure(at=(0, 1), samples=2),
            reward=vowels,
            algorithm=LOW,
            sampling=SAMPLING,
            cluster=Local(device="cpu", threads=1, workers=1, engines=engines),
            iterations=3 if engines == 1 else 500,
        )
        if engines == 1:
            runs[engines] = job.run(root)
            continue
        threading.Thread(target=interrupt, args=(root,), daemon=True).start()
        with pytest.raises(KeyboardInterrupt):
            job.run(root)
        assert not workers_of(os.getpid())
        (path,) = root.iterdir()
        runs[engines] = type(runs[1])(path)
    one, two = (history(run.path) for run in runs.values())
    assert two[: len(one)] == one
    for found, expected in zip(runs[2].rollouts(0), runs[1].rollouts(0), strict=True):
        assert found["token_ids"] == expected["token_ids"]
        # in another batch a product may round otherwise
        assert found["logprobs"] == pytest.approx(expected["logprobs"], abs=1e-4)
    first, second = (
        next(e for e in run.events() if e["event"] == "evaluation") for run in runs.values()
    )
    assert first["passed"] == second["passed"]


def interrupt(root):
    """Ctrl-C, as a terminal sends it to all, after some iterations."""
    deadline = time.monotonic() + 120
    while not list(root.glob("*/rollouts/00003.jsonl.gz")) and time.monotonic() < deadline:
        time.sleep(0.01)
    for pid in (*workers_of(os.getpid()), os.getpid()):
        os.kill(pid, signal.SIGINT)


ALONE = """
import sys, time
from proofgym.engines.remote import Remote
from proofgym.engines.work import Setup
remote = Remote(0, Setup({}, "cpu", 1, 1), 60)
remote.launch()
print(remote.pid, flush=True)
time.sleep(120)
"""


def test_a_process_ends_with_that_of_the_run_even_stopped():
    parent = subprocess.Popen([sys.executable, "-c", ALONE], stdout=subprocess.PIPE, text=True)
    pid = int(parent.stdout.readline())
    deadline = time.monotonic() + 60
    while not ignores_interrupts(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(pid, signal.SIGSTOP)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    while workers_of(parent.pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not workers_of(parent.pid)


def ignores_interrupts(pid):
    with open(f"/proc/{pid}/status") as file:
        (mask,) = (line.split()[1] for line in file if line.startswith("SigIgn"))
    return int(mask, 16) & 1 << (signal.SIGINT - 1)


def test_a_portion_that_loses_process_after_process_is_given_up(caplog):
    fleet, lost = Fleet.__new__(Fleet), Counter()
    for place in range(2):
        worker = Remote(place, Setup({}, "cuda:1", 1, 1), 1.0)
        worker.ready, worker.portion = True, Portion(None, (0,), "member 3")
        fleet.lose(worker, lost, ["member 3"])
        assert "engine 0 (cuda:1, process 0) ended while it answered member 3" in caplog.text
    worker.ready, worker.portion = True, Portion(None, (0,), "member 3")
    with pytest.raises(EngineError, match=r"member 3 .* 3rd time in a row"):
        fleet.lose(worker, lost, ["member 3"])


def test_portions_hold_every_request_once():
    requests = [Request((0, task), "", member) for task in range(3) for member in range(5)]
    single = Members(0, 1, 5, 1, everyone=False).portions(requests, 2)
    assert [it.name for it in single] == [f"member {m}" for m in range(5)]
    assert single[1].places == (1, 6, 11)
    shares = Members(0, 1, 5, 3, everyone=True).portions(requests, 2)
    assert [it.name for it in shares] == ["members 0 to 1", "members 2 to 4"]
    stacks = Members(0, 1, 5, 2, everyone=False).portions(requests, 2)
    assert [it.name for it in stacks] == ["member 0", "members 1 to 2", "members 3 to 4"]
    assert [it.weights.members for it in stacks] == [(0,), (1, 2), (3, 4)]
    for portions in (single, shares, stacks):
        places = [place for it in portions for place in it.places]
        assert sorted(places) == list(range(len(places)))
    assert [list(it) for it in cut(range(5), 3)] == [[0], [1, 2], [3, 4]]
    assert cut([], 3) == []


@pytest.mark.parametrize(
    ("tasks", "engines", "rows", "wanted"),
    [
        (8, 2, 8, [8, 8, 8, 8, 8, 8, 8, 8]),  # four each, and no more
        (8, 2, 32, [16, 16, 16, 16]),  # each half of the rows that decode together
        (8, 2, 999, [32, 32]),
        (3, 4, 999, [8, 8, 8]),  # a group is never cut
        (0, 2, 8, []),
    ],
)
def test_groups_stay_whole_and_there_are_more_shares_than_processes(tasks, engines, rows, wanted):
    requests = [Request((0, it, n), f"task {it}") for it in range(tasks) for n in range(8)]
    portions = groups(requests, engines, rows)
    assert [len(it.places) for it in portions] == wanted
    assert [place for it in portions for place in it.places] == list(range(len(requests)))
    for portion in portions:
        mine = {requests[place].prompt for place in portion.places}
        assert len(portion.places) == 8 * len(mine)
    if portions:
        assert portions[-1].name.endswith(f"to {len(requests)}")


class Other(Algorithm):
    """A rule that knows of one engine only."""


def test_a_rule_without_a_source_is_refused_several_engines_before_work(tmp_path):
    (tmp_path / "tasks").write_text('{"name": "a", "prompt": "b"}\n')
    with pytest.raises(ConfigError, match="engines=2, but Other has no source"):
        Job(
            model="m",
            tasks=from_jsonl(str(tmp_path / "tasks")),
            algorithm=Other(),
            cluster=Local(engines=2),
        )
