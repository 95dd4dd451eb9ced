"""The policy scan: what a proof may not contain, whatever Lean would say to it.

A proof is one tactic block. It may not end its declaration early, open another one, change
notation, options, instances or attributes, run code of its own, or skip a proof. The scan is the
first of several barriers (see `checker.py`); it is strict about what it cannot read safely.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from proofgym.lean.tokens import Ambiguous, Token, readings, tokens

MAX_BYTES = 64 * 1024

UNPROVED = frozenset({"sorry", "admit", "stop", "proof_wanted"})

COMMANDS = frozenset(
    """
    abbrev add_decl_doc alias assert_exists assert_not_exists assert_not_imported attribute axiom
    binder_predicate builtin_cbv_simproc builtin_cbv_simproc_decl builtin_dsimproc
    builtin_dsimproc_decl builtin_env_linter builtin_grind_propagator builtin_initialize
    builtin_simproc builtin_simproc_decl cbv_simproc cbv_simproc_decl class coinductive
    compile_def compile_inductive declare_command_config_elab declare_config_elab
    declare_simp_like_tactic declare_syntax_cat def deprecated_module deprecated_syntax deriving
    docs_to_verso dsimproc dsimproc_decl elab elab_rules elab_stx end example
    export extend_docs gen_injective_theorems% grind_pattern grind_propagator import include
    inductive infix infixl infixr init_quot init_grind_norm initialize initialize_simps_projections
    instance irreducible_def lemma library_note local macro macro_rules meta mutual namespace
    noncomputable nonrec notation notation3 omit opaque open partial postfix prefix prelude private
    protected public recall recall?
    recommended_spelling register_builtin_option register_error_explanation
    register_grind_attr register_label_attr register_linter_set register_option
    register_parser_alias register_simp_attr register_tactic_tag register_try?_tactic reprove
    reset_grind_attrs% run_cmd run_elab run_meta
    scoped seal section set_option show_panel_widgets simproc simproc_decl structure
    suppress_compilation syntax tactic_extension theorem unif_hint universe unlock_limits unsafe
    unseal unsuppress_compilation variable with_weak_namespace
    """.split()  # noqa: SIM905
)
"""Words that begin a command or change one. Lean reserves nearly all of them, so no ordinary
name is lost; names that merely contain them (`end1`, `h.end`, `«theorem»`) are fine."""

CODE = frozenset(
    """
    as_aux_lemma by_elab dbg_trace eval% idbg implemented_by include_bytes include_str native
    «native»
    native_decide run_tac with_panel_widgets
    """.split()  # noqa: SIM905
)
"""Words that run code while Lean elaborates, make definitions in the midst of a proof, read files,
or trust compiled code."""

TRUSTED = frozenset(
    """
    sorryAx ofReduceBool ofReduceNat reduceBool reduceNat trustCompiler unsafe Unsafe TypeName.mk
    lcProof lcAny lcErased lcUnreachable lcCast lcVoid lcInv autoParam
    """.split()  # noqa: SIM905
)
"""Constants that step around the kernel, or have Lean run a value as a tactic (`autoParam`); no
proof needs them by name."""

_REFUSED = {
    **{it: ("code", f"`{it}` runs code, reads files or trusts compiled code") for it in CODE},
    **{it: ("command", f"`{it}` would begin or change a declaration") for it in COMMANDS},
    **{it: ("unproved", f"`{it}` leaves something unproved") for it in UNPROVED},
}
"""(slug, message) of each word that is refused wherever Lean could read it."""

_SKIP_KERNEL = "skipKernelTC"
_DEFINE = ("where", "rec")
_LATE = frozenset(
    """
    termination_by termination_by? decreasing_by partial_fixpoint inductive_fixpoint
    coinductive_fixpoint monotonicity finally
    """.split()  # noqa: SIM905
)
"""Clauses that are elaborated after what `where` and `let rec` define."""
_CLAUSES = frozenset({"where", "termination_by", "decreasing_by"})
"""Words that continue a declaration and are usually written at column 0."""

_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f]")
_PAIRS = {")": "(", "]": "[", "}": "{", "⟩": "⟨"}
_COMMAND_MARK = re.compile(r"#[a-z_]{2,}")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a proof is refused. `line` (from 1) and `column` (from 0) are those of the proof."""

    slug: str
    message: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: {self.message}"


def scan(proof: str, max_bytes: int = MAX_BYTES) -> Refusal | None:
    """The first reason to refuse `proof`, or None."""
    return next(refusals(proof, max_bytes), None)


