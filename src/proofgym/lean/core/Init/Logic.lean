prelude
import Init.Tactics

/-! Propositional and first-order logic, and the facts that `rw`, `simp`, `decide`, `calc`,
`split` and `by_cases` refer to by name. -/

set_option autoImplicit false
set_option linter.unusedVariables false

universe u v w

/-! ### Equality -/

@[refl] theorem Iff.refl (a : Prop) : a ↔ a := ⟨id, id⟩
theorem Iff.rfl {a : Prop} : a ↔ a := Iff.refl a

@[simp] theorem id_eq {α : Sort u} (a : α) : id a = a := rfl

@[macro_inline] def Eq.mp {α β : Sort u} (h : α = β) (a : α) : β := h ▸ a
@[macro_inline] def Eq.mpr {α β : Sort u} (h : α = β) (b : β) : α := h ▸ b
theorem Eq.mpr_prop {p q : Prop} (h₁ : p = q) (h₂ : q) : p := h₁ ▸ h₂
theorem HEq.rfl {α : Sort u} {a : α} : HEq a a := HEq.refl a
theorem HEq.symm {α β : Sort u} {a : α} {b : β} (h : HEq a b) : HEq b a := by cases h; exact .refl a
theorem HEq.trans {α β φ : Sort u} {a : α} {b : β} {c : φ} (h₁ : HEq a b) (h₂ : HEq b c) :
    HEq a c := by cases h₁; exact h₂
theorem Eq.comm {α : Sort u} {a b : α} : a = b ↔ b = a := ⟨Eq.symm, Eq.symm⟩
theorem eq_comm {α : Sort u} {a b : α} : a = b ↔ b = a := Eq.comm
theorem eq_self {α : Sort u} (a : α) : (a = a) = True := propext ⟨fun _ => True.intro, fun _ => rfl⟩

@[symm] theorem Ne.symm {α : Sort u} {a b : α} (h : a ≠ b) : b ≠ a := fun e => h e.symm
theorem ne_comm {α : Sort u} {a b : α} : a ≠ b ↔ b ≠ a := ⟨Ne.symm, Ne.symm⟩
theorem Ne.intro {α : Sort u} {a b : α} (h : a = b → False) : a ≠ b := h
theorem Ne.elim {α : Sort u} {a b : α} (h : a ≠ b) : a = b → False := h
theorem Ne.irrefl {α : Sort u} {a : α} (h : a ≠ a) : False := h rfl
theorem ne_of_eq_of_ne {α : Sort u} {a b c : α} (h₁ : a = b) (h₂ : b ≠ c) : a ≠ c := h₁.symm ▸ h₂
theorem ne_of_ne_of_eq {α : Sort u} {a b c : α} (h₁ : a ≠ b) (h₂ : b = c) : a ≠ c := h₂ ▸ h₁
theorem false_of_ne {α : Sort u} {a : α} : a ≠ a → False := Ne.irrefl

theorem implies_congr {p₁ p₂ : Sort u} {q₁ q₂ : Sort v} (h₁ : p₁ = p₂) (h₂ : q₁ = q₂) :
    (p₁ → q₁) = (p₂ → q₂) := by subst h₁; subst h₂; rfl
theorem implies_congr_ctx {p₁ p₂ q₁ q₂ : Prop} (h₁ : p₁ = p₂) (h₂ : p₂ → q₁ = q₂) :
    (p₁ → q₁) = (p₂ → q₂) := by
  subst h₁
  exact propext ⟨fun h hp => (h₂ hp).mp (h hp), fun h hp => (h₂ hp).mpr_prop (h hp)⟩
theorem forall_congr {α : Sort u} {p q : α → Prop} (h : ∀ a, p a = q a) :
    (∀ a, p a) = (∀ a, q a) :=
  propext ⟨fun hp a => (h a).mp (hp a), fun hq a => (h a).mpr_prop (hq a)⟩
theorem implies_dep_congr_ctx {p₁ p₂ q₁ : Prop} (h₁ : p₁ = p₂) {q₂ : p₂ → Prop}
    (h₂ : (h : p₂) → q₁ = q₂ h) : (p₁ → q₁) = ((h : p₂) → q₂ h) := by
  subst h₁
  exact propext ⟨fun h hp => (h₂ hp).mp (h hp), fun h hp => (h₂ hp).mpr_prop (h hp)⟩
