"""Checks an ordinary Lean file: is every theorem in it proved, from allowed axioms only?

The file runs in a sandbox, but what it says is taken as it reads: a file can redefine notation
and commands and run code while Lean elaborates it, and no check inside the same Lean can stand
against that. Words that could do so are named in the report, for a person to look at.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from proofgym.errors import VerifierError
from proofgym.lean.assembly import Unsigned, ask_axiom, ask_axioms, is_axiom, read_axioms
from proofgym.lean.checker import ALLOWED_AXIOMS, LEAN_LIMITS, LeanChecker
from proofgym.lean.judge import judge_ending, shown, verdict
from proofgym.lean.messages import Message, read_messages
from proofgym.lean.runner import ColdRunner
from proofgym.lean.scopes import Scopes, name_after
from proofgym.lean.tokens import Token, words
from proofgym.lean.toolchain import find_toolchain
from proofgym.sandboxes import Limits, Outcome, Sandbox, choose_sandbox
from proofgym.types import Level, Status, Verdict

_THEOREMS = ("theorem", "lemma")
_IMPORTS = ("import", "prelude", "module", "public", "meta", "all")
_STARTS = frozenset(
    """
    theorem lemma def example instance abbrev axiom opaque structure inductive class namespace
    section end
    """.split()  # noqa: SIM905
)
_CAUTION = frozenset(
    """
    macro macro_rules elab elab_rules run_cmd run_elab run_meta simproc initialize
    implemented_by extern unsafe addDecl skipKernelTC
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class FileReport:
    """What a file proves: the whole verdict, and one for each theorem, in the file's order."""

    verdict: Verdict
    theorems: tuple[tuple[str, Verdict], ...]
    cautions: tuple[str, ...] = ()
    """Words in the file that could make it mean something else than it seems to."""


@dataclass(frozen=True, slots=True)
class Theorem:
    """A theorem's full name, and the lines up to the next declaration."""

    name: str
    first: int
    last: int


def check_file(
    source: bytes | str,
    *,
    toolchain: str | None = None,
    sandbox: Sandbox | None = None,
    wall_s: float = 60.0,
    allowed_axioms: Sequence[str] = ALLOWED_AXIOMS,
) -> FileReport:
    """Check a file's text. It passes if it has a theorem, no error, no `sorry`, and no axioms
    but the allowed ones as its imports declare them.

    Raises:
        ToolchainError, SandboxError: there is no Lean, or nothing to run it in.
    """
    if not isinstance(source, bytes | str):
        raise VerifierError(f"check_file takes a file's text, not {type(source).__name__}")
    text = source.decode(errors="replace") if isinstance(source, bytes) else source
    text = text.replace("\r\n", "\n")
    read = words(text, strict=False)
    theorems = list(_theorems(text, read))
    limits = replace(LEAN_LIMITS, wall_s=wall_s, cpu_s=wall_s, memory_bytes=8 << 30)
    runner = ColdRunner(find_toolchain(toolchain), sandbox or choose_sandbox())
    imports = text[: _end_of_imports(read)]
    questions = [ask_axiom(name) for name in allowed_axioms]
    known = runner.run(_with(imports, questions).encode(), limits)
    declared = _declared(known, imports, allowed_axioms)
    outcome = runner.run(
        _with(text, [ask_axioms(f"_root_.{it.name}") for it in theorems]).encode(), limits
    )
    last = {token.text.rpartition(".")[2] for token in read if token.kind == "name"}
    cautions = tuple(sorted(last & _CAUTION))
    return _report(text, theorems, outcome, limits, declared, cautions)


def check_file_for(
    statement: str,
    text: str,
    *,
    toolchain: str | None = None,
    sandbox: Sandbox | None = None,
    header: str = "",
    cpu_s: float = LEAN_LIMITS.cpu_s,
    level: Level = "audit",
) -> Verdict:
    """Check a whole file that a model printed against a trusted statement; one call of
    `LeanChecker.check_answer`, which is the way to check many.

    Raises:
        TaskError: the statement itself is wrong.
        ToolchainError, SandboxError: there is no Lean, or nothing to run it in.
    """
    made = LeanChecker(
        find_toolchain(toolchain),
        sandbox or choose_sandbox(),
        replace(LEAN_LIMITS, cpu_s=cpu_s, wall_s=3 * cpu_s),
        header=header,
        warm=False,
        level=level,
    )
    with made as checker:
        return checker.check_answer(statement, text)


