prelude
import Init.Prelude

/-! Types of the objects that the compiled library and this one share: names, syntax trees,
parser descriptions, macros. Constructor order is the memory layout, so it cannot differ. -/

set_option autoImplicit false
set_option linter.unusedVariables false
set_option genSizeOf false

universe u v w

structure Fin (n : Nat) where
  mk ::
  val : Nat
  isLt : LT.lt val n

structure BitVec (w : Nat) where
  ofFin ::
  toFin : Fin (HPow.hPow 2 w)

structure UInt8 where
  ofBitVec ::
  toBitVec : BitVec 8
structure UInt16 where
  ofBitVec ::
  toBitVec : BitVec 16
structure UInt32 where
  ofBitVec ::
  toBitVec : BitVec 32
structure UInt64 where
  ofBitVec ::
  toBitVec : BitVec 64

structure Char where
  val : UInt32

structure ByteArray where
  mk ::
  data : Array UInt8

structure String where
  ofByteArray ::
  toByteArray : ByteArray

/-! What string and character literals stand for in the kernel. Opaque: literals can be passed
around and compared by `rfl`, not computed with. -/

private theorem one_le_succ (n : Nat) : Nat.le 1 (.succ n) :=
  Nat.rec (motive := fun n => Nat.le 1 (.succ n)) .refl (fun _ h => .step h) n

instance : Inhabited Char := ⟨⟨⟨⟨⟨0, one_le_succ 4294967295⟩⟩⟩⟩⟩
instance : Inhabited String := ⟨⟨⟨⟨.nil⟩⟩⟩⟩
opaque Char.ofNat (n : Nat) : Char
opaque String.ofList (data : List Char) : String

structure String.Pos.Raw where
  byteIdx : Nat

structure Substring.Raw where
  str : String
  startPos : String.Pos.Raw
  stopPos : String.Pos.Raw

instance (α : Sort u) {β : α → Sort v} [(a : α) → Inhabited (β a)] : Inhabited ((a : α) → β a) :=
  ⟨fun _ => default⟩

inductive Except (ε : Type u) (α : Type v) where
  | error : ε → Except ε α
  | ok : α → Except ε α

inductive EStateM.Result (ε σ α : Type u) where
  | ok : α → σ → EStateM.Result ε σ α
  | error : ε → σ → EStateM.Result ε σ α

namespace Lean

inductive Name where
  | anonymous : Name
  | str (pre : Name) (str : String)
  | num (pre : Name) (i : Nat)

inductive SourceInfo where
  | original (leading : Substring.Raw) (pos : String.Pos.Raw) (trailing : Substring.Raw)
      (endPos : String.Pos.Raw)
  | synthetic (pos : String.Pos.Raw) (endPos : String.Pos.Raw) (canonical : Bool)
  | none

abbrev SyntaxNodeKind := Name

inductive Syntax.Preresolved where
  | namespace (ns : Name)
  | decl (n : Name) (fields : List String)

inductive Syntax where
  | missing : Syntax
  | node (info : SourceInfo) (kind : SyntaxNodeKind) (args : Array Syntax) : Syntax
  | atom (info : SourceInfo) (val : String) : Syntax
  | ident (info : SourceInfo) (rawVal : Substring.Raw) (val : Name)
      (preresolved : List Syntax.Preresolved) : Syntax

inductive ParserDescr where
  | const (name : Name)
  | unary (name : Name) (p : ParserDescr)
  | binary (name : Name) (p₁ p₂ : ParserDescr)
  | node (kind : SyntaxNodeKind) (prec : Nat) (p : ParserDescr)
  | trailingNode (kind : SyntaxNodeKind) (prec lhsPrec : Nat) (p : ParserDescr)
  | symbol (val : String)
  | nonReservedSymbol (val : String) (includeIdent : Bool)
  | cat (catName : Name) (rbp : Nat)
  | parser (declName : Name)
  | nodeWithAntiquot (name : String) (kind : SyntaxNodeKind) (p : ParserDescr)
  | sepBy (p : ParserDescr) (sep : String) (psep : ParserDescr) (allowTrailingSep : Bool)
  | sepBy1 (p : ParserDescr) (sep : String) (psep : ParserDescr) (allowTrailingSep : Bool)
  | unicodeSymbol (val asciiVal : String) (preserveForPP : Bool)

instance : Inhabited ParserDescr := ⟨.symbol ""⟩

abbrev TrailingParserDescr := ParserDescr

/-- What a macro is run with and what it returns. Only compiled code looks inside. -/
structure Macro.Context where
  ref : Syntax
structure Macro.State where
  scope : Nat
inductive Macro.Exception where
  | error : Syntax → String → Macro.Exception
  | unsupportedSyntax : Macro.Exception

instance : Inhabited Macro.Exception := ⟨.unsupportedSyntax⟩

abbrev Macro : Type :=
  Syntax → Macro.Context → Macro.State → EStateM.Result Macro.Exception Macro.State Syntax

abbrev PrettyPrinter.Unexpander : Type :=
  Syntax → Syntax → Unit → EStateM.Result Unit Unit Syntax

instance : Inhabited Name := ⟨.anonymous⟩
instance : Inhabited Syntax := ⟨.missing⟩

@[extern "native"] opaque Name.mkStr : Name → String → Name
@[extern "native"] opaque Name.mkNum : Name → Nat → Name
@[extern "native"] opaque Name.mkStr1 : String → Name
@[extern "native"] opaque Name.mkStr2 : String → String → Name
@[extern "native"] opaque Name.mkStr3 : String → String → String → Name
@[extern "native"] opaque Name.mkStr4 : String → String → String → String → Name
@[extern "native"] opaque Name.mkStr5 : String → String → String → String → String → Name
@[extern "native"] opaque Name.mkStr6 : String → String → String → String → String → String → Name
@[extern "native"] opaque Name.mkStr7 : String → String → String → String → String → String → String → Name :=
  fun _ _ _ _ _ _ _ => .anonymous
@[extern "native"] opaque Name.mkStr8 : String → String → String → String → String → String → String → String → Name :=
  fun _ _ _ _ _ _ _ _ => .anonymous

/-- The declaration that names a syntax category. -/
structure Parser.Category where

end Lean

/-- A default value of a parameter that is found by a tactic block. -/
@[reducible] def autoParam.{w'} (α : Sort w') (tactic : Lean.Syntax) : Sort w' := α

instance {ε σ α : Type u} [Inhabited ε] [Inhabited σ] : Inhabited (EStateM.Result ε σ α) :=
  ⟨.error default default⟩

instance : Inhabited Lean.Macro.State := ⟨⟨0⟩⟩
instance : Inhabited Unit := ⟨()⟩
