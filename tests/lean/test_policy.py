"""The policy scan: refuses what it must, and nothing that an ordinary proof contains."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofgym.lean.policy import COMMANDS, scan
from proofgym.lean.tokens import Ambiguous, tokens

ORDINARY = [
    "  exact h",
    "exact h",
    "  intro ⟨a, b⟩\n  exact ⟨b, a⟩",
    "  cases h with\n  | inl hp => exact Or.inr hp\n  | inr hq => exact Or.inl hq",
    "  -- sorry, this is not the axiom you want\n  trivial",
    "  /- theorem /- nested sorry -/ end -/ trivial",
    "  exact end1",
    "  exact «theorem»",
    "  exact foo.«end».bar",
    "  exact h.end",
    "  exact Nat.sorry_free theorem' axiom_of_choice",
    "  have open' : p := h\n  exact open'",
    "  simp only [foo, bar]; exact h₁",
    "  exact fun x' => h x'",
    "  rw [← foo, bar]\n  exact fun _ ↦ rfl",
    '  exact "a string with theorem and -- and /-" = s',
    '  exact r"raw \\" ++ r#"raw " theorem"# ++ "sorry"',
    "  exact 'a' = '\\n' ∧ '\\'' = '\\\\' ∧ '\\x41' = 'A'",
    "  exact f ⁻¹' s = f '' t",
    "  calc a = b := h\n    _ = c := h'",
    "  refine ⟨fun h => ?_, ?h⟩\n  · exact h.1\n  case h => omega",
    "  exact #[1, 2] = #v[1] ∧ #s = 3",
    "  exact @id Nat 3",
    "  exact {x := 1, y := (2 : Nat)} = {p | p ∈ s}",
    "  exact λ x => x -- done",
    "  match h with\n  | ⟨a, _⟩ => exact a",
    "  induction n with\n  | zero => rfl\n  | succ n ih => rw [Nat.add_succ, ih]",
    "  exact go 3\nwhere\n  go n := n",
    "  refine .rec ?_ ?_ h\n  decreasing_by simp",
    "  first | rfl | simp | (constructor <;> assumption)",
    "  show p → q\n  intro hp\n\n  exact f hp  -- unfinished (bracket [ in a comment",
    "  exact meta' ∧ partial₁ ∧ x.private ∧ def_eq",
    "  have h2: ∀ n, n - 1 -1 = n := by decide\n  exact h2",
    "  exact (1 : Int) - -1 = a / -b",
    "  exact ⟪x, y⟫ = ⌊z⌋ ∧ ‖w‖ = √2",
    "  have été := 1\n  exact naïve_lemma été ß",
    "  exact (sᶜ ∩ tᶜ)ᶜ.foo ∧ x⁻¹ * x² = Rˣ ∧ Mᵀ i j",
    "  exact ∑' i, f i = g ⁻¹' s ∩ f '' t' ∧ xs[0]'h = a",
    "  norm_num [0x1F, 1e5, 1.5e-3, 2_000]; exact h.1.2.foo",
    "  norm_num [show 5! = 120 by decide]; exact h 10! n!",
    "  intro hⱼ xⱼ' i₁₂\n  exact f →ₗ[R] g ≃+* h ∘L k",
    '  exact s!"abc" = toString "a" ++ m!"b" ∧ "\\n\\x41\\u0041" = ""',
]

REFUSED = [
    ("  sorry", "unproved"),
    ("  exact (sorry)", "unproved"),
    ("  exact fun x=>sorry", "unproved"),
    ("  admit", "unproved"),
    ("  exact λsorry", "unproved"),
    ("  exact sorryAx _ false", "trusted"),
    ("  exact Lean.«sorryAx» _ false", "trusted"),
    ("  trivial\ntheorem cheat : False := foo", "command"),
    ("  trivial theorem cheat : False := foo", "command"),
    ("  trivial;theorem cheat", "command"),
    ("  trivial axiom cheat : False", "command"),
    ("  exact 1.axiom", "command"),
    ("  exact (h).theorem", "command"),
    ("  exact 2theorem", "ambiguous_number"),
    ("  exact ¬theorem", "command"),
    ("  set_option debug.skipKernelTC true in trivial", "skip_kernel"),
    ("  open Classical in trivial", "command"),
    ("  trivial\nend Foo", "command"),
    ("  trivial\n#eval 1", "command"),
    ("  trivial #exit", "command"),
    ("  trivial\n@[simp] def x := 1", "attribute"),
    ("  let rec @[instance] foo : Nat := 1\n  trivial", "attribute"),
    ('  trivial\nnotation "x" => y', "command"),
    ('  trivial\nlocal infixl:5 " = " => f', "command"),
    ("  trivial\nmacro_rules | `(a) => `(b)", "command"),
    ("  trivial\ninstance : Foo := x", "command"),
    ("  trivial\nattribute [simp] x", "command"),
    ("  trivial\nrun_cmd x", "command"),
    ("  run_tac x", "code"),
    ("  exact by_elab x", "code"),
    ("  exact eval% x", "code"),
    ('  exact include_str "/etc/passwd"', "code"),
    ("  native_decide", "code"),
    ("  decide +native", "code"),
    ("  exact Lean.ofReduceBool _ _ rfl", "trusted"),
    ("  exact unsafe x", "command"),
    ("  exact unsafeCast x", "trusted"),
    ("  exact lcProof", "trusted"),
    ("  have e := autoParam.eq_1 False t._aux_1_1\n  trivial", "trusted"),
    ("  exact f ∘LautoParam", "trusted"),
    ("  exact Quot.lcInv x", "trusted"),
    ("  exact List.mapUnsafe x", "trusted"),
    ("  as_aux_lemma => trivial", "code"),
    ("  exact f sᶜautoParam", "trusted"),
    ("  exact Lean.reduceBool.eq_1", "trusted"),
    ("  trivial\n  recall t : True := by trivial", "command"),
    ("  trivial\n  recall? t", "command"),
    ("  exact go 3\nwhere\n  go n := n\n  decreasing_by simp", "definition"),
    ("  let rec go n := n\n  decreasing_by simp", "definition"),
    ("  trivial\nwhere\n  s := 1\n  loop n := n\n  termination_by structural n", "definition"),
    ("  trivial\nwhere\n  s := 1\n  termination_by? n", "definition"),
    ("  let rec s := 1\n  trivial\n  partial_fixpoint monotonicity x", "definition"),
    ("  trivial\nwhere\n  s := 1\n  finally simp", "definition"),
    ("  exact (fun (h : autoParam False s) => h.elim) trivial", "trusted"),
    ("  trivial\ngen_injective_theorems% Foo", "command"),
    ("  trivial\n/-! a command -/", "command"),
    ("  trivial /- open", "unclosed_comment"),
    ("  trivial /- /- -/", "unclosed_comment"),
    ("  trivial\n/-", "unclosed_comment"),
    ('  exact "open', "unclosed_string"),
    ('  exact r#"open"', "unclosed_string"),
    ("  exact «open", "unclosed_name"),
    ("  exact (h", "brackets"),
    ("  exact h)", "brackets"),
    ("  exact ⟨h)", "brackets"),
    ("  exact h\x00", "control_character"),
    ("  exact\th", "control_character"),
    ("  exact h\r", "control_character"),
    ("  exact h\x1b[31m", "control_character"),
    ("  exact \udc80", "encoding"),
    ("  exact h" + " " * 70_000, "oversize"),
    ("  trivial\nSo the proof is done", "column_0"),
]

HIDDEN = [
    "  intro é' '\"' axiom foo : False --'\"'",
    "  exact Nat ×' '\"' axiom foo : False --'\"'",
    "  exact xs[0]' '\"' axiom foo : False --'\"'",
    "  exact 0x1axiom foo : False",
    "  exact 0b1axiom foo : False",
    "  exact 1e5axiom foo : False",
    "  exact a →gaxiom foo : False",
    "  exact a ∘Laxiom foo : False",
    "  exact a [ZMODaxiom foo : False",
    "  exact aᶜaxiom foo : False",
    "  exact aᶜ'axiom foo : False",
    "  exact éaxiom foo : False",
    "  exact a →r'«' axiom foo : False --»",
    '  exact a ↪r"\\" axiom foo : False --"',
    '  exact "\\q" axiom foo : False --"',
    "  exact ₁axiom foo : False",
    # Each would hide the command from a reader that tokenises differently from Lean.
    "  rw [<--h] axiom foo : False",
    "  exact {x //-1 < x} theorem foo : False := x -/",
    "  exact '\"' axiom foo : False --\"",
    '  exact r"\\" axiom foo : False --"',
    '  exact s!"{"\\"}" axiom foo : False --"',
    '  exact s!"{a \\ " theorem foo"}"',
    '  trivial /--/ " -/ axiom foo : False --"',
    "  trivial /-/ axiom foo : False -/",
    "  exact x--y\n axiom foo : False",
    "  exact '\\'' axiom foo : False --'",
    "  exact f ⁻¹'\"' axiom foo : False --\"",
    "  exact ‘x’ axiom foo : False",
    "  exact α.β axiom foo : False",
    "  exact é axiom foo : False",
    "  exact x\u2028axiom foo : False",
    "  exact x\u00a0axiom foo : False",
    "  exact x\u200baxiom foo : False",
]


@pytest.mark.parametrize("proof", ORDINARY)
def test_ordinary_proofs_pass(proof: str) -> None:
    assert scan(proof) is None


@pytest.mark.parametrize(("proof", "slug"), REFUSED, ids=[repr(it[0])[:40] for it in REFUSED])
def test_refused(proof: str, slug: str) -> None:
    refusal = scan(proof)
    assert refusal is not None
    assert refusal.slug == slug


@pytest.mark.parametrize("proof", HIDDEN)
def test_nothing_hides_a_command(proof: str) -> None:
    assert scan(proof) is not None


@pytest.mark.parametrize("word", sorted(COMMANDS))
def test_every_command_is_refused_anywhere(word: str) -> None:
    for proof in (f"  trivial\n{word} x", f"  trivial {word} x", f"  exact ({word} x)"):
        assert scan(proof) is not None


def test_the_place_is_named() -> None:
    refusal = scan("  have h : p := hp\n  exact (sorry)")
    assert refusal is not None
    assert (refusal.line, refusal.column) == (2, 9)
    assert str(refusal) == "2:9: `sorry` leaves something unproved"


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab'\"-/«»{}\\!r#⟨⟩(). \nλ₁⁻¹é", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = list(tokens(text))
    except Ambiguous:
        assert scan(text) is not None
        return
    joined = "".join(token.text for token in found)
    assert joined.replace(" ", "").replace("\n", "") == text.replace(" ", "").replace("\n", "")


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_scan_never_fails(text: str) -> None:
    scan(text)
