prelude

/-! The constants that the elaborator and the kernel look up by name: equality, truth values,
classes behind the operators, and the numbers and lists that literals elaborate to. No notation
exists yet, so everything here is written as plain application. -/

set_option autoImplicit false
set_option linter.unusedVariables false
set_option relaxedAutoImplicit false

universe u v w

/-! ### Marks of the code generator -/

unsafe axiom lcErased : Type
unsafe axiom lcAny : Type
unsafe axiom lcVoid : Type
unsafe axiom lcProof {α : Prop} : α
unsafe axiom lcCast {α : Sort u} {β : Sort v} (a : α) : β
unsafe axiom lcUnreachable {α : Sort u} : α

/-! ### Propositions and the smallest types -/

set_option bootstrap.inductiveCheckResultingUniverse false in
inductive PUnit : Sort u where
  | unit : PUnit

abbrev Unit : Type := PUnit

@[match_pattern] abbrev Unit.unit : Unit := PUnit.unit

@[inline] def id {α : Sort u} (a : α) : α := a

@[inline] def Function.comp {α : Sort u} {β : Sort v} {δ : Sort w} (f : β → δ) (g : α → β) :
    α → δ :=
  fun x => f (g x)

@[inline] def Function.const {α : Sort u} (β : Sort v) (a : α) : β → α := fun _ => a

set_option checkBinderAnnotations false in
abbrev inferInstance {α : Sort u} [i : α] : α := i

inductive Eq {α : Sort u} : α → α → Prop where
  | refl (a : α) : Eq a a

init_quot

abbrev Eq.ndrec.{u1, u2} {α : Sort u2} {a : α} {motive : α → Sort u1} (m : motive a) {b : α}
    (h : Eq a b) : motive b :=
  Eq.rec (motive := fun x _ => motive x) m h

inductive HEq : {α : Sort u} → α → {β : Sort u} → β → Prop where
  | refl {α : Sort u} (a : α) : HEq a a

theorem eq_of_heq {α : Sort u} {a a' : α} (h : HEq a a') : Eq a a' :=
  have step : (α β : Sort u) → (a : α) → (b : β) → HEq a b → (h : Eq α β) →
      Eq (Eq.rec (motive := fun γ _ => γ) a h) b :=
    fun _ _ a _ h =>
      HEq.rec (motive := fun {γ} c _ => (e : Eq _ γ) → Eq (Eq.rec (motive := fun δ _ => δ) a e) c)
        (fun _ => Eq.refl a) h
  step α α a a' h (Eq.refl α)

theorem heq_of_eq {α : Sort u} {a a' : α} (h : Eq a a') : HEq a a' :=
  Eq.rec (motive := fun x _ => HEq a x) (HEq.refl a) h

theorem Eq.subst {α : Sort u} {motive : α → Prop} {a b : α} (h₁ : Eq a b) (h₂ : motive a) :
    motive b :=
  Eq.ndrec h₂ h₁

@[symm] theorem Eq.symm {α : Sort u} {a b : α} (h : Eq a b) : Eq b a :=
  Eq.ndrec (motive := fun x => Eq x a) (Eq.refl a) h

theorem Eq.trans {α : Sort u} {a b c : α} (h₁ : Eq a b) (h₂ : Eq b c) : Eq a c :=
  Eq.ndrec h₁ h₂

theorem congrArg {α : Sort u} {β : Sort v} {a₁ a₂ : α} (f : α → β) (h : Eq a₁ a₂) :
    Eq (f a₁) (f a₂) :=
  Eq.ndrec (motive := fun x => Eq (f a₁) (f x)) (Eq.refl (f a₁)) h

theorem congr {α : Sort u} {β : Sort v} {f₁ f₂ : α → β} {a₁ a₂ : α} (h₁ : Eq f₁ f₂)
    (h₂ : Eq a₁ a₂) : Eq (f₁ a₁) (f₂ a₂) :=
  Eq.trans (congrArg (fun (f : α → β) => f a₁) h₁) (congrArg f₂ h₂)

theorem congrFun {α : Sort u} {β : α → Sort v} {f g : (x : α) → β x} (h : Eq f g) (a : α) :
    Eq (f a) (g a) :=
  Eq.ndrec (motive := fun (g : (x : α) → β x) => Eq (f a) (g a)) (Eq.refl (f a)) h

theorem congrFun' {α : Sort u} {β : Sort v} {f g : α → β} (h : Eq f g) (a : α) :
    Eq (f a) (g a) :=
  congrFun h a

@[macro_inline] def cast {α β : Sort u} (h : Eq α β) (a : α) : β :=
  Eq.rec (motive := fun γ _ => γ) a h

