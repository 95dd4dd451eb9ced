prelude
import Init.Classical

/-! Arithmetic and order on the natural numbers, under the standard names. -/

set_option autoImplicit false
set_option linter.unusedVariables false

universe u v

instance instInhabitedNat : Inhabited Nat := ⟨0⟩

namespace Nat

/-! ### What `induction` and `cases` use, so that goals show `0` and `n + 1` -/

@[elab_as_elim, induction_eliminator]
protected noncomputable abbrev recAux {motive : Nat → Sort u} (zero : motive 0)
    (succ : ∀ n, motive n → motive (n + 1)) (t : Nat) : motive t :=
  Nat.rec zero succ t

@[elab_as_elim, cases_eliminator]
protected abbrev casesAuxOn {motive : Nat → Sort u} (t : Nat) (zero : motive 0)
    (succ : ∀ n, motive (n + 1)) : motive t :=
  Nat.casesOn t zero succ

/-! ### Addition -/

theorem succ_ne_zero (n : Nat) : succ n ≠ 0 := fun h => Nat.noConfusion h
theorem add_one_ne_zero (n : Nat) : n + 1 ≠ 0 := succ_ne_zero n
theorem zero_ne_one : 0 ≠ (1 : Nat) := fun h => Nat.noConfusion h
@[simp] theorem succ_eq_add_one (n : Nat) : succ n = n + 1 := rfl
theorem add_one (n : Nat) : n + 1 = succ n := rfl
@[simp] protected theorem add_zero (n : Nat) : n + 0 = n := rfl
theorem add_succ (n m : Nat) : n + succ m = succ (n + m) := rfl
@[simp] protected theorem zero_add : ∀ n : Nat, 0 + n = n
  | 0 => rfl
  | n + 1 => congrArg succ (Nat.zero_add n)
theorem succ_add : ∀ n m : Nat, succ n + m = succ (n + m)
  | _, 0 => rfl
  | n, m + 1 => congrArg succ (succ_add n m)
theorem add_one_add (n m : Nat) : n + 1 + m = n + m + 1 := succ_add n m
theorem succ_eq_one_add (n : Nat) : succ n = 1 + n := by rw [succ_add 0 n, Nat.zero_add]
protected theorem add_comm : ∀ n m : Nat, n + m = m + n
  | n, 0 => (Nat.zero_add n).symm
  | n, m + 1 => (congrArg succ (Nat.add_comm n m)).trans (succ_add m n).symm
protected theorem add_assoc : ∀ n m k : Nat, n + m + k = n + (m + k)
  | _, _, 0 => rfl
  | n, m, k + 1 => congrArg succ (Nat.add_assoc n m k)
protected theorem add_left_comm (n m k : Nat) : n + (m + k) = m + (n + k) := by
  rw [← Nat.add_assoc, Nat.add_comm n m, Nat.add_assoc]
protected theorem add_right_comm (n m k : Nat) : n + m + k = n + k + m := by
  rw [Nat.add_assoc, Nat.add_comm m k, Nat.add_assoc]
protected theorem add_add_add_comm (a b c d : Nat) : a + b + (c + d) = a + c + (b + d) := by
  rw [Nat.add_assoc, Nat.add_left_comm b, Nat.add_assoc]
protected theorem add_left_cancel {n m k : Nat} (h : n + m = n + k) : m = k := by
  induction n with
  | zero => rwa [Nat.zero_add, Nat.zero_add] at h
  | succ n ih =>
    rw [succ_add, succ_add] at h
    exact ih (succ.inj h)
protected theorem add_right_cancel {n m k : Nat} (h : n + m = k + m) : n = k := by
  rw [Nat.add_comm n m, Nat.add_comm k m] at h
  exact Nat.add_left_cancel h
@[simp] protected theorem add_left_cancel_iff {m k n : Nat} : n + m = n + k ↔ m = k :=
  ⟨Nat.add_left_cancel, fun h => h ▸ rfl⟩
@[simp] protected theorem add_right_cancel_iff {m k n : Nat} : m + n = k + n ↔ m = k :=
  ⟨Nat.add_right_cancel, fun h => h ▸ rfl⟩
