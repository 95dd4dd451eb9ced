"""Progress lines say what, how many of how many, rate and time left."""

from __future__ import annotations

import io

from proofgym.progress import Progress, duration


def test_a_log_file_gets_whole_lines():
    stream = io.StringIO()
    with Progress("verifying", total=2, unit="proofs", stream=stream) as progress:
        progress.advance()
        assert "1/2 proofs" in progress.line()
        assert "left" in progress.line()
        progress.advance()
    assert stream.getvalue().startswith("verifying 2/2 proofs")
    assert "\r" not in stream.getvalue()


def test_what_is_done_is_said_once():
    stream = io.StringIO()
    with Progress("scoring", total=2, stream=stream) as progress:
        progress._interval = 0.0
        progress.advance()
        progress.advance()
    assert [line.split("  ")[0] for line in stream.getvalue().splitlines()] == [
        "scoring 1/2",
        "scoring 2/2",
    ]


def test_durations():
    assert [duration(s) for s in (3.2, 59, 61, 7500)] == ["3.2 s", "59 s", "1 min 1 s", "2 h 5 min"]
