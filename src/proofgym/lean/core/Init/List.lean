prelude
import Init.NatBinary

/-! Lists, options, pairs and Booleans. -/

set_option autoImplicit false
set_option linter.unusedVariables false

universe u v w x

theorem Bool.of_not_eq_true : ∀ {b : Bool}, ¬b = true → b = false
  | true, h => absurd rfl h
  | false, _ => rfl
theorem Bool.of_not_eq_false : ∀ {b : Bool}, ¬b = false → b = true
  | true, _ => rfl
  | false, h => absurd rfl h
@[simp] theorem Bool.false_ne_true : false ≠ true := fun h => nomatch h

section
variable {α : Type u} {β : Type v} {γ : Type w}

namespace List

def length : List α → Nat
  | nil => 0
  | cons _ as => length as + 1

protected def append : (xs ys : List α) → List α
  | [], ys => ys
  | a :: as, ys => a :: List.append as ys

instance instAppend : Append (List α) := ⟨List.append⟩

@[specialize] def map (f : α → β) : (l : List α) → List β
  | [] => []
  | a :: as => f a :: map f as

@[specialize] def filter (p : α → Bool) : (l : List α) → List α
  | [] => []
  | a :: as => match p a with
    | true => a :: filter p as
    | false => filter p as

@[specialize] def foldr (f : α → β → β) (init : β) : (l : List α) → β
  | [] => init
  | a :: as => f a (foldr f init as)

@[specialize] def foldl (f : α → β → α) : (init : α) → (l : List β) → α
  | a, [] => a
  | a, b :: l => foldl f (f a b) l

def reverseAux : List α → List α → List α
  | [], r => r
  | a :: l, r => reverseAux l (a :: r)

def reverse (as : List α) : List α := reverseAux as []

def replicate : (n : Nat) → (a : α) → List α
  | 0, _ => []
  | n + 1, a => a :: replicate n a

def head? : List α → Option α
  | [] => none
  | a :: _ => some a

def tail : List α → List α
  | [] => []
  | _ :: as => as

def take : (n : Nat) → (xs : List α) → List α
  | 0, _ => []
  | _ + 1, [] => []
  | n + 1, a :: as => a :: take n as

def drop : (n : Nat) → (xs : List α) → List α
  | 0, xs => xs
  | _ + 1, [] => []
  | n + 1, _ :: as => drop n as

def isEmpty : List α → Bool
  | [] => true
  | _ :: _ => false

def any : (l : List α) → (p : α → Bool) → Bool
  | [], _ => false
  | h :: t, p => p h || any t p

def all : List α → (α → Bool) → Bool
  | [], _ => true
  | h :: t, p => p h && all t p

protected def sum : List Nat → Nat := foldr (· + ·) 0

inductive Mem (a : α) : List α → Prop where
  | head (as : List α) : Mem a (a :: as)
  | tail (b : α) {as : List α} : Mem a as → Mem a (b :: as)

instance instMembership : Membership α (List α) := ⟨fun l a => Mem a l⟩

instance instInhabited : Inhabited (List α) := ⟨[]⟩

/-! ### Length and append -/

@[simp] theorem length_nil : length ([] : List α) = 0 := rfl
@[simp] theorem length_cons {a : α} {as : List α} : (a :: as).length = as.length + 1 := rfl
@[simp] theorem length_singleton {a : α} : length [a] = 1 := rfl
@[simp] theorem nil_append (as : List α) : [] ++ as = as := rfl
@[simp] theorem cons_append {a : α} {as bs : List α} : (a :: as) ++ bs = a :: (as ++ bs) := rfl
@[simp] theorem append_eq {as bs : List α} : List.append as bs = as ++ bs := rfl
@[simp] theorem append_nil (as : List α) : as ++ [] = as := by
  induction as with
  | nil => rfl
  | cons a as ih => rw [cons_append, ih]
@[simp] theorem append_assoc (as bs cs : List α) : (as ++ bs) ++ cs = as ++ (bs ++ cs) := by
  induction as with
  | nil => rfl
  | cons a as ih => rw [cons_append, cons_append, ih, cons_append]
theorem append_cons (as : List α) (b : α) (bs : List α) : as ++ b :: bs = as ++ [b] ++ bs := by
  rw [append_assoc]; rfl
