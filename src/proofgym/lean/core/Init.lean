prelude
import Init.Classical

/-! The root module: what an ordinary Lean file imports without saying so. -/
