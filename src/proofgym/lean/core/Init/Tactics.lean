prelude
import Init.Notation

/-! Tactic syntax. As with the notation, the parsers, the macros and the elaborators are in the
shared library; these declarations switch them on. -/

set_option autoImplicit false
set_option linter.unusedVariables false

declare_syntax_cat rcasesPat
declare_syntax_cat rintroPat
declare_syntax_cat conv (behavior := both)

@[extern "native", rcasesPat_parser] opaque Lean.Parser.Tactic.rcasesPat.clear : Lean.ParserDescr
@[extern "native", rcasesPat_parser] opaque Lean.Parser.Tactic.rcasesPat.explicit : Lean.ParserDescr
@[extern "native", rcasesPat_parser] opaque Lean.Parser.Tactic.rcasesPat.ignore : Lean.ParserDescr
@[extern "native", rcasesPat_parser] opaque Lean.Parser.Tactic.rcasesPat.one : Lean.ParserDescr
@[extern "native", rcasesPat_parser] opaque Lean.Parser.Tactic.rcasesPat.paren : Lean.ParserDescr
@[extern "native", rcasesPat_parser] opaque Lean.Parser.Tactic.rcasesPat.tuple : Lean.ParserDescr
@[extern "native", rintroPat_parser] opaque Lean.Parser.Tactic.rintroPat.binder : Lean.ParserDescr
@[extern "native", rintroPat_parser] opaque Lean.Parser.Tactic.rintroPat.one : Lean.ParserDescr

