"""What user code returned, as a verdict. A fault is *no score*, with its kind, never a 0."""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Mapping
from typing import Any, Literal

from proofgym.types import Status, Verdict

Fault = Literal["raised", "timed out", "died", "bad value", "none"]
"""Why user code gave no score; `none` is its own choice."""

#: Means and deviations of larger rewards would overflow.
_LARGEST_REWARD = 1e100


def unscored(fault: Fault, message: str, seconds: float = 0.0) -> Verdict:
    """No score: the fault of user code, or its wish."""
    return Verdict(Status.INFRASTRUCTURE, None, message, seconds, {"fault": fault})


def verdict_of(value: Any, what: str = "the reward function") -> Verdict:
    """A float, a bool, a dict of components (their sum is the reward), a `Verdict`, or None.

    Never raises, whatever the value's own methods do. Run where the value was made.
    """
    try:
        return _verdict_of(value, what)
    except Exception as error:  # from a __float__ or __repr__ of the user's
        return unscored("bad value", f"{what} returned {type(value).__name__}: {error!r:.300}")


def _verdict_of(value: Any, what: str) -> Verdict:
    if isinstance(value, Verdict):
        if is_sound(value):
            return value
        return unscored("bad value", f"{what} returned {reprlib.repr(value)}")
    if value is None:
        return unscored("none", f"{what} returned None (no score)")
    detail: dict[str, Any] = {}
    if isinstance(value, dict):
        try:
            parts = {str(name): _number(part) for name, part in value.items()}
            if len(parts) < len(value) or not all(map(_usable, parts.values())):
                raise ValueError
            value, detail = math.fsum(parts.values()), {"components": parts}
        except (TypeError, ValueError, OverflowError):
            shown = reprlib.repr(value)
            message = f"{what} returned components that are no numbers, or share a name: {shown}"
            return unscored("bad value", message)
    try:
        reward = _number(value)
    except (TypeError, ValueError, OverflowError):
        return unscored("bad value", f"{what} returned {type(value).__name__}, not a number")
    if not _usable(reward):
        return unscored("bad value", f"{what} returned {reward}")
    return Verdict(Status.PASSED if reward > 0 else Status.FAILED, reward, "", 0.0, detail)


def _number(value: Any) -> float:
    if isinstance(value, str | bytes | bytearray):
        raise TypeError
    return float(value)


def _usable(reward: float) -> bool:
    return math.isfinite(reward) and abs(reward) <= _LARGEST_REWARD


def is_sound(verdict: Verdict) -> bool:
    """Whether a verdict that user code made has the types that it declares."""
    if not isinstance(verdict.status, Status) or not isinstance(verdict.message, str):
        return False
    if not _is_detail(verdict.detail):
        return False
    if verdict.reward is None:
        return verdict.status is Status.INFRASTRUCTURE
    number = isinstance(verdict.reward, int | float)
    return number and _usable(verdict.reward) and verdict.status is not Status.INFRASTRUCTURE


def _is_detail(detail: Any) -> bool:
    """What a run reads of it: components are numbers by name, and a fault is a text."""
    if not isinstance(detail, Mapping):
        return False
    parts = detail.get("components", {})
    if not isinstance(parts, Mapping) or not isinstance(detail.get("fault", ""), str):
        return False
    named = all(isinstance(name, str) for name in parts)
    return named and all(isinstance(it, int | float) and _usable(it) for it in parts.values())


def to_plain(verdict: Verdict) -> dict[str, Any]:
    """As JSON values; what of the detail is none is written out."""
    text = json.dumps(dict(verdict.detail), default=reprlib.repr, ensure_ascii=False)
    detail = json.loads(whole(text))
    reward = None if verdict.reward is None else float(verdict.reward)
    return {
        "status": str(verdict.status),
        "reward": reward,
        "message": whole(verdict.message[:_LONGEST]),
        "detail": detail,
    }


def whole(text: str) -> str:
    """With a question mark for what no file can hold: halves of characters, as names of files that
    are not UTF-8 have them."""
    return text.encode("utf-8", "replace").decode()


def from_plain(plain: Any, seconds: float) -> Verdict:
    """The inverse, for what came from another process. Raises ValueError."""
    try:
        status, detail = Status(plain["status"]), dict(plain["detail"])
        verdict = Verdict(status, plain["reward"], str(plain["message"]), seconds, detail)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no verdict: {error!r}") from None
    if not is_sound(verdict):
        raise ValueError("an unsound verdict")
    return verdict


_LONGEST = 20_000
"""Characters of a message that are kept."""
