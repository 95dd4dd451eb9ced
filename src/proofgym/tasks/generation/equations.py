"""Random equational theorems: a chain of rewrites makes the goal, `rw` walks it again.

Topics: `equality` (hypotheses as rules over an abstract type), `arithmetic` (laws of + and * on
Nat, and hypotheses), `lists` (laws of ++, map, length, reverse).
"""

from __future__ import annotations

from collections.abc import Iterator

from proofgym.tasks.generation.draft import Draft
from proofgym.tasks.generation.draw import Draw
from proofgym.tasks.generation.proof import Spine, Tactics
from proofgym.tasks.generation.rewriting import Rule, Step, match, rule, run, shorten, walk_steps
from proofgym.tasks.generation.statement import Argument, Statement
from proofgym.tasks.generation.terms import Term, op, parse_term

NAT = Term("Nat")
LONGEST = 15
NAT_VALUES = {"a", "b", "c"}
LIST_VALUES = {"x", "xs", "ys", "zs"}

ADD = [
    rule("Nat.add_comm", "n m", "n + m = m + n"),
    rule("Nat.add_comm", "n m", "n + m = m + n"),
    rule("Nat.add_assoc", "n m k", "n + m + k = n + (m + k)"),
    rule("Nat.add_zero", "n", "n + 0 = n"),
    rule("Nat.zero_add", "n", "0 + n = n"),
    rule("Nat.add_left_comm", "n m k", "n + (m + k) = m + (n + k)"),
    rule("Nat.add_right_comm", "n m k", "n + m + k = n + k + m"),
]
MUL = [
    rule("Nat.mul_comm", "n m", "n * m = m * n"),
    rule("Nat.mul_comm", "n m", "n * m = m * n"),
    rule("Nat.mul_assoc", "n m k", "n * m * k = n * (m * k)"),
    rule("Nat.mul_one", "n", "n * 1 = n"),
    rule("Nat.one_mul", "n", "1 * n = n"),
    rule("Nat.mul_zero", "n", "n * 0 = 0"),
    rule("Nat.zero_mul", "n", "0 * n = 0"),
    rule("Nat.mul_add", "n m k", "n * (m + k) = n * m + n * k"),
    rule("Nat.add_mul", "n m k", "(n + m) * k = n * k + m * k"),
]
LIST = [
    rule("List.append_nil", "as", "as ++ [] = as"),
    rule("List.nil_append", "as", "[] ++ as = as"),
    rule("List.append_assoc", "as bs cs", "as ++ bs ++ cs = as ++ (bs ++ cs)"),
    rule("List.append_assoc", "as bs cs", "as ++ bs ++ cs = as ++ (bs ++ cs)"),
    rule("List.length_append", "as bs", "(as ++ bs).length = as.length + bs.length", False),
    rule("List.length_map", "as f", "(as.map f).length = as.length", False),
    rule("List.map_append", "as bs f", "(as ++ bs).map f = as.map f ++ bs.map f", False),
    rule("List.reverse_append", "as bs", "(as ++ bs).reverse = bs.reverse ++ as.reverse", False),
    rule("List.reverse_reverse", "as", "as.reverse.reverse = as", False),
    rule("List.length_reverse", "as", "as.reverse.length = as.length", False),
    rule("List.length_cons", "x as", "(x :: as).length = as.length + 1", False),
    rule("List.map_cons", "x as f", "(x :: as).map f = f x :: as.map f", False),
    rule("List.cons_append", "x as bs", "x :: as ++ bs = x :: (as ++ bs)", False),
    rule("List.reverse_cons", "x as", "(x :: as).reverse = as.reverse ++ [x]", False),
    rule("Nat.add_comm", "n m", "n + m = m + n"),
]


def drafts(topic: str, draw: Draw) -> Iterator[Draft]:
    """An endless stream for one topic; repeats are the caller's to drop."""
    makers = {"equality": _equality, "arithmetic": _arithmetic, "lists": _lists}
    while True:
        found = makers[topic](draw)
        if found:
            yield found


