prelude
import Init.Nat

/-! The rest of the functions on numbers that the kernel computes on literals by name. All of them
are here, with their real meaning: a name left free could be given another one in a file, and the
kernel would go on computing the standard function. Each recursion carries its own bound (`fuel`),
so that it is structural. -/

set_option autoImplicit false

namespace Nat

def divFuel : (fuel n k : Nat) → Nat
  | 0, _, _ => 0
  | fuel + 1, n, k => if 0 < k ∧ k ≤ n then divFuel fuel (n - k) k + 1 else 0

def modFuel : (fuel n k : Nat) → Nat
  | 0, n, _ => n
  | fuel + 1, n, k => if 0 < k ∧ k ≤ n then modFuel fuel (n - k) k else n

@[extern "lean_nat_div"] protected def div (n k : Nat) : Nat := divFuel n n k
@[extern "lean_nat_mod"] protected def mod (n k : Nat) : Nat := modFuel n n k

instance instDivNat : Div Nat := ⟨Nat.div⟩
instance instModNat : Mod Nat := ⟨Nat.mod⟩

def gcdFuel : (fuel m n : Nat) → Nat
  | 0, _, n => n
  | fuel + 1, m, n => if m = 0 then n else gcdFuel fuel (n % m) m

@[extern "lean_nat_gcd"] def gcd (m n : Nat) : Nat := gcdFuel m m n

def bitwiseFuel (f : Bool → Bool → Bool) : (fuel n m : Nat) → Nat
  | 0, _, _ => 0
  | fuel + 1, n, m =>
    2 * bitwiseFuel f fuel (n / 2) (m / 2)
      + cond (f (decide (n % 2 = 1)) (decide (m % 2 = 1))) 1 0

/-- `f` on the binary digits of two numbers, where `f false false = false`. -/
def bitwise (f : Bool → Bool → Bool) (n m : Nat) : Nat := bitwiseFuel f (n + m) n m

@[extern "lean_nat_land"] def land : (a b : Nat) → Nat := bitwise and
@[extern "lean_nat_lor"] def lor : (a b : Nat) → Nat := bitwise or
@[extern "lean_nat_lxor"] def xor : (a b : Nat) → Nat := bitwise bne

@[extern "lean_nat_shiftl"] def shiftLeft : (n m : Nat) → Nat
  | n, 0 => n
  | n, m + 1 => shiftLeft (2 * n) m

@[extern "lean_nat_shiftr"] def shiftRight : (n m : Nat) → Nat
  | n, 0 => n
  | n, m + 1 => shiftRight n m / 2

def log2Fuel : (fuel n : Nat) → Nat
  | 0, _ => 0
  | fuel + 1, n => if 2 ≤ n then log2Fuel fuel (n / 2) + 1 else 0

@[extern "lean_nat_log2"] def log2 (n : Nat) : Nat := log2Fuel n n

end Nat

/-- Decides a statement about all numbers below a bound by trying them. -/
instance Nat.decidableBallLT : (n : Nat) → (P : (k : Nat) → k < n → Prop) →
    [∀ n h, Decidable (P n h)] → Decidable (∀ n h, P n h)
  | 0, _, _ => isTrue fun k h => absurd h (Nat.not_lt_zero k)
  | n + 1, P, H =>
    match Nat.decidableBallLT n fun k h => P k (Nat.lt_succ_of_lt h) with
    | isFalse h => isFalse fun all => h fun k hk => all k (Nat.lt_succ_of_lt hk)
    | isTrue h =>
      match H n (Nat.lt_succ_self n) with
      | isFalse p => isFalse fun all => p (all n _)
      | isTrue p => isTrue fun m hm =>
        (Nat.lt_or_eq_of_le (Nat.le_of_lt_succ hm)).elim (h m) fun e => by subst e; exact p