theorem eq_zero_of_add_eq_zero : ∀ {n m : Nat}, n + m = 0 → n = 0 ∧ m = 0
  | 0, 0, _ => ⟨rfl, rfl⟩
  | _ + 1, 0, h => Nat.noConfusion h
theorem eq_zero_of_add_eq_zero_left {n m : Nat} (h : n + m = 0) : m = 0 :=
  (eq_zero_of_add_eq_zero h).2

@[simp] protected theorem add_eq_left {a b : Nat} : a + b = a ↔ b = 0 :=
  ⟨fun h => Nat.add_left_cancel (n := a) h, fun h => h ▸ rfl⟩
@[simp] protected theorem add_eq_right {a b : Nat} : a + b = b ↔ a = 0 := by
  rw [Nat.add_comm, Nat.add_eq_left]
@[simp] protected theorem left_eq_add {a b : Nat} : a = a + b ↔ b = 0 :=
  ⟨fun h => Nat.add_eq_left.mp h.symm, fun h => (Nat.add_eq_left.mpr h).symm⟩
@[simp] protected theorem right_eq_add {a b : Nat} : b = a + b ↔ a = 0 :=
  ⟨fun h => Nat.add_eq_right.mp h.symm, fun h => (Nat.add_eq_right.mpr h).symm⟩
theorem succ_ne_self (n : Nat) : succ n ≠ n := fun h => nomatch (Nat.add_eq_left (a := n) (b := 1)).mp h

/-! ### Multiplication and powers -/

@[simp] protected theorem mul_zero (n : Nat) : n * 0 = 0 := rfl
theorem mul_succ (n m : Nat) : n * succ m = n * m + n := rfl
theorem mul_add_one (n m : Nat) : n * (m + 1) = n * m + n := rfl
@[simp] protected theorem zero_mul : ∀ n : Nat, 0 * n = 0
  | 0 => rfl
  | n + 1 => (mul_succ 0 n).trans (Nat.zero_mul n)
theorem succ_mul (n m : Nat) : succ n * m = n * m + m := by
  induction m with
  | zero => rfl
  | succ m ih => rw [mul_succ, ih, mul_succ, add_succ, add_succ, Nat.add_right_comm]
theorem add_one_mul (n m : Nat) : (n + 1) * m = n * m + m := succ_mul n m
protected theorem mul_comm (n m : Nat) : n * m = m * n := by
  induction m with
  | zero => rw [Nat.zero_mul, Nat.mul_zero]
  | succ m ih => rw [mul_succ, succ_mul, ih]
@[simp] protected theorem mul_one (n : Nat) : n * 1 = n := Nat.zero_add n
@[simp] protected theorem one_mul (n : Nat) : 1 * n = n := (Nat.mul_comm 1 n).trans (Nat.mul_one n)
protected theorem left_distrib (n m k : Nat) : n * (m + k) = n * m + n * k := by
  induction k with
  | zero => rfl
  | succ k ih => rw [add_succ, mul_succ, ih, mul_succ, Nat.add_assoc]
protected theorem mul_add (n m k : Nat) : n * (m + k) = n * m + n * k := Nat.left_distrib n m k
protected theorem right_distrib (n m k : Nat) : (n + m) * k = n * k + m * k := by
  rw [Nat.mul_comm, Nat.left_distrib, Nat.mul_comm k n, Nat.mul_comm k m]
protected theorem add_mul (n m k : Nat) : (n + m) * k = n * k + m * k := Nat.right_distrib n m k
protected theorem mul_assoc (n m k : Nat) : n * m * k = n * (m * k) := by
  induction k with
  | zero => rfl
  | succ k ih => rw [mul_succ, ih, mul_succ, Nat.left_distrib]
protected theorem mul_left_comm (n m k : Nat) : n * (m * k) = m * (n * k) := by
  rw [← Nat.mul_assoc, Nat.mul_comm n m, Nat.mul_assoc]