def _chain(
    draw: Draw, start: Term, rules: list[Rule], length: int
) -> tuple[Term, list[Step]] | None:
    """Rewrite the start that many times; the goal `start = end` and the steps that prove it."""
    equation = op("=", start, Term("?"))
    steps: list[Step] = []
    for _ in range(length):
        ways = walk_steps(equation, rules)
        if not ways:
            return None
        step, equation = draw.choice(ways)
        steps.append(step)
    end = equation.args[0]
    goal = op("=", start, end)
    if start == end or len(goal.walk()) > LONGEST or any(map(_fragile, goal.walk())):
        return None
    return (goal, steps) if run(goal, steps) else None


def _fragile(part: Term) -> bool:
    """`n + 0 + 0`, which `rw` may take for `n + 0`, and `[].length`, whose type is unknown."""
    if part.head == "+":
        return part.args[1].head == "0" and part.args[0].head == "+"
    return part.head == ".length" and not part.args[0].names() & LIST_VALUES


def doubtful(statement: Statement) -> bool:
    """Whether Lean may read an equation otherwise than this generator does.

    The type of `[]` is unknown where no list tells it, and `rw` takes `n + (0 + 1)` for `n + 1`.
    """
    terms = (statement.goal, *(item.type for item in statement.arguments))
    parts = [part for term in terms for part in term.walk()]
    names = {part.head for part in parts}
    if "[]" in names and not names & (LIST_VALUES | {"l", "F", "P"}):
        return any(part.head == "[]" and not part.args for part in parts)
    sums = {part for part in parts if part.head in ("+", "*") and part.names() & NAT_VALUES}
    return len(set(map(_computed, sums))) < len(sums)


def _computed(term: Term) -> Term:
    """The term with sums and products of numbers worked out."""
    args = tuple(map(_computed, term.args))
    if term.head in ("+", "*") and all(arg.head.isdigit() for arg in args):
        one, two = (int(arg.head) for arg in args)
        return Term(str(one + two if term.head == "+" else one * two))
    return Term(term.head, args, term.var)


def _finish(
    goal: Term,
    steps: list[Step],
    values: tuple[Argument, ...],
    hypotheses: tuple[Argument, ...] = (),
) -> Draft | None:
    steps = shorten(goal, steps)
    text = f"rw [{', '.join(map(str, steps))}]"
    if not all(item.name in text and item.type != goal for item in hypotheses):
        return None
    proof = _direct(goal, steps) or Tactics((text,))
    return Draft(values, hypotheses, goal, proof)


def _direct(goal: Term, steps: list[Step]) -> Spine | None:
    """`exact law a b` where one law is the goal as it stands."""
    if len(steps) != 1 or steps[0].back:
        return None
    law = steps[0].rule
    values = match(op("=", law.left, law.right), goal, law.variables)
    if values is None or not law.explicit:
        return None
    return Spine(law.name, tuple(values[name] for name in law.variables))


def _expression(draw: Draw, leaves: list[str], symbols: str, size: int) -> Term:
    if size <= 0:
        return Term(draw.choice(leaves))
    left = draw.below(size)
    return op(
        draw.choice(symbols),
        _expression(draw, leaves, symbols, left),
        _expression(draw, leaves, symbols, size - 1 - left),
    )


def _arithmetic(draw: Draw) -> Draft | None:
    names = ["a", "b", "c"][: draw.choice((1, 2, 2, 3, 3))]
    multiply = draw.chance(45)
    leaves = names * 3 + (["0", "1"] if draw.chance(50) else [])
    rules = ADD + MUL if multiply else ADD
    hypotheses: tuple[Argument, ...] = ()
    if draw.chance(40):
        hypotheses = tuple(
            Argument(f"#{i}", _given(draw, names)) for i in range(draw.choice((1, 1, 2)))
        )
        own = [Rule(item.name, (), *_sides(item.type)) for item in hypotheses]
        rules = own * 4 + rules
        if draw.chance(50):
            rules = own
    start = _expression(draw, leaves, "+*" if multiply else "+", draw.choice((1, 2, 2, 3)))
    made = _chain(draw, start, rules, draw.choice((1, 1, 2, 2, 3)))
    values = tuple(Argument(name, NAT) for name in ("a", "b", "c"))
    return made and _finish(*made, values, hypotheses)


