"""Theorems written by hand: classics and forms that no generator here makes.

Entries are separated by blank lines: a topic, the arguments and goal on one line, then the proof.
"""

from __future__ import annotations

from proofgym.tasks.generation.statement import parse_statement
from proofgym.tasks.generation.theorem import Theorem

TEXT = """
equality (α : Type) (a b : α) (h : a = b) : b = a
  exact h.symm

equality (α : Type) (a b c : α) (h1 : a = b) (h2 : a ≠ c) : b ≠ c
  rw [← h1]
  exact h2

equality (α : Type) (P : α → Prop) (a b : α) (h1 : a = b) (h2 : P a) : P b
  rw [← h1]
  exact h2

equality (α : Type) (P : α → Prop) (a b : α) (h1 : P a) (h2 : b = a) : P b
  rw [h2]
  exact h1

equality (α : Type) (P : α → Prop) (a b c : α) (h1 : a = b) (h2 : b = c) (h3 : P a) : P c
  rw [← h2, ← h1]
  exact h3

equality (α β : Type) (f : α → β) (a b : α) (h : f a ≠ f b) : a ≠ b
  intro h2
  apply h
  rw [h2]

equality (α β : Type) (f : α → β) (a b : α) (h1 : ∀ x y, f x = f y → x = y) (h2 : f a = f b) : a = b
  exact h1 a b h2

equality (α β : Type) (f : α → β) (a b : α) (h1 : ∀ x y, f x = f y → x = y) (h2 : a ≠ b) : f a ≠ f b
  intro h3
  exact h2 (h1 a b h3)

equality (α : Type) (f : α → α) (h : ∀ x, f (f x) = x) : ∀ x y, f x = f y → x = y
  intro a b h2
  rw [← h a, h2, h]

equality (α : Type) (f : α → α) (h : ∀ x, f (f x) = x) : ∀ y, ∃ x, f x = y
  intro a
  exact ⟨f a, h a⟩

equality (α β γ : Type) (f : α → β) (g : β → γ) (h1 : ∀ x y, f x = f y → x = y) (h2 : ∀ x y, g x = g y → x = y) : ∀ x y, g (f x) = g (f y) → x = y
  intro a b h3
  exact h1 a b (h2 (f a) (f b) h3)

equality (α β : Type) (f : α → β) (g : β → α) (h : ∀ x, g (f x) = x) : ∀ x y, f x = f y → x = y
  intro a b h2
  rw [← h a, h2, h]

equality (α β : Type) (f : α → β) (g : β → α) (h : ∀ x, f (g x) = x) : ∀ y, ∃ x, f x = y
  intro a
  exact ⟨g a, h a⟩

equality (α : Type) (m : α → α → α) (e a : α) (h1 : ∀ x, m e x = x) (h2 : ∀ x, m x a = x) : a = e
  rw [← h1 a, h2]

equality (α : Type) (m : α → α → α) (a b : α) (h : ∀ x y, m x y = m y x) : m (m a b) a = m a (m b a)
  rw [h a b, h]

equality (α : Type) (m : α → α → α) (a b c : α) (h : ∀ x y z, m (m x y) z = m x (m y z)) : m a (m b c) = m (m a b) c
  rw [h]

equality (α : Type) (f g : α → α) (a : α) (h : ∀ x, f (g x) = g (f x)) : f (g (g a)) = g (g (f a))
  rw [h, h]

equality (α : Type) (a b : α) : a = b → b = a
  intro h1
  rw [h1]

equality (α : Type) (a b c : α) : a = b → b = c → a = c
  intro h1 h2
  rw [h1, h2]

equality (α : Type) (a b : α) : a = b ↔ b = a
  constructor
  · intro h1
    rw [h1]
  · intro h1
    rw [h1]

equality (α : Type) (a b c : α) (h : a = b) : a = c ↔ b = c
  rw [h]

equality (α : Type) (P : α → Prop) (a b : α) (h : a = b) : P a ↔ P b
  rw [h]

equality (α : Type) (P : α → Prop) (a b : α) (h1 : P a) (h2 : ¬P b) : a ≠ b
  intro h3
  apply h2
  rw [← h3]
  exact h1

equality (α : Type) (P : α → Prop) (h : ∀ x y, x = y → P x) (a : α) : P a
  exact h a a rfl

equality (α : Type) (a : α) : ∃ x, x = a
  exact ⟨a, rfl⟩

equality (α : Type) (P : α → Prop) (a : α) (h : ∀ x, x = a → P x) : P a
  exact h a rfl

equality (α : Type) (P : α → Prop) (a : α) (h : ∃ x, x = a ∧ P x) : P a
  cases h with
  | intro b h2 =>
    rw [← h2.1]
    exact h2.2

equality (α : Type) (P : α → Prop) (a : α) (h : P a) : ∀ x, x = a → P x
  intro b h2
  rw [h2]
  exact h

arithmetic : 2 + 3 = 5
  rfl

arithmetic : 3 * 4 = 12
  rfl

arithmetic (n : Nat) : n + 2 = n + 1 + 1
  rfl

arithmetic (n : Nat) : n * 2 = n + n
  rw [Nat.mul_succ, Nat.mul_one]

arithmetic (a b : Nat) (h : a + 1 = b + 1) : a = b
  exact Nat.succ.inj h

arithmetic (a b c : Nat) (h : a + b = a + c) : b = c
  exact Nat.add_left_cancel h

arithmetic (a b c : Nat) (h : a + c = b + c) : a = b
  exact Nat.add_right_cancel h

arithmetic (n : Nat) : n + 1 ≠ 0
  exact Nat.succ_ne_zero n

arithmetic (n : Nat) (h : n + 1 = 0) : False
  exact Nat.succ_ne_zero n h

arithmetic : ∃ n, n + 2 = 5
  exact ⟨3, rfl⟩

arithmetic : ∃ n, n * n = 9
  exact ⟨3, rfl⟩

arithmetic : ∃ m n, m + n = 4 ∧ m * n = 3
  exact ⟨1, ⟨3, ⟨rfl, rfl⟩⟩⟩

arithmetic (a : Nat) : ∃ n, n = a + a
  exact ⟨a + a, rfl⟩

arithmetic (a : Nat) : ∃ n, n * a = a + a
  refine ⟨2, ?_⟩
  rw [Nat.succ_mul, Nat.one_mul]

arithmetic (a b : Nat) (h : ∃ x, b = x + a) : ∃ x, b + a = x + (a + a)
  cases h with
  | intro c h2 =>
    refine ⟨c, ?_⟩
    rw [h2, Nat.add_assoc]

arithmetic (a b : Nat) (h : ∃ x, b = a * x) : ∃ x, b * 2 = a * x
  cases h with
  | intro c h2 =>
    refine ⟨c * 2, ?_⟩
    rw [h2, Nat.mul_assoc]

arithmetic (a b c : Nat) (h1 : ∃ x, b = a * x) (h2 : ∃ x, c = a * x) : ∃ x, b + c = a * x
  cases h1 with
  | intro m h3 =>
    cases h2 with
    | intro n h4 =>
      refine ⟨m + n, ?_⟩
      rw [h3, h4, Nat.mul_add]

arithmetic (a b c : Nat) (h1 : ∃ x, b = a * x) (h2 : ∃ x, c = b * x) : ∃ x, c = a * x
  cases h1 with
  | intro m h3 =>
    cases h2 with
    | intro n h4 =>
      refine ⟨m * n, ?_⟩
      rw [h4, h3, Nat.mul_assoc]

arithmetic (a : Nat) : a = 0 ∨ ∃ x, a = x + 1
  cases a with
  | zero => exact Or.inl rfl
  | succ n => exact Or.inr ⟨n, rfl⟩

arithmetic (P : Nat → Prop) (h1 : P 0) (h2 : ∀ x, P (x + 1)) : ∀ x, P x
  intro a
  cases a with
  | zero => exact h1
  | succ n => exact h2 n

order : 3 ≤ 5
  decide

order : 2 < 7
  decide

order : ¬5 ≤ 4
  decide

order (n : Nat) : n ≤ n
  exact Nat.le_refl n

order (n : Nat) : 0 < n + 1
  exact Nat.succ_pos n

order (n : Nat) : ¬n < n
  exact Nat.lt_irrefl n

order (n : Nat) : ¬n < 0
  exact Nat.not_lt_zero n

order (a b : Nat) (h1 : a ≤ b) (h2 : b ≤ a) : a = b
  exact Nat.le_antisymm h1 h2

order (a b : Nat) (h : a = b) : a ≤ b
  exact Nat.le_of_eq h

order (a b : Nat) (h : a < b) : ¬b < a
  intro h2
  exact Nat.lt_irrefl a (Nat.lt_trans h h2)

order (a b : Nat) : a ≤ b ∨ b ≤ a
  exact Nat.le_total a b

order (a b : Nat) (h : ¬a ≤ b) : b < a
  exact Nat.lt_of_not_le h

order (a b : Nat) : a < b ∨ b ≤ a
  exact Nat.lt_or_ge a b

order (a b : Nat) (h : a < b) : ∃ x, a ≤ x ∧ x < b
  exact ⟨a, ⟨Nat.le_refl a, h⟩⟩

order (a b c : Nat) (h1 : a ≤ b) (h2 : b = c) : a ≤ c
  rw [← h2]
  exact h1

order (a b c : Nat) (h1 : a = b) (h2 : b < c) : a < c
  rw [h1]
  exact h2

order (a b : Nat) (h : a + 1 ≤ b + 1) : a ≤ b
  exact Nat.le_of_succ_le_succ h

order (a b : Nat) (h : ∃ x, b = a + x) : a ≤ b
  cases h with
  | intro c h2 =>
    rw [h2]
    exact Nat.le_add_right a c

order : ∀ x : Nat, ∃ y, x < y
  intro a
  exact ⟨a + 1, Nat.lt_succ_self a⟩

order : ¬∃ x : Nat, ∀ y, y ≤ x
  intro h1
  cases h1 with
  | intro a h2 => exact Nat.not_succ_le_self a (h2 (a + 1))

order : ∃ x : Nat, ∀ y, x ≤ y
  refine ⟨0, ?_⟩
  intro a
  exact Nat.zero_le a

order (f : Nat → Nat) (h : ∀ x y, x < y → f x < f y) : ∀ x y, x < y → f (f x) < f (f y)
  intro a b h2
  exact h (f a) (f b) (h a b h2)

lists : [1, 2] ++ [3] = [1, 2, 3]
  rfl

lists : [4, 5, 6].length = 3
  rfl

lists : [1, 2].reverse = [2, 1]
  rfl

lists (α : Type) (x : α) (xs : List α) : [x] ++ xs = x :: xs
  rfl

lists (α : Type) (x : α) : [x].reverse = [x]
  rfl

lists (α : Type) (x y : α) (xs ys : List α) (h1 : x = y) (h2 : xs = ys) : x :: xs = y :: ys
  rw [h1, h2]

lists (α : Type) (x : α) (xs : List α) : x :: xs ≠ []
  intro h1
  cases h1

lists (α : Type) (x y : α) (xs ys : List α) (h : x :: xs = y :: ys) : x = y
  cases h with
  | refl => rfl

lists (α : Type) (xs : List α) : xs = [] ∨ ∃ y ys, xs = y :: ys
  cases xs with
  | nil => exact Or.inl rfl
  | cons y ys => exact Or.inr ⟨y, ⟨ys, rfl⟩⟩

lists (α : Type) (P : List α → Prop) (h1 : P []) (h2 : ∀ x l, P (x :: l)) : ∀ l, P l
  intro xs
  cases xs with
  | nil => exact h1
  | cons y ys => exact h2 y ys

lists (α : Type) (xs ys zs : List α) (h : xs = ys) : xs ++ zs = ys ++ zs
  rw [h]

lists (α : Type) (xs ys : List α) (h : ys = []) : xs ++ ys = xs
  rw [h, List.append_nil]

lists (α : Type) (xs ys : List α) (h : xs.length = ys.length) : (xs ++ ys).length = (ys ++ xs).length
  rw [List.length_append, List.length_append, h]

lists (α : Type) (xs ys : List α) (h : xs.reverse = ys) : ys.reverse = xs
  rw [← h, List.reverse_reverse]

induction (α : Type) (xs : List α) : xs ++ [] = xs
  induction xs with
  | nil => rfl
  | cons x xs ih => rw [List.cons_append, ih]

induction (α : Type) (xs ys zs : List α) : xs ++ ys ++ zs = xs ++ (ys ++ zs)
  induction xs with
  | nil => rfl
  | cons x xs ih => rw [List.cons_append, List.cons_append, List.cons_append, ih]

induction (α β : Type) (f : α → β) (xs : List α) : (xs.map f).length = xs.length
  induction xs with
  | nil => rfl
  | cons x xs ih => rw [List.map_cons, List.length_cons, List.length_cons, ih]

induction (α : Type) (f : α → α) (xs : List α) (h : ∀ x, f x = x) : xs.map f = xs
  induction xs with
  | nil => rfl
  | cons x xs ih => rw [List.map_cons, h, ih]

induction (α : Type) (f g : α → α) (xs : List α) (h : ∀ x, f x = g x) : xs.map f = xs.map g
  induction xs with
  | nil => rfl
  | cons x xs ih => rw [List.map_cons, List.map_cons, h, ih]

induction (α : Type) (f g : α → α) (xs : List α) (h : ∀ x, f (g x) = x) : (xs.map g).map f = xs
  induction xs with
  | nil => rfl
  | cons x xs ih => rw [List.map_cons, List.map_cons, h, ih]

induction (α : Type) (f : α → α) (xs : List α) (x : α) (h : ∀ y l, f y = y ∧ (y :: l).map f = l.map f) : [].map f = xs.map f
  induction xs with
  | nil => rfl
  | cons y xs ih => rw [(h y xs).2, ih]

induction (P : Nat → Prop) (h1 : P 0) (h2 : ∀ m, P m → P (m + 1)) : ∀ m, P m
  intro n
  induction n with
  | zero => exact h1
  | succ n ih => exact h2 n ih

induction (P : Nat → Prop) (h1 : ∃ x, P x ∧ x = 0) (h2 : ∀ m, P m → P (m + 1)) (n : Nat) : ∃ x, P x ∧ n ≤ x
  induction n with
  | zero =>
    cases h1 with
    | intro a h3 => exact ⟨a, ⟨h3.1, Nat.zero_le a⟩⟩
  | succ n ih =>
    cases ih with
    | intro a h3 => exact ⟨a + 1, ⟨h2 a h3.1, Nat.succ_le_succ h3.2⟩⟩

induction (f : Nat → Nat) (h : ∀ m, f (m + 1) = f m) (n : Nat) : f n = f 0
  induction n with
  | zero => rfl
  | succ n ih => rw [h, ih]

negation (p : Prop) : ¬(p ∧ ¬p)
  intro h1
  exact h1.2 h1.1

negation (p : Prop) (h : ¬¬p) : p
  exact Classical.byContradiction h

negation (p q : Prop) (h : ¬q → ¬p) : p → q
  intro h2
  apply Classical.byContradiction
  intro h3
  exact h h3 h2

negation (p q : Prop) (h : ¬(p ∧ q)) : ¬p ∨ ¬q
  cases Classical.em p with
  | inl h2 =>
    right
    intro h3
    exact h ⟨h2, h3⟩
  | inr h2 => exact Or.inl h2

disjunction (p : Prop) : p ∨ ¬p
  exact Classical.em p

disjunction (p q : Prop) (h : p → q) : ¬p ∨ q
  cases Classical.em p with
  | inl h2 => exact Or.inr (h h2)
  | inr h2 => exact Or.inl h2

disjunction (p q : Prop) : (p → q) ∨ (q → p)
  cases Classical.em p with
  | inl h1 =>
    right
    intro h2
    exact h1
  | inr h1 =>
    left
    intro h2
    exact absurd h2 h1

implication (p q : Prop) (h : (p → q) → p) : p
  apply Classical.byContradiction
  intro h2
  apply h2
  apply h
  intro h3
  exact absurd h3 h2

exists (α : Type) (P : α → Prop) (h : ¬∀ x, ¬P x) : ∃ x, P x
  apply Classical.byContradiction
  intro h2
  apply h
  intro a h3
  exact h2 ⟨a, h3⟩
"""


def theorems() -> list[Theorem]:
    """All of them."""
    return [_read(entry) for entry in TEXT.strip("\n").split("\n\n")]


def _read(entry: str) -> Theorem:
    head, proof = entry.split("\n", 1)
    topic, rest = head.split(" ", 1)
    return Theorem(topic, parse_statement(f"theorem t {rest}")[1], proof)
