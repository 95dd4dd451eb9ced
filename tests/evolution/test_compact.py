"""A history made compact comes back byte for byte, or not at all; the commands that look at it."""

import json

import pytest
from test_history import HEADER, ITERATIONS, write
from typer.testing import CliRunner

from proofgym.cli.main import app
from proofgym.errors import HistoryError
from proofgym.evolution import compact, history
from proofgym.evolution.history import History, Update


def test_it_comes_back_byte_for_byte(tmp_path):
    for count in range(len(ITERATIONS) + 1):
        path = tmp_path / f"h{count}"
        whole = write(path, ITERATIONS[:count])
        packed = compact.pack(history.read(path))
        assert compact.unpack(packed, "h") == whole
        (tmp_path / "c").write_bytes(packed)
        assert history.read(tmp_path / "c") == history.read(path)


def test_a_cut_off_entry_is_left_out(tmp_path):
    whole = write(tmp_path / "h")
    (tmp_path / "h").write_bytes(whole + b"\1\4half")
    assert compact.unpack(compact.pack(history.read(tmp_path / "h")), "h") == whole


def test_a_changed_byte_is_found(tmp_path):
    write(tmp_path / "h")
    packed = compact.pack(history.read(tmp_path / "h"))
    for at in range(len(compact.MAGIC), len(packed), 7):
        wrong = packed[:at] + bytes([packed[at] ^ 4]) + packed[at + 1 :]
        with pytest.raises(HistoryError, match="compact history is damaged"):
            compact.unpack(wrong, "h")
    with pytest.raises(HistoryError, match="damaged"):
        compact.unpack(packed[:-5], "h")


def test_a_long_one_takes_half_the_bytes(tmp_path):
    with History.create(tmp_path / "h", HEADER) as made:
        for number in range(200):
            values = tuple((number * 7919 + member * 104729) % 16384 - 8192 for member in range(30))
            made.append(Update(number, values, 30))
    size = (tmp_path / "h").stat().st_size
    assert len(compact.pack(history.read(tmp_path / "h"))) < 0.5 * size


def invoke(*arguments):
    result = CliRunner().invoke(app, ["history", *map(str, arguments)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def test_verify_says_what_it_found(tmp_path):
    whole = write(tmp_path / "h")
    (tmp_path / "h").write_bytes(whole + bytes(9))
    lines = invoke("verify", tmp_path / "h").splitlines()
    found = json.loads(lines[-1])
    assert (found["iterations"], found["cut_off"]) == (4, 9)
    assert found["digest"] == history.read(tmp_path / "h").digests[-1].hex()
    (tmp_path / "h").write_bytes(whole[:200] + b"x" + whole[201:])
    with pytest.raises(HistoryError, match="damaged"):
        invoke("verify", tmp_path / "h")


def test_compact_writes_a_file_that_verifies(tmp_path):
    write(tmp_path / "h")
    assert "bytes instead of" in invoke("compact", tmp_path / "h", "--to", tmp_path / "c")
    assert json.loads(invoke("verify", tmp_path / "c").splitlines()[-1])["iterations"] == 4


def test_show_lists_tensors_and_iterations(tmp_path):
    import plain_arithmetic as plain

    header = {
        "specification": plain.specification(population=3, antithetic=False).to_json(),
        "manifest": plain.manifest("bfloat16").to_json(),
    }
    with History.create(tmp_path / "h", header) as made:
        for entries in ITERATIONS:
            made.append(*entries)
    shown = invoke("show", tmp_path / "h", "--last", 2)
    assert "noise rademacher, full rank, 3 members" in shown
    assert "matrix [7, 5] bfloat16" in shown
    assert "vector [9] bfloat16, k x 2^1" in shown
    assert [line.split()[0] for line in shown.splitlines()[-2:]] == ["3", "4"]


def test_compact_replaces_nothing(tmp_path):
    whole = write(tmp_path / "h")
    with pytest.raises(HistoryError, match="already exists"):
        invoke("compact", tmp_path / "h", "--to", tmp_path / "h")
    assert (tmp_path / "h").read_bytes() == whole


def test_a_crafted_file_is_a_clear_error(tmp_path):
    import struct

    import zstandard

    body = struct.pack("<I", 2) + b"{}" + struct.pack("<BBII", 2, 4, 0, 0)
    nested = b"[" * 100_000
    for raw in (body, struct.pack("<I", len(nested)) + nested):
        packed = compact.MAGIC + bytes(32) + zstandard.compress(raw)
        with pytest.raises(HistoryError, match="damaged"):
            compact.unpack(packed, "h")
    (tmp_path / "list").write_bytes(history.encode_header([]))
    with pytest.raises(HistoryError, match="not that of a history"):
        history.read(tmp_path / "list")
    (tmp_path / "empty").write_bytes(history.encode_header({}))
    with pytest.raises(HistoryError, match="no 'specification'"):
        invoke("show", tmp_path / "empty")
