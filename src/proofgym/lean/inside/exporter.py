"""Runs Lean on a file and writes what the kernel accepted, as lines of text.

    python -I -S exporter.py ROOT LEAN [ARGUMENT...] < file.lean

Runs inside a sandbox with the standard library alone. Lean writes a compiled module, which is read
here and printed as the declarations that ROOT (a JSON list: the parts of its name) rests on, each
after the ones it uses; see `replayer.py` for the lines. With ROOT `null` the file is the trusted
side's own, and what is printed is one JSON object: the module itself and the names of the axioms
and theorems in it.

Nobody has to believe this program: a proof that took it over could print any lines, but the
kernel of another process judges them. So the reader below is careful about offsets only to fail
with a clear word.
"""

from __future__ import annotations

import base64
import json
import os
import struct
import sys
from collections.abc import Iterator
from typing import Any

_FILE, _MODULE = "Check.lean", "Check.olean"
_BASE_AT = 0x50
_ARRAY, _STRING, _BIG = 246, 249, 250
_KINDS = {0: "axiom", 1: "definition", 2: "theorem"}
_CHILDREN = {5: (0, 1), 6: (1, 2), 7: (1, 2), 8: (1, 2, 3), 10: (1,), 11: (2,)}


class Unreadable(Exception):
    """The module is not what this reader knows: why."""


class Objects:
    """The objects of a compiled module. An object is known by its offset, a small number `n` by
    the odd word `2 n + 1`, as in Lean's memory."""

    def __init__(self, data: bytes) -> None:
        if data[:5] != b"olean" or len(data) < _BASE_AT + 16:
            raise Unreadable("no compiled module")
        self._data = data
        self._base = self.word(_BASE_AT)
        self.root = self._place(self.word(_BASE_AT + 8))

    def word(self, at: int) -> int:
        if not 0 <= at <= len(self._data) - 8:
            raise Unreadable("an offset outside the module")
        return struct.unpack_from("<Q", self._data, at)[0]

    def _place(self, word: int) -> int:
        if word & 1:
            return word
        at = word - self._base
        if at & 7 or not 0 < at <= len(self._data) - 8:
            raise Unreadable("a pointer outside the module")
        return at

    def tag(self, at: int) -> int:
        """The constructor's number, or the kind of object."""
        return at >> 1 if at & 1 else self._data[at + 7]

    def field(self, at: int, index: int) -> int:
        if at & 1 or index >= self._data[at + 6]:
            raise Unreadable("an object without the field looked for")
        return self._place(self.word(at + 8 + 8 * index))

    def scalars(self, at: int) -> int:
        """Where the fields that are no objects begin."""
        return at + 8 + 8 * self._data[at + 6]

    def byte(self, at: int) -> int:
        return self.word(at) & 0xFF

    def array(self, at: int) -> Iterator[int]:
        if self.tag(at) != _ARRAY:
            raise Unreadable("no array where one is expected")
        for index in range(self.word(at + 8)):
            yield self._place(self.word(at + 24 + 8 * index))

    def list(self, at: int) -> Iterator[int]:
        while not at & 1:
            yield self.field(at, 0)
            at = self.field(at, 1)

    def string(self, at: int) -> str:
        if self.tag(at) != _STRING:
            raise Unreadable("no string where one is expected")
        size = self.word(at + 8)
        return self._data[at + 32 : at + 32 + size - 1].decode()

    def natural(self, at: int) -> int:
        if at & 1:
            return at >> 1
        if self.tag(at) != _BIG:
            raise Unreadable("no number where one is expected")
        limbs = self._place(self.word(at + 16))
        count = self.word(at + 8) >> 32
        return sum(self.word(limbs + 8 * index) << 64 * index for index in range(count))

    def name(self, at: int) -> tuple[str | int, ...]:
        parts: list[str | int] = []
        while not at & 1:
            last = self.field(at, 1)
            parts.append(self.string(last) if self.tag(at) == 1 else self.natural(last))
            at = self.field(at, 0)
        return tuple(reversed(parts))


