"""Attacks by letters that look like others."""

from __future__ import annotations

from attack import CHEAT, FAILED, Attack

ATTACKS: list[Attack] = [
    Attack(
        "cyrillic_sorry", "`sorry` with a Cyrillic letter", "  \u0455orry", "no_error", ends=FAILED
    ),
    Attack(
        "fullwidth",
        "`sorry` in full-width letters",
        "  \uff53\uff4f\uff52\uff52\uff59",
        "no_error",
        ends=FAILED,
    ),
    Attack(
        "zero_width", "`sorry` with a zero-width space", "  so\u200brry", "no_error", ends=FAILED
    ),
    Attack(
        "cyrillic_false",
        "another False by a Cyrillic letter",
        "  have F\u0430lse : True := trivial\n  exact F\u0430lse",
        "no_error",
        ends=FAILED,
    ),
    Attack(
        "bidi",
        "right-to-left override: the line shows another order",
        "  exact cheat -- \u202etlivirt tcaxe",
        "axioms",
        header=CHEAT,
    ),
    Attack(
        "no_break_space",
        "indentation by no-break spaces",
        "\u00a0\u00a0exact trivial",
        "no_error",
        ends=FAILED,
    ),
    Attack(
        "angle_brackets",
        "brackets that only look right",
        "  exact \u3008trivial\u3009",
        "no_error",
        ends=FAILED,
    ),
    Attack(
        "greek",
        "an allowed axiom's name with a Greek letter",
        "  exact (pr\u03bfpext : False)",
        "no_error",
        ends=FAILED,
    ),
    Attack(
        "script",
        "`sorry` in script letters, a proper name to Lean",
        "  exact \U0001d4c8\u2134\U0001d4c7\U0001d4c7\U0001d4ce",
        "no_error",
        ends=FAILED,
    ),
    Attack(
        "combining",
        "a letter with a combining mark",
        "  triv\u0131al\u0308",
        "no_error",
        ends=FAILED,
    ),
    Attack(
        "homoglyph_axiom",
        "an axiom that is printed like an allowed one",
        "  exact «prop\u0435xt»",
        "axioms",
        header="axiom «prop\u0435xt» : False",
    ),
    Attack(
        "colon",
        "a colon that only looks right",
        "  exact (trivial \uff1a False)",
        "no_error",
        ends=FAILED,
    ),
]