protected theorem mul_two (n : Nat) : n * 2 = n + n := by rw [mul_succ, Nat.mul_one]
protected theorem two_mul (n : Nat) : 2 * n = n + n := by rw [succ_mul, Nat.one_mul]
@[simp] protected theorem pow_zero (b : Nat) : b ^ 0 = 1 := rfl
protected theorem pow_succ {b n : Nat} : b ^ (n + 1) = b ^ n * b := rfl
@[simp] protected theorem pow_one (a : Nat) : a ^ 1 = a := Nat.one_mul a

/-! ### Order -/

@[simp] theorem lt_eq (m n : Nat) : Nat.lt m n = (m < n) := rfl
@[simp] theorem le_eq (m n : Nat) : Nat.le m n = (m ≤ n) := rfl
@[simp] protected theorem le_refl (n : Nat) : n ≤ n := Nat.le.refl
protected theorem le_rfl {n : Nat} : n ≤ n := Nat.le.refl
theorem le_succ (n : Nat) : n ≤ succ n := Nat.le.step Nat.le.refl
theorem le_add_one (n : Nat) : n ≤ n + 1 := le_succ n
theorem le_step {n m : Nat} (h : n ≤ m) : n ≤ succ m := Nat.le.step h
protected theorem le_trans {n m k : Nat} : n ≤ m → m ≤ k → n ≤ k
  | h, Nat.le.refl => h
  | h, Nat.le.step h' => Nat.le.step (Nat.le_trans h h')
@[simp] theorem zero_le : ∀ n : Nat, 0 ≤ n
  | 0 => Nat.le.refl
  | n + 1 => Nat.le.step (zero_le n)
theorem succ_le_succ {n m : Nat} : n ≤ m → succ n ≤ succ m
  | Nat.le.refl => Nat.le.refl
  | Nat.le.step h => Nat.le.step (succ_le_succ h)
theorem pred_le_pred {n m : Nat} (h : n ≤ m) : pred n ≤ pred m := by
  cases h with
  | refl => exact Nat.le.refl
  | step h =>
    cases n with
    | zero => exact zero_le _
    | succ n => exact Nat.le_trans (le_succ n) h
theorem le_of_succ_le_succ {n m : Nat} : succ n ≤ succ m → n ≤ m := pred_le_pred
theorem succ_le_succ_iff {a b : Nat} : succ a ≤ succ b ↔ a ≤ b := ⟨le_of_succ_le_succ, succ_le_succ⟩
@[simp] protected theorem add_one_le_add_one_iff {a b : Nat} : a + 1 ≤ b + 1 ↔ a ≤ b := succ_le_succ_iff
theorem not_succ_le_zero (n : Nat) : succ n ≤ 0 → False := fun h => nomatch h
@[simp] theorem not_lt_zero (n : Nat) : ¬n < 0 := not_succ_le_zero n
theorem not_succ_le_self : ∀ n : Nat, ¬succ n ≤ n
  | 0 => not_succ_le_zero 0
  | n + 1 => fun h => not_succ_le_self n (le_of_succ_le_succ h)
