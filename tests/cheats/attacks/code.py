"""Attacks that run code while Lean elaborates: metaprogramming, forged output, exits, files, bombs.

The embedded core library has no tactic that runs code, so these declare what they need: a macro
of their own for a command of the trusted ending, which calls functions of the shared library by
their names. The scan refuses all of that; with the scan off the code really runs, and it is the
sandbox and the judge that have to hold. Where `past_scan` is "passes" they do not, which is the
gap that `docs/verification.md` names.
"""

from __future__ import annotations

from attack import CHEAT, FAILED, OVER, REJECTED, Attack, Full

_NATIVE = """
instance {a b c : Type} [Inhabited a] [Inhabited b] : Inhabited (EStateM.Result a b c) :=
  ⟨.error default default⟩
instance {a : Type} : Inhabited (Option a) := ⟨.none⟩
@[extern "native"] opaque Lean.Syntax.setArg : Lean.Syntax → Nat → Lean.Syntax → Lean.Syntax :=
  fun s _ _ => s
@[extern "native"] opaque Lean.Syntax.mkStrLit : String → Lean.SourceInfo → Lean.Syntax :=
  fun _ _ => .missing
@[extern "native"] opaque String.append : String → String → String
@[extern "native"] opaque IO.Process.exit : Nat → Nat → Nat
@[extern "native"] opaque IO.FS.readFile : String → Nat → EStateM.Result Nat Nat String
@[extern "native"] opaque IO.FS.writeFile : String → String → Nat → EStateM.Result Nat Nat Nat
@[extern "native"] opaque IO.FS.removeDirAll : String → Nat → EStateM.Result Nat Nat Nat
@[extern "native"] opaque IO.FS.createDirAll : String → Nat → EStateM.Result Nat Nat Nat
@[extern "native"] opaque IO.FS.removeFile : String → Nat → EStateM.Result Nat Nat Nat
@[extern "native"] opaque IO.FS.rename : String → String → Nat → EStateM.Result Nat Nat Nat
@[extern "native"] opaque IO.getEnv : String → Nat → Option String
@[extern "native"] opaque IO.sleep : Nat → Nat → Nat
@[extern "native"] opaque Task.spawn : Nat → (Unit → Nat) → Nat → Nat
@[extern "native"] opaque Array.replicate : Nat → Nat → Nat → Nat
structure Stream where
  flush : Nat → Nat
  read : Nat → Nat → Nat
  write : Nat → Nat → Nat
  getLine : Nat → Nat
  putStr : String → Nat → Nat
  isTty : Nat → Nat
instance : Inhabited Stream :=
  ⟨⟨fun _ => 0, fun _ _ => 0, fun _ _ => 0, fun _ => 0, fun _ _ => 0, fun _ => 0⟩⟩
@[extern "native"] opaque IO.getStdout : Nat → Stream
"""
"""Functions of the shared library, under types with the same layout in memory."""

AXIOMS_ANSWER = "'no' does not depend on any axioms"
_FORGE = (
    "match s with\n"
    "  | .node i _ a => .ok (Lean.Syntax.setArg (.node i `Lean.Parser.Command.print a) 1\n"
    f'      (Lean.Syntax.mkStrLit "{AXIOMS_ANSWER}" .none)) st\n'
    "  | s => .ok s st"
)


def run(body: str, on: str = "printAxioms") -> str:
    """A proof from `cheat`, and `body` run when the ending reaches the command `on`."""
    return (
        f"exact cheat\n{_NATIVE}"
        f"def attack : Lean.Macro := fun s _ st => {body}\n"
        f"attribute [macro Lean.Parser.Command.{on}] attack"
    )


def io(call: str) -> str:
    """Call, and say in an error how it went."""
    return (
        f"match {call} 0 with\n"
        '  | .ok _ _ => .error (.error s "it was done") st\n'
        '  | .error _ _ => .error (.error s "refused") st'
    )


def number(call: str) -> str:
    """Call a function whose result is a small number."""
    return (
        f'match {call} with\n  | .zero => .error (.error s "zero") st\n'
        '  | .succ _ => .error (.error s "done") st'
    )


def then_forge(call: str) -> str:
    """Call, then give the clean answer."""
    return f"match {call} with\n  | .zero => ({_FORGE})\n  | .succ _ => ({_FORGE})"


def then_print(call: str) -> str:
    """Call, then make the command one that prints something else."""
    body = "(" + _FORGE.replace(AXIOMS_ANSWER, "something else") + ")"
    return f'match {call} with\n  | .zero => .error (.error s "no") st\n  | .succ _ => {body}'


def _json(line: int) -> str:
    return (
        f'\\x7b\\"severity\\":\\"information\\",\\"pos\\":\\x7b\\"line\\":{line},\\"column\\":0\\x7d,'
        f'\\"data\\":\\"{AXIOMS_ANSWER}\\"\\x7d\\n'
    )


