"""From rewards to advantages: how much better an attempt was than others to be compared with.

A group is the G attempts at one task. All functions are pure NumPy on float64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

Advantage = Literal[
    "grpo", "dr_grpo", "batch_scaled", "rloo", "reinforce++", "reinforce++_baseline"
]
ADVANTAGES: tuple[str, ...] = get_args(Advantage)

_SMALL = 1e-4  # added to standard deviations, as the field does: groups that agree stay finite


def advantages(groups: Sequence[Values], how: Advantage) -> list[Values]:
    """Advantages, in the shapes of the groups: [(G,), ...] -> [(G,), ...].

    - `grpo`: (r − group mean) / group sd (DeepSeekMath, arXiv 2402.03300, section 4.1).
    - `dr_grpo`: r − group mean; dividing would weigh easy and hard tasks more than others
      (Dr. GRPO, arXiv 2503.20783).
    - `batch_scaled`: (r − group mean) / sd of all rewards (Lite PPO, arXiv 2508.08221).
    - `rloo`: r − mean of the group's others (Ahmadian et al., arXiv 2402.14740).
    - `reinforce++`: (r − mean) / sd of all rewards, groups or not (Hu, arXiv 2501.03262).
    - `reinforce++_baseline`: r − group mean, then standardised over all (the same, for groups).

    Standard deviations are of samples (divided by n − 1); 0 where n is 1.
    """
    return _RULES[how]([np.asarray(group, np.float64) for group in groups])


def informative(group: Values) -> bool:
    """Whether a group tells its attempts apart: equal rewards give no direction (DAPO, arXiv
    2503.14476, section 3.2)."""
    return len(group) > 1 and bool((group != group[0]).any())


def _grpo(groups: list[Values]) -> list[Values]:
    return [(group - group.mean()) / (_sd(group) + _SMALL) for group in groups]


def _dr_grpo(groups: list[Values]) -> list[Values]:
    return [group - group.mean() for group in groups]


def _batch_scaled(groups: list[Values]) -> list[Values]:
    spread = _sd(np.concatenate(groups)) + _SMALL
    return [(group - group.mean()) / spread for group in groups]


def _rloo(groups: list[Values]) -> list[Values]:
    return [
        (group - group.mean()) * (len(group) / (len(group) - 1)) if len(group) > 1 else group * 0
        for group in groups
    ]


def _reinforce(groups: list[Values]) -> list[Values]:
    every = np.concatenate(groups)
    centre, spread = every.mean(), _sd(every) + _SMALL
    return [(group - centre) / spread for group in groups]


def _reinforce_baseline(groups: list[Values]) -> list[Values]:
    return _reinforce(_dr_grpo(groups))


def _sd(values: Values) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


_RULES: dict[str, Callable[[list[Values]], list[Values]]] = {
    "grpo": _grpo,
    "dr_grpo": _dr_grpo,
    "batch_scaled": _batch_scaled,
    "rloo": _rloo,
    "reinforce++": _reinforce,
    "reinforce++_baseline": _reinforce_baseline,
}
