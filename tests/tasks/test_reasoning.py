"""Families of reasoning-gym: made the same everywhere, judged by their own scores, safely."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("reasoning_gym")

from proofgym.algorithms.es import ES
from proofgym.environments.reasoning import Reasoning, as_completion, find_answer, with_credit
from proofgym.environments.reward import Reward
from proofgym.errors import ConfigError, TaskError
from proofgym.job import Job
from proofgym.tasks import countdown, from_jsonl, named, reasoning_gym
from proofgym.types import Status

HANDFUL = ["countdown", "spell_backward", "number_sorting", "propositional_logic"]
UNSTABLE = ["list_functions", "word_ladder", "knight_swap"]  # by hash seed or global generator


@pytest.fixture(scope="module")
def judge():
    opened = Reasoning().open(1)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def countdowns():
    return countdown(size=20, seed=0, config={"min_numbers": 3, "max_numbers": 3}).chosen()


def test_tasks_say_how_to_answer_and_hide_the_answer(countdowns):
    task = countdowns[0].task
    assert task.prompt.endswith("Give your final answer between <answer> and </answer>.\n")
    assert countdowns[0].proof not in task.prompt
    assert (task.name, task.topic) == ("countdown-0-00000", "countdown")
    assert len({problem.task.prompt for problem in countdowns}) == 20
    tasks = reasoning_gym(
        "spell_backward", size=2, answer="last_line", prompt="<q>{question}</q>{instruction}"
    )
    assert tasks.load()[0].prompt.startswith("<q>Spell")
    assert tasks.load()[0].prompt.endswith("</q>Give your final answer alone on the last line.")


@pytest.mark.parametrize(
    "code",
    [
        "from proofgym.environments.reasoning import _load; _load()",
        "from proofgym.tasks.reasoning_child import answer; print(answer({'family': 'a'}))",
    ],
)
def test_what_others_wrote_is_compiled_without_a_word(tmp_path, code):
    package = tmp_path / "reasoning_gym"
    package.mkdir()
    (package / "__init__.py").write_text("from . import factory\n1 is 'a'\n")
    (package / "factory.py").write_text("DATASETS = {}\n1 is 'a'\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", f"{code}\ncompile('2 is 3', 'ours', 'exec')"]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "ours:1: SyntaxWarning" in said.stderr
    assert said.stderr.count("SyntaxWarning") == 1, said.stderr


def test_countdown_is_one_or_zero_and_keeps_the_raw_score(judge, countdowns):
    task, right = countdowns[0].task, countdowns[0].proof
    passed = judge.judge(task, f"Let me think. <answer>1</answer> No: <answer> {right} </answer>")
    assert (passed.status, passed.reward) == (Status.PASSED, 1.0)
    wrong = judge.judge(task, "<answer>1 + 1</answer>")
    assert (wrong.status, wrong.reward) == (Status.FAILED, 0.0)
    assert wrong.detail["components"] == {"raw": 0.05}
    assert judge.judge(task, f"it is {right}").message == "there is no answer (tag)"
    assert judge.judge(task, f"<answer>{right}").reward == 1.0  # a stop string cut the end off


def test_partial_credit_is_the_familys_own_score(judge, countdowns):
    wrong = judge.judge(countdowns[0].task, "<answer>1 + 1</answer>")
    assert (with_credit(wrong, True).status, with_credit(wrong, True).reward) == (
        Status.FAILED,
        0.05,
    )
    none = judge.judge(countdowns[0].task, "")
    assert with_credit(none, True).reward == 0.0
    assert Reasoning(partial=True).open(1)._partial


@pytest.mark.parametrize(
    "answer",
    [
        "__import__('os').system('touch /tmp/x')",
        "().__class__.__base__.__subclasses__()",
        "open('/etc/passwd').read()",
        "9**9**9",
        "100",
        "zoo",
        "1/0",
        "((((((",
        "1 + " * 4000,
        "",
    ],
)
def test_hostile_and_odd_answers_are_zero(judge, countdowns, answer):
    verdict = judge.judge(countdowns[0].task, f"<answer>{answer}</answer>")
    assert verdict.status in (Status.FAILED, Status.REJECTED)
    assert verdict.reward == 0.0
    if "__" in answer:
        assert verdict.status is Status.REJECTED


@pytest.mark.parametrize(
    ("text", "place", "answer"),
    [
        ("a <answer>1</answer> b <answer>\n2\n</answer> c", "tag", "2"),
        ("a <answer>1", "tag", "1"),
        ("a", "tag", None),
        ("a\n b \n\n", "last_line", "b"),
        ("\n", "last_line", None),
        (r"so \boxed{1} or \boxed{\frac{1}{2}}.", "boxed", r"\frac{1}{2}"),
        (r"so \boxed{1", "boxed", None),
        (" x ", "whole", "x"),
    ],
)
def test_where_an_answer_is_found(text, place, answer):
    assert find_answer(text, place) == answer


def test_levels_become_difficulties():
    tasks = countdown(size=5, levels=(0, 2)).load()
    assert [task.difficulty for task in tasks] == [1, 1, 1, 3, 3]
    with pytest.raises(ConfigError, match="levels of countdown go from 0 to 4, not to 7"):
        countdown(size=2, levels=(7,)).load()


def test_other_seeds_give_other_problems_and_overlap_is_refused():
    train, heldout = (countdown(size=30, seed=seed) for seed in (0, 1))
    job = Job(
        model="lean-tiny",
        tasks=train,
        evaluation=heldout,
        reward=Reasoning(),
        algorithm=ES(population=2),
    )
    assert len(job.check()) == 30
    letters = reasoning_gym("number_sequence", size=40, seed=0)
    same = reasoning_gym("number_sequence", size=400, seed=1)
    with pytest.raises(ConfigError, match=r"Job\.evaluation shares .* of its 400 tasks"):
        Job(**{**dict(job), "tasks": letters, "evaluation": same}).check()
    apart = reasoning_gym("number_sequence", size=400, seed=1, apart_from=letters)
    Job(**{**dict(job), "tasks": letters, "evaluation": apart}).check()


@pytest.mark.slow
def test_problems_are_the_same_in_every_process(tmp_path):
    code = f"""
