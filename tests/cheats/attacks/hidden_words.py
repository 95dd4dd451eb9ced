"""Attacks where Lean's lexer sees a word that a simpler reader takes for a part of something else.

Lean's tokens depend on its version and on the notation in force, so letters, numbers and symbols
end where a reader with a table of its own may not expect it.
"""

from __future__ import annotations

from attack import YES, Attack

_ONE = "theorem no : 1 = 2"
_SKIP = "set_option debug.skipKernelTC true in decide +kernel"


def _syntax(symbol: str) -> str:
    return f'syntax:65 term " {symbol} " term : term'


def _between(before: str, after: str) -> str:
    return f"  try {before}\n  {_SKIP}\n  try {after}"


ATTACKS: list[Attack] = [
    Attack(
        "accent",
        "an accented letter before a quote, which some Leans read as one name",
        _between("intro é' '\"'", "intro '\"'"),
        "skip_kernel",
        statement=_ONE,
    ),
    Attack(
        "subscript_j",
        "a subscript that was no letter in older Leans",
        _between("intro xⱼ' '\"'", "intro '\"'"),
        "skip_kernel",
        statement=_ONE,
    ),
    Attack(
        "answer_accent",
        "an accented letter in a whole answer",
        f"{_ONE} := by\n" + _between("intro ß' '\"'", "intro '\"'"),
        "skip_kernel",
        statement=_ONE,
        form="answer",
    ),
    Attack(
        "hexadecimal",
        "a word directly behind a hexadecimal number",
        f"  iterate 0x1{_SKIP}",
        "skip_kernel",
        statement=_ONE,
    ),
    Attack(
        "binary",
        "a word directly behind a binary number",
        f"  iterate 0b1{_SKIP}",
        "skip_kernel",
        statement=_ONE,
    ),
    Attack(
        "number_and_sorry",
        "an unproved step directly behind a number",
        "  iterate 0x1sorry",
        "ambiguous_number",
    ),
    Attack(
        "exponent",
        "a quote directly behind a number with an exponent",
        _between("intro 1e0'\"'", "intro '\"'"),
        "skip_kernel",
        statement=_ONE,
    ),
    Attack(
        "times",
        "a symbol of the library that ends in a quote",
        _between("exact Nat ×' '\"'", "exact '\"'"),
        "skip_kernel",
        statement=_ONE,
    ),
    Attack(
        "preimage",
        "a symbol of the header that ends in a quote",
        _between("exact 1 ⁻¹' '\"'", "exact '\"'"),
        "skip_kernel",
        statement=_ONE,
        header=_syntax("⁻¹'"),
    ),
    Attack(
        "arrow_with_letter",
        "a symbol that ends in a letter swallows the beginning of a word",
        "  try exact 1 →gset_option maxRecDepth 9 in 1\n  trivial",
        "command",
        statement=YES,
        header=_syntax("→g"),
        past_scan="passes",
    ),
    Attack(
        "congruence",
        "a symbol of a bracket and capitals before a word",
        "  trivial; try exact 1 [ZMODend 2]",
        "command",
        statement=YES,
        header=_syntax("[ZMOD"),
    ),
    Attack(
        "complement",
        "a letter-like superscript, which is a symbol, before a word",
        "  trivial; try exact 1 ᶜend",
        "command",
        statement=YES,
        header=_syntax("ᶜ"),
    ),
    Attack(
        "element",
        "a bracket with a quote, as in an array access with a proof",
        _between("exact 1 ]' '\"'", "exact '\"'"),
        "skip_kernel",
        statement=_ONE,
        header=_syntax("]'"),
    ),
    Attack(
        "arrow_and_raw_string",
        "the r of a raw string belongs to the arrow before it",
        '  try exact 1 ↪r"\\"\n  trivial -- "',
        "ambiguous_string",
        statement=YES,
        header=_syntax("↪r"),
    ),
    Attack(
        "arrow_and_name",
        "a quoted name whose first mark is a character of Lean's",
        f"  try exact 1 →r'«'\n  {_SKIP} --»",
        "skip_kernel",
        statement=_ONE,
        header=_syntax("→r"),
    ),
    Attack(
        "number_unused",
        "a number with a tactic stuck to it, in a branch that is not taken",
        "  first | trivial | iterate 0x1skip",
        "ambiguous_number",
        statement=YES,
        past_scan="passes",
    ),
    Attack(
        "string_unused",
        "a string stuck to a word, in a branch that is not taken",
        '  first | trivial | trace"a"',
        "ambiguous_string",
        statement=YES,
        past_scan="passes",
    ),
    Attack(
        "name_unused",
        "a quoted name stuck to a word, in a branch that is not taken",
        "  first | trivial | exact«a»",
        "ambiguous_name",
        statement=YES,
        past_scan="passes",
    ),
    Attack(
        "kernel_option_named",
        "the option that skips the kernel, named where it does nothing",
        "  trivial -- debug.skipKernelTC",
        "skip_kernel",
        statement=YES,
        past_scan="passes",
    ),
]