def _with(text: str, questions: Sequence[str]) -> str:
    return "\n".join([text.rstrip("\n"), *questions, ""])


def _first_question(text: str) -> int:
    return text.rstrip("\n").count("\n") + 2


def _declared(outcome: Outcome, imports: str, allowed: Sequence[str]) -> frozenset[str]:
    """Which allowed axioms the imports declare; one that the file declares itself is another."""
    answers = {message.line: message.text for message in read_messages(outcome.stdout)}
    lines = enumerate(allowed, start=_first_question(imports))
    return frozenset(name for line, name in lines if is_axiom(name, answers.get(line, "")))


def _report(
    text: str,
    theorems: Sequence[Theorem],
    outcome: Outcome,
    limits: Limits,
    declared: frozenset[str],
    cautions: tuple[str, ...],
) -> FileReport:
    messages = read_messages(outcome.stdout)
    first = _first_question(text)
    wrong = [it for it in messages if it.line < first and _is_wrong(it)]
    ending = judge_ending(outcome, [it for it in wrong if it.severity == "error"], limits)
    found = []
    for line, theorem in enumerate(theorems, start=first):
        answer = next((it for it in messages if it.line == line), None)
        inside = [it for it in wrong if theorem.first <= it.line <= theorem.last]
        one = _judge(answer, inside, declared)
        if ending and answer is None and not inside:  # it might be proved: Lean did not get there
            one = verdict(*ending)
        found.append((theorem.name, one))
    bad = [name for name, it in found if it.status is not Status.PASSED]
    if ending:
        whole = verdict(*ending)
    elif wrong:
        whole = verdict(Status.FAILED, _placed(wrong[0]))
    elif bad:
        whole = verdict(Status.REJECTED, f"{len(bad)} of {len(found)} do not count: {bad[0]}")
    elif not found:
        whole = verdict(Status.FAILED, "there is no theorem in the file")
    else:
        whole = verdict(Status.PASSED, f"all {len(found)} theorems are proved")
    return FileReport(whole, tuple(found), cautions)


def _placed(message: Message) -> str:
    return f"{message.line}:{message.column}: {shown(message)}"


def _is_wrong(message: Message) -> bool:
    return message.severity == "error" or "declaration uses `sorry`" in message.text.replace(
        "'sorry'", "`sorry`"
    )


def _judge(answer: Message | None, inside: Sequence[Message], declared: frozenset[str]) -> Verdict:
    """One theorem: from what lies on its own lines, and from the axioms it rests on."""
    if inside:
        return verdict(Status.FAILED, _placed(inside[0]))
    if answer is None or answer.severity != "information":
        return verdict(Status.FAILED, "Lean has no such theorem at the end of the file")
    try:
        axioms = read_axioms(answer.text)
    except Unsigned as error:
        return verdict(Status.REJECTED, str(error))
    if outside := [name for name in axioms if name not in declared]:
        return verdict(Status.REJECTED, f"rests on {', '.join(outside)}", axioms=list(axioms))
    return verdict(Status.PASSED, "", axioms=list(axioms))


def find_theorems(text: str) -> Iterator[Theorem]:
    """Each named theorem of a file that is read as it stands, in its order."""
    return _theorems(text, words(text, strict=False))


def _theorems(text: str, read: Sequence[Token]) -> Iterator[Theorem]:
    """Each named theorem with its full name, and the lines up to the next declaration."""
    scopes = Scopes()
    places = [it.start for it in read if it.text in _STARTS] + [len(text)]
    lines = Lines(text)
    for at, token in enumerate(read):
        scopes.see(read, at)
        if token.text in _THEOREMS and (after := name_after(read, at)):
            end = places[bisect_right(places, token.start)]
            yield Theorem(
                scopes.full_name(after), lines.place(token.start)[0], lines.place(end - 1)[0]
            )


class Lines:
    """Finds the lines of offsets in a text, in little time however large it is."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def place(self, offset: int) -> tuple[int, int]:
        """(line from 1, column from 0)."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1]


def _end_of_imports(read: Sequence[Token]) -> int:
    """Where the leading `prelude` and `import` lines end."""
    end = 0
    for at, token in enumerate(read):
        if token.text == "import" and at + 1 < len(read):
            end = read[at + 1].start + len(read[at + 1].text)
        elif token.text in _IMPORTS:
            end = token.start + len(token.text)
        elif not (at and read[at - 1].text in _IMPORTS):
            break
    return end
