prelude
import Init.Runtime

/-! Term notation. The parsers and the macros are compiled into the shared library; a declaration
under the standard name makes the interpreter use that code. Where a notation has two macros,
the later declaration is tried first. -/

set_option autoImplicit false
set_option linter.unusedVariables false

/-! ### Precedences and priorities -/

@[extern "native", prec_parser] opaque precArg : Lean.ParserDescr
@[extern "native", macro precArg] opaque _aux_Init_Notation___macroRules_precArg_1 : Lean.Macro
@[extern "native", prec_parser] opaque precLead : Lean.ParserDescr
@[extern "native", macro precLead] opaque _aux_Init_Notation___macroRules_precLead_1 : Lean.Macro
@[extern "native", prec_parser] opaque precMax : Lean.ParserDescr
@[extern "native", macro precMax] opaque _aux_Init_Notation___macroRules_precMax_1 : Lean.Macro
@[extern "native", prec_parser] opaque precMin : Lean.ParserDescr
@[extern "native", macro precMin] opaque _aux_Init_Notation___macroRules_precMin_1 : Lean.Macro
@[extern "native", prec_parser] opaque precMin1 : Lean.ParserDescr
@[extern "native", macro precMin1] opaque _aux_Init_Notation___macroRules_precMin1_1 : Lean.Macro
@[extern "native", prec_parser] opaque «prec(_)» : Lean.ParserDescr
@[extern "native", macro «prec(_)»] opaque «_aux_Init_Notation___macroRules_prec(_)_1» : Lean.Macro
@[extern "native", prio_parser] opaque prioDefault : Lean.ParserDescr
@[extern "native", macro prioDefault] opaque _aux_Init_Notation___macroRules_prioDefault_1 : Lean.Macro
@[extern "native", prio_parser] opaque prioHigh : Lean.ParserDescr
@[extern "native", macro prioHigh] opaque _aux_Init_Notation___macroRules_prioHigh_1 : Lean.Macro
@[extern "native", prio_parser] opaque prioLow : Lean.ParserDescr
@[extern "native", macro prioLow] opaque _aux_Init_Notation___macroRules_prioLow_1 : Lean.Macro
@[extern "native", prio_parser] opaque prioMid : Lean.ParserDescr
@[extern "native", macro prioMid] opaque _aux_Init_Notation___macroRules_prioMid_1 : Lean.Macro
@[extern "native", prio_parser] opaque «prio(_)» : Lean.ParserDescr
@[extern "native", macro «prio(_)»] opaque «_aux_Init_Notation___macroRules_prio(_)_1» : Lean.Macro

/-! ### Terms -/

declare_syntax_cat binderPred

