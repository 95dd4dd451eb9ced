"""Has Lean's kernel check a proof again, in a process that never ran anything of the candidate's.

    python -I -S replayer.py LIBLEANSHARED MODULE AXIOM < lines

The environment is what the trusted side compiled: MODULE has the header's declarations, and the
statement without a proof, as an axiom or unproved theorem of the name AXIOM (a JSON list of the
name's parts); a proof that uses it rests on it, or on `sorryAx`. From standard input
come the lines of `exporter.py`. They are hostile: each is checked, refers only to earlier ones,
and makes one name, universe level, term or declaration through Lean's own constructors.
Declarations go through the kernel one by one; the last is the proof, which must have the type of
the trusted axiom. Then the axioms that it rests on are collected from the environment.

The answer is one JSON object on standard output: `{"axioms": […], "declarations": n}` or
`{"refused": why}` or, where this program is at its limits, `{"unable": why}`.

Lean's library is called as compiled Lean calls it; `SUPPORTED` are the versions whose calling
conventions these are.
"""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import struct
import sys
from collections.abc import Callable, Iterator
from typing import Any

SUPPORTED = ("4.35.",)

_NIL = 1  # empty list, none, the anonymous name: all are the boxed number 0
_ARRAY = 246
_STATEMENTS = (0, 2)  # constructors of `ConstantInfo`: an axiom, a theorem
_DEEPEST = 1_000_000
_MAX_BOUND = 1 << 20
_EXCEPTIONS = (
    *("unknown constant", "already declared", "the value has another type"),
    *("unsolved metavariables", "free variables", "not a function", "not a type"),
    *("a let of another type", "an ill-typed term", "an application of the wrong type"),
    *("a bad projection", "a theorem that is no proposition", "other", "deterministic timeout"),
    *("excessive memory", "too deep a recursion", "interrupted"),
)
_OURS = ("deterministic timeout", "excessive memory", "too deep a recursion", "interrupted")
Name = tuple[str | int, ...]
_BUILT_IN = (("Lean", "reduceBool"), ("Lean", "reduceNat"))
"""Names that a kernel may run compiled code for; the header's own library has them, or nobody."""


class Refused(Exception):
    """The lines are no proof: why."""


class Unable(Exception):
    """Nothing is known about the proof: why."""


