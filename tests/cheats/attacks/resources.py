"""Attacks on time, stack and output: endless loops, deep recursion, huge terms, huge messages."""

from __future__ import annotations

from attack import CHEAT, FAILED, OVER, YES, Attack

from attacks.native import if_done, io, number, run
from proofgym.types import Status

_SHORT = {"wall_s": 3.0, "memory_bytes": 700 << 20}


def _over(name: str, trick: str, proof: str, **more: object) -> Attack:
    more = {"by": "wall", "ends": OVER, "limits": _SHORT, **more}
    return Attack(name, trick, proof, **more)  # type: ignore[arg-type]


LOOPS = [
    _over("repeat", "a tactic repeated for ever", "  repeat (skip; exact trivial)"),
    _over("repeat_skip", "nothing, repeated for ever", "  repeat skip", by="no_error"),
    _over(
        "ackermann",
        "the kernel evaluates for ever",
        "  exact (rfl : Nat.rec (motive := fun _ => Nat → Nat) Nat.succ (fun _ f n =>\n"
        "    Nat.rec (f 1) (fun _ r => f r) n) 5 5 = 0)",
    ),
    _over(
        "simp",
        "a hypothesis that rewrites back and forth",
        "  have h : ∀ a b : Nat, a + b = b + a + 0 := Nat.add_comm\n  simp [h] at *",
        by="no_error",
    ),
    _over(
        "decide",
        "a decision procedure that counts to 10^12",
        "  exact (by decide : Nat.repeat (fun b => !b) 1000000000000 true = false).elim",
        by="no_error",
    ),
    _over(
        "unify",
        "unification of numbers in ones",
        "  have h : ∀ n, n + 50000000 = 50000001 + n → False := fun _ h => nofun\n"
        "  exact h 0 (rfl)",
        by="no_error",
    ),
    Attack(
        "sleep",
        "sleep without using the processor, for ever",
        run(number("IO.sleep 4000000000 0")),
        "command",
        header=CHEAT,
        limits={"wall_s": 2.0},
    ),
    Attack(
        "spin",
        "compiled code that never returns",
        run(
            "let rec go (n : Nat) (sum : Nat) : Nat := match n with\n    | .zero => sum\n"
            "    | .succ m => go m (go m (.succ sum))\n  " + number("go 64 0")
        ),
        "command",
        header=CHEAT,
        limits={"wall_s": 2.0},
    ),
    Attack(
        "too_many_allocations",
        "a right proof that needs more allocations than it may",
        "  iterate 200 (have h : 1 + 1 = 2 := by decide)\n  trivial",
        "heartbeats",
        statement=YES,
        heartbeats=5,
        ends=(Status.TIMEOUT,),
    ),
    _over(
        "heartbeats",
        "Lean's own deterministic limit is the first to stop it",
        "  iterate 1000000 (have h : 1 + 1 = 2 := by decide)",
        by="wall",
    ),
]

RECURSION = [
    _over(
        "brackets", "20,000 brackets", "  exact " + "(" * 20000 + "no" + ")" * 20000, by="no_error"
    ),
    _over(
        "functions",
        "4,000 functions in each other",
        "  exact " + "fun _ => " * 4000 + "0",
        by="no_error",
    ),
    _over(
        "by",
        "2,000 tactic blocks in each other",
        "  exact " + "by exact " * 2000 + "trivial",
        by="no_error",
    ),
    _over(
        "negations",
        "15,000 negations",
        "  exact (trivial : " + "¬" * 15000 + "True)",
        by="no_error",
    ),
    _over("bullets", "1,500 bullets in each other", "  " + "· " * 1500 + "trivial", by="no_error"),
    _over(
        "chain",
        "6,000 conjunctions, to the right",
        "  have : " + "True ∧ " * 6000 + "True := by trivial\n  exact this",
        by="no_error",
    ),
    _over(
        "numeral",
        "recursion of the kernel over a numeral in ones",
        "  exact (rfl : Nat.rec (motive := fun _ => Nat) 0 (fun _ r => .succ r) 200000 = 1)",
        by="no_error",
    ),
    Attack(
        "calls",
        "compiled code that calls itself a hundred thousand times, then the forged answer",
        run(
            "let rec go (n : Nat) : Nat := match n with\n    | .zero => 0\n"
            "    | .succ m => match go m with\n"
            "        | .zero => 1\n        | .succ k => .succ (.succ k)\n  " + if_done("go 100000")
        ),
        "command",
        header=CHEAT,
    ),
    _over(
        "subtractions", "9,000 terms, to the left", "  exact " + "1 - " * 9000 + "1", by="no_error"
    ),
]

