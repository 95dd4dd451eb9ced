"""Variants of a job compared fairly: equal seeds, budgets and held-out draws; honest statistics."""

from proofgym.comparison.experiment import Comparison, Experiment, Sweep
from proofgym.comparison.file import load
from proofgym.comparison.plan import PlannedRun, describe, plan, refuse_changed, refuse_larger
from proofgym.comparison.runner import Runner
from proofgym.comparison.writing import Written, write_report

__all__ = [
    "Comparison",
    "Experiment",
    "PlannedRun",
    "Runner",
    "Sweep",
    "Written",
    "describe",
    "load",
    "plan",
    "refuse_changed",
    "refuse_larger",
    "write_report",
]