theorem forall_prop_domain_congr {p₁ p₂ : Prop} {q : p₁ → Prop} (h : p₁ = p₂) :
    (∀ x : p₁, q x) = (∀ x : p₂, q (h.mpr_prop x)) := by subst h; rfl
theorem forall_prop_congr_dom {p₁ p₂ : Prop} (h : p₁ = p₂) (q : p₁ → Prop) :
    (∀ x : p₁, q x) = (∀ x : p₂, q (h.mpr_prop x)) := by subst h; rfl

/-! ### Truth values -/

theorem trivial : True := ⟨⟩
theorem mt {a b : Prop} (h₁ : a → b) (h₂ : ¬b) : ¬a := fun ha => h₂ (h₁ ha)
theorem not_false : ¬False := id
theorem of_eq_true {p : Prop} (h : p = True) : p := h.mpr_prop trivial
theorem eq_true {p : Prop} (h : p) : p = True := propext ⟨fun _ => trivial, fun _ => h⟩
theorem of_eq_false {p : Prop} (h : p = False) : ¬p := fun hp => h.mp hp
theorem eq_false {p : Prop} (h : ¬p) : p = False := propext ⟨h, False.elim⟩
theorem eq_false' {p : Prop} (h : p → False) : p = False := eq_false h
theorem not_not_intro {p : Prop} (h : p) : ¬¬p := fun hn => hn h
theorem false_of_true_eq_false (h : True = False) : False := of_eq_false h trivial
theorem true_ne_false : ¬(True = False) := false_of_true_eq_false
theorem ne_false_of_self {p : Prop} : p → p ≠ False := fun hp h => h.mp hp
theorem ne_true_of_not {p : Prop} : ¬p → p ≠ True := fun hn h => hn (of_eq_true h)
theorem true_iff_false_elim : ¬(True ↔ False) := fun h => h.mp trivial

theorem And.imp {a b c d : Prop} (f : a → c) (g : b → d) (h : a ∧ b) : c ∧ d := ⟨f h.1, g h.2⟩
theorem And.symm {a b : Prop} : a ∧ b → b ∧ a := fun ⟨ha, hb⟩ => ⟨hb, ha⟩
theorem And.comm {a b : Prop} : a ∧ b ↔ b ∧ a := ⟨And.symm, And.symm⟩
theorem and_comm {a b : Prop} : a ∧ b ↔ b ∧ a := And.comm
theorem and_assoc {a b c : Prop} : (a ∧ b) ∧ c ↔ a ∧ (b ∧ c) :=
  ⟨fun h => ⟨h.1.1, h.1.2, h.2⟩, fun h => ⟨⟨h.1, h.2.1⟩, h.2.2⟩⟩
theorem And.elim {a b : Prop} {α : Prop} (f : a → b → α) (h : a ∧ b) : α := f h.1 h.2

theorem Or.intro_left {a : Prop} (b : Prop) (h : a) : a ∨ b := .inl h
theorem Or.intro_right {b : Prop} (a : Prop) (h : b) : a ∨ b := .inr h
theorem Or.elim {a b c : Prop} (h : a ∨ b) (left : a → c) (right : b → c) : c :=
  match h with
  | .inl h => left h
  | .inr h => right h
theorem Or.symm {a b : Prop} : a ∨ b → b ∨ a := fun h => h.elim .inr .inl
theorem Or.comm {a b : Prop} : a ∨ b ↔ b ∨ a := ⟨Or.symm, Or.symm⟩
theorem or_comm {a b : Prop} : a ∨ b ↔ b ∨ a := Or.comm
theorem Or.imp {a b c d : Prop} (f : a → c) (g : b → d) (h : a ∨ b) : c ∨ d :=
  h.elim (fun x => .inl (f x)) (fun x => .inr (g x))
theorem Or.imp_left {a b c : Prop} (f : a → b) : a ∨ c → b ∨ c := .imp f id
theorem Or.imp_right {a b c : Prop} (f : b → c) : a ∨ b → a ∨ c := .imp id f
theorem Or.resolve_left {a b : Prop} (h : a ∨ b) (na : ¬a) : b := h.elim (absurd · na) id
theorem Or.resolve_right {a b : Prop} (h : a ∨ b) (nb : ¬b) : a := h.elim id (absurd · nb)
theorem Or.neg_resolve_left {a b : Prop} (h : ¬a ∨ b) (ha : a) : b := h.elim (absurd ha) id
theorem Or.neg_resolve_right {a b : Prop} (h : a ∨ ¬b) (nb : b) : a := h.elim id (absurd nb)
theorem or_assoc {a b c : Prop} : (a ∨ b) ∨ c ↔ a ∨ (b ∨ c) := by
  constructor
  · rintro ((h | h) | h)
    · exact .inl h
    · exact .inr (.inl h)
    · exact .inr (.inr h)
  · rintro (h | h | h)
    · exact .inl (.inl h)
    · exact .inl (.inr h)
    · exact .inr h

