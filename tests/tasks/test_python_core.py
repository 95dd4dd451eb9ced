"""`python_core`: what the model sees, and that the tests tell right functions from wrong ones."""

from __future__ import annotations

import json

import pytest

from proofgym.environments.json_values import same
from proofgym.environments.python_tests import Python
from proofgym.errors import ConfigError, TaskError
from proofgym.tasks import from_jsonl, named, python_core
from proofgym.tasks.python_core import all_functions
from proofgym.types import Status

WRONG = {
    "smaller": "    return a\n",
    "is_odd": "    return n % 2 == 0\n",
    "sum_to": "    return sum(range(n))\n",
    "digit_sum": "    return len(str(n))\n",
    "clamp": "    return min(value, high)\n",
    "greatest_divisor": "    return min(a, b)\n",
    "is_prime": "    return all(n % d for d in range(2, n))\n",
    "fibonacci": "    return n if n < 3 else fibonacci(n - 1) + n - 2\n",
    "to_binary": "    return bin(n)\n",
    "prime_factors": "    return [d for d in range(2, n + 1) if n % d == 0]\n",
    "count_words": '    return len(text.split(" "))\n',
    "count_vowels": '    return sum(c in "aeiou" for c in text)\n',
    "is_palindrome": "    return text == text[::-1]\n",
    "caesar": '    return "".join(chr(ord(c) + shift) for c in text)\n',
    "are_anagrams": "    return set(a.lower()) == set(b.lower())\n",
    "common_start": "    return words[0] if words else ''\n",
    "brackets_match": '    return text.count("(") == text.count(")")\n',
    "edit_distance": "    return sum(x != y for x, y in zip(a, b)) + abs(len(a) - len(b))\n",
    "calculate": "    return int(text[0])\n",
    "mean": "    return sum(numbers) // len(numbers)\n",
    "without_repeats": "    return sorted(set(items))\n",
    "second_largest": "    return sorted(numbers)[-2]\n",
    "rotate": "    return items[places:] + items[:places]\n",
    "chunks": "    return [items[i:i + size] for i in range(0, len(items) - size + 1, size)]\n",
    "merge_sorted": "    return a + b\n",
    "flatten": "    return [x for p in nested for x in (p if isinstance(p, list) else [p])]\n",
    "best_run": "    return max(0, max(numbers), sum(numbers))\n",
    "pair_with_sum": "    return any(wanted - n in numbers for n in numbers)\n",
    "longest_rising": "    return len(set(numbers))\n",
    "most_common": "    return max(words, key=words.count, default=None)\n",
    "by_length": "    return {str(len(word)): [word] for word in words}\n",
    "spiral": "    return [n for row in rows for n in row]\n",
    "islands": "    return sum(map(sum, grid))\n",
    "shortest_way": "    return len(grid) + len(grid[0]) - 2\n",
    "queens": "    return n\n",
    "build_order": "    return sorted(needs)\n",
}


@pytest.fixture(scope="module")
def judge():
    return Python(timeout=5).open(2)


def test_the_splits_are_different_functions_and_cover_the_difficulties():
    train, heldout = python_core("train").load(), python_core("heldout").load()
    assert not {task.name for task in train} & {task.name for task in heldout}
    assert (len(train), len(heldout)) == (35, 17)
    assert {it.difficulty for it in all_functions()} == set(range(1, 11))
    assert {task.topic for task in train} == {task.topic for task in heldout}
    easy = python_core("train", topics=["numbers"], difficulty=(1, 3)).load()
    assert [task.name for task in easy] == ["is_odd", "smaller", "digit_sum", "clamp"]


def test_the_prompt_has_the_function_and_nothing_of_its_tests():
    for split in ("train", "heldout"):
        for problem in python_core(split).chosen():
            assert problem.task.prompt.startswith(f"def {problem.task.name}(")
            assert problem.proof not in problem.task.prompt
            assert len(problem.task.data["tests"]) >= 4
            assert len({json.dumps(value) for _, value in problem.task.data["tests"]}) > 1
    (asked,) = python_core("train", prompt="ask", limit=1).load()
    assert asked.data["stub"] in asked.prompt
    assert asked.prompt.endswith("```\n")
    (chat,) = python_core("train", prompt="chatml", limit=1).load()
    assert chat.prompt.endswith("```<|im_end|>\n<|im_start|>assistant\n")
    (mine,) = python_core("train", prompt="# Task\n{stub}", limit=1).load()
    assert mine.prompt == "# Task\n" + asked.data["stub"]