@[extern "native", term_parser] opaque Lean.«term∀__,_» : Lean.ParserDescr
@[extern "native", macro Lean.«term∀__,_»] opaque Lean.«_aux_Init_BinderPredicates___macroRules_Lean_term∀__,__1» : Lean.Macro
@[extern "native", term_parser] opaque Lean.«term∃__,_» : Lean.ParserDescr
@[extern "native", macro Lean.«term∃__,_»] opaque Lean.«_aux_Init_BinderPredicates___macroRules_Lean_term∃__,__1» : Lean.Macro
@[extern "native", term_parser] opaque boolIfThenElse : Lean.ParserDescr
@[extern "native", macro boolIfThenElse] opaque _aux_Init_Notation___macroRules_boolIfThenElse_1 : Lean.Macro
@[extern "native", term_parser] opaque coeFunNotation : Lean.ParserDescr
@[extern "native", term_parser] opaque coeNotation : Lean.ParserDescr
@[extern "native", term_parser] opaque coeSortNotation : Lean.ParserDescr
@[extern "native", term_parser] opaque rawNatLit : Lean.ParserDescr
@[extern "native", term_parser] opaque termDepIfThenElse : Lean.ParserDescr
@[extern "native", macro termDepIfThenElse] opaque _aux_Init_Notation___macroRules_termDepIfThenElse_1 : Lean.Macro
@[extern "native", term_parser] opaque «termExists_,_» : Lean.ParserDescr
@[extern "native", macro «termExists_,_»] opaque «_aux_Init_NotationExtra___macroRules_termExists_,__1» : Lean.Macro
@[extern "native", term_parser] opaque termIfLet : Lean.ParserDescr
@[extern "native", macro termIfLet] opaque _aux_Init_Notation___macroRules_termIfLet_1 : Lean.Macro
@[extern "native", term_parser] opaque termIfThenElse : Lean.ParserDescr
@[extern "native", macro termIfThenElse] opaque _aux_Init_Notation___macroRules_termIfThenElse_1 : Lean.Macro
@[extern "native", term_parser] opaque termWithout_expected_type_ : Lean.ParserDescr
@[extern "native", macro termWithout_expected_type_] opaque _aux_Init_Notation___macroRules_termWithout_expected_type__1 : Lean.Macro
@[extern "native", term_parser] opaque «term__[_]» : Lean.TrailingParserDescr
@[extern "native", macro «term__[_]»] opaque Std.«_aux_Init_Data_Slice_Notation___macroRules_term__[_]_1» : Lean.Macro
@[extern "native", macro «term__[_]»] opaque «_aux_Init_GetElem___macroRules_term__[_]_1» : Lean.Macro
@[extern "native", term_parser] opaque «term__[_]_!» : Lean.TrailingParserDescr
@[extern "native", macro «term__[_]_!»] opaque «_aux_Init_GetElem___macroRules_term__[_]_!_1» : Lean.Macro
@[extern "native", term_parser] opaque «term__[_]_?» : Lean.TrailingParserDescr
@[extern "native", macro «term__[_]_?»] opaque «_aux_Init_GetElem___macroRules_term__[_]_?_1» : Lean.Macro
@[extern "native", term_parser] opaque «term__[_]'_» : Lean.TrailingParserDescr
@[extern "native", macro «term__[_]'_»] opaque «_aux_Init_GetElem___macroRules_term__[_]'__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_•_» : Lean.TrailingParserDescr
@[extern "native", macro «term_•_»] opaque «_aux_Init_Notation___macroRules_term_•__1» : Lean.Macro
@[extern "native", macro «term_•_»] opaque «_aux_Init_Notation___macroRules_term_•__2» : Lean.Macro
@[extern "native", term_parser] opaque «term_⁻¹» : Lean.TrailingParserDescr
@[extern "native", macro «term_⁻¹»] opaque «_aux_Init_Notation___macroRules_term_⁻¹_1» : Lean.Macro
@[extern "native", term_parser] opaque «term_↔_» : Lean.TrailingParserDescr
@[extern "native", macro «term_↔_»] opaque «_aux_Init_Core___macroRules_term_↔__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_∈_» : Lean.TrailingParserDescr
@[extern "native", macro «term_∈_»] opaque «_aux_Init_Notation___macroRules_term_∈__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_∉_» : Lean.TrailingParserDescr
@[extern "native", macro «term_∉_»] opaque «_aux_Init_Notation___macroRules_term_∉__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_∘_» : Lean.TrailingParserDescr
@[extern "native", macro «term_∘_»] opaque «_aux_Init_Notation___macroRules_term_∘__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_∣_» : Lean.TrailingParserDescr
@[extern "native", macro «term_∣_»] opaque «_aux_Init_Notation___macroRules_term_∣__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_∧_» : Lean.TrailingParserDescr
@[extern "native", macro «term_∧_»] opaque «_aux_Init_Notation___macroRules_term_∧__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_∨_» : Lean.TrailingParserDescr
@[extern "native", macro «term_∨_»] opaque «_aux_Init_Notation___macroRules_term_∨__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_∩_» : Lean.TrailingParserDescr
@[extern "native", macro «term_∩_»] opaque «_aux_Init_Core___macroRules_term_∩__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_∪_» : Lean.TrailingParserDescr
@[extern "native", macro «term_∪_»] opaque «_aux_Init_Core___macroRules_term_∪__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_≈_» : Lean.TrailingParserDescr
@[extern "native", macro «term_≈_»] opaque «_aux_Init_Core___macroRules_term_≈__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_≍_» : Lean.TrailingParserDescr
@[extern "native", macro «term_≍_»] opaque «_aux_Init_Notation___macroRules_term_≍__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_≠_» : Lean.TrailingParserDescr
@[extern "native", macro «term_≠_»] opaque «_aux_Init_Core___macroRules_term_≠__1» : Lean.Macro
@[extern "native", macro «term_≠_»] opaque «_aux_Init_Core___macroRules_term_≠__2» : Lean.Macro
@[extern "native", term_parser] opaque «term_≤_» : Lean.TrailingParserDescr
@[extern "native", macro «term_≤_»] opaque «_aux_Init_Notation___macroRules_term_≤__1» : Lean.Macro
@[extern "native", macro «term_≤_»] opaque «_aux_Init_Notation___macroRules_term_≤__2» : Lean.Macro
@[extern "native", term_parser] opaque «term_≥_» : Lean.TrailingParserDescr
@[extern "native", macro «term_≥_»] opaque «_aux_Init_Notation___macroRules_term_≥__1» : Lean.Macro
@[extern "native", macro «term_≥_»] opaque «_aux_Init_Notation___macroRules_term_≥__2» : Lean.Macro
@[extern "native", term_parser] opaque «term_⊂_» : Lean.TrailingParserDescr
@[extern "native", macro «term_⊂_»] opaque «_aux_Init_Core___macroRules_term_⊂__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_⊃_» : Lean.TrailingParserDescr
@[extern "native", macro «term_⊃_»] opaque «_aux_Init_Core___macroRules_term_⊃__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_⊆_» : Lean.TrailingParserDescr
@[extern "native", macro «term_⊆_»] opaque «_aux_Init_Core___macroRules_term_⊆__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_⊇_» : Lean.TrailingParserDescr
@[extern "native", macro «term_⊇_»] opaque «_aux_Init_Core___macroRules_term_⊇__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_⊕_» : Lean.TrailingParserDescr
@[extern "native", macro «term_⊕_»] opaque «_aux_Init_Core___macroRules_term_⊕__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_⊕'_» : Lean.TrailingParserDescr
@[extern "native", macro «term_⊕'_»] opaque «_aux_Init_Core___macroRules_term_⊕'__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_!=_» : Lean.TrailingParserDescr
@[extern "native", macro «term_!=_»] opaque «_aux_Init_Core___macroRules_term_!=__1» : Lean.Macro
@[extern "native", macro «term_!=_»] opaque «_aux_Init_Core___macroRules_term_!=__2» : Lean.Macro
@[extern "native", term_parser] opaque «term_$__» : Lean.TrailingParserDescr
@[extern "native", macro «term_$__»] opaque «_aux_Init_Notation___macroRules_term_$___1» : Lean.Macro
@[extern "native", term_parser] opaque «term_%_» : Lean.TrailingParserDescr
@[extern "native", macro «term_%_»] opaque «_aux_Init_Notation___macroRules_term_%__1» : Lean.Macro
@[extern "native", macro «term_%_»] opaque «_aux_Init_Notation___macroRules_term_%__2» : Lean.Macro
@[extern "native", term_parser] opaque «term_&&_» : Lean.TrailingParserDescr
@[extern "native", macro «term_&&_»] opaque «_aux_Init_Notation___macroRules_term_&&__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_&&&_» : Lean.TrailingParserDescr
@[extern "native", macro «term_&&&_»] opaque «_aux_Init_Notation___macroRules_term_&&&__1» : Lean.Macro
@[extern "native", macro «term_&&&_»] opaque «_aux_Init_Notation___macroRules_term_&&&__2» : Lean.Macro
@[extern "native", term_parser] opaque «term_*_» : Lean.TrailingParserDescr
@[extern "native", macro «term_*_»] opaque «_aux_Init_Notation___macroRules_term_*__1» : Lean.Macro
@[extern "native", macro «term_*_»] opaque «_aux_Init_Notation___macroRules_term_*__2» : Lean.Macro
@[extern "native", term_parser] opaque «term_*>_» : Lean.TrailingParserDescr
@[extern "native", macro «term_*>_»] opaque «_aux_Init_Notation___macroRules_term_*>__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_+_» : Lean.TrailingParserDescr
@[extern "native", macro «term_+_»] opaque «_aux_Init_Notation___macroRules_term_+__1» : Lean.Macro
@[extern "native", macro «term_+_»] opaque «_aux_Init_Notation___macroRules_term_+__2» : Lean.Macro
@[extern "native", term_parser] opaque «term_++_» : Lean.TrailingParserDescr
@[extern "native", macro «term_++_»] opaque «_aux_Init_Notation___macroRules_term_++__1» : Lean.Macro
@[extern "native", macro «term_++_»] opaque «_aux_Init_Notation___macroRules_term_++__2» : Lean.Macro
@[extern "native", term_parser] opaque «term_-_» : Lean.TrailingParserDescr
@[extern "native", macro «term_-_»] opaque «_aux_Init_Notation___macroRules_term_-__1» : Lean.Macro
@[extern "native", macro «term_-_»] opaque «_aux_Init_Notation___macroRules_term_-__2» : Lean.Macro
@[extern "native", term_parser] opaque «term_/_» : Lean.TrailingParserDescr
@[extern "native", macro «term_/_»] opaque «_aux_Init_Notation___macroRules_term_/__1» : Lean.Macro
@[extern "native", macro «term_/_»] opaque «_aux_Init_Notation___macroRules_term_/__2» : Lean.Macro
@[extern "native", term_parser] opaque «term_::_» : Lean.TrailingParserDescr
@[extern "native", macro «term_::_»] opaque «_aux_Init_Notation___macroRules_term_::__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_<_» : Lean.TrailingParserDescr
@[extern "native", macro «term_<_»] opaque «_aux_Init_Notation___macroRules_term_<__1» : Lean.Macro
@[extern "native", macro «term_<_»] opaque «_aux_Init_Notation___macroRules_term_<__2» : Lean.Macro
@[extern "native", term_parser] opaque «term_<$>_» : Lean.TrailingParserDescr
@[extern "native", macro «term_<$>_»] opaque «_aux_Init_Notation___macroRules_term_<$>__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_<&&>_» : Lean.TrailingParserDescr
@[extern "native", macro «term_<&&>_»] opaque «_aux_Init_Control_Basic___macroRules_term_<&&>__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_<&>_» : Lean.TrailingParserDescr
@[extern "native", macro «term_<&>_»] opaque «_aux_Init_Control_Basic___macroRules_term_<&>__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_<*_» : Lean.TrailingParserDescr
@[extern "native", macro «term_<*_»] opaque «_aux_Init_Notation___macroRules_term_<*__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_<*>_» : Lean.TrailingParserDescr
@[extern "native", macro «term_<*>_»] opaque «_aux_Init_Notation___macroRules_term_<*>__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_<->_» : Lean.TrailingParserDescr
@[extern "native", macro «term_<->_»] opaque «_aux_Init_Core___macroRules_term_<->__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_<<<_» : Lean.TrailingParserDescr
@[extern "native", macro «term_<<<_»] opaque «_aux_Init_Notation___macroRules_term_<<<__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_<=_» : Lean.TrailingParserDescr
@[extern "native", macro «term_<=_»] opaque «_aux_Init_Notation___macroRules_term_<=__1» : Lean.Macro
@[extern "native", macro «term_<=_»] opaque «_aux_Init_Notation___macroRules_term_<=__2» : Lean.Macro
@[extern "native", term_parser] opaque «term_<=<_» : Lean.TrailingParserDescr
@[extern "native", macro «term_<=<_»] opaque «_aux_Init_Control_Basic___macroRules_term_<=<__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_<|_» : Lean.TrailingParserDescr
@[extern "native", macro «term_<|_»] opaque «_aux_Init_Notation___macroRules_term_<|__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_<|>_» : Lean.TrailingParserDescr
@[extern "native", macro «term_<|>_»] opaque «_aux_Init_Notation___macroRules_term_<|>__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_<||>_» : Lean.TrailingParserDescr
@[extern "native", macro «term_<||>_»] opaque «_aux_Init_Control_Basic___macroRules_term_<||>__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_=_» : Lean.TrailingParserDescr
@[extern "native", macro «term_=_»] opaque «_aux_Init_Notation___macroRules_term_=__1» : Lean.Macro
@[extern "native", macro «term_=_»] opaque «_aux_Init_Notation___macroRules_term_=__2» : Lean.Macro
@[extern "native", term_parser] opaque «term_=<<_» : Lean.TrailingParserDescr
@[extern "native", macro «term_=<<_»] opaque «_aux_Init_Control_Basic___macroRules_term_=<<__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_==_» : Lean.TrailingParserDescr
@[extern "native", macro «term_==_»] opaque «_aux_Init_Notation___macroRules_term_==__1» : Lean.Macro
@[extern "native", macro «term_==_»] opaque «_aux_Init_Notation___macroRules_term_==__2» : Lean.Macro
@[extern "native", term_parser] opaque «term_>_» : Lean.TrailingParserDescr
@[extern "native", macro «term_>_»] opaque «_aux_Init_Notation___macroRules_term_>__1» : Lean.Macro
@[extern "native", macro «term_>_»] opaque «_aux_Init_Notation___macroRules_term_>__2» : Lean.Macro
@[extern "native", term_parser] opaque «term_>=_» : Lean.TrailingParserDescr
@[extern "native", macro «term_>=_»] opaque «_aux_Init_Notation___macroRules_term_>=__1» : Lean.Macro
@[extern "native", macro «term_>=_»] opaque «_aux_Init_Notation___macroRules_term_>=__2» : Lean.Macro
@[extern "native", term_parser] opaque «term_>=>_» : Lean.TrailingParserDescr
@[extern "native", macro «term_>=>_»] opaque «_aux_Init_Control_Basic___macroRules_term_>=>__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_>>_» : Lean.TrailingParserDescr
@[extern "native", macro «term_>>_»] opaque «_aux_Init_Notation___macroRules_term_>>__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_>>=_» : Lean.TrailingParserDescr
@[extern "native", macro «term_>>=_»] opaque «_aux_Init_Notation___macroRules_term_>>=__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_>>>_» : Lean.TrailingParserDescr
@[extern "native", macro «term_>>>_»] opaque «_aux_Init_Notation___macroRules_term_>>>__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_\_» : Lean.TrailingParserDescr
@[extern "native", macro «term_\_»] opaque «_aux_Init_Core___macroRules_term_\__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_^_» : Lean.TrailingParserDescr
@[extern "native", macro «term_^_»] opaque «_aux_Init_Notation___macroRules_term_^__1» : Lean.Macro
@[extern "native", macro «term_^_»] opaque «_aux_Init_Notation___macroRules_term_^__2» : Lean.Macro
@[extern "native", term_parser] opaque «term_^^^_» : Lean.TrailingParserDescr
@[extern "native", macro «term_^^^_»] opaque «_aux_Init_Notation___macroRules_term_^^^__1» : Lean.Macro
@[extern "native", macro «term_^^^_»] opaque «_aux_Init_Notation___macroRules_term_^^^__2» : Lean.Macro
@[extern "native", term_parser] opaque «term_|>_» : Lean.TrailingParserDescr
@[extern "native", macro «term_|>_»] opaque «_aux_Init_Notation___macroRules_term_|>__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_||_» : Lean.TrailingParserDescr
@[extern "native", macro «term_||_»] opaque «_aux_Init_Notation___macroRules_term_||__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_|||_» : Lean.TrailingParserDescr
@[extern "native", macro «term_|||_»] opaque «_aux_Init_Notation___macroRules_term_|||__1» : Lean.Macro
@[extern "native", macro «term_|||_»] opaque «_aux_Init_Notation___macroRules_term_|||__2» : Lean.Macro
@[extern "native", term_parser] opaque «term_×_» : Lean.TrailingParserDescr
@[extern "native", macro «term_×_»] opaque «_aux_Init_Notation___macroRules_term_×__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_×__1» : Lean.ParserDescr
@[extern "native", macro «term_×__1»] opaque «_aux_Init_NotationExtra___macroRules_term_×__1_1» : Lean.Macro
@[extern "native", term_parser] opaque «term_×'_» : Lean.TrailingParserDescr
@[extern "native", macro «term_×'_»] opaque «_aux_Init_Notation___macroRules_term_×'__1» : Lean.Macro
@[extern "native", term_parser] opaque «term_×'__1» : Lean.ParserDescr
@[extern "native", macro «term_×'__1»] opaque «_aux_Init_NotationExtra___macroRules_term_×'__1_1» : Lean.Macro
@[extern "native", term_parser] opaque «termΣ_,_» : Lean.ParserDescr
@[extern "native", macro «termΣ_,_»] opaque «_aux_Init_NotationExtra___macroRules_termΣ_,__1» : Lean.Macro
@[extern "native", term_parser] opaque «termΣ'_,_» : Lean.ParserDescr
@[extern "native", macro «termΣ'_,_»] opaque «_aux_Init_NotationExtra___macroRules_termΣ'_,__1» : Lean.Macro
@[extern "native", term_parser] opaque «term‹_›» : Lean.ParserDescr
@[extern "native", macro «term‹_›»] opaque «_aux_Init_Tactics___macroRules_term‹_›_1» : Lean.Macro
@[extern "native", term_parser] opaque «term∃_,_» : Lean.ParserDescr
@[extern "native", macro «term∃_,_»] opaque «_aux_Init_NotationExtra___macroRules_term∃_,__1» : Lean.Macro
@[extern "native", term_parser] opaque «term∅» : Lean.ParserDescr
@[extern "native", macro «term∅»] opaque «_aux_Init_Core___macroRules_term∅_1» : Lean.Macro
@[extern "native", term_parser] opaque term!_ : Lean.ParserDescr
@[extern "native", macro term!_] opaque _aux_Init_Notation___macroRules_term!__1 : Lean.Macro
@[extern "native", term_parser] opaque «term%[_|_]» : Lean.ParserDescr
@[extern "native", macro «term%[_|_]»] opaque «_aux_Init_NotationExtra___macroRules_term%[_|_]_1» : Lean.Macro
@[extern "native", term_parser] opaque «term-_» : Lean.ParserDescr
@[extern "native", macro «term-_»] opaque «_aux_Init_Notation___macroRules_term-__1» : Lean.Macro
@[extern "native", macro «term-_»] opaque «_aux_Init_Notation___macroRules_term-__2» : Lean.Macro
@[extern "native", term_parser] opaque «term[_]» : Lean.ParserDescr
@[extern "native", macro «term[_]»] opaque Lean.«_aux_Init_Data_List_Notation___macroRules_term[_]_1» : Lean.Macro
@[extern "native", term_parser] opaque «term{_:_//_}» : Lean.ParserDescr
@[extern "native", macro «term{_:_//_}»] opaque «_aux_Init_Notation___macroRules_term{_:_//_}_1» : Lean.Macro
@[extern "native", term_parser] opaque «term{_}» : Lean.ParserDescr
@[extern "native", macro «term{_}»] opaque «_aux_Init_NotationExtra___macroRules_term{_}_1» : Lean.Macro
@[extern "native", term_parser] opaque «term{}» : Lean.ParserDescr
@[extern "native", macro «term{}»] opaque «_aux_Init_Core___macroRules_term{}_1» : Lean.Macro
@[extern "native", term_parser] opaque «term~~~_» : Lean.ParserDescr
@[extern "native", macro «term~~~_»] opaque «_aux_Init_Notation___macroRules_term~~~__1» : Lean.Macro
@[extern "native", term_parser] opaque «term¬_» : Lean.ParserDescr
@[extern "native", macro «term¬_»] opaque «_aux_Init_Notation___macroRules_term¬__1» : Lean.Macro
@[extern "native", term_parser] opaque Lean.«calc» : Lean.ParserDescr
@[extern "native", term_parser] opaque Lean.«termSatisfies_binder_pred%__» : Lean.ParserDescr
@[extern "native", macro Lean.«termSatisfies_binder_pred%__»] opaque Lean.«_aux_Init_BinderPredicates___macroRules_Lean_termSatisfies_binder_pred%___1» : Lean.Macro
@[extern "native", macro Lean.«termSatisfies_binder_pred%__»] opaque Lean.«_aux_Init_BinderPredicates___macroRules_Lean_termSatisfies_binder_pred%___2» : Lean.Macro
@[extern "native", macro Lean.«termSatisfies_binder_pred%__»] opaque Lean.«_aux_Init_BinderPredicates___macroRules_Lean_termSatisfies_binder_pred%___3» : Lean.Macro
@[extern "native", macro Lean.«termSatisfies_binder_pred%__»] opaque Lean.«_aux_Init_BinderPredicates___macroRules_Lean_termSatisfies_binder_pred%___4» : Lean.Macro
@[extern "native", macro Lean.«termSatisfies_binder_pred%__»] opaque Lean.«_aux_Init_BinderPredicates___macroRules_Lean_termSatisfies_binder_pred%___5» : Lean.Macro
@[extern "native", macro Lean.«termSatisfies_binder_pred%__»] opaque Lean.«_aux_Init_BinderPredicates___macroRules_Lean_termSatisfies_binder_pred%___6» : Lean.Macro
@[extern "native", macro Lean.«termSatisfies_binder_pred%__»] opaque Lean.«_aux_Init_BinderPredicates___macroRules_Lean_termSatisfies_binder_pred%___7» : Lean.Macro
@[extern "native", macro Lean.«termSatisfies_binder_pred%__»] opaque Lean.«_aux_Init_BinderPredicates___macroRules_Lean_termSatisfies_binder_pred%___8» : Lean.Macro
@[extern "native", macro Lean.«termSatisfies_binder_pred%__»] opaque Lean.«_aux_Init_BinderPredicates___macroRules_Lean_termSatisfies_binder_pred%___9» : Lean.Macro
@[extern "native", macro Lean.«termSatisfies_binder_pred%__»] opaque Lean.«_aux_Init_BinderPredicates___macroRules_Lean_termSatisfies_binder_pred%___10» : Lean.Macro
@[extern "native", macro Lean.«termSatisfies_binder_pred%__»] opaque Lean.«_aux_Init_BinderPredicates___macroRules_Lean_termSatisfies_binder_pred%___11» : Lean.Macro
@[extern "native", term_parser] opaque Lean.«term_Matches_|» : Lean.TrailingParserDescr
@[extern "native", macro Lean.«term_Matches_|»] opaque Lean.«_aux_Init_NotationExtra___macroRules_Lean_term_Matches_|_1» : Lean.Macro

/-! ### Predicates after a bound variable: `∀ x < n, p x` -/

@[extern "native", binderPred_parser] opaque Lean.«binderPred∈_» : Lean.ParserDescr
@[extern "native", binderPred_parser] opaque Lean.«binderPred∉_» : Lean.ParserDescr
@[extern "native", binderPred_parser] opaque Lean.«binderPred≠_» : Lean.ParserDescr
@[extern "native", binderPred_parser] opaque Lean.«binderPred≤_» : Lean.ParserDescr
@[extern "native", binderPred_parser] opaque Lean.«binderPred≥_» : Lean.ParserDescr
@[extern "native", binderPred_parser] opaque Lean.«binderPred⊂_» : Lean.ParserDescr
@[extern "native", binderPred_parser] opaque Lean.«binderPred⊃_» : Lean.ParserDescr
@[extern "native", binderPred_parser] opaque Lean.«binderPred⊆_» : Lean.ParserDescr
@[extern "native", binderPred_parser] opaque Lean.«binderPred⊇_» : Lean.ParserDescr
@[extern "native", binderPred_parser] opaque Lean.«binderPred<_» : Lean.ParserDescr
@[extern "native", binderPred_parser] opaque Lean.«binderPred>_» : Lean.ParserDescr

/-! ### Printing goals and types in notation -/

@[extern "native", app_unexpander And] opaque _aux_Init_Notation___unexpand_And_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander BEq.beq] opaque _aux_Init_Notation___unexpand_BEq_beq_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander Bool.and] opaque _aux_Init_Notation___unexpand_Bool_and_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander Bool.not] opaque _aux_Init_Notation___unexpand_Bool_not_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander Bool.or] opaque _aux_Init_Notation___unexpand_Bool_or_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander Dvd.dvd] opaque _aux_Init_Notation___unexpand_Dvd_dvd_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander Eq] opaque _aux_Init_Notation___unexpand_Eq_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander Function.comp] opaque _aux_Init_Notation___unexpand_Function_comp_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander GE.ge] opaque _aux_Init_Notation___unexpand_GE_ge_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander GE.ge] opaque _aux_Init_Notation___unexpand_GE_ge_2 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander GT.gt] opaque _aux_Init_Notation___unexpand_GT_gt_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander HAdd.hAdd] opaque _aux_Init_Notation___unexpand_HAdd_hAdd_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander HAppend.hAppend] opaque _aux_Init_Notation___unexpand_HAppend_hAppend_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander HDiv.hDiv] opaque _aux_Init_Notation___unexpand_HDiv_hDiv_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander HEq] opaque _aux_Init_Notation___unexpand_HEq_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander HMod.hMod] opaque _aux_Init_Notation___unexpand_HMod_hMod_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander HMul.hMul] opaque _aux_Init_Notation___unexpand_HMul_hMul_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander HPow.hPow] opaque _aux_Init_Notation___unexpand_HPow_hPow_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander HSub.hSub] opaque _aux_Init_Notation___unexpand_HSub_hSub_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander HasSubset.Subset] opaque _aux_Init_Core___unexpand_HasSubset_Subset_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander Iff] opaque _aux_Init_Core___unexpand_Iff_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander Iff] opaque _aux_Init_Core___unexpand_Iff_2 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander LE.le] opaque _aux_Init_Notation___unexpand_LE_le_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander LE.le] opaque _aux_Init_Notation___unexpand_LE_le_2 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander LT.lt] opaque _aux_Init_Notation___unexpand_LT_lt_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander List.cons] opaque _aux_Init_Notation___unexpand_List_cons_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander Membership.mem] opaque _aux_Init_Notation___unexpand_Membership_mem_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander Ne] opaque _aux_Init_Core___unexpand_Ne_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander Neg.neg] opaque _aux_Init_Notation___unexpand_Neg_neg_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander Not] opaque _aux_Init_Notation___unexpand_Not_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander Or] opaque _aux_Init_Notation___unexpand_Or_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander PProd] opaque _aux_Init_Notation___unexpand_PProd_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander PSum] opaque _aux_Init_Core___unexpand_PSum_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander Prod] opaque _aux_Init_Notation___unexpand_Prod_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander Sum] opaque _aux_Init_Core___unexpand_Sum_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander bne] opaque _aux_Init_Core___unexpand_bne_1 : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander Unit.unit] opaque unexpandUnit : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander Exists] opaque unexpandExists : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander List.nil] opaque unexpandListNil : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander List.cons] opaque unexpandListCons : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander Prod.mk] opaque unexpandProdMk : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander ite] opaque unexpandIte : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander Subtype] opaque unexpandSubtype : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander Sigma] opaque unexpandSigma : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander PSigma] opaque unexpandPSigma : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander Eq.rec] opaque unexpandEqRec : Lean.PrettyPrinter.Unexpander
@[extern "native", app_unexpander Eq.ndrec] opaque unexpandEqNDRec : Lean.PrettyPrinter.Unexpander