def _sides(equation: Term) -> tuple[Term, Term]:
    left, right = equation.args
    return left, right


def _given(draw: Draw, names: list[str]) -> Term:
    left = Term(draw.choice(names))
    right = _expression(draw, [*"abc", "1", "2"], "+*", draw.choice((0, 0, 1)))
    if right.head in names and right == left:
        right = Term("1")
    return op("=", left, right) if not draw.chance(25) else op("=", op("+", left, Term("b")), right)


def _equality(draw: Draw) -> Draft | None:
    alpha = Term("α")
    values = [Argument("α", Term("Type"))]
    arrow = op("→", alpha, alpha)
    values += [Argument("f", arrow), Argument("g", arrow)]
    values += [Argument(name, alpha) for name in "abcd"]
    count = draw.choice((1, 2, 2, 3))
    hypotheses, rules = [], []
    for index in range(count):
        type_, made = _law(draw, f"#{index}")
        hypotheses.append(Argument(f"#{index}", type_))
        rules.append(made)
    start = _apply_functions(draw, Term(draw.choice("abc")), draw.choice((0, 1, 1, 2)))
    made_chain = _chain(draw, start, rules, draw.choice((1, 2, 2, 3, 3)))
    return made_chain and _finish(*made_chain, tuple(values), tuple(hypotheses))


def _law(draw: Draw, name: str) -> tuple[Term, Rule]:
    if draw.chance(25):
        left, right = draw.choice(
            (("f x", "g x"), ("f (f x)", "x"), ("f (g x)", "x"), ("f x", "x"), ("f (g x)", "g x"))
        )
        made = rule(name, "x", f"{left} = {right}")
        return parse_term(f"∀ x, {left} = {right}"), made
    a, b = draw.sample("abcd", 2)
    left_term = _apply_functions(draw, Term(a), draw.choice((0, 0, 0, 1)))
    right_term = _apply_functions(draw, Term(b), draw.choice((0, 0, 1)))
    return op("=", left_term, right_term), Rule(name, (), left_term, right_term)


def _apply_functions(draw: Draw, term: Term, count: int) -> Term:
    for _ in range(count):
        term = op(draw.choice("ffg"), term)
    return term


def _lists(draw: Draw) -> Draft | None:
    leaves = [*["xs", "ys"] * 2, "zs", *(["[]"] if draw.chance(40) else [])]
    term = _join(draw, leaves, draw.choice((0, 1, 1, 2)))
    for _ in range(draw.choice((0, 1, 1, 2))):
        term = Term(draw.choice((".map", ".reverse", ".length")), (term,))
        if term.head == ".map":
            term = Term(".map", (*term.args, Term("f")))
        if term.head == ".length":
            break
    made = _chain(draw, term, LIST, draw.choice((1, 2, 2, 3)))
    alpha, beta = Term("α"), Term("β")
    target = beta if draw.chance(50) else alpha
    values = [Argument(name, Term("Type")) for name in ("α", "β")]
    values += [Argument("f", op("→", alpha, target)), Argument("x", alpha)]
    values += [Argument(name, op("List", alpha)) for name in ("xs", "ys", "zs")]
    draft = made and _finish(*made, tuple(values))
    # α is needed even where no value of it is named; the type of `f.f x` must exist.
    twice = term.head == ".map" and any(p.head == ".map" for p in term.args[0].walk())
    return None if twice and target == beta else draft


def _join(draw: Draw, leaves: list[str], size: int) -> Term:
    if size <= 0:
        leaf = Term(draw.choice(leaves))
        return op("::", Term("x"), leaf) if draw.chance(15) else leaf
    left = draw.below(size)
    return op("++", _join(draw, leaves, left), _join(draw, leaves, size - 1 - left))
