"""Where a completion ends by itself: end-of-sequence tokens and stop strings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

_TAILS = 2**16
"""Ends of completions of which it is kept whether they hold a stop string: many write the same."""


def end_tokens(model: Any, tokenizer: Any) -> frozenset[int]:
    """Every token that the model or its tokenizer declares as end of sequence.

    A start-of-sequence token counts too: what follows it is another document or turn.
    """
    found: set[int] = set()
    generation = getattr(model, "generation_config", None)
    for owner in (tokenizer, model.config, generation):
        ids = getattr(owner, "eos_token_id", None)
        found.update(ids if isinstance(ids, list | tuple) else [] if ids is None else [ids])
    start = getattr(tokenizer, "bos_token_id", None)
    found.update([] if start is None else [start])
    return frozenset(int(token) for token in found)


class Stops:
    """Decides after every token whether a completion is over, and what its text is."""

    def __init__(self, tokenizer: Any, ends: frozenset[int], strings: Sequence[str]) -> None:
        self._tokenizer = tokenizer
        self._ends = ends
        self._strings = tuple(text for text in strings if text)
        # A token is at least one byte, so this many last tokens hold any stop string that the
        # newest token completes. Looking at them alone keeps the cost of long completions linear.
        longest = max((len(text.encode()) for text in self._strings), default=0)
        self._window = longest + 4
        self._may_complete: dict[int, bool] = {}
        self._stopped = lru_cache(_TAILS)(self._holds_stop)

    def ended(self, token_ids: Sequence[int]) -> bool:
        """Whether the newest token ends the completion."""
        if token_ids[-1] in self._ends:
            return True
        if self._strings and self._could_complete(token_ids[-1]):
            return self._stopped(tuple(token_ids[-self._window :]))
        return False

    def _holds_stop(self, token_ids: tuple[int, ...]) -> bool:
        text = self._decode(token_ids)
        return any(stop in text for stop in self._strings)

    def _could_complete(self, token: int) -> bool:
        """Whether a stop string can end inside this token: most cannot, and cost no decoding."""
        known = self._may_complete.get(token)
        if known is None:
            piece = self._decode([token])
            # Part of a character, or a space that decoding alone strips: cannot be ruled out.
            unclear = not piece or "\ufffd" in piece or any(s[-1] == " " for s in self._strings)
            known = unclear or any(text[-1] in piece for text in self._strings)
            self._may_complete[token] = known
        return known

    def text(self, token_ids: Sequence[int]) -> str:
        """The completion as text, without its end token, cut before the first stop string."""
        if token_ids and token_ids[-1] in self._ends:
            token_ids = token_ids[:-1]
        text = self._decode(token_ids)
        cuts = [text.find(stop) for stop in self._strings if stop in text]
        return text[: min(cuts)] if cuts else text

    def _decode(self, token_ids: Sequence[int]) -> str:
        # Special tokens stay visible: a verifier must see what the model really wrote.
        return self._tokenizer.decode(
            list(token_ids), skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