@[simp] protected theorem lt_irrefl (n : Nat) : ¬n < n := not_succ_le_self n
theorem lt_succ_self (n : Nat) : n < succ n := Nat.le.refl
@[simp] protected theorem lt_add_one (n : Nat) : n < n + 1 := Nat.le.refl
theorem zero_lt_succ (n : Nat) : 0 < succ n := succ_le_succ (zero_le n)
theorem succ_pos (n : Nat) : 0 < succ n := zero_lt_succ n
protected theorem zero_lt_one : 0 < (1 : Nat) := zero_lt_succ 0
theorem lt_of_succ_le {n m : Nat} (h : succ n ≤ m) : n < m := h
theorem succ_le_of_lt {n m : Nat} (h : n < m) : succ n ≤ m := h
theorem succ_le_iff {m n : Nat} : succ m ≤ n ↔ m < n := Iff.rfl
theorem lt_succ_of_le {n m : Nat} : n ≤ m → n < succ m := succ_le_succ
theorem le_of_lt_succ {m n : Nat} : m < succ n → m ≤ n := le_of_succ_le_succ
protected theorem lt_succ_iff {m n : Nat} : m < succ n ↔ m ≤ n := ⟨le_of_lt_succ, lt_succ_of_le⟩
theorem lt_add_one_iff {m n : Nat} : m < n + 1 ↔ m ≤ n := Nat.lt_succ_iff
theorem lt_succ_of_lt {a b : Nat} (h : a < b) : a < succ b := Nat.le.step h
theorem succ_lt_succ {n m : Nat} : n < m → succ n < succ m := succ_le_succ
theorem lt_of_succ_lt_succ {n m : Nat} : succ n < succ m → n < m := le_of_succ_le_succ
theorem succ_lt_succ_iff {a b : Nat} : succ a < succ b ↔ a < b := ⟨lt_of_succ_lt_succ, succ_lt_succ⟩
theorem lt_of_succ_lt {n m : Nat} : succ n < m → n < m := Nat.le_trans (le_succ _)
protected theorem le_of_lt {n m : Nat} (h : n < m) : n ≤ m := Nat.le_trans (le_succ n) h
theorem le_of_succ_le {n m : Nat} (h : succ n ≤ m) : n ≤ m := Nat.le_of_lt h
theorem le_succ_of_le {n m : Nat} (h : n ≤ m) : n ≤ succ m := Nat.le.step h
protected theorem le_add_right_of_le {n m k : Nat} (h : n ≤ m) : n ≤ m + k := by
  induction k with
  | zero => exact h
  | succ k ih => exact Nat.le.step ih
protected theorem lt_trans {n m k : Nat} (h : n < m) : m < k → n < k := fun h' => Nat.le_trans (Nat.le.step h) h'
protected theorem lt_of_lt_of_le {n m k : Nat} : n < m → m ≤ k → n < k := Nat.le_trans
protected theorem lt_of_le_of_lt {n m k : Nat} (h : n ≤ m) (h' : m < k) : n < k := Nat.le_trans (succ_le_succ h) h'
protected theorem lt_asymm {a b : Nat} (h : a < b) : ¬b < a := fun h' => Nat.lt_irrefl a (Nat.lt_trans h h')
protected theorem le_antisymm {n m : Nat} (h₁ : n ≤ m) (h₂ : m ≤ n) : n = m := by
  cases h₁ with
  | refl => rfl
  | step h => exact absurd (Nat.le_trans h₂ h) (not_succ_le_self _)
protected theorem eq_or_lt_of_le : ∀ {n m : Nat}, n ≤ m → n = m ∨ n < m
  | _, _, Nat.le.refl => .inl rfl
  | _, _, Nat.le.step h => .inr (succ_le_succ h)
protected theorem lt_or_eq_of_le {n m : Nat} (h : n ≤ m) : n < m ∨ n = m := (Nat.eq_or_lt_of_le h).symm
protected theorem le_iff_lt_or_eq {n m : Nat} : n ≤ m ↔ n < m ∨ n = m :=
  ⟨Nat.lt_or_eq_of_le, fun h => h.elim Nat.le_of_lt fun e => e ▸ Nat.le_refl n⟩
protected theorem lt_or_ge (n m : Nat) : n < m ∨ n ≥ m := by
  induction m with
  | zero => exact .inr (zero_le n)
  | succ m ih =>
    cases ih with
    | inl h => exact .inl (Nat.le.step h)
    | inr h =>
      cases Nat.eq_or_lt_of_le h with
      | inl e => exact .inl (e ▸ Nat.le.refl)
      | inr h => exact .inr h
