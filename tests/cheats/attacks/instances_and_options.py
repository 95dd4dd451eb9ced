"""Attacks by instances and options."""

from __future__ import annotations

from attack import FAILED, YES, Attack, Full

ATTACKS: list[Attack] = [
    Attack(
        "skip_kernel",
        "the kernel's check switched off",
        "  set_option debug.skipKernelTC true in decide +kernel",
        "skip_kernel",
        statement="theorem no : 1 = 2",
    ),
    Attack(
        "unused_option",
        "an option set in a branch that is not taken",
        "  first | trivial | set_option maxRecDepth 9 in trivial",
        "command",
        statement="theorem yes : True",
        past_scan="passes",
    ),
    Attack(
        "instance",
        "an instance that decides False",
        "  decide\nlocal instance : Decidable False := .isTrue x",
        "command",
    ),
    Attack(
        "attribute_command",
        "an instance by attribute",
        "  decide\nattribute [instance] x",
        "command",
    ),
    Attack(
        "let_rec_instance",
        "an instance by a helper's attribute",
        "  let rec @[instance] d : Decidable False := d\n  decide",
        "attribute",
    ),
    Attack(
        "have_instance",
        "a local instance by recursion",
        "  haveI : Decidable False := .isTrue no\n  decide",
        "no_error",
        ends=FAILED,
    ),
    Attack(
        "native_config",
        "compiled code by configuration",
        "  decide (config := { native := true })",
        "code",
        full=Full("  decide (config := { native := true })", "", "theorem no : 1 = 2"),
        statement="theorem no : 1 = 2",
    ),
    Attack(
        "no_warning",
        "no warning of what is left out",
        "  set_option warn.sorry false in exact (sorry)",
        "command",
    ),
    Attack(
        "by_as_sorry",
        "an option that makes every `by` a sorry",
        "  set_option debug.byAsSorry true in exact (by decide)",
        "command",
    ),
    Attack(
        "terminal_as_sorry",
        "an option that makes closing tactics a sorry",
        "  set_option debug.terminalTacticsAsSorry true in\n  trivial",
        "command",
    ),
    Attack(
        "no_heartbeats",
        "Lean's own limit switched off",
        "  set_option maxHeartbeats 0 in repeat (have : True := trivial)",
        "command",
        limits={"wall_s": 1.5},
    ),
    Attack(
        "implemented_by",
        "an attribute that replaces code",
        "  let rec @[implemented_by x] y : Nat := 0\n  decide",
        "attribute",
    ),
    Attack(
        "unification_hint",
        "a hint that makes unequal terms unify",
        "  rfl\nunif_hint (a b : Nat) where ⊢ a =?= b",
        "command",
        statement="theorem no : 1 = 2",
    ),
    Attack(
        "harmless_looking",
        "an attribute that speeds a helper up",
        "  let rec @[reducible] x : Nat := 0\n  trivial",
        "attribute",
        statement=YES,
        past_scan="passes",
    ),
]
