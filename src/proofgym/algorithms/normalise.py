"""From the members' rewards to the numbers z that the update multiplies their noise with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence


def normalise(scores: Mapping[int, float], how: str) -> dict[int, float]:
    """z of each member; all 0 where every member scored the same. Order of `scores` is kept."""
    values = list(scores.values())
    if how == "centred_ranks":
        order = sorted(values)
        spread = max(1, len(values) - 1)
        rank = {value: _tied_rank(order, value) for value in set(values)}
        return {member: rank[value] / spread - 0.5 for member, value in scores.items()}
    if how == "none":
        return dict(scores)
    centre, spread_ = mean(values), deviation(values)
    if spread_ == 0:
        return dict.fromkeys(scores, 0.0)
    return {member: (value - centre) / spread_ for member, value in scores.items()}


def per_prompt(prompts: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """Mean over the prompts of each member's z-score on that prompt, as GRPO standardises in its
    groups (arXiv 2402.03300); every prompt has the same members, with their mean rewards on it."""
    standardised = [normalise(scores, "zscore") for scores in prompts]
    members = standardised[0] if standardised else {}
    return {member: mean([scores[member] for scores in standardised]) for member in members}


def _tied_rank(order: Sequence[float], value: float) -> float:
    """Mean position of a value in a sorted list."""
    first = order.index(value)
    return first + (order.count(value) - 1) / 2


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0


def deviation(values: Sequence[float]) -> float:
    """Standard deviation of these members (divided by n), exactly 0 where all are equal."""
    if len(set(values)) < 2:
        return 0.0
    centre = mean(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / len(values))