protected theorem le_total (m n : Nat) : m ≤ n ∨ n ≤ m := (Nat.lt_or_ge m n).imp Nat.le_of_lt id
protected theorem lt_of_not_le {a b : Nat} (h : ¬a ≤ b) : b < a := (Nat.lt_or_ge b a).resolve_right h
protected theorem le_of_not_lt {a b : Nat} (h : ¬a < b) : b ≤ a := (Nat.lt_or_ge a b).resolve_left h
protected theorem not_le_of_gt {a b : Nat} (h : a > b) : ¬a ≤ b := fun h' => Nat.lt_irrefl b (Nat.lt_of_lt_of_le h h')
protected theorem not_le_of_lt {a b : Nat} : a < b → ¬b ≤ a := Nat.not_le_of_gt
protected theorem not_lt_of_ge {a b : Nat} (h : b ≥ a) : ¬b < a := fun h' => Nat.not_le_of_lt h' h
protected theorem not_lt_of_le {a b : Nat} : a ≤ b → ¬b < a := Nat.not_lt_of_ge
@[simp] protected theorem not_le {a b : Nat} : ¬a ≤ b ↔ b < a := ⟨Nat.lt_of_not_le, Nat.not_le_of_lt⟩
@[simp] protected theorem not_lt {a b : Nat} : ¬a < b ↔ b ≤ a := ⟨Nat.le_of_not_lt, Nat.not_lt_of_le⟩
protected theorem lt_iff_le_not_le {m n : Nat} : m < n ↔ m ≤ n ∧ ¬n ≤ m :=
  ⟨fun h => ⟨Nat.le_of_lt h, Nat.not_le_of_lt h⟩, fun h => Nat.lt_of_not_le h.2⟩
protected theorem ne_of_lt {a b : Nat} (h : a < b) : a ≠ b := fun e => absurd h (e ▸ Nat.lt_irrefl a)
protected theorem ne_of_gt {a b : Nat} (h : b < a) : a ≠ b := (Nat.ne_of_lt h).symm
protected theorem lt_of_le_of_ne {n m : Nat} (h₁ : n ≤ m) (h₂ : n ≠ m) : n < m :=
  (Nat.lt_or_eq_of_le h₁).resolve_right h₂
protected theorem lt_trichotomy (a b : Nat) : a < b ∨ a = b ∨ b < a :=
  (Nat.lt_or_ge a b).imp_right fun h => (Nat.eq_or_lt_of_le h).imp_left Eq.symm
protected theorem le_of_eq {n m : Nat} (h : n = m) : n ≤ m := h ▸ Nat.le_refl n
theorem eq_zero_of_le_zero {n : Nat} (h : n ≤ 0) : n = 0 := Nat.le_antisymm h (zero_le n)
@[simp] protected theorem le_zero_eq (a : Nat) : (a ≤ 0) = (a = 0) :=
  propext ⟨eq_zero_of_le_zero, fun h => h ▸ Nat.le_refl _⟩
protected theorem pos_of_ne_zero {n : Nat} (h : n ≠ 0) : 0 < n :=
  (Nat.eq_or_lt_of_le (zero_le n)).resolve_left h.symm
theorem ne_zero_of_lt {a b : Nat} (h : b < a) : a ≠ 0 := fun e => not_lt_zero b (e ▸ h)
theorem pos_iff_ne_zero {n : Nat} : 0 < n ↔ n ≠ 0 := ⟨ne_zero_of_lt, Nat.pos_of_ne_zero⟩
theorem eq_zero_or_pos : ∀ n : Nat, n = 0 ∨ 0 < n
  | 0 => .inl rfl
  | n + 1 => .inr (succ_pos n)
theorem exists_eq_succ_of_ne_zero : ∀ {n : Nat}, n ≠ 0 → ∃ k, n = succ k
  | 0, h => absurd rfl h
  | n + 1, _ => ⟨n, rfl⟩
theorem exists_eq_add_one_of_ne_zero : ∀ {n : Nat}, n ≠ 0 → ∃ k, n = k + 1
  | 0, h => absurd rfl h
  | n + 1, _ => ⟨n, rfl⟩

theorem le_add_right : ∀ n k : Nat, n ≤ n + k
  | n, 0 => Nat.le_refl n
  | n, k + 1 => le_succ_of_le (le_add_right n k)
theorem le_add_left (n m : Nat) : n ≤ m + n := Nat.add_comm n m ▸ le_add_right n m
theorem le.dest : ∀ {n m : Nat}, n ≤ m → ∃ k, n + k = m
  | n, _, Nat.le.refl => ⟨0, rfl⟩
  | n, _, Nat.le.step h =>
    match le.dest h with
    | ⟨k, hk⟩ => ⟨k + 1, congrArg succ hk⟩