class Lines:
    """The lines printed so far. Names, levels and terms are numbered in their order."""

    def __init__(self, objects: Objects) -> None:
        self.read = objects
        self.lines: list[list[Any]] = []
        self._names: dict[tuple[str | int, ...], int] = {(): 0}
        self._levels: dict[int, int] = {}
        self._level_count = 1  # the first is zero
        self._terms: dict[int, int] = {}

    def name(self, at: int) -> int:
        return self._name(self.read.name(at))

    def _name(self, parts: tuple[str | int, ...]) -> int:
        for end in range(1, len(parts) + 1):
            if parts[:end] not in self._names:
                self.lines.append(["name", self._names[parts[: end - 1]], parts[end - 1]])
                self._names[parts[:end]] = len(self._names)
        return self._names[parts]

    def level(self, at: int) -> int:
        """Recursive: levels are shallow."""
        if at not in self._levels:
            self._levels[at] = self._level(at)
        return self._levels[at]

    def _level(self, at: int) -> int:
        tag = self.read.tag(at)
        if tag == 0:
            return 0
        fields = [self.read.field(at, index) for index in range(2 if tag in (2, 3) else 1)]
        if tag == 4:
            line: list[Any] = ["param", self.name(fields[0])]
        elif tag in (1, 2, 3):
            word = {1: "succ", 2: "max", 3: "imax"}[tag]
            line = [word, *map(self.level, fields)]
        else:
            raise Unreadable("an unsolved universe level")
        self.lines.append(line)
        self._level_count += 1
        return self._level_count - 1

    def children(self, at: int) -> list[int]:
        return [self.read.field(at, index) for index in _CHILDREN.get(self.read.tag(at), ())]

    def term(self, root: int) -> int:
        """Print a term, what it consists of first; shared parts once."""
        stack = [root]
        while stack:
            at = stack[-1]
            missing = [it for it in self.children(at) if it not in self._terms]
            if at in self._terms or not missing:
                stack.pop()
                if at not in self._terms:
                    self._terms[at] = self._print(at)
            stack += missing
        return self._terms[root]

    def _print(self, at: int) -> int:
        if self.read.tag(at) == 10:  # a note of the elaborator's, nothing to the kernel
            return self._terms[self.read.field(at, 1)]
        self.lines.append(self._line(at))
        self._count = getattr(self, "_count", -1) + 1
        return self._count

    def _line(self, at: int) -> list[Any]:
        read, tag = self.read, self.read.tag(at)
        parts = [self._terms[it] for it in self.children(at)]
        if tag == 0:
            return ["bound", read.natural(read.field(at, 0))]
        if tag == 3:
            return ["sort", self.level(read.field(at, 0))]
        if tag == 4:
            levels = [self.level(it) for it in read.list(read.field(at, 1))]
            return ["const", self.name(read.field(at, 0)), levels]
        if tag == 5:
            return ["app", *parts]
        if tag in (6, 7):
            info = read.byte(read.scalars(at) + 8)
            return ["fun" if tag == 6 else "forall", self.name(read.field(at, 0)), info, *parts]
        if tag == 8:
            return ["let", self.name(read.field(at, 0)), *parts]
        if tag == 9:
            literal = read.field(at, 0)
            value = read.field(literal, 0)
            if read.tag(literal) == 0:
                return ["number", hex(read.natural(value))]
            return ["text", read.string(value)]
        if tag == 11:
            index = read.natural(read.field(at, 1))
            return ["proj", self.name(read.field(at, 0)), index, *parts]
        raise Unreadable("an unfinished term")


class Module:
    """The declarations of a compiled module, by name."""

    def __init__(self, data: bytes) -> None:
        self.read = Objects(data)
        self.known: dict[tuple[str | int, ...], tuple[str, int]] = {}
        for info in self.read.array(self.read.field(self.read.root, 2)):
            value = self.read.field(info, 0)
            name = self.read.name(self.read.field(self.read.field(value, 0), 0))
            self.known[name] = (_KINDS.get(self.read.tag(info), "other"), value)

    def statements(self) -> list[list[str | int]]:
        kinds = ("axiom", "theorem")
        return [list(name) for name, (kind, _) in self.known.items() if kind in kinds]

    def export(self, root: tuple[str | int, ...]) -> list[list[Any]]:
        """Every line for `root`, which comes last."""
        if root not in self.known:
            raise Unreadable(f"no declaration {root} in the module")
        out, done = Lines(self.read), set[tuple[str | int, ...]]()
        stack = [root]
        while stack:
            name = stack[-1]
            kind, value = self.known[name]
            needed = [it for it in self._uses(out, value, kind) if it in self.known]
            missing = [it for it in needed if it not in done and it not in stack]
            if not missing:
                stack.pop()
                if name not in done:
                    done.add(name)
                    out.lines.append(self._declaration(out, kind, value))
            stack += missing
        return out.lines

    def _terms(self, kind: str, value: int) -> list[int]:
        """Type and value. What is no theorem or definition must be the header's own: the replay
        has it already, and its name is all there is to say."""
        if kind not in ("definition", "theorem"):
            return []
        return [self.read.field(self.read.field(value, 0), 2), self.read.field(value, 1)]

    def _uses(self, out: Lines, value: int, kind: str) -> set[tuple[str | int, ...]]:
        found: set[tuple[str | int, ...]] = set()
        seen: set[int] = set()
        stack = self._terms(kind, value)
        while stack:
            at = stack.pop()
            if at not in seen:
                seen.add(at)
                stack += out.children(at)
                if self.read.tag(at) == 4:
                    found.add(self.read.name(self.read.field(at, 0)))
        return found

    def _declaration(self, out: Lines, kind: str, value: int) -> list[Any]:
        head = self.read.field(value, 0)
        if kind not in ("definition", "theorem"):
            return ["needed", out.name(self.read.field(head, 0))]
        params = [out.name(it) for it in self.read.list(self.read.field(head, 1))]
        terms = [out.term(it) for it in self._terms(kind, value)]
        line = [kind, out.name(self.read.field(head, 0)), params, *terms]
        if kind == "definition":
            hints = self.read.field(value, 2)
            height = self.read.word(self.read.scalars(hints)) & 0xFFFFFFFF if not hints & 1 else 0
            line.append([self.read.tag(hints), height])
        return line


def main(root: str, command: list[str]) -> None:
    with open(_FILE, "wb") as file:
        file.write(sys.stdin.buffer.read())
    said = os.open("said", os.O_WRONLY | os.O_CREAT, 0o600)
    actions = [(os.POSIX_SPAWN_DUP2, said, 1)]
    argv = [*command, "-o", _MODULE, _FILE]
    child = os.posix_spawn(argv[0], argv, os.environ, file_actions=actions)
    _, state = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(state)
    if code != 0:
        with open("said", errors="replace") as file:
            sys.exit(f"exporter: Lean ended with status {code}: {file.read(2000)}")
    with open(_MODULE, "rb") as module:
        data = module.read()
    wanted = json.loads(root)
    if wanted is None:
        statements = Module(data).statements()
        print(json.dumps({"module": base64.b64encode(data).decode(), "statements": statements}))
        return
    lines = Module(data).export(tuple(wanted))
    sys.stdout.write("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        main(sys.argv[1], sys.argv[2:])
    except (Unreadable, OSError, ValueError, IndexError) as error:
        sys.exit(f"exporter: {error}")
