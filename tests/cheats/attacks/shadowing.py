"""Attacks that give a trusted name another meaning."""

from __future__ import annotations

from attack import CHEAT, FAILED, Attack

ATTACKS: list[Attack] = [
    Attack(
        "namespace",
        "another theorem of that name where the ending asks",
        "  exact cheat\n  namespace A\n  theorem no : True := trivial",
        "command",
        header=CHEAT,
        past_scan="stopped",
    ),
    Attack(
        "notation",
        "a notation for False after the proof",
        '  exact trivial\nlocal notation "False" => True',
        "command",
    ),
    Attack(
        "infix",
        "another meaning of `=`",
        '  rfl\nlocal infix:50 " = " => fun _ _ => True',
        "command",
        statement="theorem no : 1 = 2",
    ),
    Attack(
        "self",
        "a helper named as the theorem",
        "  let rec no : False := no\n  exact no",
        "no_error",
        ends=FAILED,
    ),
    Attack(
        "local",
        "a local variable named False",
        "  have False := True\n  exact (trivial : False)",
        "no_error",
        ends=FAILED,
    ),
    Attack(
        "let_show",
        "`show` with a local False",
        "  let False : Prop := True\n  show False\n  trivial",
        "no_error",
        ends=FAILED,
    ),
    Attack(
        "renaming",
        "`open` that renames",
        "  exact cheat\nopen A renaming yes → no",
        "command",
        header=f"{CHEAT}\ntheorem A.yes : True := trivial",
    ),
    Attack(
        "export",
        "a clean theorem exported under the name",
        "  exact cheat\nexport A (no)",
        "command",
        header=f"{CHEAT}\ntheorem A.no : True := trivial",
    ),
    Attack(
        "abbrev",
        "an abbreviation that hides a type",
        "  exact trivial\nabbrev False := True",
        "command",
    ),
    Attack(
        "instance_name",
        "an instance under the theorem's name",
        "  exact cheat\ninstance A.no : Inhabited Nat := ⟨0⟩",
        "command",
        header=CHEAT,
    ),
    Attack(
        "root_helper",
        "a helper that claims a root name",
        "  exact go\nwhere\n  go : False := propext.mp trivial",
        "no_error",
        ends=FAILED,
    ),
]
