"""Attacks where a reader of comments and strings could go wrong."""

from __future__ import annotations

from attack import CHEAT, FAILED, YES, Attack

ATTACKS: list[Attack] = [
    Attack(
        "nested",
        "a comment in a comment, one of them open",
        "  /- the statement /- is here -/\n  exact cheat",
        "unclosed_comment",
        header=CHEAT,
    ),
    Attack(
        "slash_dash_slash",
        "a mark that opens or opens and closes",
        "  exact cheat /-/ axiom c : False -/",
        "ambiguous_comment",
        header=CHEAT,
    ),
    Attack(
        "arrow",
        "a comment mark inside an arrow",
        "  rw [<--cheat]\n  exact cheat",
        "ambiguous_comment",
        header=CHEAT,
    ),
    Attack(
        "in_string",
        "a comment mark in a string hides the axiom",
        '  exact (fun (_ : String) => cheat) "--"',
        "axioms",
        header=CHEAT,
    ),
    Attack(
        "quote_character",
        "a quote as a character opens a string, or not",
        "  exact (fun (_ : Char) => cheat) '\"'",
        "ambiguous_quote",
        header=CHEAT,
    ),
    Attack(
        "line_separator",
        "a line comment ended by a Unicode line separator",
        "  -- so \u2028  exact trivial",
        "empty",
        ends=FAILED,
    ),
    Attack(
        "interpolation",
        "code in a string",
        '  exact (fun (_ : String) => cheat) s!"{1}"',
        "interpolation",
        header=CHEAT,
    ),
    Attack(
        "only_a_comment",
        "the proof is written in a comment",
        "  /- exact trivial -/",
        "empty",
        ends=FAILED,
    ),
    Attack(
        "raw_string",
        "a raw string hides what follows",
        '  exact (fun (_ : String) => cheat) r#"" axiom x : False --"#',
        "axioms",
        header=CHEAT,
    ),
    Attack(
        "file_statement_in_comment",
        "the theorem stands in a comment of the file",
        "/- theorem no : False := trivial -/\nexample : True := trivial\n",
        "no_theorem",
        form="file",
        ends=FAILED,
    ),
    Attack(
        "file_statement_in_string",
        "the theorem stands in a string of the file",
        'example : String := "theorem no : False := trivial"\n',
        "no_theorem",
        form="file",
        ends=FAILED,
    ),
    Attack(
        "after_symbol",
        "a comment right after a symbol that may take in its mark",
        "  refine id ?_ <;>--x\n  trivial",
        "ambiguous_comment",
        statement=YES,
        past_scan="passes",
    ),
    Attack(
        "quote_unused",
        "a quote character in a term",
        "  have : '\"' = '\"' := rfl\n  trivial",
        "ambiguous_quote",
        statement=YES,
        past_scan="passes",
    ),
    Attack(
        "brace_in_string",
        "a brace in a plain string",
        '  have : "{x}" = "{x}" := rfl\n  trivial',
        "interpolation",
        statement=YES,
        past_scan="passes",
    ),
    Attack(
        "doc_command",
        "a documentation command after the proof",
        "  exact cheat\n/-! theorem -/",
        "command",
        header=CHEAT,
    ),
]
