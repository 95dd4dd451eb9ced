"""`Tasks`: filters, and errors that name file and line."""

import json
from pathlib import Path

import pytest

from proofgym.errors import ConfigError, TaskError
from proofgym.tasks import Tasks, check_statements, from_jsonl, lean_core, named

GOOD = {
    "name": "one",
    "statement": "theorem one (p : Prop) (h : p) : p",
    "topic": "logic",
    "difficulty": 1,
    "proof": "  exact h",
}


def write(path: Path, *rows: dict[str, object] | str) -> Path:
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def row(name: str, **changes: object) -> dict[str, object]:
    return {**GOOD, "name": name, "statement": f"theorem {name} : True", **changes}


def test_loads_tasks(tmp_path: Path) -> None:
    (task,) = from_jsonl(write(tmp_path / "own.jsonl", GOOD)).load()
    assert task.name == "one"
    assert task.prompt == "theorem one (p : Prop) (h : p) : p := by\n"
    assert task.data == {"statement": GOOD["statement"]}
    assert (task.topic, task.difficulty) == ("logic", 1)


def test_blank_lines_are_skipped_and_proofs_are_optional(tmp_path: Path) -> None:
    bare = {key: value for key, value in GOOD.items() if key != "proof"}
    tasks = from_jsonl(write(tmp_path / "own.jsonl", "", bare, ""))
    assert len(tasks.load()) == 1
    with pytest.raises(TaskError, match=r"own\.jsonl, line 2: task 'one' has no reference 'proof'"):
        tasks.reference_proofs()


def test_other_kinds_of_task_carry_a_prompt(tmp_path: Path) -> None:
    sum_ = {"name": "s", "prompt": "1 + 1 =", "topic": "sums", "difficulty": 1, "answer": "2"}
    (task,) = from_jsonl(write(tmp_path / "own.jsonl", sum_)).load()
    assert task.prompt == "1 + 1 ="
    assert task.data == {"answer": "2"}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("{", "not JSON"),
        ("[1]", "must be a JSON object"),
        (row("b", topic=3), "'topic' is 3; must be text"),
        (row("b", difficulty="hard"), "'difficulty' is 'hard'; must be a whole number"),
        (row("b", difficulty=True), "'difficulty' is True; must be a whole number"),
        (row("b", difficulty=11), "'difficulty' is 11; must be 1 to 10"),
        (row("one"), "task 'one' was already given on line 1"),
        (row("b", statement="theorem c : True"), "must begin with 'theorem b '"),
        (row("b", statement="example : True"), "must begin with `theorem`"),
        (row("b", statement="theorem b : True := by"), "a statement has no proof"),
        (row("b", statement="theorem b : True := by trivial"), "a statement has no proof"),
        (row("b", statement="theorem b : True "), "must end before ':='"),
        (row(" "), "'name' is empty"),
        (row("b", prompt="x"), "'statement' or 'prompt', not both"),
        *(
            ({key: value for key, value in row("b").items() if key != field}, f"'{field}'")
            for field in ("name", "statement", "topic", "difficulty")
        ),
    ],
)
def test_errors_name_file_and_line(tmp_path: Path, bad: dict | str, message: str) -> None:
    path = write(tmp_path / "own.jsonl", GOOD, bad)
    with pytest.raises(TaskError) as error:
        from_jsonl(path).load()
    assert str(error.value).startswith(f"{path}, line 2: ")
    assert message in str(error.value)


def test_missing_file_and_bad_text(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"no file .*none\.jsonl"):
        from_jsonl(tmp_path / "none.jsonl").load()
    (tmp_path / "mine.jsonl").touch()
    with pytest.raises(TaskError, match=r"did you mean '.*/mine\.jsonl'"):
        from_jsonl(tmp_path / "mien.jsonl").load()
    with pytest.raises(ConfigError, match="did you mean 'lean_core:heldout'"):
        named("lean_coer:heldout")
    (tmp_path / "latin.jsonl").write_bytes(b"\n\xff\n")
    with pytest.raises(TaskError, match=r"latin\.jsonl, line 2: not UTF-8"):
        from_jsonl(tmp_path / "latin.jsonl").load()


def test_refused_statements_name_file_and_line(tmp_path: Path) -> None:
    class Refusing:
        def check_statement(self, statement: str) -> None:
            if "two" in statement:
                raise TaskError("unknown identifier 'q'")

    path = write(tmp_path / "own.jsonl", row("one"), row("two"))
    with pytest.raises(TaskError, match=r"line 2: task 'two' .* Lean refuses: unknown identifier"):
        check_statements(from_jsonl(path), Refusing())


def test_filters(tmp_path: Path) -> None:
    rows = [row(f"t{i}", topic="even" if i % 2 == 0 else "odd", difficulty=i) for i in range(1, 11)]
    path = write(tmp_path / "own.jsonl", *rows)
    assert [t.name for t in from_jsonl(path, topics=["odd"], difficulty=(4, 8)).load()] == [
        "t5",
        "t7",
    ]
    with pytest.raises(TaskError, match="no task has topic 'od'; did you mean 'odd'"):
        from_jsonl(path, topics=["od"]).load()


def test_limit_is_a_seeded_choice_in_file_order() -> None:
    names = [task.name for task in lean_core("train", limit=20).load()]
    assert names == sorted(names)
    assert len(names) == 20
    assert names == [task.name for task in lean_core("train", limit=20).load()]
    assert names != [task.name for task in lean_core("train", limit=20, seed=1).load()]


@pytest.mark.parametrize("difficulty", [(0, 3), (4, 2), (1, 11)])
def test_bad_difficulty_is_refused(difficulty: tuple[int, int]) -> None:
    with pytest.raises(ConfigError, match="1 <= least <= greatest <= 10"):
        lean_core("train", difficulty=difficulty)


def test_bad_split_is_refused() -> None:
    with pytest.raises(ConfigError, match="did you mean 'heldout'"):
        lean_core("held_out")


def test_named() -> None:
    assert named("lean_core:heldout") == lean_core("heldout")
    assert named("mine.jsonl") == from_jsonl("mine.jsonl")
    assert isinstance(named("mine.jsonl"), Tasks)


def test_a_comment_behind_a_statement_swallows_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "own.jsonl", row("b", statement="theorem b: 1 = 1 -- note"))
    (task,) = from_jsonl(path).load()
    assert task.prompt == "theorem b: 1 = 1 := by\n"
    assert task.data["statement"] == "theorem b: 1 = 1"