@[simp] theorem length_append {as bs : List α} : (as ++ bs).length = as.length + bs.length := by
  induction as with
  | nil => exact (Nat.zero_add _).symm
  | cons a as ih => rw [cons_append, length_cons, ih, length_cons, Nat.add_right_comm]
theorem cons_ne_nil (a : α) (l : List α) : a :: l ≠ [] := fun h => List.noConfusion rfl (heq_of_eq h)
theorem head_eq_of_cons_eq {h₁ h₂ : α} {t₁ t₂ : List α} (H : h₁ :: t₁ = h₂ :: t₂) : h₁ = h₂ :=
  (List.cons.inj H).1
theorem tail_eq_of_cons_eq {h₁ h₂ : α} {t₁ t₂ : List α} (H : h₁ :: t₁ = h₂ :: t₂) : t₁ = t₂ :=
  (List.cons.inj H).2
theorem eq_nil_of_length_eq_zero {l : List α} (h : length l = 0) : l = [] := by
  cases l with
  | nil => rfl
  | cons a l => exact absurd h (Nat.succ_ne_zero _)
@[simp] theorem length_eq_zero_iff {l : List α} : length l = 0 ↔ l = [] :=
  ⟨eq_nil_of_length_eq_zero, fun h => h ▸ rfl⟩
theorem append_cancel_left {as bs cs : List α} (h : as ++ bs = as ++ cs) : bs = cs := by
  induction as with
  | nil => exact h
  | cons a as ih => exact ih (tail_eq_of_cons_eq h)

/-! ### Map, filter, fold -/

@[simp] theorem map_nil {f : α → β} : map f [] = [] := rfl
@[simp] theorem map_cons {f : α → β} {a : α} {l : List α} : map f (a :: l) = f a :: map f l := rfl
@[simp] theorem length_map {as : List α} (f : α → β) : (as.map f).length = as.length := by
  induction as with
  | nil => rfl
  | cons a as ih => rw [map_cons, length_cons, ih, length_cons]
@[simp] theorem map_id (l : List α) : map id l = l := by
  induction l with
  | nil => rfl
  | cons a l ih => rw [map_cons, ih]; rfl
@[simp] theorem map_map {g : β → γ} {f : α → β} {l : List α} : map g (map f l) = map (g ∘ f) l := by
  induction l with
  | nil => rfl
  | cons a l ih => rw [map_cons, map_cons, ih]; rfl
@[simp] theorem map_append {f : α → β} {l₁ l₂ : List α} : map f (l₁ ++ l₂) = map f l₁ ++ map f l₂ := by
  induction l₁ with
  | nil => rfl
  | cons a l ih => rw [cons_append, map_cons, ih]; rfl
@[simp] theorem filter_nil {p : α → Bool} : filter p [] = [] := rfl
theorem filter_cons {p : α → Bool} {x : α} {xs : List α} :
    filter p (x :: xs) = if p x = true then x :: filter p xs else filter p xs := by
  show (match p x with
    | true => x :: filter p xs
    | false => filter p xs) = _
  cases p x with
  | true => exact (if_pos rfl).symm
  | false => exact (if_neg Bool.false_ne_true).symm
@[simp] theorem filter_cons_of_pos {p : α → Bool} {a : α} {l : List α} (pa : p a = true) :
    filter p (a :: l) = a :: filter p l := by rw [filter_cons, if_pos pa]
@[simp] theorem filter_cons_of_neg {p : α → Bool} {a : α} {l : List α} (pa : ¬p a = true) :
    filter p (a :: l) = filter p l := by rw [filter_cons, if_neg pa]
theorem filter_append {p : α → Bool} (l₁ l₂ : List α) :
    filter p (l₁ ++ l₂) = filter p l₁ ++ filter p l₂ := by
  induction l₁ with
  | nil => rfl
  | cons a l ih =>
    rw [cons_append, filter_cons, filter_cons, ih]
    split
    · rfl
    · rfl
theorem length_filter_le (p : α → Bool) (l : List α) : (l.filter p).length ≤ l.length := by
  induction l with
  | nil => exact Nat.le_refl 0
  | cons a l ih =>
    rw [filter_cons]
    split
    · exact Nat.succ_le_succ ih
    · exact Nat.le_succ_of_le ih