inductive True : Prop where
  | intro : True

inductive False : Prop

inductive Empty : Type

set_option bootstrap.inductiveCheckResultingUniverse false in
inductive PEmpty : Sort u

inductive Bool : Type where
  | false : Bool
  | true : Bool

export Bool (false true)

@[macro_inline] def cond {α : Sort u} (c : Bool) (x y : α) : α :=
  Bool.casesOn (motive := fun _ => α) c y x

def Not (a : Prop) : Prop := a → False

set_option linter.defProp false in
@[match_pattern] def rfl {α : Sort u} {a : α} : Eq a a := Eq.refl a

structure Prod (α : Type u) (β : Type v) where
  mk ::
  fst : α
  snd : β

structure MProd (α β : Type u) where
  mk ::
  fst : α
  snd : β

structure PSigma {α : Sort u} (β : α → Sort v) where
  mk ::
  fst : α
  snd : β fst

structure PULift.{r, s} (α : Sort s) : Sort (max s r 1) where
  up ::
  down : α

structure PProd (α : Sort u) (β : Sort v) where
  mk ::
  fst : α
  snd : β

set_option genCtorIdx false in
inductive Nat : Type where
  | zero : Nat
  | succ (n : Nat) : Nat

set_option bootstrap.genMatcherCode false in
@[extern "lean_nat_add"] protected def Nat.add : (a b : Nat) → Nat
  | a, .zero => a
  | a, .succ b => .succ (Nat.add a b)

set_option bootstrap.genMatcherCode false in
@[extern "lean_nat_mul"] protected def Nat.mul : (a b : Nat) → Nat
  | _, .zero => .zero
  | a, .succ b => Nat.add (Nat.mul a b) a

set_option bootstrap.genMatcherCode false in
@[extern "lean_nat_pow"] protected def Nat.pow (a : Nat) : (b : Nat) → Nat
  | .zero => .succ .zero
  | .succ b => Nat.mul (Nat.pow a b) a

set_option bootstrap.genMatcherCode false in
@[extern "lean_nat_pred"] def Nat.pred : (n : Nat) → Nat
  | .zero => .zero
  | .succ n => n

set_option bootstrap.genMatcherCode false in
@[extern "lean_nat_sub"] protected def Nat.sub : (a b : Nat) → Nat
  | a, .zero => a
  | a, .succ b => Nat.pred (Nat.sub a b)

set_option bootstrap.genMatcherCode false in
@[extern "lean_nat_dec_eq"] def Nat.beq : (a b : Nat) → Bool
  | .zero, .zero => true
  | .zero, .succ _ => false
  | .succ _, .zero => false
  | .succ a, .succ b => Nat.beq a b

set_option bootstrap.genMatcherCode false in
@[extern "lean_nat_dec_le"] def Nat.ble : (a b : Nat) → Bool
  | .zero, .zero => true
  | .zero, .succ _ => true
  | .succ _, .zero => false
  | .succ a, .succ b => Nat.ble a b

@[reducible] def wfParam {α : Sort u} (a : α) : α := a

class inductive Decidable (p : Prop) where
  | isFalse (h : Not p) : Decidable p
  | isTrue (h : p) : Decidable p

export Decidable (isTrue isFalse)

@[inline_if_reduce, nospecialize] def Decidable.decide (p : Prop) [h : Decidable p] : Bool :=
  Decidable.casesOn (motive := fun _ => Bool) h (fun _ => false) (fun _ => true)

export Decidable (decide)

abbrev DecidablePred {α : Sort u} (r : α → Prop) := (a : α) → Decidable (r a)
abbrev DecidableRel {α : Sort u} {β : Sort v} (r : α → β → Prop) :=
  (a : α) → (b : β) → Decidable (r a b)
abbrev DecidableEq (α : Sort u) := (a b : α) → Decidable (Eq a b)

theorem Nat.eq_of_beq_eq_true : {n m : Nat} → Eq (Nat.beq n m) true → Eq n m
  | .zero, .zero, _ => rfl
  | .zero, .succ _, h => Bool.noConfusion h
  | .succ _, .zero, h => Bool.noConfusion h
  | .succ _, .succ _, h => congrArg Nat.succ (Nat.eq_of_beq_eq_true h)

theorem Nat.beq_refl : (n : Nat) → Eq (Nat.beq n n) true
  | .zero => rfl
  | .succ n => Nat.beq_refl n

theorem Nat.ne_of_beq_eq_false {n m : Nat} (h : Eq (Nat.beq n m) false) : Not (Eq n m) :=
  fun e => Bool.noConfusion
    (Eq.trans (Eq.symm h) (Eq.ndrec (motive := fun k => Eq (Nat.beq n k) true) (Nat.beq_refl n) e))