TERMS = [
    _over(
        "digits",
        "a number of 60,000 digits",
        "  exact (rfl : " + "9" * 60000 + " = 0)",
        by="no_error",
    ),
    _over(
        "string",
        "a string of 60,000 characters",
        '  exact (rfl : "' + "a" * 60000 + '" = "")',
        by="no_error",
    ),
    _over(
        "arguments",
        "a function applied to 12,000 arguments",
        "  exact no" + " h" * 12000,
        by="no_error",
    ),
    _over(
        "wide",
        "an anonymous constructor with 10,000 fields",
        "  exact ⟨" + "0, " * 10000 + "0⟩",
        by="no_error",
    ),
    _over(
        "lemmas",
        "simp with 5,000 lemmas",
        "  simp [" + "Nat.add_comm, " * 3500 + "h]",
        by="no_error",
    ),
    _over("name", "a name of 10,000 parts", "  exact a" + ".b" * 10000, by="no_error"),
    _over(
        "alternatives",
        "`first` with 5,000 alternatives",
        "  first" + " | rfl" * 5000,
        by="no_error",
    ),
]

MESSAGES = [
    _over(
        "trace_flood",
        "a message, repeated for ever",
        '  repeat (trace "' + "y" * 200 + '"; skip)',
        by="output",
    ),
    _over("trace_big", "a message of 60,000 bytes", '  trace "' + "z" * 60000 + '"', by="no_error"),
    _over(
        "goals_printed",
        "a goal with 1,200 hypotheses in an error",
        "  " + "; ".join(["have h : True := trivial"] * 1200) + "\n  exact nothing",
        by="no_error",
    ),
    _over(
        "states",
        "the state printed 20,000 times",
        "  iterate 20000 trace_state",
        by="output",
        ends=OVER,
    ),
    _over("fail_big", "an error of 60,000 bytes", '  fail "' + "w" * 60000 + '"', by="no_error"),
    _over(
        "many_errors",
        "4,000 errors",
        "  all_goals (skip; " + "exact a; " * 4000 + "skip)",
        by="no_error",
    ),
    Attack(
        "stderr_flood",
        "the error stream flooded",
        run(io('IO.FS.writeFile "/dev/stderr" "' + "e" * 20000 + '"')),
        "command",
        header=CHEAT,
    ),
]

_HOG = "  iterate 30 (iterate 30 have : True := trivial)\n  trivial"
LOOPS += [
    _over(
        "too_long",
        "a right proof that takes longer than is allowed",
        _HOG.replace("30", "90"),
        statement=YES,
        limits={"wall_s": 0.6},  # twice doubled, since it leaves processor time unused
        ends=(Status.TIMEOUT,),
    ),
    _over(
        "too_much_work",
        "a right proof that computes more than is allowed",
        _HOG.replace("30", "75"),
        by="cpu",
        statement=YES,
        limits={"cpu_s": 1.0, "wall_s": 100.0},
        ends=(Status.TIMEOUT,),
    ),
]
MESSAGES += [
    _over(
        "too_much_said",
        "a right proof that says more than is allowed",
        '  iterate 200 trace "' + "x" * 200 + '"\n  trivial',
        by="output",
        statement=YES,
        limits={"output_bytes": 20_000},
        ends=FAILED,
    ),
]
TERMS += [
    _over(
        "too_large",
        "a right proof that needs more memory than is allowed",
        _HOG,
        by="memory",
        statement=YES,
        limits={"memory_bytes": 80 << 20, "wall_s": 100.0},
        ends=(Status.OUT_OF_MEMORY,),
    ),
]

CLASSES = {
    "endless loops": LOOPS,
    "deep recursion": RECURSION,
    "huge terms": TERMS,
    "huge messages": MESSAGES,
}
