"""Lean's front end with the header in memory: `lean --incr-load=… --json --stdin`, cut in two.

`Frontend` loads the snapshot of a header, once; `run` elaborates a file behind it, in a fork. Where
Lean starts by its `main`, more than half of a short check is the same each time: mapping the
snapshot, putting its addresses right, building the tables of parsers. A fork inherits all that.

Runs inside a sandbox with the standard library alone, in a process that has called Lean's
initialisation. It calls functions of the shared library that are no stable interface, so it is for
versions that it was tried with (`SUPPORTED`), and only after a rehearsal went well (`rehearse`);
else `forkserver.py` uses Lean's `main`. What is called here, and in which order, is what
`Lean.Elab.runFrontend` does; the objects' layout is that of `lean.h`.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import struct
import sys
from typing import Any

SUPPORTED = ("4.35.",)

_TRUE = 1
_NONE = _ZERO = 1  # boxed 0
_ONE = _EMPTY = 3  # boxed 1; the empty set is the second constructor of trees
_CLOSURE, _ARRAY, _ERROR = 245, 246, 1  # tags of objects
_HEAD = 8  # bytes before an object's first field
_STRING_HEAD = 32  # bytes before a string's first

_FRONT = "l___private_Lean_Elab_Frontend_0__Lean_Elab_"
_CONTEXT = "l_Lean_Parser_mkInputContext___redArg"
_COMMANDS = "l_Lean_Language_Lean_processCommands"
_COMMANDS_TREE = "l_Lean_Language_Lean_instToSnapshotTreeCommandParsedSnapshot_go"
_AS_IS = "l_Lean_Language_instInhabitedSnapshotTreeTransform_default"
_FILE = "l_Lean_Language_Lean_process"
_FILE_TREE = "l_Lean_Language_toSnapshotTree___at___00Lean_Elab_runFrontend_spec__2"
_REPORT = "l_Lean_Language_SnapshotTree_runAndReport"
_SET_OPTION = "l_Lean_Option_setIfNotSet___at___00Lean_Elab_runFrontend_spec__0"
_INITIALISE = "l_Lean_Elab_runFrontend___lam__4___boxed"
_ASK_SETUP = "l_Lean_Elab_runFrontend___lam__3___boxed"
_SET_STACK = "_ZN4lean7lthread21set_thread_stack_sizeEm"
_NEEDED = (
    _SET_STACK,
    *(_CONTEXT, _COMMANDS, _COMMANDS_TREE, _FILE, _FILE_TREE, _REPORT),
    *("lean_internal_set_max_memory", "lean_init_task_manager_using", "lean_task_get"),
    *("lean_mk_string_from_bytes", "lean_io_error_to_string"),
)

_HAS_HEADER = re.compile(rb"\A[\s/-]|\b(import|prelude|module)\b")
"""Whether a file may begin with what the parser of headers reads: blanks, comments, imports."""

_REHEARSAL = b"""
theorem proofgym_rehearsal : \xe2\x88\x80 p : Prop, p \xe2\x86\x92 p := by
  intro p h
  exact h
#print axioms proofgym_rehearsal
set_option pp.all true in #check (fun x : Prop => @proofgym_rehearsal)
example : \xe2\x88\x80 p q : Prop, p \xe2\x88\xa7 q \xe2\x86\x92 q \xe2\x88\xa7 p := by
  intro p q h
  cases h with
  | intro a b => exact \xe2\x9f\xa8b, a\xe2\x9f\xa9
example (a b : Nat) (h : a = b) : a + 0 = b := by
  rw [h]
example (a b : Nat) : a + b = b + a := by
  induction b with
  | zero => simp
  | succ n ih => exact ih
example : \xe2\x88\x80 p : Prop, p := fun p => p
"""


class LeanError(Exception):
    """An action of Lean's ended with an error: what it said."""


