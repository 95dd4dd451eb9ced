"""A theorem in the making: hypotheses and bound names are placeholders (`#0`) until `finish`.

Wrappers turn one draft into another (pack hypotheses into ∧, move one behind →, weaken the goal
to ∨, hide a term under ∃, …), so that every source of theorems gets every logical form.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from proofgym.tasks.generation.proof import (
    Absurd,
    Cases,
    Inject,
    Intro,
    NoStyle,
    Pair,
    Proof,
    Spine,
    Tactics,
    Witness,
    inline,
)
from proofgym.tasks.generation.statement import Argument, Statement
from proofgym.tasks.generation.terms import HOLE, Term, bind, substitute

_MARK = re.compile(r"#\d+")


@dataclass(frozen=True)
class Draft:
    """Values (name, type), hypotheses (placeholder, proposition), a goal and its proof."""

    values: tuple[Argument, ...]
    hypotheses: tuple[Argument, ...]
    goal: Term
    proof: Proof

    def used_values(self) -> tuple[Argument, ...]:
        """Values that the propositions, or the types of used values, mention."""
        kept: list[Argument] = []
        names = self.goal.names().union(*(item.type.names() for item in self.hypotheses))
        for value in reversed(self.values):
            if value.name in names:
                kept.insert(0, value)
                names |= value.type.names()
        return tuple(kept)

    def finish(self) -> tuple[Statement, Proof]:
        """Name the hypotheses h (or h1, h2, …) and whatever the proof introduces after them."""
        single = len(self.hypotheses) == 1
        numbers = itertools.count(1)
        names = {
            item.name: "h" if single else f"h{number}"
            for item, number in zip(self.hypotheses, numbers, strict=False)
        }
        hypotheses = tuple(Argument(names[item.name], item.type) for item in self.hypotheses)
        spines = {mark: Spine(name) for mark, name in names.items()}
        proof = rename(self.proof, spines, len(hypotheses))
        return Statement((*self.used_values(), *hypotheses), self.goal), proof


def rename(proof: Proof, spines: Mapping[str, Spine], count: int | None = None) -> Proof:
    """Put a used hypothesis in the place of each placeholder.

    With a count, names that the proof introduces become h<count + 1>, …, numbered by depth.
    """
    match proof:
        case Spine(head, steps):
            done = tuple(rename(s, spines, count) if isinstance(s, Proof) else s for s in steps)
            base = spines.get(head, Spine(head))
            return Spine(base.head, (*base.steps, *done))
        case Intro(name, body):
            new, spines, count = _introduce(name, spines, count)
            return Intro(new, rename(body, spines, count))
        case Pair(left, right):
            return Pair(rename(left, spines, count), rename(right, spines, count))
        case Inject(side, body):
            return Inject(side, rename(body, spines, count))
        case Witness(value, body):
            return Witness(value, rename(body, spines, count))
        case Absurd(false):
            return Absurd(_rename_spine(false, spines, count))
        case Cases(on, alternatives):
            return Cases(
                _rename_spine(on, spines, count),
                tuple(_rename_branch(item, spines, count) for item in alternatives),
            )
        case Tactics(lines):
            return Tactics(tuple(_rename_line(line, spines) for line in lines))
    raise TypeError(proof)


def _rename_spine(spine: Spine, spines: Mapping[str, Spine], count: int | None) -> Spine:
    done = rename(spine, spines, count)
    assert isinstance(done, Spine)
    return done


def _rename_branch(
    branch: tuple[str, tuple[str, ...], Proof], spines: Mapping[str, Spine], count: int | None
) -> tuple[str, tuple[str, ...], Proof]:
    constructor, names, body = branch
    fresh = []
    for name in names:
        new, spines, count = _introduce(name, spines, count)
        fresh.append(new)
    return constructor, tuple(fresh), rename(body, spines, count)


def _introduce(
    name: str, spines: Mapping[str, Spine], count: int | None
) -> tuple[str, Mapping[str, Spine], int | None]:
    if count is None or not name.startswith("#"):
        return name, {k: v for k, v in spines.items() if k != name}, count
    new = f"h{count + 1}"
    return new, {**spines, name: Spine(new)}, count + 1


def _rename_line(line: str, spines: Mapping[str, Spine]) -> str:
    def put(match: re.Match[str]) -> str:
        text = inline(spines.get(match[0], Spine(match[0])))
        if text is None or " " in text:
            raise NoStyle(line)
        return text

    return _MARK.sub(put, line)


_fresh = itertools.count(10_000)


def mark() -> str:
    """A placeholder that nothing else uses; `finish` removes it, so its number does not matter."""
    return f"#{next(_fresh)}"


def pack(draft: Draft, first: int, second: int) -> Draft:
    """Join two hypotheses into one conjunction."""
    a, b = draft.hypotheses[first], draft.hypotheses[second]
    both = Argument(mark(), Term("∧", (a.type, b.type)))
    spines = {a.name: Spine(both.name, (".1",)), b.name: Spine(both.name, (".2",))}
    rest = [item for item in draft.hypotheses if item not in (a, b)]
    rest.insert(min(first, second), both)
    return replace(draft, hypotheses=tuple(rest), proof=rename(draft.proof, spines))


def curry(draft: Draft) -> Draft:
    """Move the last hypothesis behind an arrow (¬ where the goal is False)."""
    *rest, last = draft.hypotheses
    goal = Term("→", (last.type, draft.goal))
    if draft.goal.head == "False":
        goal = Term("¬", (last.type,))
    return replace(draft, hypotheses=tuple(rest), goal=goal, proof=Intro(last.name, draft.proof))


def weaken(draft: Draft, other: Term, side: str) -> Draft:
    """Prove a disjunction by its `side`."""
    sides = (draft.goal, other) if side == "left" else (other, draft.goal)
    return replace(draft, goal=Term("∨", sides), proof=Inject(side, draft.proof))


def both(one: Draft, two: Draft) -> Draft:
    """Prove the goals of two drafts together; shared hypotheses are given once."""
    known = {item.type: item.name for item in one.hypotheses}
    spines = {i.name: Spine(known[i.type]) for i in two.hypotheses if i.type in known}
    return Draft(
        _merge(one.values, two.values),
        (*one.hypotheses, *(item for item in two.hypotheses if item.type not in known)),
        Term("∧", (one.goal, two.goal)),
        Pair(one.proof, rename(two.proof, spines)),
    )


def either(one: Draft, two: Draft) -> Draft:
    """From A ∨ B, with A ⊢ G and B ⊢ H, prove G ∨ H, or G where both are the same."""
    a, b = one.hypotheses[-1], two.hypotheses[-1]
    on = mark()
    same = one.goal == two.goal
    proofs = (one.proof, two.proof)
    if not same:
        proofs = (Inject("left", one.proof), Inject("right", two.proof))
    alternatives = (("inl", (a.name,), proofs[0]), ("inr", (b.name,), proofs[1]))
    return Draft(
        _merge(one.values, two.values),
        (
            Argument(on, Term("∨", (a.type, b.type))),
            *one.hypotheses[:-1],
            *two.hypotheses[:-1],
        ),
        one.goal if same else Term("∨", (one.goal, two.goal)),
        Cases(Spine(on), alternatives),
    )


def hide(draft: Draft, value: Term, var: str, goal: Term | None = None) -> Draft:
    """Prove `∃ var, …` with `value` as the witness, at every place (or those that `goal` says)."""
    body = goal or _abstract(draft.goal, value, var)
    return replace(draft, goal=bind("∃", var, body), proof=Witness(value, draft.proof))


def unhide(draft: Draft, value: str, var: str) -> Draft | None:
    """Put the only hypothesis about a value under ∃; None where the goal mentions the value."""
    about = [item for item in draft.hypotheses if value in item.type.names()]
    if len(about) != 1 or value in draft.goal.names():
        return None
    (old,) = about
    new = Argument(mark(), bind("∃", var, _abstract(old.type, Term(value), var)))
    hypotheses = tuple(new if item is old else item for item in draft.hypotheses)
    proof = Cases(Spine(new.name), (("intro", (value, old.name), draft.proof),))
    return replace(draft, hypotheses=hypotheses, proof=proof)


def generalise(draft: Draft, value: str, var: str) -> Draft | None:
    """Prove the goal for all values; None where a hypothesis is about the value."""
    if any(value in item.type.names() for item in draft.hypotheses):
        return None
    if value not in draft.goal.names():
        return None
    type_ = next(item.type for item in draft.values if item.name == value)
    goal = bind("∀", var, substitute(draft.goal, {value: Term(var)}), type_)
    return replace(draft, goal=goal, proof=Intro(value, draft.proof))


def refute(draft: Draft) -> Draft:
    """Assume that the goal is false, and prove False."""
    denial = Argument(mark(), Term("¬", (draft.goal,)))
    return replace(
        draft,
        hypotheses=(denial, *draft.hypotheses),
        goal=Term("False"),
        proof=Spine(denial.name, (draft.proof,)),
    )


def _merge(one: tuple[Argument, ...], two: tuple[Argument, ...]) -> tuple[Argument, ...]:
    return (*one, *(item for item in two if item not in one))


def _abstract(term: Term, value: Term, var: str) -> Term:
    if term == value:
        return Term(var)
    if term.head == HOLE:
        return term
    return Term(term.head, tuple(_abstract(arg, value, var) for arg in term.args), term.var)
