"""Valid proofs in varied style, from the reference proofs of `lean_core` and from hand.

Each style rewrites a proof that is known to be right into another right one. None of them knows
what the policy scan looks for, except those that use its words where they are harmless.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from proofgym.lean.tokens import tokens
from proofgym.tasks import lean_core

HANDWRITTEN = Path(__file__).parent / "handwritten.txt"
EACH = 19  # theorems for each style

Style = Callable[[str, str, str], tuple[str, str] | None]
"""(statement, goal, proof with two spaces) to (statement, proof); None where it does not fit."""


def goal_of(statement: str) -> str:
    """The statement's type, after the colon that is in no bracket."""
    depth = 0
    for token in tokens(statement):
        if token.kind == "symbol":
            depth += (token.text in "([{⟨") - (token.text in ")]}⟩")
            if token.text == ":" and depth == 0:
                return " ".join(statement[token.start + 1 :].split())
    raise ValueError(statement)


def _deeper(proof: str, more: int = 2) -> str:
    return "\n".join(" " * more + line if line.strip() else line for line in proof.split("\n"))


def _wrap(text: str) -> Style:
    """A style that puts the goal and the proof, two spaces deeper, into a text."""

    def style(statement: str, goal: str, proof: str) -> tuple[str, str]:
        return statement, text.replace("GOAL", goal).replace("PROOF", _deeper(proof))

    return style


def _term(text: str) -> Style:
    """A style for a proof that is one `exact TERM`."""

    def style(statement: str, goal: str, proof: str) -> tuple[str, str] | None:
        match = re.fullmatch(r"  exact ([^⟨\n][^\n]*)", proof)
        if match is None:
            return None
        return statement, text.replace("GOAL", goal).replace("TERM", match[1])

    return style


def _one_line(statement: str, goal: str, proof: str) -> tuple[str, str] | None:
    lines = proof.split("\n")
    flat = len(lines) > 1 and all(re.match(r"  [a-z]", line) for line in lines)
    return (statement, "  " + "; ".join(line.strip() for line in lines)) if flat else None


def _each_line(mark: str) -> Style:
    """A style that ends each flat line by a text."""

    def style(statement: str, goal: str, proof: str) -> tuple[str, str] | None:
        lines = proof.split("\n")
        if len(lines) < 2 or not all(re.match(r"  [a-z]", line) for line in lines):
            return None
        return statement, "\n".join(line + mark for line in lines)

    return style


def _renamed(names: list[str]) -> Style:
    """A style with other names for the variables and hypotheses of the statement."""

    def style(statement: str, goal: str, proof: str) -> tuple[str, str] | None:
        old = re.findall(r"[\w']+", " ".join(re.findall(r"\(([^():]+) :", statement)))
        old = list(dict.fromkeys(old))
        if not 0 < len(old) <= len(names) or set(old) & set(
            re.findall(r"∃ (\w+)|∀ (\w+)", statement)
        ):
            return None
        new = dict(zip(old, names, strict=False))
        return _replace(statement, new), _replace(proof, new)

    return style


def _replace(text: str, new: dict[str, str]) -> str:
    pieces, at = [], 0
    for token in tokens(text):
        first, dot, rest = token.text.partition(".")
        if token.kind == "name" and first in new:
            pieces += [text[at : token.start], new[first] + dot + rest]
            at = token.start + len(token.text)
    return "".join(pieces) + text[at:]


