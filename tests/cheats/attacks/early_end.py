"""Attacks that end the declaration, or the file, before its time."""

from __future__ import annotations

from attack import BARE, CHEAT, FAILED, Attack

ATTACKS: list[Attack] = [
    Attack(
        "exit_command",
        "the command that ends the file",
        "  exact cheat\n#exit",
        "command",
        header=CHEAT,
    ),
    Attack("end", "`end` of what is not open", "  exact cheat\nend", "command", header=CHEAT),
    Attack(
        "open_comment",
        "the ending in a comment",
        "  exact cheat\n/-",
        "unclosed_comment",
        header=CHEAT,
    ),
    Attack(
        "open_string",
        "the ending in a string",
        '  exact (fun (_ : String) => cheat) "',
        "unclosed_string",
        header=CHEAT,
    ),
    Attack("open_name", "the ending in a name", "  exact cheat «", "unclosed_name", header=CHEAT),
    Attack("closing", "a bracket that closes more", "  exact cheat)", "brackets", header=CHEAT),
    Attack(
        "prose",
        "words after the proof",
        "  exact never\nSo it is done",
        "column_0",
        statement="theorem no : Never",
        header=BARE,
    ),
    Attack(
        "open_in",
        "a prefix takes in the ending",
        "  exact cheat\nopen Nat in",
        "command",
        header=CHEAT,
    ),
    Attack(
        "attribute",
        "an attribute without its declaration",
        "  exact cheat\n@[simp]",
        "attribute",
        header=CHEAT,
    ),
    Attack(
        "modifier",
        "a modifier without its declaration",
        "  exact cheat\nprivate",
        "command",
        header=CHEAT,
    ),
    Attack(
        "mutual", "the ending inside `mutual`", "  exact cheat\nmutual", "command", header=CHEAT
    ),
    Attack(
        "module_doc",
        "a documentation command as the last word",
        "  exact cheat\n/-! the end",
        "unclosed_comment",
        header=CHEAT,
    ),
    Attack(
        "raw_string",
        "the ending in a raw string",
        '  exact (fun (_ : String) => cheat) r##"',
        "unclosed_string",
        header=CHEAT,
    ),
    Attack(
        "prose_bare",
        "an error where Lean has no sorry to put for it",
        "  exact never",
        "no_error",
        statement="theorem no : Never",
        header=BARE,
        ends=FAILED,
    ),
    Attack(
        "closing_bare",
        "the same behind a bracket",
        "  exact (never))",
        "brackets",
        statement="theorem no : Never",
        header=BARE,
    ),
    Attack(
        "comment_bare",
        "the same behind an open comment",
        "  exact never /- the end",
        "unclosed_comment",
        statement="theorem no : Never",
        header=BARE,
    ),
    Attack(
        "string_bare",
        "the same behind an open string",
        '  exact never "the end',
        "unclosed_string",
        statement="theorem no : Never",
        header=BARE,
    ),
    Attack(
        "name_bare",
        "the same behind an open name",
        "  exact never « the last",
        "unclosed_name",
        statement="theorem no : Never",
        header=BARE,
    ),
    Attack(
        "file_exit",
        "a file that ends before it is asked",
        "axiom c : False\ntheorem no : False := c\n#exit\n",
        "signed",
        form="file",
        ends=(*FAILED, Attack.ends[0]),
    ),
]
