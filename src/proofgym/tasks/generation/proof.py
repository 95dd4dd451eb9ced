"""Proofs as trees, and how each is written as a tactic block in one uniform style."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from proofgym.tasks.generation.terms import Term

TERM_LIMIT = 16
"""Longest term, in names and brackets, that `exact` is given in one piece."""


CHAINS = ("Nat.le_trans", "Nat.lt_trans", "Nat.lt_of_lt_of_le", "Nat.lt_of_le_of_lt")
"""Lemmas that `apply` would leave without their middle term."""


class Proof:
    """Any of the classes below."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Spine(Proof):
    """A hypothesis or lemma, used: each step is a field (`.1`, `.mp`), a proof or a value."""

    head: str
    steps: tuple[str | Proof | Term, ...] = ()


@dataclass(frozen=True, slots=True)
class Intro(Proof):
    """Assume a premise or take any value, under a name."""

    name: str
    body: Proof


@dataclass(frozen=True, slots=True)
class Pair(Proof):
    """Both sides of ∧ or both directions of ↔."""

    left: Proof
    right: Proof


@dataclass(frozen=True, slots=True)
class Inject(Proof):
    """One side (`left` or `right`) of ∨."""

    side: str
    body: Proof


@dataclass(frozen=True, slots=True)
class Witness(Proof):
    """A value for ∃ and the proof that it fits."""

    value: Term
    body: Proof


@dataclass(frozen=True, slots=True)
class Cases(Proof):
    """Split ∨ or open ∃: alternatives are (constructor, names, proof)."""

    on: Spine
    alternatives: tuple[tuple[str, tuple[str, ...], Proof], ...]


@dataclass(frozen=True, slots=True)
class Absurd(Proof):
    """Anything, from a proof of False."""

    false: Spine


@dataclass(frozen=True, slots=True)
class Tactics(Proof):
    """Lines written as they stand, for rewriting and induction."""

    lines: tuple[str, ...]


class NoStyle(Exception):
    """The proof cannot be written in the uniform style; the generator drops the theorem."""


def write(proof: Proof) -> str:
    """The tactic block, each line indented by two spaces."""
    return "\n".join("  " + line for line in _lines(proof))


def parts(proof: Proof) -> Iterator[Proof]:
    """The proof and all proofs in it."""
    yield proof
    for child in _children(proof):
        yield from parts(child)


def _children(proof: Proof) -> list[Proof]:
    match proof:
        case Spine(_, steps):
            return [step for step in steps if isinstance(step, Proof)]
        case Intro(_, body) | Inject(_, body) | Witness(_, body):
            return [body]
        case Pair(left, right):
            return [left, right]
        case Cases(on, alternatives):
            return [on, *(body for _, _, body in alternatives)]
        case Absurd(false):
            return [false]
    return []


def inline(proof: Proof) -> str | None:
    """The proof as a term without `fun`, or None where it needs tactics or gets too long."""
    text = _term(proof)
    if text is None or _size(text) > TERM_LIMIT:
        return None
    return text


def _size(text: str) -> int:
    for mark in "⟨⟩(),":
        text = text.replace(mark, f" {mark} ")
    return len(text.split())


def _term(proof: Proof) -> str | None:
    match proof:
        case Spine():
            return _spine(proof)
        case Pair(left, right):
            sides = [_term(left), _term(right)]
            return None if None in sides else f"⟨{sides[0]}, {_flat(sides[1])}⟩"
        case Inject(side, body):
            inner = _argument(body)
            return inner and f"Or.{'inl' if side == 'left' else 'inr'} {inner}"
        case Witness(value, body):
            inner = _term(body)
            return inner and f"⟨{value}, {_flat(inner)}⟩"
        case Absurd(false):
            return _absurd(false)
    return None


def _flat(last: str | None) -> str:
    """Lean reads ⟨a, b, c⟩ as ⟨a, ⟨b, c⟩⟩."""
    assert last is not None
    return last[1:-1] if last.startswith("⟨") and last.find("⟩") == len(last) - 1 else last


def _argument(proof: Proof) -> str | None:
    text = _term(proof)
    return f"({text})" if text and " " in text and text[0] != "⟨" else text


def _spine(proof: Spine) -> str | None:
    text = proof.head
    for step in proof.steps:
        if isinstance(step, str):
            text = (f"({text})" if " " in text else text) + step
        elif isinstance(step, Term):
            text += f" ({step})" if " " in str(step) else f" {step}"
        else:
            inner = _argument(step)
            if inner is None:
                return None
            text += " " + inner
    return text


def _absurd(false: Spine) -> str | None:
    """`absurd a h` where h : ¬A met a : A, else through False.elim."""
    if false.steps and isinstance(false.steps[-1], Proof):
        fact = _argument(false.steps[-1])
        denial = _argument(Spine(false.head, false.steps[:-1]))
        return fact and denial and f"absurd {fact} {denial}"
    inner = _argument(false)
    return inner and f"False.elim {inner}"


def _lines(proof: Proof) -> list[str]:
    text = inline(proof)
    if text is not None:
        return [f"exact {text}"]
    match proof:
        case Tactics(lines):
            return list(lines)
        case Intro():
            names = []
            while isinstance(proof, Intro):
                names.append(proof.name)
                proof = proof.body
            return [f"intro {' '.join(names)}", *_lines(proof)]
        case Pair(left, right):
            return ["constructor", *_bullet(left), *_bullet(right)]
        case Inject(side, body):
            return [side, *_lines(body)]
        case Witness(value, body):
            return [f"refine ⟨{value}, ?_⟩", *_lines(body)]
        case Cases(on, alternatives):
            return _cases(on, alternatives)
        case Absurd(false):
            return ["exfalso", *_lines(false)]
        case Spine():
            return _apply(proof)
    raise NoStyle(proof)


def _bullet(proof: Proof) -> list[str]:
    lines = _lines(proof)
    return ["· " + lines[0], *("  " + line for line in lines[1:])]


def _cases(on: Spine, alternatives: tuple[tuple[str, tuple[str, ...], Proof], ...]) -> list[str]:
    target = inline(on)
    if target is None:
        raise NoStyle(on)
    out = [f"cases {target} with"]
    for constructor, names, body in alternatives:
        lines = _lines(body)
        head = f"| {' '.join([constructor, *names])} =>"
        if len(lines) == 1:
            out.append(f"{head} {lines[0]}")
        else:
            out += [head, *("  " + line for line in lines)]
    return out


def _apply(proof: Spine) -> list[str]:
    """`apply h`, then a block for each premise left to prove."""
    steps = list(proof.steps)
    premises: list[Proof] = []
    while steps and isinstance(last := steps[-1], Proof):
        premises.insert(0, last)
        steps.pop()
    function = inline(Spine(proof.head, tuple(steps)))
    if function is None or not premises or proof.head in CHAINS:
        raise NoStyle(proof)
    if len(premises) == 1:
        return [f"apply {function}", *_lines(premises[0])]
    return [f"apply {function}", *(line for item in premises for line in _bullet(item))]
