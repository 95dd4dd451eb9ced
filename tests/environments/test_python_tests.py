"""Hidden tests of Python functions: verdicts, and candidates that try to pass without being right."""
# ruff: noqa: E501

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from proofgym.environments.json_values import same
from proofgym.environments.python_code import find_code
from proofgym.environments.python_tests import Python
from proofgym.errors import ConfigError
from proofgym.tasks import python_functions
from proofgym.types import Status, Task

ROOT = Path(__file__).parents[2]
STUB = 'def add(a, b):\n    """Return the sum."""\n'
TESTS = [[[1, 2], 3], [[-5, 5], 0], [[10**20, 1], 10**20 + 1]]
TASK = Task("add", STUB, data={"function": "add", "stub": STUB, "tests": TESTS})


@pytest.fixture(scope="module")
def judge():
    return Python(timeout=1.5, memory_mb=128).open(2)


def test_right_wrong_and_partial(judge):
    right = judge.judge(TASK, "    return a + b\n")
    assert (right.status, right.reward, right.message) == (Status.PASSED, 1.0, "")
    wrong = judge.judge(TASK, "    return abs(a) + abs(b)\n")
    assert (wrong.status, wrong.reward) == (Status.FAILED, 0.0)
    assert wrong.message == "2 of 3 tests pass; test 2: a wrong value"
    assert wrong.detail["components"] == {"tests": pytest.approx(2 / 3)}
    some = Python(partial=True).open(1).judge(TASK, "    return abs(a) + abs(b)\n")
    assert (some.status, some.reward) == (Status.FAILED, pytest.approx(2 / 3))


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ("    return a +* b\n", Status.FAILED, "SyntaxError"),
        ("    return a + c\n", Status.FAILED, "NameError"),
        ("    return {a}\n", Status.FAILED, "not JSON serializable"),
        ("    return add(a, b)\n", Status.FAILED, "RecursionError"),
        ("    while True: pass\n", Status.TIMEOUT, "time)"),
        ("    return [0] * 10**9\n", Status.OUT_OF_MEMORY, ""),
        ("    import os; os.kill(os.getpid(), 11)\n", Status.CRASHED, "signal 11"),
        ("    raise SystemExit\n", Status.FAILED, "SystemExit"),
    ],
)
def test_how_a_candidate_fails_is_told(judge, body, status, words):
    verdict = judge.judge(TASK, body)
    assert (verdict.status, verdict.reward) == (status, 0.0), verdict
    assert words in verdict.message


CHEATS = {
    "exit 0 at once": "    pass\nimport os\nos._exit(0)\n",
    "exit 0 in the call": "    import os\n    os._exit(0)\n",
    "sys.exit": "    import sys\n    sys.exit(0)\n",
    "prints that all is well": "    print('ok', 'PASSED', 'all tests passed')\n",
    "equal to everything": "    class E:\n        __eq__ = lambda s, o: True\n        __hash__ = None\n"
    "    return E()\n",
    "an int equal to everything": "    class E(int):\n        __eq__ = lambda s, o: True\n"
    "    return E(4)\n",
    "patched builtins": "    import builtins\n    builtins.all = builtins.any = lambda *a: True\n"
    "    builtins.zip = lambda *a, **k: []\n    return 4\n",
    "patched json": '    import json\n    json.dumps = lambda *a, **k: \'{"call": 0, "value": 3}\'\n'
    "    return 4\n",
    "patched harness": "    import __main__\n    __main__.describe = __main__.say = lambda *a: 'ok'\n"
    "    return 4\n",
    "reads the frames": "    import sys\n    f = sys._getframe()\n    while f:\n"
    "        for k, v in {**f.f_globals, **f.f_locals}.items():\n"
    "            if 'expect' in k or 'answer' in k or 'tests' in k:\n                return v\n"
    "        f = f.f_back\n    return 4\n",
    "reads the garbage collector": "    import gc\n    for o in gc.get_objects():\n"
    "        if isinstance(o, list) and len(o) == 3 and o[:1] == [3]:\n            return o.pop(0)\n"
    "    return 4\n",
    "reads standard input": "    import os, sys\n    return os.read(0, 100).decode() + sys.stdin.read()\n",
    "reads files": "    import os\n    text = ''\n    for top in ('.', '/proc/self', '/tmp', '/work'):\n"
    "        for folder, _, names in os.walk(top):\n            for name in names[:20]:\n"
    "                try: text += open(os.path.join(folder, name)).read(200)\n"
    "                except Exception: pass\n        if len(text) > 10000: break\n    return text[:100]\n",
    "imports the reference": "    from proofgym.tasks.python_core import all_functions\n"
    "    return all_functions()[0].tests[0][1]\n",
    "forges answers": "    import os\n    for fd in range(3, 12):\n        try:\n"
    '            os.write(fd, b\'{"call": 0, "value": true, "passed": true}\\n\')\n'
    "        except OSError: pass\n    return 4\n",
    "forges a status": "    import os\n    for fd in range(1, 12):\n        try:\n"
    "            os.write(fd, b'passed\\n' * 3)\n        except OSError: pass\n    os._exit(0)\n",
    "endless output": "    import os\n    while True:\n        for fd in (1, 2, 3, 4):\n"
    "            try: os.write(fd, b'x' * 65536)\n            except OSError: pass\n",
    "fork bomb": "    import os\n    while True:\n        try: os.fork()\n        except OSError: pass\n",
    "threads that go on": "    import threading, os\n    threading.Thread(target=lambda: os._exit(0)).start()\n"
    "    return 4\n",
    "true for three": "    return True\n",
    "text for a number": "    return str(a + b)\n",
    "nan": "    return float('nan')\n",
    "deep nesting": "    x = []\n    for _ in range(100000): x = [x]\n    return x\n",
    "a number of many digits": "    return 10 ** 100000\n",
    "kills what it can": "    import os, signal\n    for p in (os.getppid(), 1, -1):\n"
    "        try: os.kill(p, signal.SIGKILL)\n        except OSError: pass\n    return 4\n",
    "at exit": "    import atexit, os\n    atexit.register(lambda: os._exit(0))\n    return 4\n",
}


