prelude
import Init.List

/-! The root module: what an ordinary Lean file imports without saying so. -/
