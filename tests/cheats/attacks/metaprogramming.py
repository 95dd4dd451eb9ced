"""Attacks by code that runs while Lean elaborates."""

from __future__ import annotations

from attack import Attack, Full

from attacks.native import FORGE, attack, run

ATTACKS: list[Attack] = [
    Attack(
        "syntax_as_data",
        "a helper theorem defines a tactic as a value, and another has Lean run it",
        "theorem A : True := trivial\nwhere\n"
        "  s : Lean.Syntax := .node .none `x (Array.mk (.cons .missing .nil))\n"
        "theorem B (h : autoParam False A.s) : False := h.elim\n"
        "theorem no : False := by\n  exact B",
        "definition",
        form="answer",
    ),
    Attack(
        "instance_as_data",
        "an instance of another spelling, which Lean defines as data in the midst of the proof",
        '  let i : Inhabited (id Lean.Syntax) := ⟨@id (id Lean.Syntax) (.atom .none "boo")⟩\n'
        "  let x : Inhabited Lean.Syntax := inferInstanceAs (Inhabited (id Lean.Syntax))\n"
        "  have e := autoParam.eq_1 False no._aux_1_1\n"
        "  have k : {A B : Prop} → A = B → (A → B) := fun e h => e ▸ h\n"
        "  have g := k e\n  have : False := g\n  exact this",
        "trusted",
    ),
    Attack(
        "definition_and_measure",
        "a step that runs when a definition of the proof's own is compiled already",
        "  exact trivial\nwhere\n  s : Nat := 1\n  decreasing_by simp",
        "definition",
        statement="theorem yes : True",
        past_scan="passes",
    ),
    Attack(
        "definition_in_a_measure",
        "a measure whose own proof is elaborated behind the definitions, and then erased",
        "  exact trivial\nwhere\n  s : Nat := 1\n"
        "  loop (n : Nat) : Nat := match n with | 0 => 0 | n+1 => loop n\n"
        "  termination_by structural (n : (fun (_ : True) => Nat) (by\n"
        "    have x := yes.s\n    trivial))",
        "definition",
        statement="theorem yes : True",
        past_scan="passes",
    ),
    Attack(
        "unsafe_lemma",
        "an auxiliary lemma over an unsafe constant, which Lean makes a definition of any type",
        "  refine (?f : Lean.Syntax → True)\n"
        "    (by as_aux_lemma => exact Quot.lcInv (Quot.mk (fun _ _ => True) .missing))\n"
        "  case f => exact fun _ => trivial",
        "code",
        statement="theorem yes : True",
        past_scan="passes",
    ),
    Attack(
        "recall",
        "a command of Lean's that repeats a declaration",
        "  trivial\n  recall yes : True := by\n    trivial",
        "command",
        statement="theorem yes : True",
        past_scan="passes",
    ),
    Attack(
        "auto_parameter",
        "an argument that Lean fills by running a value as a tactic",
        "  exact (fun (h : autoParam False s) => h) (by assumption)",
        "trusted",
    ),
    attack(
        "run_tac",
        "a tactic that runs code",
        "  run_tac closeMainGoal `x cheat",
        by="code",
        full=Full("  run_tac admitGoal (← getMainGoal)"),
    ),
    attack(
        "by_elab",
        "a term that runs code",
        "  exact by_elab return cheat",
        by="code",
        full=Full("  exact by_elab mkSorry (mkConst ``False) false"),
    ),
    attack("eval", "a term that is evaluated", "  exact eval% cheat", by="code"),
    attack(
        "native_decide",
        "compiled code decides",
        "  native_decide",
        by="code",
        full=Full("  native_decide", "", "theorem no : 1 = 2"),
    ),
    attack(
        "plus_native",
        "compiled code by a flag",
        "  decide +native",
        by="code",
        full=Full("  decide +native", "", "theorem no : 1 = 2"),
    ),
    attack(
        "unused_native",
        "compiled code where it is never reached",
        "  first | trivial | decide (config := { native := true })",
        by="code",
        header="",
        statement="theorem yes : True",
        past_scan="passes",
    ),
    attack(
        "run_cmd",
        "a command that adds what the kernel never saw",
        "  exact cheat\nrun_cmd liftCoreM <| addDecl default",
        full=Full("  exact c\nrun_cmd liftCoreM <| addDecl default"),
    ),
    attack(
        "elab",
        "a tactic of one's own",
        '  win\nelab "win" : tactic => admitGoal x',
        full=Full('  win\nelab "win" : tactic => do admitGoal (← getMainGoal)'),
    ),
    attack(
        "initialize",
        "code that runs when a module is loaded",
        '  exact cheat\ninitialize IO.println "x"',
    ),
    attack(
        "simproc",
        "a simplification procedure that lies",
        "  simp [lie]\nsimproc lie (False) := fun _ => return .done { expr := x }",
    ),
    attack(
        "unsafe",
        "unsafe code behind a safe name",
        "  exact c\nunsafe def u : False := unsafeCast ()",
    ),
    attack(
        "macro_attribute",
        "a macro for the command that lists the axioms",
        run(FORGE),
        past_scan="passes",
    ),
    attack(
        "let_rec_attribute",
        "a macro by a helper's attribute",
        "  let rec @[macro Lean.Parser.Command.printAxioms] m : Lean.Macro :=\n"
        "    fun s _ st => .ok s st\n  exact cheat",
        by="attribute",
    ),
    attack("cast", "a cast between types by compiled code", "  exact unsafeCast ()", by="trusted"),
    attack("erased", "the compiler's constant for what is erased", "  exact lcProof", by="trusted"),
]