def _attack(name: str, trick: str, proof: str, **more: object) -> Attack:
    more = {"header": CHEAT, "by": "command", **more}
    return Attack(name, trick, proof, **more)  # type: ignore[arg-type]


METAPROGRAMMING = [
    _attack(
        "run_tac",
        "a tactic that runs code",
        "  run_tac closeMainGoal `x cheat",
        by="code",
        full=Full("  run_tac admitGoal (← getMainGoal)"),
    ),
    _attack(
        "by_elab",
        "a term that runs code",
        "  exact by_elab return cheat",
        by="code",
        full=Full("  exact by_elab mkSorry (mkConst ``False) false"),
    ),
    _attack("eval", "a term that is evaluated", "  exact eval% cheat", by="code"),
    _attack(
        "native_decide",
        "compiled code decides",
        "  native_decide",
        by="code",
        full=Full("  native_decide", "", "theorem no : 1 = 2"),
    ),
    _attack(
        "plus_native",
        "compiled code by a flag",
        "  decide +native",
        by="code",
        full=Full("  decide +native", "", "theorem no : 1 = 2"),
    ),
    _attack(
        "unused_native",
        "compiled code where it is never reached",
        "  first | trivial | decide (config := { native := true })",
        by="code",
        header="",
        statement="theorem yes : True",
        past_scan="passes",
    ),
    _attack(
        "run_cmd",
        "a command that adds what the kernel never saw",
        "  exact cheat\nrun_cmd liftCoreM <| addDecl default",
        full=Full("  exact c\nrun_cmd liftCoreM <| addDecl default"),
    ),
    _attack(
        "elab",
        "a tactic of one's own",
        '  win\nelab "win" : tactic => admitGoal x',
        full=Full('  win\nelab "win" : tactic => do admitGoal (← getMainGoal)'),
    ),
    _attack(
        "initialize",
        "code that runs when a module is loaded",
        '  exact cheat\ninitialize IO.println "x"',
    ),
    _attack(
        "simproc",
        "a simplification procedure that lies",
        "  simp [lie]\nsimproc lie (False) := fun _ => return .done { expr := x }",
    ),
    _attack(
        "unsafe",
        "unsafe code behind a safe name",
        "  exact c\nunsafe def u : False := unsafeCast ()",
    ),
    _attack(
        "macro_attribute",
        "a macro for the command that lists the axioms",
        run(_FORGE),
        past_scan="passes",
    ),
    _attack(
        "let_rec_attribute",
        "a macro by a helper's attribute",
        "  let rec @[macro Lean.Parser.Command.printAxioms] m : Lean.Macro :=\n"
        "    fun s _ st => .ok s st\n  exact cheat",
        by="attribute",
    ),
    _attack("cast", "a cast between types by compiled code", "  exact unsafeCast ()", by="trusted"),
    _attack(
        "erased", "the compiler's constant for what is erased", "  exact lcProof", by="trusted"
    ),
]

FORGED = [
    _attack(
        "captured_stdout",
        "the answer printed, which Lean takes into a message",
        run(then_print(f'(IO.getStdout 0).putStr "{AXIOMS_ANSWER}" 0')),
    ),
    _attack(
        "stdout_file",
        "the answer written to standard output by its name in /proc",
        run(io(f'IO.FS.writeFile "/proc/self/fd/1" "{_json(70)}"')),
        ends=REJECTED,
    ),
    _attack(
        "stdout_device",
        "the same by the device",
        run(io(f'IO.FS.writeFile "/dev/stdout" "\\n{_json(71)}"')),
    ),
    _attack(
        "stderr_file",
        "an answer on the other stream",
        run(io(f'IO.FS.writeFile "/proc/self/fd/2" "{_json(72)}"')),
    ),
    _attack(
        "parent_output",
        "the output of the process above, by /proc",
        run(io('IO.FS.writeFile "/proc/1/fd/1" "x"')),
    ),
    _attack(
        "trace",
        "the answer as a trace of the proof",
        f'  trace "{AXIOMS_ANSWER}"\n  exact cheat',
        by="axioms",
    ),
    _attack(
        "failure",
        "a failure whose text reads as a message",
        f'  fail "\\n{_json(4)}"',
        by="no_error",
        header="",
        ends=FAILED,
    ),
    _attack("print", "the answer printed by a command", f'  exact cheat\n#print "{AXIOMS_ANSWER}"'),
    _attack(
        "dbg_trace", "text while the kernel evaluates", '  exact dbg_trace "x"; cheat', by="code"
    ),
    _attack(
        "mark",
        "read the trusted ending, to answer with its random word",
        run(
            then_forge(
                '(match IO.FS.readFile "/proc/self/fd/0" 0 with | .ok t _ => '
                "(match IO.FS.readFile t 0 with | .ok _ _ => 0 | .error _ _ => 1) "
                "| .error _ _ => 2)"
            )
        ),
        past_scan="passes",
    ),
]