from proofgym.tasks import reasoning_gym
print([task.prompt for family in {UNSTABLE} for task in reasoning_gym(family, size=3).load()])
"""
    said = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "7", "XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    here = [task.prompt for family in UNSTABLE for task in reasoning_gym(family, size=3).load()]
    assert said == f"{here}\n"


@pytest.mark.parametrize("family", HANDFUL)
def test_a_family_accepts_its_own_answers(judge, family):
    check(judge, family)


def check(judge, family):
    tasks = reasoning_gym(family, size=2)
    judge.prepare(tasks)
    for problem in tasks.chosen():
        if problem.proof is not None:
            verdict = judge.judge(problem.task, as_completion(problem.proof, "tag"))
            assert verdict.reward == 1.0, (family, verdict)
        for text in ("", "<answer></answer>", "<answer>zzz</answer>", ATTACK):
            verdict = judge.judge(problem.task, text)
            assert verdict.reward == 0.0, (family, text, verdict)


ATTACK = "<answer>__import__('pathlib').Path('/tmp/proofgym-was-here').touch()</answer>"


@pytest.mark.slow
def test_all_families_accept_their_answers_and_run_no_code(judge):
    from pathlib import Path

    from reasoning_gym.factory import DATASETS

    from proofgym.tasks.reasoning import REFUSED

    names = sorted(set(DATASETS) - set(REFUSED))
    assert len(names) == 104
    for family in names:
        check(judge, family)
    assert not Path("/tmp/proofgym-was-here").exists()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: reasoning_gym("countdwon").load(), "did you mean 'countdown'"),
        (lambda: reasoning_gym("game_of_life_halting"), "counts every answer as right"),
        (lambda: reasoning_gym("composite"), "is a mixture"),
        (lambda: countdown(config={"min_number": 3}).load(), "min_number"),
        (lambda: countdown(config={"min_numbers": 0}).load(), "min_numbers must be greater"),
        (lambda: countdown(prompt="hello"), "must contain {question}"),
        (lambda: countdown(sede=3), "did you mean 'seed'"),
        (lambda: countdown(answer="tags"), "did you mean 'tag'"),
    ],
)
def test_what_is_wrong_is_named(make, words):
    with pytest.raises(ConfigError, match=words):
        make()


def test_a_family_that_runs_out_says_so():
    with pytest.raises(TaskError, match=r"only \d+ different problems"):
        reasoning_gym("coin_flip", size=300, config={"min_trials": 3, "max_trials": 3}).load()


def test_a_place_that_an_answer_does_not_fit_is_refused(judge, tmp_path):
    with pytest.raises(TaskError, match="answers of several lines need 'tag'"):
        judge.prepare(reasoning_gym("mini_sudoku", size=1, answer="last_line"))
    path = tmp_path / "own.jsonl"
    path.write_text('{"name": "a", "prompt": "1+1", "topic": "t", "difficulty": 1}\n')
    with pytest.raises(TaskError, match=r"own\.jsonl, line 1: task 'a' is no reasoning_gym task"):
        judge.prepare(from_jsonl(path))


def test_named():
    assert named("countdown").family == "countdown"
    assert named("reasoning_gym:spell_backward").family == "spell_backward"
    with pytest.raises(ConfigError, match="did you mean 'reasoning_gym"):
        named("reasoning_gmy:countdown")


def test_a_reward_of_ones_own_gets_the_answers_too(countdowns):
    judge = Reward(function=lambda task, text: float("question" in task.data)).open(1)
    try:
        assert judge.judge(countdowns[0].task, "x").reward == 1.0
    finally:
        judge.close()