def test_a_right_function_passes_and_typical_wrong_ones_fail(judge):
    """One process runs them all in the way of the judge's; the judge itself runs a few."""
    problems = [*python_core("train").chosen(), *python_core("heldout").chosen()]
    for problem in problems:
        task = problem.task
        passes = run_here(task, problem.proof)
        assert passes == [True] * len(passes), task.name
        for body in ("    return None\n", "    return 0\n", "    return True\n", "    return []\n"):
            assert not all(run_here(task, body)), (task.name, body)
        if task.name in WRONG:
            assert not all(run_here(task, WRONG[task.name])), task.name
    for problem in problems[::9]:
        assert judge.judge(problem.task, problem.proof).status is Status.PASSED


def run_here(task, body):
    space = {}
    exec(
        compile("from __future__ import annotations\n" + task.data["stub"] + body, "x", "exec"),
        space,
    )
    results = []
    for arguments, expected in task.data["tests"]:
        try:
            value = json.loads(json.dumps(space[task.name](*json.loads(json.dumps(arguments)))))
        except (ArithmeticError, LookupError, TypeError, ValueError):
            results.append(False)
        else:
            results.append(same(expected, value, 1e-6))
    return results


def test_every_reference_in_the_form_of_a_chat_answer(judge):
    for problem in python_core("heldout", limit=2, prompt="ask").chosen():
        text = f"Here it is:\n\n```python\n{problem.task.data['stub']}{problem.proof}```\nDone."
        assert judge.judge(problem.task, text).status is Status.PASSED


@pytest.mark.slow
def test_every_reference_passes_and_every_wrong_one_fails_in_the_sandbox(judge):
    for split in ("train", "heldout"):
        for problem in python_core(split).chosen():
            assert judge.judge(problem.task, problem.proof).status is Status.PASSED
            if problem.task.name in WRONG:
                verdict = judge.judge(problem.task, WRONG[problem.task.name])
                assert verdict.status is Status.FAILED, problem.task.name


def test_names_and_wrong_names():
    assert named("python_core:heldout") == python_core("heldout")
    with pytest.raises(
        ConfigError, match="python_core has no split 'held'; did you mean 'heldout'"
    ):
        python_core("held")
    with pytest.raises(ConfigError, match="did you mean 'ask'"):
        python_core("train", prompt="asks")


def own(tmp_path, **fields):
    path = tmp_path / "own.jsonl"
    line = {"name": "a", "prompt": "def f(x):\n", "topic": "t", "difficulty": 1, **fields}
    path.write_text(json.dumps(line) + "\n")
    return from_jsonl(path)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "has function = None; must be the name"),
        ({"function": "f"}, "has tests = None; must be a list"),
        ({"function": "f", "tests": []}, r"has tests = \[\]; .* not empty"),
        ({"function": "f", "tests": [[1, 2]]}, r"has tests\[0\] = \[1, 2\]"),
        ({"function": "2f", "tests": [[[1], 2]]}, "has function = '2f'"),
    ],
)
def test_tasks_of_ones_own_are_checked_before_work(judge, tmp_path, fields, words):
    with pytest.raises(TaskError, match=rf"own\.jsonl, line 1: task 'a' {words}"):
        judge.prepare(own(tmp_path, **fields))


def test_tasks_of_ones_own(judge, tmp_path):
    tasks = own(tmp_path, function="f", tests=[[[1], 2], [[-1], 0]])
    judge.prepare(tasks)
    (task,) = tasks.load()
    assert judge.judge(task, "    return x + 1\n").reward == 1.0


def test_tests_that_a_candidate_could_read_are_refused(judge, tmp_path, monkeypatch):
    from proofgym.environments import python_tests

    monkeypatch.setattr(python_tests, "SYSTEM_PATHS", (str(tmp_path),))
    with pytest.raises(TaskError, match="which candidates can read"):
        judge.prepare(own(tmp_path, function="f", tests=[[[1], 2]]))
