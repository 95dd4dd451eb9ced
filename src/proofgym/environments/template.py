"""What is put between a model's turns, as tokens: a chat template's delta, or plain text.

The tokens of a conversation so far never change. Of the template only what stands between one
answer and the next is rendered, after an answer that is a marker, and cut out behind the marker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from proofgym.environments.tools import describe
from proofgym.errors import EnvironmentError as TemplateError

Messages = Sequence[Mapping[str, str]]
Schemas = Sequence[Mapping[str, Any]]

_MARK = "An answer of 7f3a91c2 words."


class Template(Protocol):
    """Turns messages into tokens, as a model expects them."""

    def first(self, messages: Messages, tools: Schemas) -> list[int]:
        """The whole prompt of a conversation's first turn."""
        ...

    def next(self, messages: Messages, tools: Schemas, newest: int) -> list[int]:
        """What follows an answer whose last token is `newest`, up to the next answer; `tools` are
        those that the model has not been told of."""
        ...


class Plain:
    """Messages are text, one after the other, and nothing is added."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def first(self, messages: Messages, tools: Schemas) -> list[int]:
        # As a single-turn prompt is: with what the tokenizer itself puts in front.
        return self._tokenizer.encode(_text(messages, tools))

    def next(self, messages: Messages, tools: Schemas, newest: int) -> list[int]:
        return self._tokenizer.encode(_text(messages, tools), add_special_tokens=False)


class ChatTemplate:
    """The tokenizer's own chat template."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def first(self, messages: Messages, tools: Schemas) -> list[int]:
        text = self._render(messages, tools)
        if tools and text == self._render(messages, ()):  # it has no place for tools
            text = self._render(_with_tools(messages, tools), ())
        return self._encode(text)

    def next(self, messages: Messages, tools: Schemas, newest: int) -> list[int]:
        before = [{"role": "user", "content": "?"}, {"role": "assistant", "content": _MARK}]
        after = _with_tools(messages, tools) if tools else messages
        text = self._render([*before, *after], ())
        if text.count(_MARK) != 1:
            raise TemplateError(
                "the model's chat template does not repeat an answer as it is; "
                'use Episodes(template="plain")'
            )
        ids = self._encode(text.partition(_MARK)[2])
        # An answer that ended by itself has its end token already.
        return ids[1:] if ids[:1] == [newest] else ids

    def _render(self, messages: Messages, tools: Schemas) -> str:
        options = {"tools": list(tools)} if tools else {}
        try:
            return self._tokenizer.apply_chat_template(
                [dict(it) for it in messages], tokenize=False, add_generation_prompt=True, **options
            )
        except Exception as error:  # templates are programs of their own
            raise TemplateError(
                f"the model's chat template refuses the messages: {error}; change them, or use "
                'Episodes(template="plain")'
            ) from None

    def _encode(self, text: str) -> list[int]:
        return self._tokenizer.encode(text, add_special_tokens=False)


def has_template(tokenizer: Any) -> bool:
    return bool(getattr(tokenizer, "chat_template", None))


def _text(messages: Messages, tools: Schemas) -> str:
    parts = [it["content"] for it in (_with_tools(messages, tools) if tools else messages)]
    system = messages[0]["role"] == "system"
    return parts[0] + "\n\n" + "".join(parts[1:]) if system and len(parts) > 1 else "".join(parts)


def _with_tools(messages: Messages, tools: Schemas) -> list[Mapping[str, str]]:
    """Tell of the tools in the first message."""
    first = messages[0]
    told = f"{first['content']}\n\n{describe(tools)}"
    if first["role"] != "system":
        told = f"{describe(tools)}\n\n{first['content']}"
    return [{**first, "content": told}, *messages[1:]]
