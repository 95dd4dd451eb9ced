"""How many sandboxes a training step needs, found by simulating the step."""

from proofgym.planning.distribution import (
    Constant,
    Distribution,
    Exponential,
    LogNormal,
    Measured,
    Uniform,
    parse_distribution,
)
from proofgym.planning.goal import Goal
from proofgym.planning.plan import Plan, make_plan
from proofgym.planning.pool import Pool
from proofgym.planning.prices import Prices
from proofgym.planning.simulation import Result, simulate
from proofgym.planning.step import Step

__all__ = [
    "Constant",
    "Distribution",
    "Exponential",
    "Goal",
    "LogNormal",
    "Measured",
    "Plan",
    "Pool",
    "Prices",
    "Result",
    "Step",
    "Uniform",
    "make_plan",
    "parse_distribution",
    "simulate",
]
