"""Attacks by bytes and sizes: invalid UTF-8, NUL, nothing at all, ten megabytes."""

from __future__ import annotations

from attack import FAILED, YES, Attack

_TEN_MB = 10_000_000


def _decoded(data: bytes) -> str:
    """As a client would pass on bytes that are no UTF-8."""
    return data.decode("utf-8", errors="surrogateescape")


def _bad(name: str, trick: str, data: bytes) -> Attack:
    return Attack(name, trick, _decoded(data), "encoding", statement=YES)


UTF8 = [
    _bad("lone_byte", "a byte that begins nothing", b"  trivial \xff"),
    _bad("overlong", "a slash in two bytes", b"  trivial \xc0\xaf- axiom"),
    _bad("truncated", "a character cut off at the end", b"  exact trivial -- \xe2\x9f"),
    _bad("surrogate_pair", "a character as two halves", b"  trivial -- \xed\xa0\xbd\xed\xb8\x80"),
    Attack(
        "high_surrogate",
        "half a character, as JSON can carry it",
        "  trivial -- \ud800",
        "encoding",
        statement=YES,
    ),
    _bad("in_a_string", "a bad byte in a string", b'  exact (fun (_ : String) => trivial) "\xfe"'),
    Attack(
        "file",
        "a file with bytes that are no text",
        "",
        "no_error",
        form="file",
        ends=FAILED,
        raw=b"theorem no : False := \xff\xfetrivial\n",
    ),
]

NUL = [
    Attack(
        "in_a_comment",
        "what follows is hidden from C",
        "  trivial -- \0 sorry",
        "control_character",
        statement=YES,
        past_scan="passes",
    ),
    Attack("at_the_end", "the ending is cut off", "  exact trivial\0", "control_character"),
    Attack("in_a_word", "a forbidden word in two", "  so\0rry", "control_character"),
    Attack(
        "first",
        "the proof is cut off before it begins",
        "\0  trivial",
        "control_character",
        statement=YES,
    ),
    Attack(
        "in_a_string",
        "a string cut off",
        '  exact (fun (_ : String) => trivial) "a\0b"',
        "control_character",
        statement=YES,
        past_scan="passes",
    ),
    Attack(
        "in_a_name", "a name cut off", "  exact «tri\0vial»", "control_character", statement=YES
    ),
    Attack(
        "file",
        "a file cut off",
        "theorem no : False := by\0 trivial\n",
        "no_error",
        form="file",
        ends=FAILED,
    ),
]

SIZES = [
    Attack("empty", "nothing at all", "", "empty", ends=FAILED),
    Attack("spaces", "nothing but spaces", "     ", "empty", ends=FAILED),
    Attack("lines", "nothing but lines", "\n\n\n", "empty", ends=FAILED),
    Attack("comment", "nothing but a comment", "  -- trivial", "empty", ends=FAILED),
    Attack(
        "spaces_10mb",
        "10 MB of spaces",
        " " * _TEN_MB + "trivial",
        "oversize",
        statement=YES,
        past_scan="passes",
    ),
    Attack(
        "comment_10mb",
        "10 MB of comment",
        "  trivial --" + "x" * _TEN_MB,
        "oversize",
        statement=YES,
        past_scan="passes",
    ),
    Attack(
        "just_too_large",
        "a little more than is read",
        "  trivial --" + "-" * 65_536,
        "oversize",
        statement=YES,
        past_scan="passes",
    ),
    Attack(
        "steps_10mb",
        "10 MB of steps",
        "  " + "skip; " * (_TEN_MB // 6) + "trivial",
        "oversize",
        statement=YES,
        limits={"wall_s": 3.0, "memory_bytes": 700 << 20},
    ),
    Attack("line_10mb", "10 MB in one name", "  exact " + "a" * _TEN_MB, "oversize"),
    Attack(
        "brackets_10mb",
        "10 MB of open brackets",
        "  exact " + "(" * _TEN_MB,
        "oversize",
        limits={"wall_s": 3.0, "memory_bytes": 700 << 20},
    ),
    Attack(
        "wide_10mb",
        "10 MB of four-byte letters",
        "  exact " + "\U0001d4d0" * (_TEN_MB // 4),
        "oversize",
    ),
    Attack(
        "lines_10mb",
        "10 MB of empty lines, then prose",
        "  trivial" + "\n" * _TEN_MB + "  skip",
        "oversize",
        statement=YES,
        past_scan="passes",
    ),
]

CLASSES = {"invalid UTF-8": UTF8, "NUL bytes": NUL, "empty and 10 MB": SIZES}