/-- Two values that a function into `Nat` tells apart are different. -/
theorem noConfusion_of_Nat {α : Sort u} (f : α → Nat) {a b : α} (h : Eq a b) :
    Bool.rec (motive := fun _ => Prop) False True (Nat.beq (f a) (f b)) :=
  have same : Eq (Nat.beq (f a) (f b)) true :=
    Eq.ndrec (motive := fun c => Eq (Nat.beq (f a) (f c)) true) (Nat.beq_refl (f a)) h
  @Eq.ndrec Bool true (fun t => Bool.rec (motive := fun _ => Prop) False True t)
    True.intro _ (Eq.symm same)

@[reducible, extern "lean_nat_dec_eq"]
protected def Nat.decEq (n m : Nat) : Decidable (Eq n m) :=
  match h : Nat.beq n m with
  | true => isTrue (Nat.eq_of_beq_eq_true h)
  | false => isFalse (Nat.ne_of_beq_eq_false h)

attribute [gen_constructor_elims] Bool Nat

@[inline] instance instDecidableEqNat : DecidableEq Nat := Nat.decEq

structure And (a b : Prop) : Prop where
  intro ::
  left : a
  right : b

inductive Or (a b : Prop) : Prop where
  | inl (h : a) : Or a b
  | inr (h : b) : Or a b

structure Iff (a b : Prop) : Prop where
  intro ::
  mp : a → b
  mpr : b → a

inductive Exists {α : Sort u} (p : α → Prop) : Prop where
  | intro (w : α) (h : p w) : Exists p

@[macro_inline] def False.elim {C : Sort u} (h : False) : C := False.rec (fun _ => C) h

@[macro_inline] def absurd {a : Prop} {b : Sort v} (h₁ : a) (h₂ : Not a) : b :=
  False.elim (h₂ h₁)

@[reducible] def Ne {α : Sort u} (a b : α) : Prop := Not (Eq a b)

/-! ### Pairs, sums and the types used by the match compiler -/

inductive Sum (α : Type u) (β : Type v) where
  | inl (val : α) : Sum α β
  | inr (val : β) : Sum α β

inductive PSum (α : Sort u) (β : Sort v) where
  | inl (val : α) : PSum α β
  | inr (val : β) : PSum α β

structure Sigma {α : Type u} (β : α → Type v) where
  mk ::
  fst : α
  snd : β fst

structure Subtype {α : Sort u} (p : α → Prop) where
  val : α
  property : p val

structure PLift (α : Sort u) : Type u where
  up ::
  down : α

structure ULift.{r, s} (α : Type s) : Type (max s r) where
  up ::
  down : α

inductive Option (α : Type u) where
  | none : Option α
  | some (val : α) : Option α

export Option (none some)

inductive List (α : Type u) where
  | nil : List α
  | cons (head : α) (tail : List α) : List α

structure Array (α : Type u) where
  mk ::
  toList : List α

class inductive Nonempty (α : Sort u) : Prop where
  | intro (val : α) : Nonempty α

class Inhabited (α : Sort u) where
  default : α

export Inhabited (default)

class Subsingleton (α : Sort u) : Prop where
  intro ::
  allEq : (a b : α) → Eq a b

@[macro_inline] def ite {α : Sort u} (c : Prop) [h : Decidable c] (t e : α) : α :=
  Decidable.casesOn (motive := fun _ => α) h (fun _ => e) (fun _ => t)

@[macro_inline] def dite {α : Sort u} (c : Prop) [h : Decidable c] (t : c → α) (e : Not c → α) :
    α :=
  Decidable.casesOn (motive := fun _ => α) h e t

@[macro_inline] def Bool.or (x y : Bool) : Bool := cond x true y
@[macro_inline] def Bool.and (x y : Bool) : Bool := cond x y false
@[inline] def Bool.not (x : Bool) : Bool := cond x false true

export Bool (or and not)

/-! ### Annotations that the elaborator leaves in terms -/

@[reducible] def outParam (α : Sort u) : Sort u := α
@[reducible] def semiOutParam (α : Sort u) : Sort u := α
@[reducible] def optParam (α : Sort u) (default : α) : Sort u := α
@[reducible] def namedPattern {α : Sort u} (x a : α) (h : Eq x a) : α := a

/-! ### Axioms -/

axiom sorryAx (α : Sort u) (synthetic : Bool) : α
axiom propext {a b : Prop} : Iff a b → Eq a b
axiom Classical.choice {α : Sort u} : Nonempty α → α