@[extern "native", tactic_parser] opaque Lean.Elab.Tactic.Ext.applyExtTheorem : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Elab.Tactic.Ext.ext : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Elab.Tactic.Ext.tacticExt1___ : Lean.ParserDescr
@[extern "native", macro Lean.Elab.Tactic.Ext.tacticExt1___] opaque Lean.Elab.Tactic.Ext._aux_Init_Ext___macroRules_Lean_Elab_Tactic_Ext_tacticExt1____1 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.allGoals : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.anyGoals : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.apply : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.applyAssumption : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.applyRfl : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.applyRules : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.as_aux_lemma : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.assumption : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.case : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.case' : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.cases : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.change : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.clear : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.clearValue : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.congr : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.constructor : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.constructorBang : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.constructorBang] opaque Lean.Parser.Tactic._aux_Init_Meta___macroRules_Lean_Parser_Tactic_constructorBang_1 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.contradiction : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.decide : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.delta : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.done : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.dsimp : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.dsimpAutoUnfold : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.eqRefl : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.exact : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.exposeNames : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.extractLets : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.fail : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.failIfSuccess : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.falseOrByContra : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.first : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.focus : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.generalize : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.guardExpr : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.guardHyp : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.guardTarget : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.induction : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.injection : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.injections : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.intro : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.intros : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.left : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.letToHave : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.letrec : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.letrec] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_letrec_1 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.liftLets : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.obtain : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.paren : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.rcases : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.refine : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.refine' : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.rename : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.renameI : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.repeat1' : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.repeat' : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.replace : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.revert : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.rewriteSeq : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.right : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.rintro : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.rotateLeft : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.rotateRight : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.rwSeq : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.rwSeq] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_rwSeq_1 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.rwa : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.rwaAt : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.«show» : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.simp : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.simpAll : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.simpAllAutoUnfold : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.simpAutoUnfold : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.simpa : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.simpaUsingBang : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.skip : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.solveByElim : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.specialize : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.split : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.subst : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.substEqs : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.substVars : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.symm : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.symmSaturate : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.tacDepIfThenElse : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.tacDepIfThenElse] opaque Lean.Parser.Tactic._aux_Init_TacticsExtra___macroRules_Lean_Parser_Tactic_tacDepIfThenElse_1 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.tacIfThenElse : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.tacIfThenElse] opaque Lean.Parser.Tactic._aux_Init_TacticsExtra___macroRules_Lean_Parser_Tactic_tacIfThenElse_1 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.tacticAdmit : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.tacticAdmit] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticAdmit_1 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.tacticAnd_intros : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.tacticAnd_intros] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticAnd_intros_1 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.tacticErw___ : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.tacticErw___] opaque Lean.Parser.Tactic._aux_Init_Meta___macroRules_Lean_Parser_Tactic_tacticErw____1 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.tacticExfalso : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.tacticExfalso] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticExfalso_1 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.«tacticExists_,,» : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.«tacticExists_,,»] opaque Lean.Parser.Tactic.«_aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticExists_,,_1» : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.tacticHaveI__ : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.tacticHaveI__] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticHaveI___1 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.tacticHave__ : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.tacticHave__] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticHave___1 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.tacticHave' : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.tacticHave'] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticHave'_1 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.tacticInfer_instance : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.tacticInfer_instance] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticInfer_instance_1 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.tacticIterate____ : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.tacticIterate____] opaque Lean.Parser.Tactic._aux_Init_TacticsExtra___macroRules_Lean_Parser_Tactic_tacticIterate_____1 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.tacticLetI__ : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.tacticLetI__] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticLetI___1 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.tacticLet__ : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.tacticLet__] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticLet___1 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.tacticLet'__ : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.tacticLet'__] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticLet'___1 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.«tacticNext_=>_» : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.«tacticNext_=>_»] opaque Lean.Parser.Tactic.«_aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticNext_=>__1» : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.tacticNofun : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.tacticNofun] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticNofun_1 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.«tacticNomatch_,,» : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.«tacticNomatch_,,»] opaque Lean.Parser.Tactic.«_aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticNomatch_,,_1» : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.tacticRefine_lift_ : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.tacticRefine_lift_] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticRefine_lift__1 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.tacticRefine_lift'_ : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.tacticRefine_lift'_] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticRefine_lift'__1 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.tacticRepeat_ : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.tacticRfl : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.tacticRfl] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticRfl_1 : Lean.Macro
@[extern "native", macro Lean.Parser.Tactic.tacticRfl] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticRfl_2 : Lean.Macro
@[extern "native", macro Lean.Parser.Tactic.tacticRfl] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticRfl_3 : Lean.Macro
@[extern "native", macro Lean.Parser.Tactic.tacticRfl] opaque _aux_Init_Core___macroRules_Lean_Parser_Tactic_tacticRfl_1 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.tacticRfl' : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.tacticRfl'] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticRfl'_1 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.tacticSimpa!_ : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.tacticSimpa!_] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticSimpa!__1 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.tacticSimpa!__1 : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.tacticSimpa!__1] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticSimpa!__1_1 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.tacticSorry : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.tacticSorry] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticSorry_1 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.tacticStop_ : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.tacticStop_] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticStop__1 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.tacticSuffices_ : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.tacticSuffices_] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticSuffices__1 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.tacticTrivial : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.tacticTrivial] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticTrivial_1 : Lean.Macro
@[extern "native", macro Lean.Parser.Tactic.tacticTrivial] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticTrivial_2 : Lean.Macro
@[extern "native", macro Lean.Parser.Tactic.tacticTrivial] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticTrivial_3 : Lean.Macro
@[extern "native", macro Lean.Parser.Tactic.tacticTrivial] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticTrivial_4 : Lean.Macro
@[extern "native", macro Lean.Parser.Tactic.tacticTrivial] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticTrivial_5 : Lean.Macro
@[extern "native", macro Lean.Parser.Tactic.tacticTrivial] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticTrivial_6 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.tacticTry_ : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.tacticTry_] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticTry__1 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.tacticUnhygienic_ : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.tacticUnhygienic_] opaque Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticUnhygienic__1 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.«tactic_<;>_» : Lean.TrailingParserDescr
@[extern "native", macro Lean.Parser.Tactic.«tactic_<;>_»] opaque Lean.Parser.Tactic.«_aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tactic_<;>__1» : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.traceMessage : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.traceState : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.unfold : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.withImplicit : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.withReducible : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.withReducibleAndInstances : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.withUnfoldingAll : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.withUnfoldingNone : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.calcTactic : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.cdot : Lean.ParserDescr
@[extern "native", tactic_parser] opaque Lean.solveTactic : Lean.ParserDescr
@[extern "native", macro Lean.solveTactic] opaque Lean._aux_Init_NotationExtra___macroRules_Lean_solveTactic_1 : Lean.Macro
@[extern "native", tactic_parser] opaque «tacticBy_cases_:_» : Lean.ParserDescr
@[extern "native", macro «tacticBy_cases_:_»] opaque «_aux_Init_ByCases___macroRules_tacticBy_cases_:__1» : Lean.Macro
@[extern "native", macro «tacticBy_cases_:_»] opaque «_aux_Init_ByCases___macroRules_tacticBy_cases_:__2» : Lean.Macro
@[extern "native", tactic_parser] opaque tacticClean_wf : Lean.ParserDescr
@[extern "native", macro tacticClean_wf] opaque _aux_Init_WFTactics___macroRules_tacticClean_wf_1 : Lean.Macro
@[extern "native", tactic_parser] opaque tacticDecreasing_tactic : Lean.ParserDescr
@[extern "native", macro tacticDecreasing_tactic] opaque _aux_Init_WFTactics___macroRules_tacticDecreasing_tactic_1 : Lean.Macro
@[extern "native", tactic_parser] opaque tacticDecreasing_trivial : Lean.ParserDescr
@[extern "native", macro tacticDecreasing_trivial] opaque _aux_Init_WFTactics___macroRules_tacticDecreasing_trivial_1 : Lean.Macro
@[extern "native", macro tacticDecreasing_trivial] opaque _aux_Init_WFTactics___macroRules_tacticDecreasing_trivial_2 : Lean.Macro
@[extern "native", macro tacticDecreasing_trivial] opaque _aux_Init_WFTactics___macroRules_tacticDecreasing_trivial_3 : Lean.Macro
@[extern "native", macro tacticDecreasing_trivial] opaque Array._aux_Init_Data_Array_Mem___macroRules_tacticDecreasing_trivial_1 : Lean.Macro
@[extern "native", macro tacticDecreasing_trivial] opaque Array._aux_Init_Data_Array_Mem___macroRules_tacticDecreasing_trivial_2 : Lean.Macro
@[extern "native", macro tacticDecreasing_trivial] opaque Std._aux_Init_Data_Iterators_Basic___macroRules_tacticDecreasing_trivial_1 : Lean.Macro
@[extern "native", macro tacticDecreasing_trivial] opaque Std._aux_Init_Data_Iterators_Basic___macroRules_tacticDecreasing_trivial_2 : Lean.Macro
@[extern "native", macro tacticDecreasing_trivial] opaque Std._aux_Init_Data_Iterators_Basic___macroRules_tacticDecreasing_trivial_3 : Lean.Macro
@[extern "native", macro tacticDecreasing_trivial] opaque Std._aux_Init_Data_Iterators_Basic___macroRules_tacticDecreasing_trivial_4 : Lean.Macro
@[extern "native", macro tacticDecreasing_trivial] opaque List._aux_Init_Data_List_BasicAux___macroRules_tacticDecreasing_trivial_1 : Lean.Macro
@[extern "native", macro tacticDecreasing_trivial] opaque String.Legacy.Iterator._aux_Init_Data_String_Iterator___macroRules_tacticDecreasing_trivial_1 : Lean.Macro
@[extern "native", macro tacticDecreasing_trivial] opaque String.Legacy.Iterator._aux_Init_Data_String_Iterator___macroRules_tacticDecreasing_trivial_2 : Lean.Macro
@[extern "native", macro tacticDecreasing_trivial] opaque String._aux_Init_Data_String_Termination___macroRules_tacticDecreasing_trivial_1 : Lean.Macro
@[extern "native", macro tacticDecreasing_trivial] opaque String._aux_Init_Data_String_Termination___macroRules_tacticDecreasing_trivial_2 : Lean.Macro
@[extern "native", macro tacticDecreasing_trivial] opaque String._aux_Init_Data_String_Termination___macroRules_tacticDecreasing_trivial_3 : Lean.Macro
@[extern "native", macro tacticDecreasing_trivial] opaque String._aux_Init_Data_String_Termination___macroRules_tacticDecreasing_trivial_4 : Lean.Macro
@[extern "native", tactic_parser] opaque tacticDecreasing_trivial_pre_omega : Lean.ParserDescr
@[extern "native", macro tacticDecreasing_trivial_pre_omega] opaque _aux_Init_WFTactics___macroRules_tacticDecreasing_trivial_pre_omega_1 : Lean.Macro
@[extern "native", macro tacticDecreasing_trivial_pre_omega] opaque _aux_Init_WFTactics___macroRules_tacticDecreasing_trivial_pre_omega_2 : Lean.Macro
@[extern "native", macro tacticDecreasing_trivial_pre_omega] opaque _aux_Init_WFTactics___macroRules_tacticDecreasing_trivial_pre_omega_3 : Lean.Macro
@[extern "native", tactic_parser] opaque tacticDecreasing_with_ : Lean.ParserDescr
@[extern "native", macro tacticDecreasing_with_] opaque _aux_Init_WFTactics___macroRules_tacticDecreasing_with__1 : Lean.Macro
@[extern "native", tactic_parser] opaque tacticFunext___ : Lean.ParserDescr
@[extern "native", macro tacticFunext___] opaque _aux_Init_NotationExtra___macroRules_tacticFunext____1 : Lean.Macro
@[extern "native", tactic_parser] opaque tacticGet_elem_tactic : Lean.ParserDescr
@[extern "native", macro tacticGet_elem_tactic] opaque _aux_Init_Tactics___macroRules_tacticGet_elem_tactic_1 : Lean.Macro
@[extern "native", tactic_parser] opaque tacticGet_elem_tactic_extensible : Lean.ParserDescr
@[extern "native", macro tacticGet_elem_tactic_extensible] opaque _aux_Init_Tactics___macroRules_tacticGet_elem_tactic_extensible_1 : Lean.Macro
@[extern "native", macro tacticGet_elem_tactic_extensible] opaque _aux_Init_Tactics___macroRules_tacticGet_elem_tactic_extensible_2 : Lean.Macro
@[extern "native", macro tacticGet_elem_tactic_extensible] opaque _aux_Init_Tactics___macroRules_tacticGet_elem_tactic_extensible_3 : Lean.Macro
@[extern "native", macro tacticGet_elem_tactic_extensible] opaque _aux_Init_Data_Range_Basic___macroRules_tacticGet_elem_tactic_extensible_1 : Lean.Macro
@[extern "native", macro tacticGet_elem_tactic_extensible] opaque Std._aux_Init_Data_Range_Polymorphic_Basic___macroRules_tacticGet_elem_tactic_extensible_1 : Lean.Macro
@[extern "native", macro tacticGet_elem_tactic_extensible] opaque _aux_Init_Data_Range_Polymorphic_GetElemTactic___macroRules_tacticGet_elem_tactic_extensible_1 : Lean.Macro
@[extern "native", macro tacticGet_elem_tactic_extensible] opaque Fin._aux_Init_GetElem___macroRules_tacticGet_elem_tactic_extensible_1 : Lean.Macro
@[extern "native", tactic_parser] opaque tacticGet_elem_tactic_trivial : Lean.ParserDescr
@[extern "native", tactic_parser] opaque tacticSimp_wf : Lean.ParserDescr
@[extern "native", macro tacticSimp_wf] opaque _aux_Init_WFTactics___macroRules_tacticSimp_wf_1 : Lean.Macro
@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.classical : Lean.ParserDescr

