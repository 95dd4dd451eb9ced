prelude
import Init.Logic

/-! Classical reasoning, decidability, and what `simp`, `decide`, `split` and `calc` rest on. -/

set_option autoImplicit false
set_option linter.unusedVariables false

universe u v w

/-! ### Excluded middle (Diaconescu) and what follows from it -/

theorem Nonempty.elim {α : Sort u} {p : Prop} (h₁ : Nonempty α) (h₂ : α → p) : p :=
  match h₁ with
  | ⟨a⟩ => h₂ a

instance instNonemptyOfInhabited {α : Sort u} [Inhabited α] : Nonempty α := ⟨default⟩

theorem Classical.em (p : Prop) : p ∨ ¬p := by
  let U (x : Prop) : Prop := x = True ∨ p
  let V (x : Prop) : Prop := x = False ∨ p
  have hU : Nonempty {x // U x} := ⟨⟨True, .inl rfl⟩⟩
  have hV : Nonempty {x // V x} := ⟨⟨False, .inl rfl⟩⟩
  have pick : (Classical.choice hU).val ≠ (Classical.choice hV).val ∨ p := by
    cases (Classical.choice hU).property with
    | inr h => exact .inr h
    | inl hu =>
      cases (Classical.choice hV).property with
      | inr h => exact .inr h
      | inl hv =>
        refine .inl ?_
        rw [hu, hv]
        exact true_ne_false
  cases pick with
  | inr h => exact .inl h
  | inl h =>
    refine .inr fun hp => h ?_
    have same : U = V := funext fun x => propext ⟨fun _ => .inr hp, fun _ => .inr hp⟩
    have step : ∀ (W : Prop → Prop) (h₁ : Nonempty {x // U x}) (h₂ : Nonempty {x // W x}),
        U = W → (Classical.choice h₁).val = (Classical.choice h₂).val := by
      intro W h₁ h₂ e
      subst e
      rfl
    exact step V hU hV same

noncomputable def Classical.indefiniteDescription {α : Sort u} (p : α → Prop) (h : ∃ x, p x) :
    {x // p x} :=
  Classical.choice (let ⟨x, px⟩ := h; ⟨⟨x, px⟩⟩)

noncomputable def Classical.choose {α : Sort u} {p : α → Prop} (h : ∃ x, p x) : α :=
  (Classical.indefiniteDescription p h).val

theorem Classical.choose_spec {α : Sort u} {p : α → Prop} (h : ∃ x, p x) :
    p (Classical.choose h) :=
  (Classical.indefiniteDescription p h).property

@[reducible] noncomputable def Classical.propDecidable (a : Prop) : Decidable a :=
  Classical.choice (match Classical.em a with
    | .inl h => ⟨isTrue h⟩
    | .inr h => ⟨isFalse h⟩)

namespace Classical
attribute [scoped instance 10] propDecidable
end Classical

theorem Classical.byCases {p q : Prop} (hpq : p → q) (hnpq : ¬p → q) : q :=
  (Classical.em p).elim hpq hnpq
theorem Classical.byContradiction {p : Prop} (h : ¬p → False) : p :=
  Classical.byCases id fun hn => (h hn).elim
@[simp] theorem Classical.not_not {a : Prop} : ¬¬a ↔ a := ⟨Classical.byContradiction, not_not_intro⟩
theorem Classical.axiomOfChoice {α : Sort u} {β : α → Sort v} {r : ∀ x, β x → Prop}
    (h : ∀ x, ∃ y, r x y) : ∃ f : (x : α) → β x, ∀ x, r x (f x) :=
  ⟨fun x => Classical.choose (h x), fun x => Classical.choose_spec (h x)⟩
theorem Classical.not_forall {α : Sort u} {p : α → Prop} : (¬∀ x, p x) ↔ ∃ x, ¬p x :=
  ⟨fun h => Classical.byContradiction fun hn =>
    h fun x => Classical.byContradiction fun hx => hn ⟨x, hx⟩, not_forall_of_exists_not⟩
theorem Classical.not_exists_not {α : Sort u} {p : α → Prop} : (¬∃ x, ¬p x) ↔ ∀ x, p x :=
  ⟨fun h x => Classical.byContradiction fun hn => h ⟨x, hn⟩, fun h ⟨x, hn⟩ => hn (h x)⟩
theorem Classical.not_and_iff_not_or_not {a b : Prop} : ¬(a ∧ b) ↔ ¬a ∨ ¬b :=
  ⟨fun h => (Classical.em a).elim (fun ha => .inr fun hb => h ⟨ha, hb⟩) .inl,
   fun h hab => h.elim (· hab.1) (· hab.2)⟩
theorem Classical.not_imp {a b : Prop} : ¬(a → b) ↔ a ∧ ¬b :=
  ⟨fun h => ⟨Classical.byContradiction fun hn => h fun ha => absurd ha hn, fun hb => h fun _ => hb⟩,
   fun h hab => h.2 (hab h.1)⟩
theorem Classical.not_imp_not {a b : Prop} : (¬a → ¬b) ↔ (b → a) :=
  ⟨fun h hb => Classical.byContradiction fun hn => h hn hb, mt⟩
theorem Classical.imp_iff_not_or {a b : Prop} : (a → b) ↔ ¬a ∨ b :=
  ⟨fun h => (Classical.em a).elim (fun ha => .inr (h ha)) .inl, Or.neg_resolve_left⟩
theorem Classical.or_iff_not_imp_left {a b : Prop} : a ∨ b ↔ (¬a → b) :=
  ⟨Or.resolve_left, fun h => (Classical.em a).elim .inl fun hn => .inr (h hn)⟩
theorem Classical.or_iff_not_imp_right {a b : Prop} : a ∨ b ↔ (¬b → a) :=
  ⟨Or.resolve_right, fun h => (Classical.em b).elim .inr fun hn => .inl (h hn)⟩

/-! ### Decidable propositions -/

theorem Decidable.em (p : Prop) [Decidable p] : p ∨ ¬p :=
  match (inferInstance : Decidable p) with
  | isTrue h => .inl h
  | isFalse h => .inr h
theorem Decidable.byContradiction {p : Prop} [Decidable p] (h : ¬p → False) : p :=
  (Decidable.em p).elim id fun hn => (h hn).elim
theorem Decidable.not_not {p : Prop} [Decidable p] : ¬¬p ↔ p :=
  ⟨Decidable.byContradiction, not_not_intro⟩
@[macro_inline] def Decidable.byCases {p : Prop} {q : Sort u} [dec : Decidable p] (h1 : p → q)
    (h2 : ¬p → q) : q :=
  match dec with
  | isTrue h => h1 h
  | isFalse h => h2 h

theorem decide_eq_true {p : Prop} [inst : Decidable p] : p → decide p = true := by
  intro h
  cases inst with
  | isTrue _ => rfl
  | isFalse hn => exact absurd h hn
theorem decide_eq_false {p : Prop} [inst : Decidable p] : ¬p → decide p = false := by
  intro h
  cases inst with
  | isTrue hp => exact absurd hp h
  | isFalse _ => rfl
theorem of_decide_eq_true {p : Prop} [inst : Decidable p] : decide p = true → p := by
  intro h
  cases inst with
  | isTrue hp => exact hp
  | isFalse _ => exact Bool.noConfusion h
theorem of_decide_eq_false {p : Prop} [inst : Decidable p] : decide p = false → ¬p := by
  intro h
  cases inst with
  | isTrue _ => exact Bool.noConfusion h
  | isFalse hn => exact hn
theorem of_decide_eq_self_eq_true {α : Sort u} [inst : DecidableEq α] (a : α) :
    decide (a = a) = true :=
  decide_eq_true rfl
@[simp] theorem decide_eq_true_eq {p : Prop} [Decidable p] : (decide p = true) = p :=
  propext ⟨of_decide_eq_true, decide_eq_true⟩

@[inline] def decidable_of_decidable_of_iff {p q : Prop} [Decidable p] (h : p ↔ q) : Decidable q :=
  if hp : p then isTrue (h.mp hp) else isFalse fun hq => hp (h.mpr hq)

instance instSubsingletonDecidable (p : Prop) : Subsingleton (Decidable p) :=
  ⟨fun
    | isTrue _, isTrue _ => rfl
    | isFalse _, isFalse _ => rfl
    | isTrue h, isFalse hn => absurd h hn
    | isFalse hn, isTrue h => absurd h hn⟩
protected theorem Subsingleton.elim {α : Sort u} [h : Subsingleton α] (a b : α) : a = b :=
  h.allEq a b
protected theorem Subsingleton.helim {α β : Sort u} [h₁ : Subsingleton α] (h₂ : α = β) (a : α)
    (b : β) : HEq a b := by
  subst h₂
  exact heq_of_eq (Subsingleton.elim a b)

instance instDecidableTrue : Decidable True := isTrue trivial
instance instDecidableFalse : Decidable False := isFalse not_false
instance instDecidableAnd {p q : Prop} [dp : Decidable p] [dq : Decidable q] : Decidable (p ∧ q) :=
  match dp with
  | isTrue hp =>
    match dq with
    | isTrue hq => isTrue ⟨hp, hq⟩
    | isFalse hq => isFalse fun h => hq h.2
  | isFalse hp => isFalse fun h => hp h.1
instance instDecidableOr {p q : Prop} [dp : Decidable p] [dq : Decidable q] : Decidable (p ∨ q) :=
  match dp with
  | isTrue hp => isTrue (.inl hp)
  | isFalse hp =>
    match dq with
    | isTrue hq => isTrue (.inr hq)
    | isFalse hq => isFalse fun h => h.elim hp hq
instance instDecidableNot {p : Prop} [dp : Decidable p] : Decidable (¬p) :=
  match dp with
  | isTrue hp => isFalse fun h => h hp
  | isFalse hp => isTrue hp
instance instDecidableForall {p q : Prop} [Decidable p] [Decidable q] : Decidable (p → q) :=
  if hp : p then
    if hq : q then isTrue fun _ => hq else isFalse fun h => hq (h hp)
  else isTrue fun h => absurd h hp
instance instDecidableIff {p q : Prop} [Decidable p] [Decidable q] : Decidable (p ↔ q) :=
  decidable_of_decidable_of_iff (p := (p → q) ∧ (q → p)) ⟨fun h => ⟨h.1, h.2⟩, fun h => ⟨h.1, h.2⟩⟩
instance instDecidableNe {α : Sort u} [DecidableEq α] (a b : α) : Decidable (a ≠ b) :=
  inferInstanceAs (Decidable (¬(a = b)))
instance instDecidableEqBool : DecidableEq Bool
  | true, true => isTrue rfl
  | true, false => isFalse fun h => Bool.noConfusion h
  | false, true => isFalse fun h => Bool.noConfusion h
  | false, false => isTrue rfl
instance instBEqOfDecidableEq {α : Type u} [DecidableEq α] : BEq α := ⟨fun a b => decide (a = b)⟩

/-! ### Conditionals -/

theorem if_pos {c : Prop} {h : Decidable c} (hc : c) {α : Sort u} {t e : α} :
    ite c t e = t := by
  cases h with
  | isTrue _ => rfl
  | isFalse hn => exact absurd hc hn
theorem if_neg {c : Prop} {h : Decidable c} (hnc : ¬c) {α : Sort u} {t e : α} :
    ite c t e = e := by
  cases h with
  | isTrue hc => exact absurd hc hnc
  | isFalse _ => rfl
theorem dif_pos {c : Prop} {h : Decidable c} (hc : c) {α : Sort u} {t : c → α} {e : ¬c → α} :
    dite c t e = t hc := by
  cases h with
  | isTrue _ => rfl
  | isFalse hn => exact absurd hc hn
theorem dif_neg {c : Prop} {h : Decidable c} (hnc : ¬c) {α : Sort u} {t : c → α} {e : ¬c → α} :
    dite c t e = e hnc := by
  cases h with
  | isTrue hc => exact absurd hc hnc
  | isFalse _ => rfl
theorem ite_congr {α : Sort u} {b c : Prop} {x y u v : α} {s : Decidable b} [Decidable c]
    (h₁ : b = c) (h₂ : c → x = u) (h₃ : ¬c → y = v) : ite b x y = ite c u v := by
  subst h₁
  cases Decidable.em b with
  | inl h => rw [if_pos h, if_pos h, h₂ h]
  | inr h => rw [if_neg h, if_neg h, h₃ h]
theorem ite_eq_left {c : Prop} {h : Decidable c} (hc : c) {α : Sort u} {t e : α} :
    ite c t e = t := if_pos hc
theorem ite_eq_right {c : Prop} {h : Decidable c} (hnc : ¬c) {α : Sort u} {t e : α} :
    ite c t e = e := if_neg hnc
theorem dite_eq_left {c : Prop} {h : Decidable c} (hc : c) {α : Sort u} {t : c → α}
    {e : ¬c → α} : dite c t e = t hc := dif_pos hc
theorem dite_eq_right {c : Prop} {h : Decidable c} (hnc : ¬c) {α : Sort u} {t : c → α}
    {e : ¬c → α} : dite c t e = e hnc := dif_neg hnc
theorem ite_eq_left_of_eq_true {α : Sort u} {c : Prop} {x : Decidable c} (a b : α)
    (h : c = True) : ite c a b = a := if_pos (of_eq_true h)
theorem ite_eq_right_of_eq_false {α : Sort u} {c : Prop} {x : Decidable c} (a b : α)
    (h : c = False) : ite c a b = b := if_neg (of_eq_false h)
theorem dite_eq_left_of_eq_true {α : Sort u} {c : Prop} {x : Decidable c} {t : c → α}
    {e : ¬c → α} (h : c = True) : dite c t e = t (of_eq_true h) := dif_pos (of_eq_true h)
theorem dite_eq_right_of_eq_false {α : Sort u} {c : Prop} {x : Decidable c} {t : c → α}
    {e : ¬c → α} (h : c = False) : dite c t e = e (of_eq_false h) := dif_neg (of_eq_false h)
theorem ite_cond_congr {α : Sort u} {b c : Prop} {s : Decidable b} [Decidable c] {x y : α}
    (h₁ : b = c) : ite b x y = ite c x y := ite_congr h₁ (fun _ => rfl) (fun _ => rfl)
theorem dite_eq_ite {α : Sort u} {P : Prop} {a b : α} [Decidable P] :
    (dite P (fun _ => a) fun _ => b) = ite P a b := rfl
theorem if_true {α : Sort u} {h : Decidable True} (t e : α) : ite True t e = t := if_pos trivial
theorem if_false {α : Sort u} {h : Decidable False} (t e : α) : ite False t e = e := if_neg id

instance {c : Prop} {t e : Prop} [dc : Decidable c] [dt : Decidable t] [de : Decidable e] :
    Decidable (if c then t else e) :=
  match dc with
  | isTrue _ => dt
  | isFalse _ => de

/-! ### Chains of relations -/

class Trans.{x, y, z, a, b, c} {α : Sort a} {β : Sort b} {γ : Sort c} (r : α → β → Sort x)
    (s : β → γ → Sort y) (t : outParam (α → γ → Sort z)) where
  trans {a : α} {b : β} {c : γ} : r a b → s b c → t a c

export Trans (trans)

instance instTransEq {α : Sort u} {γ : Sort v} (r : α → γ → Sort w) : Trans Eq r r :=
  ⟨fun h h' => h ▸ h'⟩
instance instTransEq_1 {α : Sort u} {β : Sort v} (r : α → β → Sort w) : Trans r Eq r :=
  ⟨fun h' h => h ▸ h'⟩
instance : Trans Iff Iff Iff := ⟨Iff.trans⟩

/-! ### Simplification of connectives -/

section
variable {p q r : Prop}
@[simp] theorem and_true (p : Prop) : (p ∧ True) = p := propext ⟨And.left, fun h => ⟨h, trivial⟩⟩
@[simp] theorem true_and (p : Prop) : (True ∧ p) = p := propext ⟨And.right, fun h => ⟨trivial, h⟩⟩
@[simp] theorem and_false (p : Prop) : (p ∧ False) = False := propext ⟨And.right, False.elim⟩
@[simp] theorem false_and (p : Prop) : (False ∧ p) = False := propext ⟨And.left, False.elim⟩
@[simp] theorem and_self (p : Prop) : (p ∧ p) = p := propext and_self_iff
@[simp] theorem or_true (p : Prop) : (p ∨ True) = True := eq_true (.inr trivial)
@[simp] theorem true_or (p : Prop) : (True ∨ p) = True := eq_true (.inl trivial)
@[simp] theorem or_false (p : Prop) : (p ∨ False) = p := propext ⟨fun h => h.elim id False.elim, .inl⟩
@[simp] theorem false_or (p : Prop) : (False ∨ p) = p := propext ⟨fun h => h.elim False.elim id, .inr⟩
@[simp] theorem or_self (p : Prop) : (p ∨ p) = p := propext or_self_iff
@[simp] theorem iff_true (p : Prop) : (p ↔ True) = p := propext ⟨of_iff_true, iff_true_intro⟩
@[simp] theorem true_iff (p : Prop) : (True ↔ p) = p := propext ⟨fun h => h.mp trivial, fun h => ⟨fun _ => h, fun _ => trivial⟩⟩
@[simp] theorem iff_false (p : Prop) : (p ↔ False) = ¬p := propext ⟨Iff.mp, iff_false_intro⟩
@[simp] theorem false_iff (p : Prop) : (False ↔ p) = ¬p := propext ⟨Iff.mpr, fun h => (iff_false_intro h).symm⟩
@[simp] theorem iff_self (p : Prop) : (p ↔ p) = True := eq_true Iff.rfl
@[simp] theorem not_true_eq_false : (¬True) = False := propext ⟨fun h => h trivial, False.elim⟩
@[simp] theorem not_false_eq_true : (¬False) = True := eq_true not_false
@[simp] theorem implies_true (α : Sort u) : (α → True) = True := eq_true fun _ => trivial
@[simp] theorem true_implies (p : Prop) : (True → p) = p := propext ⟨fun h => h trivial, fun h _ => h⟩
@[simp] theorem false_implies (p : Prop) : (False → p) = True := eq_true False.elim
@[simp] theorem forall_const (α : Sort u) [i : Nonempty α] (p : Prop) : (α → p) = p :=
  propext ⟨fun h => i.elim h, fun h _ => h⟩
@[simp] theorem exists_const (α : Sort u) [i : Nonempty α] (p : Prop) : (∃ _ : α, p) = p :=
  propext ⟨fun ⟨_, h⟩ => h, fun h => i.elim fun a => ⟨a, h⟩⟩
@[simp] theorem ne_eq {α : Sort u} (a b : α) : (a ≠ b) = ¬(a = b) := rfl
@[simp] theorem exists_eq {α : Sort u} {a' : α} : ∃ a, a = a' := ⟨_, rfl⟩
@[simp] theorem exists_eq' {α : Sort u} {a' : α} : ∃ a, a' = a := ⟨_, rfl⟩
@[simp] theorem forall_eq {α : Sort u} {p : α → Prop} {a' : α} : (∀ a, a = a' → p a) ↔ p a' :=
  ⟨fun h => h a' rfl, fun h a e => e ▸ h⟩
@[simp] theorem exists_eq_left {α : Sort u} {p : α → Prop} {a' : α} :
    (∃ a, a = a' ∧ p a) ↔ p a' :=
  ⟨fun ⟨_, e, h⟩ => e ▸ h, fun h => ⟨_, rfl, h⟩⟩
@[simp] theorem and_not_self_iff (a : Prop) : a ∧ ¬a ↔ False := iff_false_intro and_not_self
@[simp] theorem not_and_self_iff (a : Prop) : ¬a ∧ a ↔ False := iff_false_intro not_and_self
end

attribute [simp] eq_self
theorem forall_prop_of_true {p : Prop} {q : p → Prop} (h : p) : (∀ h' : p, q h') ↔ q h :=
  ⟨fun H => H h, fun H _ => H⟩
theorem heq_eq_eq {α : Sort u} (a b : α) : HEq a b = (a = b) := propext ⟨eq_of_heq, heq_of_eq⟩
theorem let_congr {α : Sort u} {β : Sort v} {a a' : α} {b b' : α → β} (h₁ : a = a')
    (h₂ : ∀ x, b x = b' x) : (let x := a; b x) = (let x := a'; b' x) := by
  subst h₁
  exact h₂ a
