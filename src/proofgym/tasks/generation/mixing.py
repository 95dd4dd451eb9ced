"""Wrapped drafts: arithmetic, order, lists and equality inside logical forms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from proofgym.tasks.generation import draft as form
from proofgym.tasks.generation import equations, order
from proofgym.tasks.generation.draft import Draft
from proofgym.tasks.generation.draw import Draw
from proofgym.tasks.generation.proof import NoStyle
from proofgym.tasks.generation.statement import Argument
from proofgym.tasks.generation.terms import Term, op

PROP = Argument("p", Term("Prop"))
LONGEST = 26
LARGEST_PART = 12
WRAPPERS = (
    "pack",
    "pack",
    "curry",
    "curry",
    "weaken",
    "both",
    "either",
    "hide",
    "unhide",
    "refute",
    "generalise",
    "generalise",
)


def drafts(topic: str, draw: Draw) -> Iterator[Draft]:
    """An endless stream for topic `mixed`: every draft gets one or two logical wrappers."""
    assert topic == "mixed"
    sources = {
        "order": order.drafts("order", draw),
        "arithmetic": equations.drafts("arithmetic", draw),
        "equality": equations.drafts("equality", draw),
        "lists": equations.drafts("lists", draw),
    }
    while True:
        source = sources[draw.choice(("order", "order", "arithmetic", "equality", "lists"))]
        found = _small(source)
        for _ in range(draw.choice((1, 1, 2))):
            wrapped = found and _wrap(draw, found, source)
            found = wrapped or found
            if not wrapped:
                break
        if wrapped and _size(wrapped) <= LONGEST:
            yield wrapped


def _small(source: Iterator[Draft]) -> Draft:
    return next(item for item in source if _size(item) <= LARGEST_PART)


def _size(draft: Draft) -> int:
    terms = (draft.goal, *(item.type for item in draft.hypotheses))
    return sum(len(term.walk()) for term in terms)


def _wrap(draw: Draw, draft: Draft, source: Iterator[Draft]) -> Draft | None:
    count = len(draft.hypotheses)
    facts = [item.type for item in draft.hypotheses]
    kind = draw.choice(WRAPPERS)
    try:
        match kind:
            case "pack" if count > 1:
                return form.pack(draft, *draw.sample(range(count), 2))
            case "curry" if count > 0:
                return form.curry(draft)
            case "weaken":
                values = (*draft.values, PROP)
                return replace(
                    form.weaken(draft, Term("p"), draw.choice(("left", "right"))), values=values
                )
            case "both":
                other = _apart(_small(source), 1)
                return form.both(draft, other) if other.goal != draft.goal else None
            case "either" if count > 0:
                other = _apart(_small(source), 2)
                distinct = other.hypotheses and other.hypotheses[-1].type not in facts
                return form.either(draft, other) if distinct else None
            case "hide":
                return _hide(draw, draft)
            case "unhide" if count > 0:
                return form.unhide(draft, draw.choice("abcdkmn"), "x")
            case "refute":
                return form.refute(draft)
            case "generalise":
                return form.generalise(draft, draw.choice("abcdkmn"), "x")
    except NoStyle:
        pass
    return None


def _apart(draft: Draft, index: int) -> Draft:
    """Give hypotheses placeholders of their own, so that two drafts can be joined."""
    marks = {item.name: form.mark() for item in draft.hypotheses}
    spines = {name: form.Spine(mark) for name, mark in marks.items()}
    hypotheses = tuple(Argument(marks[item.name], item.type) for item in draft.hypotheses)
    return replace(draft, hypotheses=hypotheses, proof=form.rename(draft.proof, spines))


def _hide(draw: Draw, draft: Draft) -> Draft | None:
    """Put a side of the goal, or a value in it, under ∃; never both sides of an equation."""
    goal = draft.goal
    if goal.head not in ("=", "≤", "<", "≠"):
        return None
    left, right = goal.args
    var = "y" if "x" in goal.names() else "x"
    if draw.chance(50):
        hidden = op(goal.head, left, Term(var))
        known = left.names().union(*(item.type.names() for item in draft.hypotheses))
        values = {item.name for item in draft.values}
        if not right.names() & values <= known:
            return None
        return form.hide(draft, right, var, hidden)
    parts = [part for part in right.walk() if not part.args and len(part.head) == 1]
    if right.head not in ("+", "*", "++") or not parts:
        return None
    value = draw.choice(parts)
    if value in left.walk() or not any(value in item.type.walk() for item in draft.hypotheses):
        return None
    return form.hide(draft, value, var)