def refusals(proof: str, max_bytes: int = MAX_BYTES) -> Iterator[Refusal]:
    """The reasons to refuse `proof`: the first place of each rule that it breaks.

    Only the first reason is sure; what follows a place that cannot be read is a guess.
    """
    yield from check_characters(proof, max_bytes)
    try:
        read = list(tokens(proof))
    except Ambiguous as error:
        yield _at(proof, error.start, error.slug, error.why)
        read = list(tokens(proof, strict=False))
    read = [token for token in read if token.kind != "comment"]
    for rule in (_words, _brackets, _columns, _definitions):
        yield from rule(proof, read)


def _at(proof: str, offset: int, slug: str, message: str) -> Refusal:
    before = proof[:offset]
    return Refusal(slug, message, before.count("\n") + 1, offset - (before.rfind("\n") + 1))


def check_characters(proof: str, max_bytes: int = MAX_BYTES) -> Iterator[Refusal]:
    """Size, encoding, control characters, and the option that leaves the kernel out: its name is
    refused wherever it stands, so that this rests on no reading of the text."""
    try:
        size = len(proof.encode())
    except UnicodeEncodeError as error:
        yield _at(proof, error.start, "encoding", "not valid UTF-8")
        size = 0
    if size > max_bytes:
        yield Refusal("oversize", f"{size} bytes; at most {max_bytes} are read", 1, 0)
    if match := _CONTROL.search(proof):
        what = f"control character {match.group()!r}"
        yield _at(proof, match.start(), "control_character", what)
    if (start := proof.find(_SKIP_KERNEL)) >= 0:
        yield _at(proof, start, "skip_kernel", f"`{_SKIP_KERNEL}` leaves the kernel's check out")


def _words(proof: str, read: list[Token]) -> Iterator[Refusal]:
    seen: set[str] = set()
    for token in read:
        reason = _word(proof, token)
        if reason and reason[0] not in seen:
            seen.add(reason[0])
            yield _at(proof, token.start, *reason)


def _word(proof: str, token: Token) -> tuple[str, str] | None:
    """(slug, message) if this word is refused."""
    if token.kind == "symbol":
        mark = token.text == "#" and _COMMAND_MARK.match(proof, token.start)
        if mark:
            return "command", f"`{mark.group()}` is a command"
        if proof.startswith("@[", token.start):
            return "attribute", "`@[` sets an attribute"
        if proof.startswith("+native", token.start):
            return "code", "`+native` trusts compiled code"
        return None
    if token.kind != "name":
        return None
    for word in readings(proof, token, _REFUSED):
        return _REFUSED[word]
    # Anywhere in a name: `autoParam.eq_1` says as much, and so may what a symbol leaves of a name.
    if any(word in token.text for word in TRUSTED):
        return "trusted", f"`{token.text}` steps around the kernel or the scan"
    return None


def _brackets(proof: str, read: list[Token]) -> Iterator[Refusal]:
    open_: list[Token] = []
    for token in read:
        if token.kind != "symbol":
            continue
        if token.text in _PAIRS.values():
            open_.append(token)
        elif token.text in _PAIRS and (not open_ or open_.pop().text != _PAIRS[token.text]):
            yield _at(proof, token.start, "brackets", f"`{token.text}` closes nothing")
            return
    if open_:
        last = open_[-1]
        yield _at(proof, last.start, "brackets", f"`{last.text}` is never closed")


def _columns(proof: str, read: list[Token]) -> Iterator[Refusal]:
    """In an indented block, a word at column 0 stands outside of it."""
    if not read or _column(proof, read[0]) == 0:
        return
    for token in read:
        outside = token.kind == "name" and _column(proof, token) == 0
        if outside and token.text not in _CLAUSES:
            yield _at(proof, token.start, "column_0", f"`{token.text}` stands outside the proof")
            return


def _definitions(proof: str, read: list[Token]) -> Iterator[Refusal]:
    """What `where` and `let rec` define is compiled before clauses such as `decreasing_by` are
    elaborated, and might be data that Lean can be made to run as a tactic there."""
    if not any(defines(proof, token) for token in read):
        return
    for token in read:
        if token.kind == "name" and any(readings(proof, token, _LATE)):
            what = f"`{token.text}` beside a definition of the proof's own"
            yield _at(proof, token.start, "definition", what)
            return


def defines(text: str, token: Token) -> bool:
    """Whether this word may begin a definition beside the theorem."""
    if token.kind != "name" or (token.text == "rec" and text[: token.start].endswith(".")):
        return False
    return any(readings(text, token, _DEFINE))


def _column(proof: str, token: Token) -> int:
    return token.start - (proof.rfind("\n", 0, token.start) + 1)
