"""Reads Lean text as Lean's own lexer would, as far as safety needs it.

The reader never has to be complete: it must not take for a comment, a string or part of a name
what Lean would read as code, since that could hide a command. So wherever Lean's reading would
depend on its token table, which grows with every notation, the text is refused as ambiguous
(`Ambiguous`); ordinary proofs contain no such place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["name", "symbol", "text", "number", "comment"]


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text: `text` as written, at offset `start` (code points)."""

    kind: Kind
    text: str
    start: int


class Ambiguous(Exception):
    """The text cannot be read safely: why, and where (offset in code points)."""

    def __init__(self, slug: str, why: str, start: int, likely: str = "") -> None:
        super().__init__(why)
        self.slug, self.why, self.start, self.likely = slug, why, start, likely


def is_name_start(char: str) -> bool:
    """Lean's `isIdFirst`, for the classes that every Lean 4 shares."""
    return (char.isascii() and char.isalpha()) or char == "_" or _is_letter_like(char)


def is_name_rest(char: str) -> bool:
    """Lean's `isIdRest`."""
    return (
        (char.isascii() and char.isalnum())
        or char in "_'!?"
        or _is_letter_like(char)
        or "₀" <= char <= "₉"
        or "ₐ" <= char <= "ₜ"
        or "ᵢ" <= char <= "ᵪ"
    )


def _is_letter_like(char: str) -> bool:
    return (
        ("α" <= char <= "ω" and char != "λ")
        or ("Α" <= char <= "Ω" and char not in "ΠΣ")
        or "ϊ" <= char <= "ϻ"
        or "ἀ" <= char <= "῾"
        or "℀" <= char <= "⅏"
        or "𝒜" <= char <= "𝖟"
    )


def tokens(text: str, strict: bool = True) -> Iterator[Token]:
    """Every token, comments included, white space left out.

    Not `strict`, for text that need not be safe: takes the likelier reading, never raises.

    Raises:
        Ambiguous: an unclosed comment, string or «name», or a place that cannot be read safely.
    """
    at = 0
    while at < len(text):
        if text[at] in " \n":
            at += 1
            continue
        try:
            token = _next(text, at)
        except Ambiguous as error:
            if strict:
                raise
            token = Token("symbol", error.likely or text[at], at)
        yield token
        at += len(token.text)


def _next(text: str, at: int) -> Token:
    char = text[at]
    if text.startswith("--", at) or text.startswith("/-", at):
        return _comment(text, at)
    if char == "r" and (raw := _raw_string(text, at)):
        return raw
    if is_name_start(char) or char == "«":
        return Token("name", text[at : _name_end(text, at)], at)
    if char == '"':
        return _string(text, at)
    if char == "'":
        return _quote(text, at)
    if char.isascii() and char.isdigit():
        end = at
        while end < len(text) and text[end].isascii() and (text[end].isdigit() or text[end] == "_"):
            end += 1
        return Token("number", text[at:end], at)
    return Token("symbol", char, at)


def _comment(text: str, at: int) -> Token:
    whole = text[at:]
    if whole.startswith("--"):
        whole = whole.partition("\n")[0]
    elif end := _comment_end(text, at):
        whole = text[at:end]
    else:
        raise Ambiguous("unclosed_comment", "a comment is opened and never closed", at, whole)
    # After a symbol, as in `<--` or `//-`, Lean's longest token may swallow the first mark.
    if at and not (text[at - 1] in " \n)]}⟩,;" or _is_plain(text[at - 1])):
        why = "a comment mark directly after a symbol (put a space between)"
        raise Ambiguous("ambiguous_comment", why, at, whole)
    if _TWO_WAYS.search(whole) and not whole.startswith("--"):
        why = "`/-/` and `/--/` can be read in two ways"
        raise Ambiguous("ambiguous_comment", why, at, whole)
    if whole.startswith("/-!"):
        raise Ambiguous("command", "`/-!` is a command of its own", at, whole)
    return Token("comment", whole, at)


_TWO_WAYS = re.compile(r"/-[-!]?/")  # opened only, or closed as well? It depends on the version


def _is_plain(char: str) -> bool:
    return is_name_rest(char) and char not in "'!?"


def _comment_end(text: str, at: int) -> int:
    """Where the comment opened at `at` ends, those nested in it included; 0 if it does not."""
    depth, end = 1, at + 2
    while depth:
        opening, closing = text.find("/-", end), text.find("-/", end)
        if closing < 0:
            return 0
        inner = 0 <= opening < closing
        depth, end = (depth + 1, opening + 2) if inner else (depth - 1, closing + 2)
    return end


def _name_end(text: str, at: int) -> int:
    """The end of a whole dotted name: `foo.bar`, `Foo.«any thing»`, `x'`."""
    while True:
        if text[at] == "«":
            closing = text.find("»", at)
            if closing < 0:
                raise Ambiguous("unclosed_name", "« is opened and never closed", at)
            at = closing + 1
        else:
            at += 1
            while at < len(text) and is_name_rest(text[at]):
                at += 1
        follows = text[at + 1 : at + 2]
        if text[at : at + 1] != "." or not (follows == "«" or (follows and is_name_start(follows))):
            return at
        at += 1


def _string(text: str, at: int) -> Token:
    end = at + 1
    while end < len(text) and text[end] != '"':
        end += 2 if text[end] == "\\" else 1
    whole = text[at : end + 1]
    if end >= len(text):
        raise Ambiguous("unclosed_string", "a string is opened and never closed", at, whole)
    if "{" in whole:
        raise Ambiguous("interpolation", "a string with `{` could hold code", at, whole)
    return Token("text", whole, at)


def _raw_string(text: str, at: int) -> Token | None:
    hashes = at + 1
    while hashes < len(text) and text[hashes] == "#":
        hashes += 1
    if text[hashes : hashes + 1] != '"':
        return None
    ending = '"' + "#" * (hashes - at - 1)
    end = text.find(ending, hashes + 1)
    if end < 0:
        raise Ambiguous("unclosed_string", "a raw string is opened and never closed", at)
    whole = text[at : end + len(ending)]
    if "{" in whole:
        raise Ambiguous("interpolation", "a string with `{` could hold code", at, whole)
    return Token("text", whole, at)


_ESCAPED = re.compile(r"'\\(?:[\\'nrt]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4})'")


def _quote(text: str, at: int) -> Token:
    """A character literal, or a `'` that belongs to a symbol such as `⁻¹'` or `''`."""
    if literal := _ESCAPED.match(text, at):
        return Token("text", literal.group(), at)
    if text[at + 1 : at + 2] == "\\":
        raise Ambiguous("ambiguous_quote", "a quote that could be a character literal", at)
    if text[at + 2 : at + 3] == "'" and text[at + 1] != "'":
        if text[at + 1] in '"-/«':
            raise Ambiguous("ambiguous_quote", "a character literal of a quote or comment mark", at)
        return Token("text", text[at : at + 3], at)
    return Token("symbol", "'", at)