class Lean:
    """The library's functions, and objects in its own layout.

    Every object made here is persistent (its reference count is 0), so who owns what does not
    matter, and nothing is ever freed: the process is short.
    """

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        self._library.lean_initialize()
        self._library.lean_init_task_manager()
        self._library.lean_io_mark_end_initialization()
        self._kept: list[Any] = []
        self._persist = self._function("lean_mark_persistent", None, "p")
        self.get_name = self.maker("lean_name_mk_string", "pp")
        self.find_constant = self._function("lean_environment_find", ctypes.c_void_p, "pp")
        self.add_declaration = self._function("lean_add_decl", ctypes.c_void_p, "pzzpp")
        self.used_constants = self._function("l_Lean_Expr_getUsedConstants", ctypes.c_void_p, "p")

    def _function(self, name: str, result: Any, kinds: str) -> Any:
        types = {"p": ctypes.c_void_p, "z": ctypes.c_size_t, "b": ctypes.c_uint8}
        function = getattr(self._library, name)
        function.restype = result
        function.argtypes = [types.get(kind, ctypes.c_uint32) for kind in kinds]
        return function

    def maker(self, name: str, kinds: str) -> Callable[..., int]:
        """A constructor of the library's."""
        function = self._function(name, ctypes.c_void_p, kinds)

        def make(*arguments: int) -> int:
            made = function(*arguments)
            self._persist(made)
            return made

        return make

    def _place(self, content: bytes) -> int:
        buffer = ctypes.create_string_buffer(content, (len(content) + 7) // 8 * 8)
        self._kept.append(buffer)
        return ctypes.addressof(buffer)

    def object(self, tag: int, *fields: int, scalars: bytes = b"") -> int:
        size = 8 + 8 * len(fields) + (len(scalars) + 7) // 8 * 8
        head = struct.pack(f"<iHBB{len(fields)}Q", 0, size, len(fields), tag, *fields)
        return self._place(head + scalars)

    def array(self, *items: int) -> int:
        head = struct.pack(f"<iHBBQQ{len(items)}Q", 0, 0, 0, _ARRAY, len(items), len(items), *items)
        return self._place(head)

    def list(self, items: list[int]) -> int:
        made = _NIL
        for item in reversed(items):
            made = self.object(1, item, made)
        return made

    def string(self, text: str) -> int:
        data = text.encode()
        head = struct.pack("<iHBBQQQ", 0, 0, 0, 249, len(data) + 1, len(data) + 1, len(text))
        return self._place(head + data + b"\0")

    def natural(self, value: int) -> int:
        if value < 1 << 62:
            return 2 * value + 1
        return self.maker("lean_cstr_to_nat", "p")(self._place(str(value).encode() + b"\0"))

    def environment(self, module: int) -> int:
        """The kernel's environment with one module and all that it imports."""
        self._ok(self._function("lean_init_search_path", ctypes.c_void_p, "")(), "search path")
        options = ctypes.c_void_p.in_dll(self._library, "l_Lean_Options_empty").value
        imported = self.object(0, module, scalars=bytes([0, 1, 0]))
        load = self._function("l_Lean_importModules", ctypes.c_void_p, "ppupbbbp")
        result = load(self.array(imported), options, 0, self.array(), 0, 0, 2, 3)
        full = self._ok(result, "the trusted module")
        return self._function("lean_elab_environment_to_kernel_env", ctypes.c_void_p, "p")(full)

    def _ok(self, result: int, what: str) -> int:
        if tag(result) != 0:
            self._function("lean_io_result_show_error", None, "p")(result)
            raise Unable(f"{what} cannot be loaded")
        return word(result + 8)


def word(at: int) -> int:
    return ctypes.c_uint64.from_address(at).value


def tag(at: int) -> int:
    return at >> 1 if at & 1 else ctypes.c_uint8.from_address(at + 7).value


def field(at: int, index: int) -> int:
    return word(at + 8 + 8 * index)


def hold(at: int) -> int:
    """Keep an object that a function is about to take over."""
    count = ctypes.c_int32.from_address(at)
    count.value += (count.value > 0) - (count.value < 0)
    return at


def items(at: int) -> Iterator[int]:
    """Of a list."""
    while not at & 1:
        yield field(at, 0)
        at = field(at, 1)


def text(at: int) -> str:
    return ctypes.string_at(at + 32, word(at + 8) - 1).decode(errors="replace")


def parts(name: int) -> Name:
    found: list[str | int] = []
    while not name & 1:
        last = field(name, 1)
        found.append(text(last) if tag(name) == 1 else last >> 1)
        name = field(name, 0)
    return tuple(reversed(found))


class Environment:
    """The kernel's environment, to which declarations are added."""

    def __init__(self, lean: Lean, module: int) -> None:
        self._lean, self._env = lean, lean.environment(module)

    def find(self, name: int) -> int | None:
        """A constant's information."""
        found = self._lean.find_constant(hold(self._env), name)
        return None if found & 1 else field(found, 0)

    def add(self, declaration: int) -> None:
        """Have the kernel check it."""
        result = self._lean.add_declaration(hold(self._env), 0, _DEEPEST, declaration, _NIL)
        if tag(result) == 1:
            self._env = field(result, 0)
            return
        problem = field(result, 0)
        why = _EXCEPTIONS[min(tag(problem), len(_EXCEPTIONS) - 1)]
        if why == "other":
            why = text(field(problem, 0))[:300]
        elif why == "unknown constant":
            why += f" {'.'.join(map(str, parts(field(problem, 1))))}"
        raise (Unable if why in _OURS else Refused)(f"the kernel says: {why}")

    def axioms(self, root: int) -> list[str]:
        """The axioms that a constant rests on, through everything it uses."""
        seen, found, stack = {parts(root)}, [], [root]
        while stack:
            at = stack.pop()
            information = self.find(at)
            if information is None:
                raise Refused("a constant is missing")
            if tag(information) == 0:
                found.append(".".join(map(str, parts(at))))
            for used in self._used(information):
                key = parts(used)
                if key not in seen:
                    seen.add(key)
                    stack.append(used)
        return sorted(found)

    def _used(self, information: int) -> Iterator[int]:
        kind, value = tag(information), field(information, 0)
        terms = [field(field(value, 0), 2)]
        if kind in (1, 2, 3):  # definition, theorem, opaque
            terms.append(field(value, 1))
        elif kind == 5:  # an inductive type: its constructors
            yield from items(field(value, 4))
        for term in terms:
            found = self._lean.used_constants(hold(term))
            yield from (word(found + 24 + 8 * index) for index in range(word(found + 8)))


class Replay:
    """What the lines have made so far. `Refused`, `ValueError` and the like: a line is wrong."""

    def __init__(self, lean: Lean, environment: Environment, axiom: int) -> None:
        self._lean, self._env, self._axiom = lean, environment, axiom
        self._names: list[int] = [_NIL]
        self._spelled: list[Name] = [()]
        self._levels: list[int] = [lean.maker("lean_level_mk_zero", "p")(_NIL)]
        self._terms: list[int] = []
        self._loose: list[int] = []  # how many binders around each term it needs
        self.declarations = 0
        self.proof = 0
        self._level_makers = {
            "succ": lean.maker("lean_level_mk_succ", "p"),
            "max": lean.maker("lean_level_mk_max", "pp"),
            "imax": lean.maker("lean_level_mk_imax", "pp"),
        }
        self._make_param = lean.maker("lean_level_mk_param", "p")
        self._make_numbered = lean.maker("lean_name_mk_numeral", "pp")
        self._make = {
            word: lean.maker(f"lean_expr_mk_{name}", kinds)
            for word, name, kinds in (
                ("bound", "bvar", "p"),
                ("sort", "sort", "p"),
                ("const", "const", "pp"),
                ("app", "app", "pp"),
                ("fun", "lambda", "pppb"),
                ("forall", "forall", "pppb"),
                ("let", "let", "pppp"),
                ("literal", "lit", "p"),
                ("proj", "proj", "ppp"),
            )
        }

    def take(self, line: list[Any]) -> None:
        if self.proof:
            raise Refused("more lines after the proof")
        kind, *rest = line
        if kind == "name":
            self._name(*rest)
        elif kind == "param":
            self._levels.append(self._make_param(self._names[_index(rest[0])]))
        elif kind in self._level_makers:
            lower = [self._levels[_index(it)] for it in rest]
            self._levels.append(self._level_makers[kind](*lower))
        elif kind == "needed":
            self._need(_index(rest[0]))
        elif kind in ("theorem", "definition"):
            self._declare(kind, *rest)
        elif method := getattr(self, f"_term_{kind}", None):
            made, loose = method(*rest)
            self._terms.append(made)
            self._loose.append(loose)
        else:
            raise Refused(f"the replay has no {str(kind)[:40]!r}")

    def _name(self, parent: int, last: str | int) -> None:
        before = self._names[_index(parent)]
        if isinstance(last, str):
            made = self._lean.get_name(before, self._lean.string(last))
        else:
            made = self._make_numbered(before, self._lean.natural(_index(last)))
        self._names.append(made)
        self._spelled.append((*self._spelled[parent], last))

    def _of(self, *places: int, under: int = 0) -> int:
        """How many binders terms need, the last of them standing under `under` more."""
        counts = [self._loose[_index(it)] for it in places]
        return max(*counts[:-1], counts[-1] - under, 0)

    def _term_bound(self, index: int) -> tuple[int, int]:
        if _index(index) >= _MAX_BOUND:
            raise Refused("a bound variable beyond all binders")
        return self._make["bound"](self._lean.natural(index)), index + 1

    def _term_sort(self, level: int) -> tuple[int, int]:
        return self._make["sort"](self._levels[_index(level)]), 0

    def _term_const(self, name: int, levels: list[int]) -> tuple[int, int]:
        made = self._lean.list([self._levels[_index(it)] for it in levels])
        return self._make["const"](self._names[_index(name)], made), 0

    def _term_app(self, function: int, argument: int) -> tuple[int, int]:
        loose = self._of(function, argument)
        return self._make["app"](self._terms[function], self._terms[argument]), loose

    def _term_fun(self, name: int, info: int, kind: int, body: int) -> tuple[int, int]:
        return self._binder("fun", name, info, kind, body)

    def _term_forall(self, name: int, info: int, kind: int, body: int) -> tuple[int, int]:
        return self._binder("forall", name, info, kind, body)

    def _binder(self, word: str, name: int, info: int, kind: int, body: int) -> tuple[int, int]:
        if _index(info) > 3:
            raise Refused("no such kind of binder")
        loose = self._of(kind, body, under=1)
        terms = (self._terms[kind], self._terms[body])
        return self._make[word](self._names[_index(name)], *terms, info), loose

    def _term_let(self, name: int, kind: int, value: int, body: int) -> tuple[int, int]:
        loose = self._of(kind, value, body, under=1)
        terms = (self._terms[kind], self._terms[value], self._terms[body])
        return self._make["let"](self._names[_index(name)], *terms), loose

    def _term_proj(self, name: int, index: int, term: int) -> tuple[int, int]:
        number = self._lean.natural(_index(index))
        loose = self._of(term, term)
        return self._make["proj"](self._names[_index(name)], number, self._terms[term]), loose

    def _term_number(self, digits: str) -> tuple[int, int]:
        value = self._lean.natural(_index(int(digits, 16)))
        return self._make["literal"](self._lean.object(0, value)), 0

    def _term_text(self, content: str) -> tuple[int, int]:
        return self._make["literal"](self._lean.object(1, self._lean.string(content))), 0

    def _need(self, name: int) -> None:
        """Something of the header that no line can make."""
        if self._env.find(self._names[name]) is None:
            spelled = ".".join(map(str, self._spelled[name]))
            raise Unable(f"{spelled} is no theorem, no definition, and none of the header's")

    def _declare(
        self, kind: str, name: int, params: list[int], type_: int, value: int, hints: Any = None
    ) -> None:
        known = self._names[_index(name)]
        if self._spelled[name] in _BUILT_IN:
            raise Refused(f"a definition of {'.'.join(map(str, self._spelled[name]))}")
        is_proof = kind == "theorem" and self._spelled[name] == parts(self._axiom)
        if not is_proof and self._env.find(known) is not None:
            return  # the trusted side's own, in both modules
        if self._loose[_index(type_)] or self._loose[_index(value)]:
            raise Refused("a variable that nothing binds")
        levels = self._lean.list([self._names[_index(it)] for it in params])
        typed = self._terms[type_]
        if is_proof:  # under another name, and with the type that the trusted side gave it
            known = self.proof = self._lean.get_name(_NIL, self._lean.string("proofgym_replay"))
            constant = field(field(self._env.find(self._axiom) or 0, 0), 0)
            levels, typed = field(constant, 1), field(constant, 2)
        make = self._lean.object
        fields = [make(0, known, levels, typed), self._terms[value]]
        alone = make(1, known, _NIL)
        if kind == "theorem":
            self._env.add(make(2, make(0, *fields, alone)))
        else:
            self._env.add(make(1, make(0, *fields, self._hints(hints), alone, scalars=b"\1")))
        self.declarations += 1

    def _hints(self, hints: list[int]) -> int:
        """When the kernel unfolds a definition: it bears on speed alone."""
        which, height = map(_index, hints)
        if which == 2:
            return self._lean.object(2, scalars=struct.pack("<I", height & 0xFFFFFFFF))
        return 2 * min(which, 1) + 1


def _index(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise Refused("no number where one is expected")
    return value


def replay(library: str, module: str, axiom: list[str | int]) -> dict[str, Any]:
    lean = Lean(library)
    environment = Environment(lean, lean.get_name(_NIL, lean.string(module)))
    name = _NIL
    for part in axiom:
        if isinstance(part, str):
            name = lean.get_name(name, lean.string(part))
        else:
            name = lean.maker("lean_name_mk_numeral", "pp")(name, lean.natural(part))
    if (known := environment.find(name)) is None or tag(known) not in _STATEMENTS:
        raise Unable("the trusted module has no such statement")
    lines = Replay(lean, environment, name)
    for number in itertools.count(1):
        line = sys.stdin.buffer.readline()
        if not line:
            break
        try:
            lines.take(json.loads(line))
        except (ValueError, TypeError, LookupError, RecursionError, AttributeError) as error:
            raise Refused(f"line {number} cannot be read: {str(error)[:200]}") from None
    if not lines.proof:
        raise Refused("the lines end without the proof")
    return {"axioms": environment.axioms(lines.proof), "declarations": lines.declarations}


def main() -> None:
    try:
        answer = replay(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
    except Refused as error:
        answer = {"refused": str(error)}
    except Unable as error:
        answer = {"unable": str(error)}
    print(json.dumps(answer), flush=True)
    os._exit(0)  # Lean's own threads need no farewell


if __name__ == "__main__":
    main()