STYLES: dict[str, Style] = {
    "as it is": lambda statement, goal, proof: (statement, proof),
    "column 0": lambda statement, goal, proof: (
        statement,
        "\n".join(line[2:] for line in proof.split("\n")),
    ),
    "deep indentation": lambda statement, goal, proof: (statement, _deeper(proof, 9) + "\n\n\n"),
    "one line": _one_line,
    "trailing comments": _each_line("  -- no sorry, no axiom"),
    "block comments": _each_line(" /- theorem /- end -/ sorry -/"),
    "semicolons at the end": _each_line(" ;"),
    "comment first": _wrap("  -- theorem x : False := sorry\n  /- #exit -/\n  skip\n  (\nPROOF)"),
    "have": _wrap("  have key : GOAL := by\nPROOF\n  exact key"),
    "have without a name": _wrap("  have : GOAL := by\nPROOF\n  assumption"),
    "show": _wrap("  show GOAL\n  focus\nPROOF"),
    "suffices": _wrap("  suffices open_goal : GOAL from open_goal\n  focus\nPROOF"),
    "refine and case": _wrap("  refine ?end_goal\n  case end_goal =>\nPROOF"),
    "bullet": _wrap("  refine ?_\n  ·\nPROOF"),
    "by in a term": _wrap("  exact id (by\nPROOF)"),
    "by in brackets": _wrap("  exact (by\nPROOF\n    : GOAL)"),
    "by contradiction": _wrap(
        "  refine Classical.byContradiction fun not_axiom => not_axiom ?_\n"
        "  clear not_axiom\n  focus\nPROOF"
    ),
    "where": _wrap("  exact helper\nwhere\n  helper : GOAL := by\nPROOF"),
    "let rec": _wrap("  let rec theorem_1 : GOAL := by\nPROOF\n  exact theorem_1"),
    "and then skip": _wrap("  (\nPROOF) <;> skip"),
    "all goals": _wrap("  all_goals\nPROOF"),
    "first": _wrap("  first\n  | fail\n  | (\nPROOF)"),
    "try, at": _wrap(
        "  have extra : True ∧ True := ⟨trivial, trivial⟩\n  rw [and_self] at extra\n"
        "  try exact nothing_at_all\n  focus\nPROOF"
    ),
    "obtain": _wrap(
        "  obtain ⟨_, private_1⟩ : True ∧ (GOAL) := by\n    refine ⟨trivial, ?_⟩\n    focus\n"
        "PROOF\n  exact private_1"
    ),
    "string": _wrap(
        '  have note : "sorry -- theorem /-" = "sorry -- theorem /-" := rfl\n'
        "  clear note\n  focus\nPROOF"
    ),
    "if": _wrap(
        "  by_cases prefix_1 : True\n  · clear prefix_1\n    focus\nPROOF\n"
        "  · exact absurd trivial prefix_1"
    ),
    "term: refine": _term("  refine TERM"),
    "term: apply": _term("  apply TERM"),
    "term: show from": _term("  exact show GOAL from TERM"),
    "term: function": _term("  exact (fun instance' => instance') (TERM)"),
    "term: this": _term("  have : GOAL := TERM\n  exact this"),
    "term: pipe": _term("  exact id <| TERM"),
    "term: have in a term": _term("  exact have meta_1 : GOAL := TERM; meta_1"),
    "term: match": _term("  exact match (⟨⟩ : True) with | ⟨⟩ => (TERM)"),
    "names like commands": _renamed(
        [
            "end1",
            "theorem'",
            "axiom_of",
            "sorry_free",
            "open₁",
            "macro_x",
            "def_eq",
            "local'",
            "x_by",
        ]
    ),
    "quoted names": _renamed(
        [
            "«theorem»",
            "«end»",
            "«my axiom»",
            "«sorry»",
            "«open»",
            "«#exit»",
            "«a--b»",
            "«@[»",
            '«"»',
        ]
    ),
    "Greek and scripts": _renamed(["α₁", "β'", "γ_", "δ", "ε₀", "ℓ", "𝓟", "ϕ", "ψ!"]),
}


@cache
def proofs() -> list[tuple[str, str, str]]:
    """(style, statement, proof) of the whole corpus; a pure function of the data."""
    return list(_proofs())


def _proofs() -> Iterator[tuple[str, str, str]]:
    yield from (("by hand", *pair) for pair in handwritten())
    rows = []
    for split in ("heldout", "train"):
        reference = lean_core(split).reference_proofs()
        rows += [(task.data["statement"], reference[task.name]) for task in lean_core(split).load()]
    for place, (name, style) in enumerate(STYLES.items()):
        found = 0
        for number in range(len(rows)):  # start elsewhere for each style
            statement, proof = rows[(number + place * 31) % len(rows)]
            made = style(statement, goal_of(statement), proof)
            if made and found < EACH:
                found += 1
                yield name, *made


def handwritten() -> list[tuple[str, str]]:
    """Statements and proofs, each pair after a line `====`, the parts divided by `----`."""
    parts = HANDWRITTEN.read_text().split("====\n")[1:]
    pairs = [part.split("----\n") for part in parts]
    return [(statement.strip(), proof.rstrip("\n")) for statement, proof in pairs]
