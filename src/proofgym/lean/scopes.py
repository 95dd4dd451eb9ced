"""The namespaces and sections that a Lean text opens, as far as its words tell."""

from __future__ import annotations

from collections.abc import Sequence

from proofgym.lean.tokens import Token, words

_OPENING = ("namespace", "section", "mutual")


class Scopes:
    """Follows a text word by word."""

    def __init__(self) -> None:
        self._open: list[str] = []

    def see(self, read: Sequence[Token], at: int) -> None:
        """Take up the token at this index."""
        word = read[at].text
        if word in _OPENING:
            self._open.append(name_after(read, at) if word == "namespace" else "")
        elif word == "end" and self._open:
            self._open.pop()

    def full_name(self, name: str) -> str:
        """What a declaration of this name is called from outside."""
        if name.startswith("_root_."):
            return name.removeprefix("_root_.")
        return ".".join([*(scope for scope in self._open if scope), name])


def name_after(read: Sequence[Token], at: int) -> str:
    """The name that follows a token; nothing if none does."""
    following = read[at + 1] if at + 1 < len(read) else None
    return following.text if following is not None and following.kind == "name" else ""


def full_name_after(header: str, name: str) -> str:
    """The full name of a declaration that follows a trusted header, which may have left
    namespaces open."""
    scopes, read = Scopes(), words(header, strict=False)
    for at in range(len(read)):
        scopes.see(read, at)
    return scopes.full_name(name)
