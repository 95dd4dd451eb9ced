"""Attacks by processes, threads and memory without end."""

from __future__ import annotations

from attack import OVER, Attack

from attacks.native import attack, number, run, then_forge

ATTACKS: list[Attack] = [
    attack(
        "threads",
        "threads without end",
        run(
            "let rec go (n : Nat) (sum : Nat) : Nat := match n with\n"
            "    | .zero => sum\n"
            "    | .succ m => go m (match Task.spawn m (fun _ => IO.sleep 60000 m) 9 with\n"
            "        | .zero => sum\n        | .succ _ => .succ sum)\n"
            + "  "
            + number("go 100000 0").replace("\n", "\n  ")
        ),
        limits={"wall_s": 8.0},
    ),
    attack(
        "few_threads",
        "just more threads than are allowed, then the forged answer",
        run(
            "let rec go (n : Nat) (sum : Nat) : Nat := match n with\n"
            "    | .zero => sum\n"
            "    | .succ m => go m (match Task.spawn m (fun _ => IO.sleep 9000 m) 9 with\n"
            "        | .zero => sum\n        | .succ _ => .succ sum)\n  "
            + then_forge("(match go 400 0 with | .zero => 0 | .succ k => IO.sleep 900 k)")
        ),
        limits={"processes": 20},
    ),
    attack(
        "array",
        "an array of 10^11 elements",
        run(number("Array.replicate 0 100000000000 0")),
        limits={"memory_bytes": 400 << 20},
    ),
    attack(
        "shift",
        "a number of 2^33 bits by the kernel's own arithmetic",
        "  decide +kernel",
        by="memory",
        header="",
        statement="theorem no : Nat.shiftLeft 1 8589934592 = 0",
        limits={"memory_bytes": 300 << 20, "wall_s": 10.0},
        ends=OVER,
    ),
    attack(
        "doubling",
        "a tuple doubled forty times and unfolded",
        "  have h : ("
        + "".join(
            f"let x{n + 1} := (x{n}, x{n}); " if n else "let x1 := (0, 0); " for n in range(24)
        )
        + "x24) = x := rfl\n  exact h".replace("x :=", "(0, 0) :="),
        by="no_error",
        header="",
        ends=OVER,
        limits={"memory_bytes": 300 << 20},
    ),
    attack(
        "hypotheses",
        "hypotheses without end",
        "  repeat (have h : True := trivial)\n  exact h",
        by="wall",
        header="",
        ends=OVER,
        limits={"wall_s": 3.0, "memory_bytes": 700 << 20},
    ),
    attack(
        "term",
        "a proof term without end",
        "  repeat (refine id (False.elim ?_))",
        by="wall",
        header="",
        ends=OVER,
        limits={"wall_s": 3.0, "memory_bytes": 500 << 20},
    ),
    attack(
        "list",
        "a list of 10^9 elements computed by the kernel",
        "  decide +kernel",
        by="wall",
        header="",
        statement="theorem no : (List.replicate 1000000000 0).length = 1",
        ends=OVER,
        limits={"wall_s": 3.0, "memory_bytes": 500 << 20},
    ),
]