@[symm] theorem Iff.symm {a b : Prop} (h : a ↔ b) : b ↔ a := ⟨h.mpr, h.mp⟩
theorem Iff.trans {a b c : Prop} (h₁ : a ↔ b) (h₂ : b ↔ c) : a ↔ c :=
  ⟨fun ha => h₂.mp (h₁.mp ha), fun hc => h₁.mpr (h₂.mpr hc)⟩
theorem Iff.comm {a b : Prop} : (a ↔ b) ↔ (b ↔ a) := ⟨Iff.symm, Iff.symm⟩
theorem iff_comm {a b : Prop} : (a ↔ b) ↔ (b ↔ a) := Iff.comm
theorem Iff.elim {a b : Prop} {α : Prop} (f : (a → b) → (b → a) → α) (h : a ↔ b) : α := f h.mp h.mpr
theorem Iff.of_eq {a b : Prop} (h : a = b) : a ↔ b := h ▸ Iff.rfl
theorem Eq.to_iff {a b : Prop} : a = b → (a ↔ b) := Iff.of_eq
theorem iff_of_true {a b : Prop} (ha : a) (hb : b) : a ↔ b := ⟨fun _ => hb, fun _ => ha⟩
theorem iff_of_false {a b : Prop} (ha : ¬a) (hb : ¬b) : a ↔ b :=
  ⟨fun h => absurd h ha, fun h => absurd h hb⟩
theorem iff_true_intro {a : Prop} (h : a) : a ↔ True := iff_of_true h trivial
theorem iff_false_intro {a : Prop} (h : ¬a) : a ↔ False := iff_of_false h id
theorem of_iff_true {a : Prop} (h : a ↔ True) : a := h.mpr trivial
theorem not_of_iff_false {a : Prop} : (a ↔ False) → ¬a := Iff.mp
theorem iff_iff_eq {a b : Prop} : (a ↔ b) ↔ a = b := ⟨propext, Iff.of_eq⟩
theorem eq_iff_iff {a b : Prop} : (a = b) ↔ (a ↔ b) := iff_iff_eq.symm
theorem not_congr {a b : Prop} (h : a ↔ b) : ¬a ↔ ¬b := ⟨mt h.mpr, mt h.mp⟩
theorem and_congr {a b c d : Prop} (h₁ : a ↔ c) (h₂ : b ↔ d) : a ∧ b ↔ c ∧ d :=
  ⟨And.imp h₁.mp h₂.mp, And.imp h₁.mpr h₂.mpr⟩
theorem or_congr {a b c d : Prop} (h₁ : a ↔ c) (h₂ : b ↔ d) : a ∨ b ↔ c ∨ d :=
  ⟨Or.imp h₁.mp h₂.mp, Or.imp h₁.mpr h₂.mpr⟩
theorem imp_congr {a b c d : Prop} (h₁ : a ↔ c) (h₂ : b ↔ d) : (a → b) ↔ (c → d) :=
  ⟨fun h hc => h₂.mp (h (h₁.mpr hc)), fun h ha => h₂.mpr (h (h₁.mp ha))⟩
theorem iff_congr {a b c d : Prop} (h₁ : a ↔ c) (h₂ : b ↔ d) : (a ↔ b) ↔ (c ↔ d) :=
  ⟨fun h => h₁.symm.trans (h.trans h₂), fun h => h₁.trans (h.trans h₂.symm)⟩

theorem not_or {p q : Prop} : ¬(p ∨ q) ↔ ¬p ∧ ¬q :=
  ⟨fun h => ⟨fun hp => h (.inl hp), fun hq => h (.inr hq)⟩, fun h hpq => hpq.elim h.1 h.2⟩
