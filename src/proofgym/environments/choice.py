"""What a user writes for `reward` or `environment`, made into what judges attempts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator

from proofgym.config import Config
from proofgym.environments.attempts import Attempts, SingleTurn
from proofgym.environments.episodes import Episodes
from proofgym.environments.lean import Lean, require_statements
from proofgym.environments.portable import portable
from proofgym.environments.reward import Reward
from proofgym.types import Task


def as_reward(value: Any) -> Any:
    """A judge's configuration, or a function `(task, text) -> float` as one. Raises ValueError."""
    if isinstance(value, type) and issubclass(value, Config):
        raise ValueError(f"is the class; write {value.__name__}()")
    if isinstance(value, Config) and hasattr(value, "open"):
        return value
    portable(value)  # refuse now what could not travel later
    return Reward(function=value)


def as_environment(value: Any) -> Episodes | None:
    """Episodes, or a coroutine function as them. Raises ValueError."""
    if value is None or isinstance(value, Episodes):
        return value
    if isinstance(value, type) and issubclass(value, Config):
        raise ValueError(f"is the class; write {value.__name__}(…)")
    if isinstance(value, Config):
        raise ValueError(f"{type(value).__name__}(…) is a reward: write reward={value!r:.80}")
    return Episodes(episode=value)


#: Types of fields that take what a user writes.
AnyReward = Annotated[Any, BeforeValidator(as_reward)]
AnyEnvironment = Annotated[Any, BeforeValidator(as_environment)]


def refuse_both(reward_given: bool, environment: Episodes | None) -> None:
    """Raises ValueError where two kinds of judging were given."""
    if reward_given and environment is not None:
        raise ValueError(
            "`reward` and `environment` are both given; an environment's episodes "
            "return the reward themselves: leave out one of them"
        )


def refuse_unjudgeable(reward: Any, environment: Episodes | None, tasks: Sequence[Task]) -> None:
    """Raises TaskError where Lean is to judge tasks without statements."""
    if isinstance(reward, Lean) and environment is None:
        require_statements(tasks)


def user_function(reward: Any, environment: Episodes | None) -> Any:
    """What the user wrote that scores attempts; None where nothing was."""
    if environment is not None:
        return environment.episode
    return reward.function if isinstance(reward, Reward) else None


def open_attempts(reward: Any, environment: Episodes | None, workers: int) -> Attempts:
    """What makes and scores attempts; the caller closes it."""
    if environment is not None:
        return environment.open(workers)
    return SingleTurn(reward.open(workers), workers)