class Frontend:
    """A header in memory.

    Args:
        library: Lean's, initialised.
        snapshot: path of the header's state, from `--incr-save` or `--incr-header-save`.
        header: the text that was saved; files that begin otherwise are imported anew.

    Raises:
        LeanError: the snapshot cannot be loaded.
        AttributeError, ValueError: this library lacks something.
    """

    def __init__(self, library: ctypes.CDLL, snapshot: str, header: bytes) -> None:
        self._lean, self._header = library, header
        self._functions: dict[str, Any] = {}
        self._result("lean_init_search_path")
        self._call("lean_enable_initializer_execution")
        self._call("lean_io_mark_end_initialization")
        self._options = self._kept(self._make_options())
        self._name = self._kept(self._call("l_Lean_Name_mkSimple", self._text(b"_stdin")))
        self._old, self._state = self._load(snapshot)
        self._setup = self._kept(self._make_setup())
        self._start = self._kept(self._constructor(0, _ZERO, scalars=bytes(8)))
        self._as_is = _pointer(_address(library, _AS_IS))
        for name in _NEEDED:
            self._function(name)

    def run(self, source: bytes, memory: int, stack: int) -> int:
        """Elaborate a file, in UTF-8, print its messages as JSON lines, return the exit status.

        Once in a process: it starts Lean's threads.

        Args:
            memory: bytes after which Lean gives up by itself.
            stack: bytes of each of Lean's threads.
        """
        self._call("lean_internal_set_max_memory", memory)
        self._call(_SET_STACK, stack)
        self._call("lean_init_task_manager_using", 1)
        text = source.decode(errors="replace").encode()
        context = self._call(
            *(_CONTEXT, self._text(text), self._text(b"<stdin>"), _TRUE, _box(len(text)))
        )
        if self._header or _HAS_HEADER.search(text):
            tree = self._call(_FILE_TREE, self._call(_FILE, self._setup, self._old, context))
        else:  # parsing even an empty header makes an environment, and the tables with it
            task = self._call(_COMMANDS, context, self._start, self._state, _NONE)
            tree = self._call(_COMMANDS_TREE, self._call("lean_task_get", task), self._as_is)
        try:
            return self._result(_REPORT, tree, self._options, _TRUE, _EMPTY) >> 1
        except LeanError as error:
            sys.stderr.write(f"uncaught exception: {error}\n")
            return 1

    def rehearse(self) -> int:
        """Run a file whose messages are known. The exit status, as `rehearsed` expects it."""
        return self.run(self._header + _REHEARSAL, 1 << 40, 8 << 20)

    def rehearsed(self, status: int, printed: bytes) -> bool:
        """Whether a rehearsal went as it must: three messages in their order, on their lines."""
        try:
            messages = [json.loads(line) for line in printed.splitlines()]
            said = [(it["pos"]["line"], it["severity"], it["data"]) for it in messages]
        except (ValueError, KeyError, TypeError):
            return False
        before = self._header.count(b"\n")
        axioms, type_, *_, last = said if len(said) > 2 else [(0, "", "")] * 3
        return (
            status == 1
            and axioms[:2] == (before + 5, "information")
            and axioms[2].endswith("does not depend on any axioms")
            and type_[:2] == (before + 6, "information")
            and last[:2] == (before + _REHEARSAL.count(b"\n"), "error")
        )

    def _load(self, snapshot: str) -> tuple[int, int]:
        """The snapshot, as `process` takes it, and the state of elaboration behind the header."""
        path = self._text(os.fsencode(snapshot))
        saved, modules = _fields(self._kept(self._result(f"{_FRONT}loadIncrSnapshot", path)), 2)
        saved = self._kept(self._call(f"{_FRONT}setMainModule", saved, self._name))
        task = self._call("l_Lean_Language_Lean_HeaderParsedSnapshot_processedResult", saved)
        result = self._call("l_Lean_Language_SnapshotTask_get___redArg", task)
        if result & 1:
            raise LeanError("the header of the snapshot has an error")
        (processed,) = _fields(self._kept(result), 1)
        initialise = self._closure(_INITIALISE, 4, processed, modules, self._options)
        self._result("l_Lean_withImporting___redArg", initialise)
        self._call("lean_enable_initializer_execution")
        return self._kept(self._constructor(1, saved)), _fields(processed, 1)[0]

    def _make_options(self) -> int:
        """No options, but for the two that Lean's `main` sets."""
        options = _pointer(_address(self._lean, "l_Lean_Options_empty"))
        for name in ("l_Lean_internal_cmdlineSnapshots", "l_Lean_Elab_async"):
            option = _pointer(_address(self._lean, name))
            options = self._call(_SET_OPTION, options, option, _TRUE)
        return options

    def _make_setup(self) -> int:
        """The answer to what Lean asks where a file's imports are others than the header's."""
        plugins = self._object(struct.pack("=iHBBQQ", 1, 0, 0, _ARRAY, 0, 0))
        load = self._closure(_INITIALISE, 4)  # never called: there are no libraries to load
        known = (_NONE, load, self._options, plugins, _ZERO, _ONE, self._name)
        return self._closure(_ASK_SETUP, 10, *known)

    def _function(self, name: str) -> Any:
        function = self._functions.get(name)
        if function is None:
            function = self._functions[name] = getattr(self._lean, name)
            function.restype = ctypes.c_size_t
        return function

    def _call(self, name: str, *arguments: int) -> int:
        result: int = self._function(name)(*map(ctypes.c_size_t, arguments))
        return result

    def _result(self, name: str, *arguments: int) -> int:
        """What an `IO` action returns."""
        result = self._call(name, *arguments)
        (value,) = _fields(result, 1)
        if _tag(result) == _ERROR:
            words = self._call("lean_io_error_to_string", value)
            raise LeanError(ctypes.string_at(words + _STRING_HEAD).decode(errors="replace"))
        return value

    def _kept(self, value: int) -> int:
        """A value whose users nobody counts, so that forks share its memory."""
        self._call("lean_mark_persistent", value)
        return value

    def _text(self, content: bytes) -> int:
        buffer = ctypes.create_string_buffer(content, len(content) + 1)
        return self._call("lean_mk_string_from_bytes", ctypes.addressof(buffer), len(content))

    def _constructor(self, tag: int, *fields: int, scalars: bytes = b"") -> int:
        head = struct.pack("=iHBB", 1, 0, len(fields), tag)
        return self._object(head + struct.pack(f"={len(fields)}Q", *fields) + scalars)

    def _closure(self, name: str, arity: int, *fixed: int) -> int:
        code = _address(self._lean, name)
        head = struct.pack("=iHBBQHHI", 1, 0, 0, _CLOSURE, code, arity, len(fixed), 0)
        return self._object(head + struct.pack(f"={len(fixed)}Q", *fixed))

    def _object(self, content: bytes) -> int:
        where = self._call("lean_alloc_object", len(content))
        ctypes.memmove(where, content, len(content))
        return where


def _address(library: ctypes.CDLL, name: str) -> int:
    return ctypes.addressof(ctypes.c_char.in_dll(library, name))


def _pointer(where: int) -> int:
    return ctypes.c_size_t.from_address(where).value


def _fields(value: int, count: int) -> tuple[int, ...]:
    return tuple(_pointer(value + _HEAD + 8 * number) for number in range(count))


def _tag(value: int) -> int:
    return ctypes.c_uint8.from_address(value + _HEAD - 1).value


def _box(number: int) -> int:
    return 2 * number + 1
