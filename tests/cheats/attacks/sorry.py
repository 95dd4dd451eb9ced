"""Attacks that leave something unproved."""

from __future__ import annotations

from attack import FAILED, YES, Attack, Full

ATTACKS: list[Attack] = [
    Attack("plain", "the word itself", "  sorry", "unproved"),
    Attack("constant", "the axiom behind the word", "  exact sorryAx _ false", "trusted"),
    Attack("admit", "the tactic that is sorry", "  admit", "unproved"),
    Attack("stop", "the tactic that drops the rest", "  stop\n  exact trivial", "unproved"),
    Attack("fallback", "sorry as the last alternative", "  first | rfl | (sorry)", "unproved"),
    Attack("quoted", "the constant in «»", "  exact «sorryAx» False true", "trusted"),
    Attack(
        "recovered",
        "Lean's own recovery from an error puts a sorry",
        "  all_goals exact nothing_here",
        "no_error",
        ends=FAILED,
    ),
    Attack("helper", "sorry in a helper", "  exact go\nwhere\n  go : False := sorry", "unproved"),
    Attack(
        "macro",
        "a tactic that expands to sorry",
        '  hidden\nmacro "hidden" : tactic => `(tactic| sorry)',
        "command",
    ),
    Attack(
        "in_the_header",
        "a lemma of the header that is not proved",
        "  exact unfinished",
        "axioms",
        header="theorem unfinished : False := sorry",
    ),
    Attack(
        "decreasing",
        "sorry as the reason to terminate",
        "  exact go 0\nwhere\n  go (n : Nat) : False := go n\ndecreasing_by sorry",
        "unproved",
    ),
    Attack("hole", "a hole left open", "  refine ?_\n  skip", "no_error", ends=FAILED),
    Attack(
        "suggestion",
        "a search tactic that admits the goal while it makes suggestions",
        "  apply?",
        "no_error",
        ends=FAILED,
        full=Full("  apply?", header=""),
    ),
    Attack(
        "match_arm",
        "sorry in one arm of a match on data",
        "  exact match (0 : Nat) with\n  | 0 => sorry\n  | n + 1 => nofun",
        "unproved",
    ),
    Attack(
        "unused_alternative",
        "sorry where it is never reached",
        "  first | trivial | sorry",
        "unproved",
        statement=YES,
        past_scan="passes",
    ),
    Attack(
        "unused_constant",
        "the axiom in a proof that is thrown away",
        "  first | trivial | exact sorryAx _ true",
        "trusted",
        statement=YES,
        past_scan="passes",
    ),
]