/-! ### Rewriting inside a term -/

@[extern "native", tactic_parser] opaque Lean.Parser.Tactic.Conv.conv : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.allGoals : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.Conv.allGoals] opaque Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_allGoals_1 : Lean.Macro
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.anyGoals : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.Conv.anyGoals] opaque Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_anyGoals_1 : Lean.Macro
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.arg : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.case : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.Conv.case] opaque Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_case_1 : Lean.Macro
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.case' : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.Conv.case'] opaque Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_case'_1 : Lean.Macro
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.change : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.clear : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.congr : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.convApply_ : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.Conv.convApply_] opaque Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_convApply__1 : Lean.Macro
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.convArgs : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.Conv.convArgs] opaque Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_convArgs_1 : Lean.Macro
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.convConvSeq : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.convDone : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.Conv.convDone] opaque Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_convDone_1 : Lean.Macro
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.convErw__ : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.Conv.convErw__] opaque Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_convErw___1 : Lean.Macro
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.convIntro___ : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.Conv.convIntro___] opaque Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_convIntro____1 : Lean.Macro
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.convLeft : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.Conv.convLeft] opaque Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_convLeft_1 : Lean.Macro
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.«convNext__=>_» : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.Conv.«convNext__=>_»] opaque Lean.Parser.Tactic.Conv.«_aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_convNext__=>__1» : Lean.Macro
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.convRepeat_ : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.Conv.convRepeat_] opaque Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_convRepeat__1 : Lean.Macro
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.convRfl : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.Conv.convRfl] opaque Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_convRfl_1 : Lean.Macro
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.convRight : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.Conv.convRight] opaque Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_convRight_1 : Lean.Macro
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.convRw__ : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.Conv.convRw__] opaque Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_convRw___1 : Lean.Macro
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.convTactic : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.convTrace_state : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.Conv.convTrace_state] opaque Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_convTrace_state_1 : Lean.Macro
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.convTry_ : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.Conv.convTry_] opaque Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_convTry__1 : Lean.Macro
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.«conv_<;>_» : Lean.TrailingParserDescr
@[extern "native", macro Lean.Parser.Tactic.Conv.«conv_<;>_»] opaque Lean.Parser.Tactic.Conv.«_aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_conv_<;>__1» : Lean.Macro
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.«conv·_» : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.Conv.«conv·_»] opaque Lean.Parser.Tactic.Conv.«_aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_conv·__1» : Lean.Macro
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.delta : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.dsimp : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.dsimpTrace : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.enter : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.ext : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.extractLets : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.failIfSuccess : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.Conv.failIfSuccess] opaque Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_failIfSuccess_1 : Lean.Macro
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.first : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.focus : Lean.ParserDescr
@[extern "native", macro Lean.Parser.Tactic.Conv.focus] opaque Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_focus_1 : Lean.Macro
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.«fun» : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.letToHave : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.lhs : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.liftLets : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.nestedConv : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.nestedTactic : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.nestedTacticCore : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.normCast : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.paren : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.pattern : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.reduce : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.rewrite : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.rhs : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.simp : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.simpMatch : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.simpTrace : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.skip : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.unfold : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.whnf : Lean.ParserDescr
@[extern "native", conv_parser] opaque Lean.Parser.Tactic.Conv.zeta : Lean.ParserDescr

/-! ### Attributes -/

@[extern "native", attr_parser] opaque Lean.Parser.Attr.simp : Lean.ParserDescr
@[extern "native", attr_parser] opaque Lean.Parser.Attr.ext : Lean.ParserDescr
