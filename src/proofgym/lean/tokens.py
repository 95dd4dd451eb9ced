"""Reads Lean text as Lean's own lexer would, as far as safety needs it.

The reader never has to be complete: it must not take for a comment, a string or part of a name
what Lean would read as code, since that could hide a command. Lean's reading depends on its
version and on its token table, which grows with every notation. Three rules keep apart from both:

- What hides its content (a string, a character, a comment, a «name») must begin where no longer
  token can have swallowed its first mark: after a blank, a comma or an opening bracket. Anywhere
  else the text is refused as ambiguous (`Ambiguous`); ordinary proofs contain no such place.
- A name is taken as a whole and in each way that it could fall apart (`readings`): at letters
  that not every Lean knows, and behind a symbol whose token could end in letters, as `→g` does.
- A number ends where Lean's ends, and nothing may stick to it.

Reading text in smaller pieces than Lean does is always safe: then more is seen, not less.
"""

from __future__ import annotations

import re
import string
from collections.abc import Container, Iterator
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
    """Lean's `isIdFirst`, and any letter that some Lean may know."""
    letter = _is_letter(char) and not _is_subscript(char)
    return (char.isascii() and char.isalpha()) or char == "_" or letter


def is_name_rest(char: str) -> bool:
    """Lean's `isIdRest`, and any letter or digit that some Lean may know."""
    return (char.isascii() and char.isalnum()) or char in "_'!?" or _is_letter(char)


def _is_letter(char: str) -> bool:
    return not char.isascii() and (_is_common(char) or (char.isalnum() and char not in "λΠΣ"))


def _is_common(char: str) -> bool:
    """Whether a character outside ASCII is part of names in every Lean 4."""
    return (
        ("α" <= char <= "ω" and char != "λ")
        or ("Α" <= char <= "Ω" and char not in "ΠΣ")
        or "ϊ" <= char <= "ϻ"
        or "ἀ" <= char <= "῾"
        or "℀" <= char <= "⅏"
        or "𝒜" <= char <= "𝖟"
        or _is_subscript(char)
    )


def _is_subscript(char: str) -> bool:
    return "₀" <= char <= "₉" or "ₐ" <= char <= "ₜ" or "ᵢ" <= char <= "ᵪ"


def is_doubtful(char: str) -> bool:
    """A letter to some versions of Lean and not to others (`é`, `ⱼ`), or to none yet (`ᶜ`)."""
    return _is_letter(char) and not _is_common(char)


def readings(text: str, name: Token, words: Container[str]) -> Iterator[str]:
    """Whatever of `words` Lean may see in a name: the name itself, also with the mark behind it,
    as in `foo%`; its pieces between doubtful letters; and what a token that ends in letters leaves
    of it, as `→g` does of `gend`."""
    whole = name.text
    found = [whole, text[name.start : name.start + len(whole) + 1]]
    before = text[name.start - 1 : name.start] if name.start else " "
    if before not in _APART:
        found += _endings(whole, capitals=before in _OPENING)
    if not whole.isascii():
        first, *others = "".join(" " if is_doubtful(it) else it for it in whole).split(" ")
        found.append(first)
        for piece in (other.lstrip("'!?") for other in others):
            found += [piece, *_endings(piece)]
    return (word for word in found if word in words)


def _endings(name: str, capitals: bool = False) -> Iterator[str]:
    """What is left of a name behind letters at its beginning; `capitals`: behind such alone."""
    first = name.partition(".")[0]
    for at in range(1, len(first)):
        if not first[:at].isalnum() or (capitals and not first[:at].isupper()):
            return
        yield first[at:]


_OPENING = "([{⟨"
_CLEAN = f" \n,{_OPENING}"
"""No token goes on behind these, but for `[` with capitals, as in `[ZMOD n]`."""
_APART = " \n,)]}⟩.;:@|‖¬↑←·"
"""Characters after which a name is read as it stands: no token has letters behind them."""


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