theorem le.intro {n m k : Nat} (h : n + k = m) : n ≤ m := h ▸ le_add_right n k
theorem exists_eq_add_of_le {m n : Nat} (h : m ≤ n) : ∃ k : Nat, n = m + k :=
  match le.dest h with
  | ⟨k, hk⟩ => ⟨k, hk.symm⟩
protected theorem add_le_add_left {n m : Nat} (h : n ≤ m) (k : Nat) : k + n ≤ k + m := by
  induction h with
  | refl => exact Nat.le.refl
  | step _ ih => exact Nat.le.step ih
protected theorem add_le_add_right {n m : Nat} (h : n ≤ m) (k : Nat) : n + k ≤ m + k := by
  rw [Nat.add_comm n k, Nat.add_comm m k]
  exact Nat.add_le_add_left h k
protected theorem add_le_add {a b c d : Nat} (h₁ : a ≤ b) (h₂ : c ≤ d) : a + c ≤ b + d :=
  Nat.le_trans (Nat.add_le_add_right h₁ c) (Nat.add_le_add_left h₂ b)
protected theorem add_lt_add_left {n m : Nat} (h : n < m) (k : Nat) : k + n < k + m :=
  lt_of_succ_le (add_succ k n ▸ Nat.add_le_add_left (succ_le_of_lt h) k)
protected theorem add_lt_add_right {n m : Nat} (h : n < m) (k : Nat) : n + k < m + k := by
  rw [Nat.add_comm n k, Nat.add_comm m k]
  exact Nat.add_lt_add_left h k
protected theorem add_lt_add {a b c d : Nat} (h₁ : a < b) (h₂ : c < d) : a + c < b + d :=
  Nat.lt_trans (Nat.add_lt_add_right h₁ c) (Nat.add_lt_add_left h₂ b)
protected theorem le_of_add_le_add_left {a b c : Nat} (h : a + b ≤ a + c) : b ≤ c :=
  match le.dest h with
  | ⟨k, hk⟩ => le.intro (Nat.add_left_cancel ((Nat.add_assoc a b k).symm.trans hk))
protected theorem le_of_add_le_add_right {a b c : Nat} (h : a + b ≤ c + b) : a ≤ c := by
  rw [Nat.add_comm a b, Nat.add_comm c b] at h
  exact Nat.le_of_add_le_add_left h
@[simp] protected theorem add_le_add_iff_left {m k n : Nat} : n + m ≤ n + k ↔ m ≤ k :=
  ⟨Nat.le_of_add_le_add_left, fun h => Nat.add_le_add_left h n⟩
@[simp] protected theorem add_le_add_iff_right {m k n : Nat} : m + n ≤ k + n ↔ m ≤ k :=
  ⟨Nat.le_of_add_le_add_right, fun h => Nat.add_le_add_right h n⟩
protected theorem lt_add_right {a b : Nat} (c : Nat) (h : a < b) : a < b + c :=
  Nat.lt_of_lt_of_le h (le_add_right b c)
protected theorem lt_add_left {a b : Nat} (c : Nat) (h : a < b) : a < c + b :=
  Nat.lt_of_lt_of_le h (le_add_left b c)
protected theorem lt_add_of_pos_right {n k : Nat} (h : 0 < k) : n < n + k := Nat.add_lt_add_left h n
protected theorem lt_add_of_pos_left {n k : Nat} (h : 0 < k) : n < k + n :=
  Nat.add_comm n k ▸ Nat.lt_add_of_pos_right h
protected theorem mul_le_mul_left {m n : Nat} (k : Nat) (h : m ≤ n) : k * m ≤ k * n :=
  match le.dest h with
  | ⟨d, hd⟩ => hd ▸ (Nat.left_distrib k m d).symm ▸ le_add_right (k * m) (k * d)
