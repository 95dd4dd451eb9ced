"""A plan as a table in the terminal."""

from __future__ import annotations

from rich.table import Table

from proofgym.planning.plan import Plan
from proofgym.planning.trial import Row

_COLUMNS = (
    *("pool", "warm", "step s", "GPUs blocked s", "wait p99 s"),
    *("idle sandbox s", "blocked cost", "idle cost", "cost"),
)


def table(plan: Plan) -> Table:
    """One row a pool size; `►` marks the recommended one."""
    made = Table(title="One training step, by pool size")
    made.add_column("")
    for name in _COLUMNS:
        made.add_column(name, justify="right")
    for row in plan.rows:
        chosen = row is plan.recommended
        made.add_row("►" if chosen else "", *_cells(row), style="bold" if chosen else None)
    return made


def _cells(row: Row) -> list[str]:
    seconds = [row.step_s, row.blocked_s, row.wait_p99_s, row.idle_s]
    costs = [row.blocked_cost, row.idle_cost, row.cost]
    return [
        row.label,
        str(row.buffer),
        *(f"{value:,.2f}" if value < 100 else f"{value:,.0f}" for value in seconds),
        *(f"{value:,.3f}" for value in costs),
    ]
