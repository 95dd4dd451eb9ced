"""The history file: chained, durable, repaired where a kill cut it, refused where it is damaged."""

import itertools
import os
import struct

import pytest

from proofgym.errors import HistoryError, RunError
from proofgym.evolution import history
from proofgym.evolution.history import Decay, History, Update

HEADER = {"base_digest": "abc", "seed": 1}
ITERATIONS = [
    [Update(0, (1, -2, 3), 3)],
    [Decay(1, 655), Update(1, (4, 5, 0), 2)],
    [Update(2, (2**40, -(2**31) - 1, 7), 3)],
    [Decay(3, 1), Update(3, (0, 0, 0), 3)],
]


def write(path, iterations=ITERATIONS):
    with History.create(path, HEADER) as made:
        for entries in iterations:
            made.append(*entries)
    return path.read_bytes()


def flat(iterations):
    return tuple(entry for entries in iterations for entry in entries)


def test_what_is_appended_is_read(tmp_path):
    write(tmp_path / "h")
    record = history.read(tmp_path / "h")
    assert record.header == HEADER
    assert record.entries == flat(ITERATIONS)
    assert record.iterations == 4
    assert record.between(1, 3) == list(flat(ITERATIONS[1:3]))
    with History.open(tmp_path / "h") as found:
        assert found.record() == record


def test_an_entry_of_30_members_takes_about_200_bytes():
    assert len(history.encode(Update(0, tuple(range(-15, 15)), 30), bytes(32))) == 204


def test_a_cut_at_any_byte_loses_only_the_iteration_it_is_in(tmp_path):
    data = write(tmp_path / "h")
    lengths = [history.parse(data[:0] or data, "h").length]
    ends = [len(write(tmp_path / f"h{count}", ITERATIONS[:count])) for count in range(5)]
    assert lengths[-1] == ends[-1] == len(data)
    for cut in range(ends[0], len(data) + 1):
        whole = sum(end <= cut for end in ends) - 1
        for tail in (b"", bytes(7), bytes(600)):  # a file may come back longer, filled with zeros
            record = history.parse(data[:cut] + tail, "h")
            assert record.entries == flat(ITERATIONS[:whole])
            assert record.length == ends[whole]


def test_a_header_cut_short_is_refused(tmp_path):
    data = write(tmp_path / "h", [])
    for cut in range(len(data)):
        with pytest.raises(HistoryError):
            history.parse(data[:cut], "h")


def test_opening_repairs_and_continues(tmp_path):
    path = tmp_path / "h"
    data = write(path)
    for cut in range(len(data) - 130, len(data), 7):
        path.write_bytes(data[:cut])
        with History.open(path) as found:
            for entries in ITERATIONS[found.iterations :]:
                found.append(*entries)
        assert path.read_bytes() == data


def test_a_changed_byte_anywhere_is_refused(tmp_path):
    data = write(tmp_path / "h")
    for place in range(len(data)):
        for change in (0x01, 0x80):
            damaged = bytearray(data)
            damaged[place] ^= change
            with pytest.raises(HistoryError):
                history.parse(bytes(damaged), "h")


def test_damage_is_named_by_its_iteration_counted_from_one(tmp_path):
    for number in (1, 2, 3):
        data = bytearray(write(tmp_path / f"h{number}", ITERATIONS[:number]))
        data[-40] ^= 1
        with pytest.raises(HistoryError, match=f"iteration {number}: the entry is damaged"):
            history.parse(bytes(data), "h")


def test_removed_swapped_or_foreign_entries_are_refused(tmp_path):
    data = write(tmp_path / "h")
    ends = [len(write(tmp_path / f"h{count}", ITERATIONS[:count])) for count in range(5)]
    parts = [data[a:b] for a, b in itertools.pairwise(ends)]
    head = data[: ends[0]]
    with History.create(tmp_path / "other", {**HEADER, "seed": 2}) as other:
        other.append(*ITERATIONS[0])
    foreign = (tmp_path / "other").read_bytes()[ends[0] :]
    for order in (parts[1:], [parts[0], parts[2]], [parts[1], parts[0]], [foreign], [parts[0]] * 2):
        with pytest.raises(HistoryError, match="digest mismatch"):
            history.parse(head + b"".join(order), "h")


def test_only_the_next_whole_iteration_is_accepted(tmp_path):
    with History.create(tmp_path / "h", HEADER) as made:
        for wrong in ([Update(1, (1,), 1)], [Decay(0, 5)], [Update(0, (1,), 1), Decay(0, 5)], []):
            with pytest.raises(HistoryError, match="is next"):
                made.append(*wrong)


def test_two_processes_cannot_write_one_history(tmp_path):
    with History.create(tmp_path / "h", HEADER), pytest.raises(RunError, match="in use"):
        History.open(tmp_path / "h")
    History.open(tmp_path / "h").close()


def test_a_history_is_never_replaced(tmp_path):
    write(tmp_path / "h")
    with pytest.raises(HistoryError, match="already exists"):
        History.create(tmp_path / "h", HEADER)


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "h"
    write(path, ITERATIONS[:1])
    before = path.read_bytes()
    with History.open(path) as found:

        def full(descriptor):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(RunError, match="No space left"):
            found.append(*ITERATIONS[1])
        assert path.read_bytes() == before
        monkeypatch.undo()
        found.append(*ITERATIONS[1])
    assert history.read(path).iterations == 2


def test_other_versions_and_files_are_named(tmp_path):
    data = write(tmp_path / "h")
    with pytest.raises(HistoryError, match="format 9"):
        history.parse(data[:4] + struct.pack("<H", 9) + data[6:], "h")
    with pytest.raises(HistoryError, match="not a proofgym history"):
        history.parse(b"hello", "h")
    with pytest.raises(HistoryError, match="there is no history"):
        history.read(tmp_path / "absent")