protected theorem mul_le_mul_right {m n : Nat} (k : Nat) (h : m ≤ n) : m * k ≤ n * k := by
  rw [Nat.mul_comm m k, Nat.mul_comm n k]
  exact Nat.mul_le_mul_left k h
protected theorem mul_le_mul {p q m n : Nat} (h₁ : p ≤ m) (h₂ : q ≤ n) : p * q ≤ m * n :=
  Nat.le_trans (Nat.mul_le_mul_right q h₁) (Nat.mul_le_mul_left m h₂)
protected theorem mul_pos {n m : Nat} (hn : 0 < n) (hm : 0 < m) : 0 < n * m := by
  cases m with
  | zero => exact absurd hm (Nat.lt_irrefl 0)
  | succ m => exact Nat.lt_of_lt_of_le hn (le_add_left n (n * m))
protected theorem mul_eq_zero : ∀ {m n : Nat}, n * m = 0 ↔ n = 0 ∨ m = 0
  | 0, n => ⟨fun _ => .inr rfl, fun _ => rfl⟩
  | m + 1, n => by
    constructor
    · intro h
      exact .inl (eq_zero_of_add_eq_zero h).2
    · rintro (h | h)
      · rw [h, Nat.zero_mul]
      · exact absurd h (succ_ne_zero m)

/-! ### Predecessor and subtraction -/

@[simp] theorem pred_zero : pred 0 = 0 := rfl
@[simp] theorem pred_succ (n : Nat) : pred (succ n) = n := rfl
theorem pred_le : ∀ n : Nat, pred n ≤ n
  | 0 => Nat.le.refl
  | n + 1 => le_succ n
@[simp] protected theorem sub_zero (n : Nat) : n - 0 = n := rfl
theorem sub_succ (n m : Nat) : n - succ m = pred (n - m) := rfl
theorem succ_sub_succ_eq_sub (n m : Nat) : succ n - succ m = n - m := by
  induction m with
  | zero => rfl
  | succ m ih => exact congrArg pred ih
theorem succ_sub_succ (n m : Nat) : succ n - succ m = n - m := succ_sub_succ_eq_sub n m
@[simp] protected theorem add_sub_add_right (n k m : Nat) : (n + k) - (m + k) = n - m := by
  induction k with
  | zero => rfl
  | succ k ih => exact (succ_sub_succ (n + k) (m + k)).trans ih
@[simp] protected theorem sub_self : ∀ n : Nat, n - n = 0
  | 0 => rfl
  | n + 1 => (succ_sub_succ n n).trans (Nat.sub_self n)
@[simp] protected theorem zero_sub : ∀ n : Nat, 0 - n = 0
  | 0 => rfl
  | n + 1 => congrArg pred (Nat.zero_sub n)
theorem sub_le (n m : Nat) : n - m ≤ n := by
  induction m with
  | zero => exact Nat.le.refl
  | succ m ih => exact Nat.le_trans (pred_le (n - m)) ih
@[simp] protected theorem add_sub_cancel (n m : Nat) : n + m - m = n := by
  have h := Nat.add_sub_add_right n m 0
  rwa [Nat.zero_add] at h
@[simp] protected theorem add_sub_cancel_left (n m : Nat) : n + m - n = m := by
  rw [Nat.add_comm, Nat.add_sub_cancel]
protected theorem sub_add_cancel {n m : Nat} (h : m ≤ n) : n - m + m = n :=
  match le.dest h with
  | ⟨k, hk⟩ => by rw [← hk, Nat.add_sub_cancel_left, Nat.add_comm]
protected theorem add_sub_of_le {a b : Nat} (h : a ≤ b) : a + (b - a) = b := by
  rw [Nat.add_comm, Nat.sub_add_cancel h]
protected theorem sub_eq_zero_of_le {n m : Nat} (h : n ≤ m) : n - m = 0 :=
  match le.dest h with
  | ⟨k, hk⟩ => by
    rw [← hk]
    have e := Nat.add_sub_add_right 0 n k
    rwa [Nat.zero_add, Nat.zero_sub, Nat.add_comm k n] at e

/-! ### Deciding order; least and greatest -/