/-! ### Classes behind the operators -/

class OfNat (α : Type u) (x : Nat) where
  ofNat : α

class HSMul (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hSMul : α → β → γ
class HAdd (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hAdd : α → β → γ
class HSub (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hSub : α → β → γ
class HMul (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hMul : α → β → γ
class HDiv (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hDiv : α → β → γ
class HMod (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hMod : α → β → γ
class HPow (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hPow : α → β → γ
class HAppend (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hAppend : α → β → γ
class HOrElse (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hOrElse : α → (Unit → β) → γ

class Add (α : Type u) where
  add : α → α → α
class Sub (α : Type u) where
  sub : α → α → α
class Mul (α : Type u) where
  mul : α → α → α
class Div (α : Type u) where
  div : α → α → α
class Mod (α : Type u) where
  mod : α → α → α
class Neg (α : Type u) where
  neg : α → α
class Pow (α : Type u) (β : Type v) where
  pow : α → β → α
class NatPow (α : Type u) where
  protected pow : α → Nat → α
class Append (α : Type u) where
  append : α → α → α
class Dvd (α : Type u) where
  dvd : α → α → Prop
class LE (α : Type u) where
  le : α → α → Prop
class LT (α : Type u) where
  lt : α → α → Prop
class BEq (α : Type u) where
  beq : α → α → Bool
@[macro_inline] def bne {α : Type u} [BEq α] (a b : α) : Bool := Bool.not (BEq.beq a b)

class Max (α : Type u) where
  max : α → α → α
class Min (α : Type u) where
  min : α → α → α
class Membership (α : outParam (Type u)) (γ : Type v) where
  mem : γ → α → Prop
class HasSubset (α : Type u) where
  Subset : α → α → Prop
class EmptyCollection (α : Type u) where
  emptyCollection : α

export LT (lt)
export Max (max)
export Min (min)

@[reducible] def GE.ge {α : Type u} [LE α] (a b : α) : Prop := LE.le b a
@[reducible] def GT.gt {α : Type u} [LT α] (a b : α) : Prop := LT.lt b a

section
variable {α : Type u} {β : Type v}
@[default_instance] instance instHAdd [Add α] : HAdd α α α := ⟨Add.add⟩
@[default_instance] instance instHSub [Sub α] : HSub α α α := ⟨Sub.sub⟩
@[default_instance] instance instHMul [Mul α] : HMul α α α := ⟨Mul.mul⟩
@[default_instance] instance instHDiv [Div α] : HDiv α α α := ⟨Div.div⟩
@[default_instance] instance instHMod [Mod α] : HMod α α α := ⟨Mod.mod⟩
@[default_instance] instance instHPow [Pow α β] : HPow α β α := ⟨Pow.pow⟩
@[default_instance] instance instHAppendOfAppend [Append α] : HAppend α α α := ⟨Append.append⟩
@[default_instance] instance instPowNat [NatPow α] : Pow α Nat := ⟨NatPow.pow⟩
end

@[default_instance 100] instance instOfNatNat (n : Nat) : OfNat Nat n := ⟨n⟩

class SizeOf (α : Sort u) where
  sizeOf : α → Nat

export SizeOf (sizeOf)

/-! ### Natural numbers: the functions that the kernel computes with -/

instance instAddNat : Add Nat := ⟨Nat.add⟩
attribute [match_pattern] Nat.add Add.add HAdd.hAdd
instance instMulNat : Mul Nat := ⟨Nat.mul⟩
instance instNatPowNat : NatPow Nat := ⟨Nat.pow⟩
instance instSubNat : Sub Nat := ⟨Nat.sub⟩

protected inductive Nat.le (n : Nat) : Nat → Prop
  | refl : Nat.le n n
  | step {m : Nat} : Nat.le n m → Nat.le n (.succ m)

instance instLENat : LE Nat := ⟨Nat.le⟩

protected def Nat.lt (n m : Nat) : Prop := Nat.le (HAdd.hAdd n 1) m

instance instLTNat : LT Nat := ⟨Nat.lt⟩

/-! ### Sizes, which `inductive` and the termination checker ask for -/

@[reducible] protected def default.sizeOf (α : Sort u) : α → Nat := fun _ => 0

instance (priority := 100) instSizeOfDefault (α : Sort u) : SizeOf α := ⟨default.sizeOf α⟩

instance instSizeOfNat : SizeOf Nat := ⟨fun n => n⟩

deriving instance SizeOf for PUnit, Bool, Prod, PProd, Sum, PSum, Sigma, PSigma, Subtype, Option,
  List, Array
