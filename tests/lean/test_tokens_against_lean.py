"""Our reader of Lean text beside Lean's own lexer: nothing that the scan takes for hidden runs.

Texts are made of marks that open and close strings, characters, comments and names, glued to what
a lexer may read in two ways, around a tactic that speaks. Where our reader takes that tactic for a
part of a string or comment and the scan accepts the text, Lean must not run it.
"""

from __future__ import annotations

import ctypes
import random
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from proofgym.lean.checker import LEAN_LIMITS
from proofgym.lean.embedded import find_library
from proofgym.lean.messages import read_messages
from proofgym.lean.policy import scan
from proofgym.lean.tokens import Token, is_name_rest, is_name_start, tokens
from proofgym.lean.toolchain import find_toolchain
from proofgym.lean.warm import WarmRunner
from proofgym.sandboxes import choose_sandbox

SYMBOLS = ("→g", "⁻¹'", "[ZMOD", "]'", "∑'", "ᶜ", "=o[", "∘L", "→r'")
HEADER = "".join(f'syntax:65 term " {symbol} " term : term\n' for symbol in SYMBOLS)

GLUED = (
    *SYMBOLS,
    *("é", "ⱼ", "ß", "ℝ", "λ", "¹", "₁", "x", "x'", "xⱼ'", "h.", "h.1", "@", "?x"),
    *("0x1", "0b1", "0o7", "1e5", "1", "×", "(", ")", "]", "⟩", "⟨", "!", "s!", "$", "%"),
    *("-", "<", "/", "`", "``", "'a'", '"a"', "--", "/-", "-/", "r", "r#", "''"),
)
QUOTES = ("'", '"', "'\"'", "'-'", 'r"')
HIDING = (*QUOTES, "\\", "«", "»", "/-", "-/", "--", "r", "'«'", "#", '#"', "{", "}")
SPEAKS = ("\n  trace_state\n  try intro ", ";trace_state;try intro ", "\n  trace_state -- ")
CASES = 1_500


def texts(seed: int) -> Iterator[str]:
    """Accepted proofs in which our reader does not see the tactic."""
    draw = random.Random(seed)
    while True:
        parts = [draw.choice(GLUED), draw.choice(QUOTES), draw.choice(HIDING)]
        parts += [draw.choice(QUOTES[:3]), " "]
        before = "".join(draw.choices(parts, k=draw.randint(1, 5)))
        after = "".join(draw.choices(parts, k=draw.randint(1, 4)))
        after += draw.choice(("", "x", " x", "--"))
        text = f"  try intro {before}{draw.choice(SPEAKS)}{after}\n  exact True.intro\n"
        if scan(text) is None and not any(_speaks(token) for token in tokens(text)):
            yield text


def _speaks(token: Token) -> bool:
    return token.kind == "name" and "trace_state" in token.text


def test_what_is_hidden_from_the_scan_does_not_run() -> None:
    source = texts(seed=20)
    cases = [next(source) for _ in range(CASES)]
    runner = WarmRunner(find_toolchain(None), choose_sandbox(), LEAN_LIMITS, header=HEADER)

    def said(text: str) -> list[str]:
        file = f"{HEADER}\ntheorem t : True := by\n{text}"
        outcome = runner.run(file.encode(), LEAN_LIMITS)
        assert outcome.ended_by == "exit", text
        messages = read_messages(outcome.stdout)
        return [message.text for message in messages if message.severity == "information"]

    try:
        assert any("⊢ True" in it for it in said("  trace_state\n  exact True.intro\n"))
        with ThreadPoolExecutor(3) as pool:
            ran = [
                text
                for text, messages in zip(cases, pool.map(said, cases), strict=True)
                if any("⊢ True" in message for message in messages)
            ]
    finally:
        runner.close()
    assert ran == []


@pytest.mark.parametrize(
    ("function", "ours"), [("l_Lean_isIdFirst", is_name_start), ("l_Lean_isIdRest", is_name_rest)]
)
def test_every_letter_of_lean_is_a_letter(function: str, ours: object) -> None:
    library = find_library()
    assert library is not None
    assert callable(ours)
    theirs = getattr(ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL), function)
    theirs.argtypes, theirs.restype = [ctypes.c_uint32], ctypes.c_uint8
    lacking = [code for code in range(sys.maxunicode + 1) if theirs(code) and not ours(chr(code))]
    assert lacking == []