theorem le_of_ble_eq_true : ∀ {n m : Nat}, ble n m = true → n ≤ m
  | 0, m, _ => zero_le m
  | _ + 1, 0, h => Bool.noConfusion h
  | _ + 1, _ + 1, h => succ_le_succ (le_of_ble_eq_true h)
theorem ble_eq_true_of_le : ∀ {n m : Nat}, n ≤ m → ble n m = true
  | 0, 0, _ => rfl
  | 0, _ + 1, _ => rfl
  | _ + 1, 0, h => absurd h (not_succ_le_zero _)
  | n + 1, m + 1, h => ble_eq_true_of_le (n := n) (m := m) (le_of_succ_le_succ h)
@[simp] theorem ble_eq {x y : Nat} : (Nat.ble x y = true) = (x ≤ y) :=
  propext ⟨le_of_ble_eq_true, ble_eq_true_of_le⟩

@[extern "lean_nat_dec_le"] instance decLe (n m : Nat) : Decidable (n ≤ m) :=
  decidable_of_decidable_of_iff (p := ble n m = true) ⟨le_of_ble_eq_true, ble_eq_true_of_le⟩
@[extern "lean_nat_dec_lt"] instance decLt (n m : Nat) : Decidable (n < m) := decLe (succ n) m

end Nat

instance instMaxNat : Max Nat := ⟨fun n m => if n ≤ m then m else n⟩
instance instMinNat : Min Nat := ⟨fun n m => if n ≤ m then n else m⟩
protected theorem Nat.max_def {n m : Nat} : max n m = if n ≤ m then m else n := rfl
protected theorem Nat.min_def {n m : Nat} : min n m = if n ≤ m then n else m := rfl

instance : Trans (α := Nat) LT.lt LT.lt LT.lt := ⟨Nat.lt_trans⟩
instance : Trans (α := Nat) LE.le LE.le LE.le := ⟨Nat.le_trans⟩
instance : Trans (α := Nat) LT.lt LE.le LT.lt := ⟨Nat.lt_of_lt_of_le⟩
instance : Trans (α := Nat) LE.le LT.lt LT.lt := ⟨Nat.lt_of_le_of_lt⟩

instance : Dvd Nat := ⟨fun a b => ∃ c, b = a * c⟩
protected theorem Nat.dvd_refl (a : Nat) : a ∣ a := ⟨1, (Nat.mul_one a).symm⟩
protected theorem Nat.dvd_zero (a : Nat) : a ∣ 0 := ⟨0, rfl⟩
protected theorem Nat.one_dvd (n : Nat) : 1 ∣ n := ⟨n, (Nat.one_mul n).symm⟩
protected theorem Nat.dvd_mul_left (a b : Nat) : a ∣ b * a := ⟨b, Nat.mul_comm b a⟩
protected theorem Nat.dvd_mul_right (a b : Nat) : a ∣ a * b := ⟨b, rfl⟩
protected theorem Nat.dvd_trans {a b c : Nat} : a ∣ b → b ∣ c → a ∣ c
  | ⟨d, h₁⟩, ⟨e, h₂⟩ => ⟨d * e, by rw [h₂, h₁, Nat.mul_assoc]⟩
protected theorem Nat.dvd_add {m n k : Nat} : k ∣ m → k ∣ n → k ∣ m + n
  | ⟨d, h₁⟩, ⟨e, h₂⟩ => ⟨d + e, by rw [h₁, h₂, Nat.left_distrib]⟩
protected theorem Nat.dvd_mul_left_of_dvd {a b : Nat} (h : a ∣ b) (c : Nat) : a ∣ c * b :=
  Nat.dvd_trans h (Nat.dvd_mul_left b c)
protected theorem Nat.dvd_mul_right_of_dvd {a b : Nat} (h : a ∣ b) (c : Nat) : a ∣ b * c :=
  Nat.dvd_trans h (Nat.dvd_mul_right b c)

/-- Iterates a function. -/
def Nat.repeat {α : Type u} (f : α → α) : Nat → α → α
  | 0, a => a
  | n + 1, a => f (Nat.repeat f n a)