@pytest.mark.parametrize("name", CHEATS)
def test_no_cheat_passes(judge, name):
    verdict = judge.judge(TASK, CHEATS[name])
    assert verdict.status not in (Status.PASSED, Status.INFRASTRUCTURE), verdict
    assert verdict.reward == 0.0


def test_a_candidate_sees_nothing_of_this_machine_and_leaves_nothing(judge):
    marker = Path(f"/tmp/proofgym-candidate-{os.getpid()}")
    code = f"    open({str(marker)!r}, 'w').write('x')\n    return a + b\n"
    judge.judge(TASK, code)
    assert not marker.exists()
    files = [
        str(ROOT / "pyproject.toml"),
        str(Path(python_functions.__file__).parent),
        "/etc/passwd",
    ]
    blind = f"    import os\n    return a + b if not any(map(os.path.exists, {files})) else None\n"
    assert judge.judge(TASK, blind).status is Status.PASSED


def test_arguments_that_a_call_changes_are_not_the_next_calls(judge):
    tests = [[[[1, 2]], 3], [[[1, 2]], 3]]
    task = Task("t", "", data={"function": "f", "tests": tests, "stub": "def f(x):\n"})
    code = "    total = sum(x)\n    x.clear()\n    return total\n"
    assert judge.judge(task, code).status is Status.PASSED


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("    return 1\n\nNow some prose\nmore", STUB + "    return 1\n\n"),
        ("    return 1\ndef other():\n    pass\nprint(1)\n", STUB + "    return 1\ndef other():\n    pass\n"),
        ("Sure:\n```python\ndef add(a, b):\n    return 1\n```\nbye", "def add(a, b):\n    return 1\n"),
        ("```\ndef add(a, b):\n    return 1", "def add(a, b):\n    return 1"),
        ("```python\nx\n```\n```py\ndef add(a):\n  1\n```\n```sh\nls\n```", "def add(a):\n  1\n"),
        ("Sure!\nimport math\ndef add(a, b):\n    return 1\nThat is it", "import math\ndef add(a, b):\n    return 1\n"),
        ("", STUB),
    ],
)  # fmt: skip
def test_where_the_code_is(text, code):
    assert find_code(text, "add", STUB) == code


@pytest.mark.parametrize(
    ("expected", "got", "equal"),
    [
        (1, 1, True), (1, True, False), (True, True, True), (False, 0, False), (1, 1.0, True),
        (0.5, 0.5 + 1e-9, True), (0.5, 0.51, False), (0.5, "0.5", False), (2.0, 2, True),
        (None, None, True), (None, 0, False), (0, None, False), ("a", "a", True), ("a", ["a"], False),
        ([1, [2]], [1, [2]], True), ([1], [1, 2], False), ([], None, False), ([True], [1], False),
        ({"a": 1}, {"a": 1}, True), ({"a": 1}, {"a": 1, "b": 2}, False), ({"a": [1]}, {"a": [2]}, False),
        (float("inf"), float("inf"), True), (float("nan"), float("nan"), True), (0.5, 10**400, False),
    ],
)  # fmt: skip
def test_values_are_equal_as_json_has_them(expected, got, equal):
    assert same(expected, got, 1e-6) is equal


def test_wrong_fields_are_refused():
    with pytest.raises(ConfigError, match="did you mean 'network'"):
        Python(require=("netwrk",))
    with pytest.raises(ConfigError, match="did you mean 'namespaces'"):
        Python(sandbox="namespace")


def test_many_candidates_a_second(judge):
    began = time.monotonic()
    for _ in range(4):
        assert judge.judge(TASK, "    return a + b\n").reward == 1.0
    assert time.monotonic() - began < 8
