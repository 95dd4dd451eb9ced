"""What must hold of the data set: sizes, spread, splits that share nothing, valid proofs."""

import itertools
import json
import re
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from proofgym.lean.toolchain import find_toolchain
from proofgym.tasks import lean_core
from proofgym.tasks.generation.canonical import canonical
from proofgym.tasks.generation.draw import Draw
from proofgym.tasks.generation.shape import proof_shape, proof_size, proof_tactics
from proofgym.tasks.generation.splits import SEED, SOURCES, Candidate
from proofgym.tasks.generation.statement import parse_statement
from proofgym.tasks.generation.theorem import Theorem
from proofgym.tasks.lean_core import DATA, SPLITS
from proofgym.tasks.lean_core_generator import build
from proofgym.types import Task

LEAST = {"warmup": 250, "train": 250, "heldout": 200}
Row = tuple[Task, str]


@pytest.fixture(scope="module")
def rows() -> dict[str, list[Row]]:
    """(task, reference proof) of every theorem, by split."""
    out = {}
    for split in SPLITS:
        tasks, proofs = lean_core(split).load(), lean_core(split).reference_proofs()
        out[split] = [(task, proofs[task.name]) for task in tasks]
    return out


@pytest.mark.parametrize("split", SPLITS)
def test_size_topics_and_difficulty(rows: dict[str, list[Row]], split: str) -> None:
    tasks = [task for task, _ in rows[split]]
    assert len(tasks) >= LEAST[split]
    topics = Counter(task.topic for task in tasks)
    assert len(topics) >= 8
    assert min(topics.values()) >= 10
    levels = Counter(task.difficulty for task in tasks)
    assert all(levels[level] > 0 for level in range(1, 9))
    easy = sum(levels[level] for level in range(1, 6))
    assert easy >= 0.7 * len(tasks)


def test_the_tail_reaches_difficulty_10(rows: dict[str, list[Row]]) -> None:
    assert max(task.difficulty for task, _ in rows["heldout"]) == 10


def test_statements_and_proofs_are_short(rows: dict[str, list[Row]]) -> None:
    everything = [row for part in rows.values() for row in part]
    lengths = sorted(len(task.data["statement"]) for task, _ in everything)
    sizes = sorted(proof_size(proof) for _, proof in everything)
    assert lengths[len(lengths) // 2] <= 75
    assert sizes[len(sizes) // 2] <= 12


def test_names_are_neutral_and_differ(rows: dict[str, list[Row]]) -> None:
    names = [task.name for part in rows.values() for task, _ in part]
    assert len(set(names)) == len(names)
    assert all(name[0] == "t" and name[1:].isdigit() for name in names)


def test_no_theorem_is_given_twice(rows: dict[str, list[Row]]) -> None:
    """Up to renaming and argument order, in one split or across splits."""
    forms = Counter(
        canonical(parse_statement(task.data["statement"])[1])
        for part in rows.values()
        for task, _ in part
    )
    assert [form for form, count in forms.items() if count > 1] == []


def test_half_of_heldout_needs_new_shapes(rows: dict[str, list[Row]]) -> None:
    known = {proof_shape(proof) for split in ("warmup", "train") for _, proof in rows[split]}
    new = [task.name for task, proof in rows["heldout"] if proof_shape(proof) not in known]
    assert len(new) >= len(rows["heldout"]) / 2


def test_shapes_are_many(rows: dict[str, list[Row]]) -> None:
    for part in rows.values():
        shapes = Counter(proof_shape(proof) for _, proof in part)
        assert len(shapes) >= 100
        assert max(shapes.values()) <= len(part) / 8


def test_warmup_shows_every_tactic_and_lemma(rows: dict[str, list[Row]]) -> None:
    def needs(split: str) -> set[str]:
        items = rows[split]
        return set().union(
            *(
                Candidate(
                    Theorem(task.topic, parse_statement(task.data["statement"])[1], proof)
                ).needs
                for task, proof in items
            )
        )

    shown = needs("warmup")
    assert needs("train") | needs("heldout") <= shown
    tactics = set().union(*(proof_tactics(proof) for _, proof in rows["warmup"]))
    wanted = "exact intro apply constructor cases rw left right refine rfl induction exfalso decide"
    assert set(wanted.split()) <= tactics


def test_one_layout(rows: dict[str, list[Row]]) -> None:
    for part in rows.values():
        for task, proof in part:
            assert task.prompt == task.data["statement"] + " := by\n"
            assert "\n" not in task.data["statement"]
            lines = proof.split("\n")
            assert all(line.startswith("  ") and line == line.rstrip() for line in lines)
            assert not lines[0].startswith("   ")
            assert "\n\n" not in proof


def test_the_reference_proof_reaches_no_task(rows: dict[str, list[Row]]) -> None:
    for part in rows.values():
        for task, proof in part:
            assert set(task.data) == {"statement"}
            for line in proof.split("\n"):
                assert line not in task.prompt
                assert line not in repr(task)


def test_lean_accepts_every_reference_proof(rows: dict[str, list[Row]], tmp_path: Path) -> None:
    """In a few big files: Lean needs milliseconds for each. No `sorry`, no further axioms."""
    everything = [row for part in rows.values() for row in part]
    parts = [everything[start::4] for start in range(4)]
    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lean_says, parts, [tmp_path / f"Part{i}.lean" for i in range(4)]))
    allowed = {"propext", "Classical.choice", "Quot.sound"}
    for messages, part in zip(said, parts, strict=True):
        assert [m for m in messages if m["severity"] != "information"] == []
        assert len(messages) == len(part)
        for message in messages:
            _, found, names = message["data"].partition("depends on axioms: ")
            assert not found or set(re.split(r"[\[\],\s]+", names)) - {""} <= allowed


def lean_says(part: list[Row], file: Path) -> list[dict[str, str]]:
    """Lean's messages for the proofs, and for `#print axioms` of each theorem."""
    theorems = [f"{task.prompt}{proof}\n" for task, proof in part]
    axioms = [f"#print axioms {task.name}" for task, _ in part]
    file.write_text("set_option linter.all false\n" + "\n".join([*theorems, *axioms]) + "\n")
    lean = find_toolchain("embedded")
    command = [*lean.argv, "--json", str(file)]
    done = subprocess.run(command, env=lean.env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[:2000]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_the_generator_writes_the_same_bytes() -> None:
    for split, text in build().items():
        assert (DATA / f"{split}.jsonl").read_text(encoding="utf-8") == text, (
            f"{split}.jsonl differs; run python -m proofgym.tasks.lean_core_generator"
        )


@pytest.mark.parametrize("topic", SOURCES)
def test_the_sources_make_what_the_files_hold(topic: str, rows: dict[str, list[Row]]) -> None:
    """A quick part of the test above: the first theorems of each source are in the files."""
    given = {
        canonical(parse_statement(task.data["statement"])[1]): proof
        for part in rows.values()
        for task, proof in part
        if task.topic == topic
    }
    first = list(itertools.islice(SOURCES[topic](topic, Draw(SEED, topic)), 60))
    found = [item for item in first if given.get(item.canonical) == item.proof]
    assert len(found) >= 20