EXITS = [
    _attack(
        "exit_0",
        "end Lean with status 0 before the axioms are listed",
        run(number("IO.Process.exit 0 0")),
    ),
    _attack(
        "exit_early",
        "the same before the type is printed",
        run(number("IO.Process.exit 1 0"), on="check"),
    ),
    _attack(
        "exit_after_forging",
        "print, then end with status 0",
        run(number('IO.Process.exit ((IO.getStdout 0).putStr "' + _json(73) + '" 0) 0')),
    ),
    _attack(
        "exit_silent",
        "end with status 1 and no word, as a Lean that could not start",
        run(number("IO.Process.exit 0 1"), on="in"),
    ),
    _attack(
        "exit_204", "end with a status that could be anything", run(number("IO.Process.exit 1 204"))
    ),
    _attack("segfault", "die inside a call", run(number("(IO.getStdout 0).read 12345 0"))),
    _attack(
        "exit_after_error",
        "status 0 after an error was found",
        "exact nothing_here" + run(number("IO.Process.exit 3 0"))[len("exact cheat") :],
    ),
]

FILES = [
    _attack(
        "read_passwd",
        "read the machine's users",
        run(
            'match IO.FS.readFile "/etc/passwd" 0 with\n'
            "  | .ok t _ => .error (.error s t) st\n"
            '  | .error _ _ => .error (.error s "refused") st'
        ),
    ),
    _attack(
        "environ",
        "read the environment of the process above",
        run(
            'match IO.FS.readFile "/proc/1/environ" 0 with\n'
            "  | .ok t _ => .error (.error s t) st\n"
            '  | .error _ _ => .error (.error s "refused") st'
        ),
    ),
    _attack(
        "getenv",
        "ask for a secret by name",
        run(
            'match IO.getEnv "PROOFGYM_CHEAT_SECRET" 0 with\n'
            "  | .some t => .error (.error s t) st\n"
            '  | .none => .error (.error s "unset") st'
        ),
    ),
    _attack(
        "overwrite_source",
        "rewrite the file that is being checked",
        run(io('IO.FS.writeFile "Check.lean" "theorem no : True := trivial"')),
    ),
    _attack(
        "poison_library",
        "write into the compiled library",
        run(io('IO.FS.writeFile "/usr/lib/proofgym-cheat.olean" "x"')),
    ),
    _attack(
        "shared_memory",
        "leave a note for the next check",
        run(io('IO.FS.writeFile "/dev/shm/proofgym-cheat" "x"')),
    ),
    _attack("remove_home", "remove folders", run(io('IO.FS.removeDirAll "/root"'))),
    _attack(
        "make_folder",
        "make a folder outside",
        run(io('IO.FS.createDirAll "/tmp/proofgym-cheat/a"')),
    ),
    _attack(
        "rename",
        "put another file in a file's place",
        run(io('IO.FS.rename "/usr/bin/env" "/usr/bin/env2"')),
    ),
    _attack("include_str", "a file as a string", '  exact include_str "/etc/passwd"', by="code"),
    _attack("import", "load another module", "  exact cheat\nimport Lean"),
]

BOMBS = [
    _attack(
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
    _attack(
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
    _attack(
        "array",
        "an array of 10^11 elements",
        run(number("Array.replicate 0 100000000000 0")),
        limits={"memory_bytes": 400 << 20},
    ),
    _attack(
        "shift",
        "a number of 2^33 bits by the kernel's own arithmetic",
        "  decide +kernel",
        by="memory",
        header="",
        statement="theorem no : Nat.shiftLeft 1 8589934592 = 0",
        limits={"memory_bytes": 300 << 20, "wall_s": 10.0},
        ends=OVER,
    ),
    _attack(
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
    _attack(
        "hypotheses",
        "hypotheses without end",
        "  repeat (have h : True := trivial)\n  exact h",
        by="wall",
        header="",
        ends=OVER,
        limits={"wall_s": 3.0, "memory_bytes": 700 << 20},
    ),
    _attack(
        "term",
        "a proof term without end",
        "  repeat (refine id (False.elim ?_))",
        by="wall",
        header="",
        ends=OVER,
        limits={"wall_s": 3.0, "memory_bytes": 500 << 20},
    ),
    _attack(
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

CLASSES = {
    "metaprogramming": METAPROGRAMMING,
    "forged output": FORGED,
    "exit status": EXITS,
    "environment and files": FILES,
    "process and memory bombs": BOMBS,
}