def words(text: str, strict: bool = True) -> list[Token]:
    """The tokens that mean something: all but the comments. See `tokens`."""
    return [token for token in tokens(text, strict) if token.kind != "comment"]


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
        return _number(text, at)
    return Token("symbol", char, at)


def _begins_clean(text: str, at: int) -> bool:
    return at == 0 or text[at - 1] in _CLEAN


_STICKS = frozenset(string.ascii_letters + string.digits + "_'")
_NUMBER = re.compile(
    r"0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|[0-9][0-9_]*(?:[eE][+-]?[0-9]+)?"
)


def _number(text: str, at: int) -> Token:
    match = _NUMBER.match(text, at)
    assert match is not None
    follows = text[match.end() : match.end() + 1]
    # `5!` is a number and a symbol: no number goes on with that.
    if follows and (follows == "«" or follows in _STICKS):
        why = f"a number directly before {follows!r} (put a space between)"
        raise Ambiguous("ambiguous_number", why, at, match.group())
    return Token("number", match.group(), at)


def _comment(text: str, at: int) -> Token:
    whole = text[at:]
    if whole.startswith("--"):
        whole = whole.partition("\n")[0]
    elif end := _comment_end(text, at):
        whole = text[at:end]
    else:
        raise Ambiguous("unclosed_comment", "a comment is opened and never closed", at, whole)
    # After a symbol, as in `<--` or `//-`, Lean's longest token may swallow the first mark.
    if not (_begins_clean(text, at) or text[at - 1] in ")]}⟩;" or _is_plain(text[at - 1])):
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
    return is_name_rest(char) and char not in "'!?" and not is_doubtful(char)


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
            if at and is_name_rest(text[at - 1]):  # or the `'` of a symbol, and a character `'«'`
                raise Ambiguous("ambiguous_name", "« directly after a name or quote", at)
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


_ESCAPE = r"""\\(?:[\\"'nrt]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4})"""
_STRING = re.compile(rf'"(?:[^"\\]|{_ESCAPE}|\\ *\n *)*"')


def _string(text: str, at: int) -> Token:
    if not (_begins_clean(text, at) or text[at - 1] == "!"):  # as in `s!"…"`
        why = "a string directly after a symbol (put a space between)"
        raise Ambiguous("ambiguous_string", why, at)
    match = _STRING.match(text, at)
    if match is None:
        why = "a string is never closed, or has an escape that Lean does not know"
        raise Ambiguous("unclosed_string", why, at, text[at:])
    return _text_token(match.group(), at)


def _text_token(whole: str, at: int) -> Token:
    if "{" in whole:
        raise Ambiguous("interpolation", "a string with `{` could hold code", at, whole)
    return Token("text", whole, at)


def _raw_string(text: str, at: int) -> Token | None:
    hashes = at + 1
    while hashes < len(text) and text[hashes] == "#":
        hashes += 1
    if text[hashes : hashes + 1] != '"':
        return None
    if not _begins_clean(text, at):
        why = "a raw string directly after a symbol (put a space between)"
        raise Ambiguous("ambiguous_string", why, at)
    ending = '"' + "#" * (hashes - at - 1)
    end = text.find(ending, hashes + 1)
    if end < 0:
        raise Ambiguous("unclosed_string", "a raw string is opened and never closed", at)
    return _text_token(text[at : end + len(ending)], at)


_LITERAL = re.compile(rf"""'(?:{_ESCAPE}|[^'"\\/«-])'""")
_LIKE_A_LITERAL = re.compile(r"'(?:\\|[^'\\]')")


def _quote(text: str, at: int) -> Token:
    """A character literal, or a `'` that belongs to a symbol such as `⁻¹'` or `''`."""
    clean, after = _begins_clean(text, at), text[at + 1 : at + 2]
    if clean and (literal := _LITERAL.match(text, at)):
        return Token("text", literal.group(), at)
    if (clean and after != "'") or _LIKE_A_LITERAL.match(text, at):
        why = "a quote that could begin a character literal, or end a symbol"
        raise Ambiguous("ambiguous_quote", why, at)
    return Token("symbol", "'", at)
