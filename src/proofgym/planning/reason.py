"""Why the recommended pool is the one to take, in a sentence with the figures that decide."""

from __future__ import annotations

from collections.abc import Sequence

from proofgym.planning.goal import Goal
from proofgym.planning.trial import Row, Trial
from proofgym.progress import duration


def explain(trial: Trial, rows: Sequence[Row], chosen: Row, goal: Goal) -> str:
    """The sentence."""
    parts = [_what(rows, chosen, goal), _smaller(rows, chosen), _larger(rows, chosen)]
    parts += [_buffer(trial, chosen, goal), _lost(trial, chosen)]
    return "; ".join(part for part in parts if part) + "."


def _what(rows: Sequence[Row], chosen: Row, goal: Goal) -> str:
    pool = f"{chosen.label} sandboxes with {chosen.buffer} kept warm"
    wait = f"99 of 100 completions wait at most {_s(chosen.wait_p99_s)}"
    if goal.reached(chosen):
        return f"Take {pool}: {wait} (goal {_s(goal.wait_s)}); the step takes {_s(chosen.step_s)}"
    reaching = [row.cost for row in rows if goal.reached(row)]
    if not reaching:
        return f"No pool here reaches the goal of {_s(goal.wait_s)}; take {pool}: {wait}"
    return (
        f"Take {pool}: {wait}; the goal of {_s(goal.wait_s)} would cost {min(reaching):.2f} a "
        f"step instead of {chosen.cost:.2f}"
    )


def _smaller(rows: Sequence[Row], chosen: Row) -> str:
    """What the next smaller pool would lose."""
    found = [row for row in rows if row.limit < chosen.limit]
    if not found:
        return ""
    row = found[-1]
    if row.blocked_s - chosen.blocked_s > 0.01 * chosen.step_s:
        more = row.cost - chosen.cost
        return (
            f"with {row.label} the GPUs would be blocked {_s(row.blocked_s - chosen.blocked_s)} "
            f"longer in each step, which costs {abs(more):.3f} {'more' if more >= 0 else 'less'}"
        )
    return f"with {row.label} they would wait {_s(row.wait_p99_s)}"


def _larger(rows: Sequence[Row], chosen: Row) -> str:
    """What more sandboxes would save, which is little."""
    found = [row for row in rows if row.limit > chosen.limit]
    if not found:
        return ""
    saved = max(chosen.step_s - min(row.step_s for row in found), 0.0)
    return (
        f"more would shorten the step by {_s(saved)} at most"
        if saved > 0
        else ("more would not shorten the step")
    )


def _buffer(trial: Trial, chosen: Row, goal: Goal) -> str:
    """What the warm ones are for."""
    start = trial.step.start.mean()
    if chosen.buffer == 0 and not goal.reached(chosen):
        return "warm ones would cost more than they save"
    if chosen.buffer == 0:
        return f"none need be warm, as a start takes {_s(start)}"
    without = trial.row(chosen.size, 0)
    due = start / max(trial.step.gaps.mean(), 1e-9)
    arrive = f" ({due:.0f} completions arrive while one starts)" if due < 1e6 else ""
    return (
        f"without warm ones the wait would be {_s(without.wait_p99_s)}{arrive}, and idling costs "
        f"{chosen.idle_cost:.4f} a step"
    )


def _lost(trial: Trial, chosen: Row) -> str:
    """What no pool can help: the same for each."""
    if chosen.lost == 0:
        return ""
    step = trial.step
    after = f"after {step.retries + 1} attempts" if step.retries else "with their only attempt"
    return f"{chosen.lost:.3g} of {step.rollouts} completions are lost {after}, whatever the pool"


def _s(seconds: float) -> str:
    return duration(seconds) if seconds >= 10 else f"{seconds:.2f} s"
