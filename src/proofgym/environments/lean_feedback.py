"""Lean with error feedback over several turns: a ready environment for Lean tasks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from proofgym.errors import BudgetExceeded, ConfigError
from proofgym.types import Status

_LONGEST = 400  # characters of Lean's message that the model sees


def lean_feedback(
    tries: int = 3, later: float = 0.5, longest: int = _LONGEST
) -> Callable[[Any, Any, Any], Awaitable[dict[str, float]]]:
    """The model sees what Lean says of its proof, and may try again.

    Give it as `Job(environment=lean_feedback())`, or in `Episodes(lean_feedback(), ...)`.

    Args:
        tries: proofs that the model may write.
        later: what a proof is worth for each failure before it: the second try's is `later`, the
            third's `later ** 2`. An attempt to cheat ends the episode with 0.
        longest: characters of Lean's message that the model is shown.

    Raises:
        ConfigError: an argument is out of range.
    """
    if type(tries) is not int or tries < 1:
        raise ConfigError(f"lean_feedback: tries = {tries!r}; needs a whole number, 1 or more")
    if not 0 <= later <= 1:
        raise ConfigError(f"lean_feedback: later = {later!r}; must be from 0 to 1")

    async def episode(chat: Any, task: Any, sandbox: Any) -> dict[str, float]:
        message, failures = task.prompt, 0
        while failures < tries:
            try:
                turn = await chat(message)
            except BudgetExceeded:  # what was tried before was wrong
                break
            verdict = await sandbox.lean(task.data["statement"], turn.text)
            if verdict.status is Status.PASSED:
                return {"proved": later**failures}
            if verdict.status is Status.REJECTED:
                break
            failures += 1
            said = verdict.message[:longest].replace("-/", "- /")
            message = f"\n\n/- Lean says: {said} -/\n{task.prompt}"
        return {"proved": 0.0}

    return episode
