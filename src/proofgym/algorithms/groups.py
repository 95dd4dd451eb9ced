"""Groups of attempts of the policy at the same task, and how much better each of them was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from proofgym.algorithms.advantages import Advantage, advantages
from proofgym.algorithms.algorithm import Batch
from proofgym.errors import ConfigError, RunError
from proofgym.random import permutation
from proofgym.trainer.sample import Sample, sequences
from proofgym.types import Request, Rollout, Sampling, Task


@dataclass(slots=True)
class Scored:
    """One attempt with a score, as it is learnt from."""

    group: int
    reward: float
    rollout: Rollout
    advantage: float = 0.0

    @property
    def cut_off(self) -> bool:
        """Whether it ended because no more tokens were allowed."""
        return any(turn.finish == "length" for turn in self.rollout.turns[-1:])

    def samples(self) -> Iterator[Sample]:
        """Its sequences, with the advantage of each drawn token."""
        for sample in sequences(self.rollout.turns):
            sample.fill("advantage", self.advantage)
            yield sample


def refuse_certain(sampling: Sampling, who: str) -> None:
    """Raises ConfigError where all attempts at a task would be the same."""
    if sampling.temperature == 0:
        raise ConfigError(
            f"Sampling.temperature = 0: all attempts at a task would be the same, and {who} has "
            "nothing to compare; set it above 0"
        )


def ask(tasks: Sequence[Task], first: int, iteration: int, size: int) -> Batch:
    """Have the policy attempt every task `size` times. Request keys are (iteration, task, sample),
    where the first task has the number `first`."""
    batch = Batch([], [])
    for position, task in enumerate(tasks, start=first):
        for sample in range(size):
            batch.requests.append(Request((iteration, position, sample), task.prompt))
            batch.tasks.append(task)
    return batch


def groups_of(rollouts: Sequence[Rollout]) -> dict[int, list[Scored]]:
    """The scored attempts at each task, in the order of their keys."""
    groups: dict[int, list[Scored]] = {}
    for item in sorted(rollouts, key=lambda item: item.request.key):
        if item.verdict.reward is not None:
            place = item.request.key[1]
            groups.setdefault(place, []).append(Scored(place, item.verdict.reward, item))
    return groups


def rewards_in(group: Sequence[Scored]) -> np.ndarray:
    """(G,) in float64."""
    return np.array([attempt.reward for attempt in group], np.float64)


def compare(groups: Sequence[Sequence[Scored]], how: Advantage) -> None:
    """Give every attempt its advantage."""
    if not groups:
        return
    found = advantages([rewards_in(group) for group in groups], how)
    for group, values in zip(groups, found, strict=True):
        for attempt, value in zip(group, values, strict=True):
            attempt.advantage = float(value)


def permute(group: Sequence[Scored], seed: int, iteration: int) -> None:
    """Shuffle the rewards among the attempts."""
    order = permutation(len(group), seed, "control", iteration, group[0].group)
    rewards = [group[place].reward for place in order]
    for attempt, reward in zip(group, rewards, strict=True):
        attempt.reward = reward


def refuse_unscored(rollouts: Sequence[Rollout], iteration: int, most: float) -> None:
    """Raises RunError where a larger share of the attempts than `most` has no score."""
    lost = sum(item.verdict.reward is None for item in rollouts) / max(1, len(rollouts))
    if lost > most:
        raise RunError(
            f"iteration {iteration + 1}: {lost:.0%} of the attempts have no score, above "
            f"max_unscored = {most:.0%}. {example(rollouts)}Nothing was updated; mend that, "
            "and resume"
        )


def example(rollouts: Sequence[Rollout]) -> str:
    """Why an attempt has no score, as a sentence for a message; empty where all have one."""
    said = [item.verdict.message for item in rollouts if item.verdict.reward is None]
    return f"The first of them says: {said[0][-300:].strip()}. " if said else ""
