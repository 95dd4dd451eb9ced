"""The documentation says what is so."""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

import pytest

import proofgym

ROOT = Path(__file__).parent.parent


def test_every_public_name_is_in_the_reference_as_it_is_now(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs"), *sys.path])
    from build_reference import build

    text = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert text == build(), "run: python docs/build_reference.py"
    assert all(f"## {name}\n" in text for name in proofgym.__all__)


def test_links_in_the_readme_and_docs_lead_somewhere():
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
            if "://" not in link:
                assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_the_job_in_examples_is_short_and_loads():
    from proofgym.job_file import load_job

    assert len((ROOT / "examples" / "prove.py").read_text().splitlines()) <= 40
    job = load_job(ROOT / "examples" / "prove.py")
    assert not {task.name for task in job.tasks.load()} & {
        task.name for task in job.evaluation.load()
    }


def test_make_bench_runs_every_benchmark():
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8")
    programs = [
        path.name
        for path in (ROOT / "benchmarks").glob("*.py")
        if '__name__ == "__main__"' in path.read_text(encoding="utf-8")
    ]
    assert len(programs) > 5
    assert [name for name in programs if f"python benchmarks/{name}" not in recipe] == []


@pytest.mark.parametrize("page", ["sandboxes.md"])
def test_every_example_of_a_page_runs_by_itself(page, capsys):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    examples = re.findall(r"^( *)```python\n(.*?)^ *```$", text, re.M | re.S)
    assert len(examples) == 5
    for _, example in examples:
        code = textwrap.dedent(example)
        exec(compile(code, page, "exec"), {"__name__": page})
        said = re.findall(r"^ *print\(.*\)  # (.*)$", code, re.M)
        assert capsys.readouterr().out.splitlines() == said


def test_extras_are_asked_for_as_they_can_be_had():
    """No message or page names a package of an index that does not have it."""
    files = [*ROOT.glob("src/**/*.py"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*.py")]
    assert [str(it) for it in files if "proofgym[" in it.read_text()] == []