theorem not_and {a b : Prop} : ¬(a ∧ b) ↔ (a → ¬b) := ⟨fun h ha hb => h ⟨ha, hb⟩, fun h hab => h hab.1 hab.2⟩
theorem and_imp {a b c : Prop} : (a ∧ b → c) ↔ (a → b → c) := ⟨fun h ha hb => h ⟨ha, hb⟩, fun h hab => h hab.1 hab.2⟩
theorem or_imp {a b c : Prop} : (a ∨ b → c) ↔ (a → c) ∧ (b → c) :=
  ⟨fun h => ⟨fun ha => h (.inl ha), fun hb => h (.inr hb)⟩, fun h hab => hab.elim h.1 h.2⟩
theorem and_or_left {a b c : Prop} : a ∧ (b ∨ c) ↔ (a ∧ b) ∨ (a ∧ c) :=
  ⟨fun h => h.2.elim (fun hb => .inl ⟨h.1, hb⟩) (fun hc => .inr ⟨h.1, hc⟩),
   fun h => h.elim (fun x => ⟨x.1, .inl x.2⟩) (fun x => ⟨x.1, .inr x.2⟩)⟩
theorem and_or_right {a b c : Prop} : (a ∨ b) ∧ c ↔ (a ∧ c) ∨ (b ∧ c) :=
  ⟨fun h => h.1.elim (fun ha => .inl ⟨ha, h.2⟩) (fun hb => .inr ⟨hb, h.2⟩),
   fun h => h.elim (fun x => ⟨.inl x.1, x.2⟩) (fun x => ⟨.inr x.1, x.2⟩)⟩
theorem or_and_left {a b c : Prop} : a ∨ (b ∧ c) ↔ (a ∨ b) ∧ (a ∨ c) :=
  ⟨fun h => h.elim (fun ha => ⟨.inl ha, .inl ha⟩) (fun x => ⟨.inr x.1, .inr x.2⟩),
   fun h => h.1.elim .inl (fun hb => h.2.elim .inl (fun hc => .inr ⟨hb, hc⟩))⟩
theorem or_and_right {a b c : Prop} : (a ∧ b) ∨ c ↔ (a ∨ c) ∧ (b ∨ c) :=
  ⟨fun h => h.elim (fun x => ⟨.inl x.1, .inl x.2⟩) (fun hc => ⟨.inr hc, .inr hc⟩),
   fun h => h.1.elim (fun ha => h.2.elim (fun hb => .inl ⟨ha, hb⟩) .inr) .inr⟩
theorem not_and_of_not_left {a : Prop} (b : Prop) : ¬a → ¬(a ∧ b) := mt And.left
theorem not_and_of_not_right (a : Prop) {b : Prop} : ¬b → ¬(a ∧ b) := mt And.right
theorem and_self_iff {a : Prop} : a ∧ a ↔ a := ⟨And.left, fun h => ⟨h, h⟩⟩
theorem or_self_iff {a : Prop} : a ∨ a ↔ a := ⟨fun h => h.elim id id, .inl⟩
theorem and_not_self {a : Prop} : ¬(a ∧ ¬a) | ⟨ha, hn⟩ => hn ha
theorem not_and_self {a : Prop} : ¬(¬a ∧ a) | ⟨hn, ha⟩ => hn ha
theorem not_not_em (a : Prop) : ¬¬(a ∨ ¬a) := fun h => h (.inr fun ha => h (.inl ha))
theorem imp_false {a : Prop} : (a → False) ↔ ¬a := Iff.rfl
theorem imp_not_comm {a b : Prop} : (a → ¬b) ↔ (b → ¬a) := ⟨fun h hb ha => h ha hb, fun h ha hb => h hb ha⟩

/-! ### Quantifiers -/

theorem Exists.elim {α : Sort u} {p : α → Prop} {b : Prop} (h₁ : ∃ x, p x)
    (h₂ : ∀ a, p a → b) : b :=
  match h₁ with
  | ⟨a, h⟩ => h₂ a h
theorem Exists.imp {α : Sort u} {p q : α → Prop} (h : ∀ a, p a → q a) : (∃ a, p a) → ∃ a, q a
  | ⟨a, ha⟩ => ⟨a, h a ha⟩
theorem exists_congr {α : Sort u} {p q : α → Prop} (h : ∀ a, p a ↔ q a) :
    (∃ a, p a) ↔ ∃ a, q a :=
  ⟨Exists.imp fun a => (h a).mp, Exists.imp fun a => (h a).mpr⟩