@[simp] theorem foldr_nil {f : α → β → β} {b : β} : foldr f b [] = b := rfl
@[simp] theorem foldr_cons {a : α} {l : List α} {f : α → β → β} {b : β} :
    (a :: l).foldr f b = f a (l.foldr f b) := rfl
@[simp] theorem foldl_nil {f : β → α → β} {b : β} : foldl f b [] = b := rfl
@[simp] theorem foldl_cons {a : α} {l : List α} {f : β → α → β} {b : β} :
    (a :: l).foldl f b = l.foldl f (f b a) := rfl
@[simp] theorem foldr_append {f : α → β → β} {b : β} {l l' : List α} :
    (l ++ l').foldr f b = l.foldr f (l'.foldr f b) := by
  induction l with
  | nil => rfl
  | cons a l ih => rw [cons_append, foldr_cons, foldr_cons, ih]
@[simp] theorem foldl_append {f : β → α → β} {b : β} {l l' : List α} :
    (l ++ l').foldl f b = l'.foldl f (l.foldl f b) := by
  induction l generalizing b with
  | nil => rfl
  | cons a l ih => rw [cons_append, foldl_cons, foldl_cons, ih]

/-! ### Reverse -/

theorem reverseAux_eq {as bs : List α} : reverseAux as bs = reverse as ++ bs := by
  induction as generalizing bs with
  | nil => rfl
  | cons a as ih =>
    show reverseAux as (a :: bs) = reverseAux as [a] ++ bs
    rw [ih, ih (bs := [a]), append_assoc]
    rfl
@[simp] theorem reverse_nil : reverse ([] : List α) = [] := rfl
@[simp] theorem reverse_cons {a : α} {as : List α} : reverse (a :: as) = reverse as ++ [a] := by
  show reverseAux as [a] = reverse as ++ [a]
  exact reverseAux_eq
@[simp] theorem reverse_singleton {a : α} : reverse [a] = [a] := rfl
@[simp] theorem reverse_append {as bs : List α} : (as ++ bs).reverse = bs.reverse ++ as.reverse := by
  induction as with
  | nil => rw [nil_append, reverse_nil, append_nil]
  | cons a as ih => rw [cons_append, reverse_cons, ih, reverse_cons, append_assoc]
@[simp] theorem reverse_reverse (as : List α) : as.reverse.reverse = as := by
  induction as with
  | nil => rfl
  | cons a as ih => rw [reverse_cons, reverse_append, ih]; rfl
@[simp] theorem length_reverse {as : List α} : as.reverse.length = as.length := by
  induction as with
  | nil => rfl
  | cons a as ih => rw [reverse_cons, length_append, ih]; rfl
theorem map_reverse {f : α → β} {l : List α} : map f l.reverse = (map f l).reverse := by
  induction l with
  | nil => rfl
  | cons a l ih => rw [reverse_cons, map_append, ih, map_cons, map_cons, reverse_cons, map_nil]

/-! ### Membership -/

@[simp] theorem not_mem_nil {a : α} : ¬a ∈ ([] : List α) := fun h => nomatch h
@[simp] theorem mem_cons {a b : α} {l : List α} : a ∈ b :: l ↔ a = b ∨ a ∈ l := by
  constructor
  · intro h
    cases h with
    | head => exact .inl rfl
    | tail _ h => exact .inr h
  · rintro (h | h)
    · rw [h]; exact Mem.head l
    · exact Mem.tail b h
theorem mem_cons_self {a : α} {l : List α} : a ∈ a :: l := Mem.head l
theorem mem_cons_of_mem (y : α) {a : α} {l : List α} (h : a ∈ l) : a ∈ y :: l := Mem.tail y h
theorem eq_or_mem_of_mem_cons {a b : α} {l : List α} : a ∈ b :: l → a = b ∨ a ∈ l := mem_cons.mp
theorem mem_singleton {a b : α} : a ∈ [b] ↔ a = b := by
  rw [mem_cons]
  exact ⟨fun h => h.resolve_right not_mem_nil, .inl⟩
@[simp] theorem mem_append {a : α} {s t : List α} : a ∈ s ++ t ↔ a ∈ s ∨ a ∈ t := by
  induction s with
  | nil => exact ⟨.inr, fun h => h.resolve_left not_mem_nil⟩
  | cons b s ih => rw [cons_append, mem_cons, mem_cons, ih, or_assoc]
theorem mem_append_left {a : α} {as : List α} (bs : List α) (h : a ∈ as) : a ∈ as ++ bs :=
  mem_append.mpr (.inl h)
theorem mem_append_right {b : α} (as : List α) {bs : List α} (h : b ∈ bs) : b ∈ as ++ bs :=
  mem_append.mpr (.inr h)
@[simp] theorem mem_map {b : β} {f : α → β} {l : List α} : b ∈ l.map f ↔ ∃ a, a ∈ l ∧ f a = b := by
  induction l with
  | nil => exact ⟨fun h => absurd h not_mem_nil, fun ⟨_, h, _⟩ => absurd h not_mem_nil⟩
  | cons c l ih =>
    rw [map_cons, mem_cons, ih]
    constructor
    · rintro (h | ⟨a, ha, e⟩)
      · exact ⟨c, mem_cons_self, h.symm⟩
      · exact ⟨a, mem_cons_of_mem c ha, e⟩
    · rintro ⟨a, ha, e⟩
      cases mem_cons.mp ha with
      | inl h => exact .inl (h ▸ e.symm)
      | inr h => exact .inr ⟨a, h, e⟩
theorem mem_map_of_mem {f : α → β} {a : α} {l : List α} (h : a ∈ l) : f a ∈ map f l :=
  mem_map.mpr ⟨a, h, rfl⟩
@[simp] theorem mem_reverse {x : α} {as : List α} : x ∈ reverse as ↔ x ∈ as := by
  induction as with
  | nil => exact Iff.rfl
  | cons a as ih => rw [reverse_cons, mem_append, ih, mem_singleton, mem_cons, or_comm]

/-! ### Take and drop -/

@[simp] theorem take_zero {l : List α} : l.take 0 = [] := rfl
@[simp] theorem take_nil {i : Nat} : ([] : List α).take i = [] := by cases i <;> rfl
@[simp] theorem take_succ_cons {a : α} {as : List α} {i : Nat} : (a :: as).take (i + 1) = a :: as.take i := rfl
@[simp] theorem drop_zero {l : List α} : l.drop 0 = l := rfl
@[simp] theorem drop_nil {i : Nat} : ([] : List α).drop i = [] := by cases i <;> rfl
@[simp] theorem drop_succ_cons {a : α} {l : List α} {i : Nat} : (a :: l).drop (i + 1) = l.drop i := rfl
@[simp] theorem take_append_drop (i : Nat) (l : List α) : take i l ++ drop i l = l := by
  induction l generalizing i with
  | nil => rw [take_nil, drop_nil]; rfl
  | cons a l ih =>
    cases i with
    | zero => rfl
    | succ i => rw [take_succ_cons, drop_succ_cons, cons_append, ih]
@[simp] theorem length_replicate {n : Nat} {a : α} : (replicate n a).length = n := by
  induction n with
  | zero => rfl
  | succ n ih => exact congrArg Nat.succ ih
theorem replicate_succ {a : α} {n : Nat} : replicate (n + 1) a = a :: replicate n a := rfl

protected def hasDecEq [DecidableEq α] : (a b : List α) → Decidable (a = b)
  | [], [] => isTrue rfl
  | _ :: _, [] => isFalse (cons_ne_nil _ _)
  | [], _ :: _ => isFalse (cons_ne_nil _ _).symm
  | a :: as, b :: bs =>
    match (inferInstance : Decidable (a = b)) with
    | isTrue hab =>
      match List.hasDecEq as bs with
      | isTrue h => isTrue (hab ▸ h ▸ rfl)
      | isFalse h => isFalse fun e => h (tail_eq_of_cons_eq e)
    | isFalse hab => isFalse fun e => hab (head_eq_of_cons_eq e)

instance instDecidableEq [DecidableEq α] : DecidableEq (List α) := List.hasDecEq

end List

/-! ### Options -/

namespace Option

@[inline] protected def map (f : α → β) : Option α → Option β
  | some x => some (f x)
  | none => none

@[inline] protected def bind : Option α → (α → Option β) → Option β
  | none, _ => none
  | some a, f => f a

@[macro_inline] def getD (opt : Option α) (dflt : α) : α :=
  match opt with
  | some x => x
  | none => dflt

@[inline] def isSome : Option α → Bool
  | some _ => true
  | none => false

@[inline] def isNone : Option α → Bool
  | some _ => false
  | none => true

theorem some_ne_none (x : α) : some x ≠ none := fun h => nomatch h
theorem some_inj {a b : α} : some a = some b ↔ a = b := ⟨Option.some.inj, congrArg some⟩
@[simp] theorem map_none (f : α → β) : none.map f = none := rfl
@[simp] theorem map_some (a : α) (f : α → β) : (some a).map f = some (f a) := rfl
theorem map_id {x : Option α} : x.map id = x := by cases x <;> rfl
@[simp] theorem map_map (h : β → γ) (g : α → β) (x : Option α) : (x.map g).map h = x.map (h ∘ g) := by
  cases x <;> rfl
@[simp] theorem getD_none (a : α) : getD none a = a := rfl
@[simp] theorem getD_some (a b : α) : getD (some a) b = a := rfl
@[simp] theorem isSome_some (a : α) : (some a).isSome = true := rfl
@[simp] theorem isSome_none : (none : Option α).isSome = false := rfl

end Option

/-! ### Pairs and sums -/

namespace Prod

def swap : α × β → β × α := fun p => (p.2, p.1)
def map {δ : Type x} (f : α → γ) (g : β → δ) : α × β → γ × δ := fun p => (f p.1, g p.2)
@[simp] theorem mk.eta (p : α × β) : (p.1, p.2) = p := rfl
@[simp] theorem swap_swap (p : α × β) : swap (swap p) = p := rfl
theorem eta (p : α × β) : (p.fst, p.snd) = p := rfl

end Prod

instance [Inhabited α] [Inhabited β] : Inhabited (α × β) := ⟨(default, default)⟩

end

/-! ### Booleans -/

namespace Bool

@[simp] theorem not_not (b : Bool) : (!!b) = b := by cases b <;> rfl
@[simp] theorem and_true (b : Bool) : (b && true) = b := by cases b <;> rfl
@[simp] theorem true_and (b : Bool) : (true && b) = b := rfl
@[simp] theorem and_false (b : Bool) : (b && false) = false := by cases b <;> rfl
@[simp] theorem false_and (b : Bool) : (false && b) = false := rfl
@[simp] theorem or_true (b : Bool) : (b || true) = true := by cases b <;> rfl
@[simp] theorem true_or (b : Bool) : (true || b) = true := rfl
@[simp] theorem or_false (b : Bool) : (b || false) = b := by cases b <;> rfl
@[simp] theorem false_or (b : Bool) : (false || b) = b := rfl
@[simp] theorem and_self (b : Bool) : (b && b) = b := by cases b <;> rfl
@[simp] theorem or_self (b : Bool) : (b || b) = b := by cases b <;> rfl
theorem and_comm (x y : Bool) : (x && y) = (y && x) := by cases x <;> cases y <;> rfl
theorem or_comm (x y : Bool) : (x || y) = (y || x) := by cases x <;> cases y <;> rfl
theorem and_assoc (x y z : Bool) : ((x && y) && z) = (x && (y && z)) := by cases x <;> rfl
theorem or_assoc (x y z : Bool) : ((x || y) || z) = (x || (y || z)) := by cases x <;> rfl
@[simp] theorem not_and (x y : Bool) : (!(x && y)) = (!x || !y) := by cases x <;> rfl
@[simp] theorem not_or (x y : Bool) : (!(x || y)) = (!x && !y) := by cases x <;> rfl
theorem and_eq_true (a b : Bool) : ((a && b) = true) = (a = true ∧ b = true) :=
  propext ⟨fun h => by cases a <;> cases b <;> first | exact ⟨rfl, rfl⟩ | exact Bool.noConfusion h,
    fun ⟨h₁, h₂⟩ => by rw [h₁, h₂]; rfl⟩
theorem eq_false_of_ne_true : ∀ {b : Bool}, b ≠ true → b = false
  | true, h => absurd rfl h
  | false, _ => rfl
theorem eq_true_of_ne_false : ∀ {b : Bool}, b ≠ false → b = true
  | true, _ => rfl
  | false, h => absurd rfl h
theorem eq_false_or_eq_true : (b : Bool) → b = true ∨ b = false
  | true => .inl rfl
  | false => .inr rfl

end Bool