theorem forall_congr' {α : Sort u} {p q : α → Prop} (h : ∀ a, p a ↔ q a) :
    (∀ a, p a) ↔ ∀ a, q a :=
  ⟨fun H a => (h a).mp (H a), fun H a => (h a).mpr (H a)⟩
theorem not_exists {α : Sort u} {p : α → Prop} : (¬∃ x, p x) ↔ ∀ x, ¬p x :=
  ⟨fun h x hx => h ⟨x, hx⟩, fun h ⟨x, hx⟩ => h x hx⟩
theorem exists_imp {α : Sort u} {p : α → Prop} {b : Prop} : ((∃ x, p x) → b) ↔ ∀ x, p x → b :=
  ⟨fun h x hx => h ⟨x, hx⟩, fun h ⟨x, hx⟩ => h x hx⟩
theorem forall_and {α : Sort u} {p q : α → Prop} : (∀ x, p x ∧ q x) ↔ (∀ x, p x) ∧ (∀ x, q x) :=
  ⟨fun h => ⟨fun x => (h x).1, fun x => (h x).2⟩, fun h x => ⟨h.1 x, h.2 x⟩⟩
theorem exists_or {α : Sort u} {p q : α → Prop} : (∃ x, p x ∨ q x) ↔ (∃ x, p x) ∨ ∃ x, q x :=
  ⟨fun ⟨x, h⟩ => h.elim (fun hp => .inl ⟨x, hp⟩) (fun hq => .inr ⟨x, hq⟩),
   fun h => h.elim (fun ⟨x, hp⟩ => ⟨x, .inl hp⟩) (fun ⟨x, hq⟩ => ⟨x, .inr hq⟩)⟩
theorem not_forall_of_exists_not {α : Sort u} {p : α → Prop} : (∃ x, ¬p x) → ¬∀ x, p x
  | ⟨x, hn⟩, h => hn (h x)

/-! ### Functions -/

theorem Function.comp_apply {α : Sort u} {β : Sort v} {δ : Sort w} {f : β → δ} {g : α → β} {x : α} :
    (f ∘ g) x = f (g x) := rfl
theorem Function.comp_def {α : Sort u} {β : Sort v} {δ : Sort w} (f : β → δ) (g : α → β) :
    f ∘ g = fun x => f (g x) := rfl

/-! ### Quotients and extensionality -/

axiom Quot.sound {α : Sort u} {r : α → α → Prop} {a b : α} : r a b → Quot.mk r a = Quot.mk r b

unsafe axiom Quot.lcInv {α : Sort u} {r : α → α → Prop} (q : Quot r) : α

protected abbrev Quot.liftOn {α : Sort u} {β : Sort v} {r : α → α → Prop} (q : Quot r) (f : α → β)
    (c : ∀ a b, r a b → f a = f b) : β :=
  Quot.lift f c q

theorem funext {α : Sort u} {β : α → Sort v} {f g : (x : α) → β x} (h : ∀ x, f x = g x) : f = g :=
  let app (q : Quot fun (f g : (x : α) → β x) => ∀ x, f x = g x) (x : α) : β x :=
    Quot.lift (fun (f : (x : α) → β x) => f x) (fun _ _ h => h x) q
  show app (Quot.mk _ f) = app (Quot.mk _ g) from congrArg app (Quot.sound h)

attribute [ext] Prod PProd Sigma PSigma Subtype funext propext

/-! ### Injectivity of constructors -/

theorem Eq.propIntro {a b : Prop} (h₁ : a → b) (h₂ : b → a) : a = b := propext ⟨h₁, h₂⟩

abbrev HEq.homo_ndrec.{u1, u2} {α : Sort u2} {a : α} {motive : α → Sort u1} (m : motive a) {b : α}
    (h : HEq a b) : motive b :=
  (eq_of_heq h).ndrec m

theorem Lean.injEq_helper {P Q R : Prop} : (P → Q → R) → P ∧ Q → R := fun h ⟨hp, hq⟩ => h hp hq

gen_injective_theorems% Prod
gen_injective_theorems% PProd
gen_injective_theorems% MProd
gen_injective_theorems% Subtype
gen_injective_theorems% Sum
gen_injective_theorems% PSum
gen_injective_theorems% Sigma
gen_injective_theorems% PSigma
gen_injective_theorems% Nat
gen_injective_theorems% Option
gen_injective_theorems% List
