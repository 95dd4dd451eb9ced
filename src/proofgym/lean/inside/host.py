"""The `lean` executable: `python -I -S host.py LIBLEANSHARED ARGUMENT...`.

The Lean shared library exports the entry point of the `lean` program; this script loads the
library and calls it. Nothing of proofgym and nothing outside the standard library is imported,
so that it starts fast and works inside a sandbox that shows it only itself and the library.

Before Lean reads a file, options that would let a proof step around its checks are disconnected
(`disconnect`): a file that sets them, however it hides the words from the policy scan, is checked
all the same.
"""

import ctypes
import os
import struct
import sys

_OPTIONS = (
    "l_Lean_debug_skipKernelTC",  # adds declarations that the kernel has not seen
    # Have an instance in a proof define data, which a later step could have Lean run as a tactic.
    "l_Lean_Meta_backward_inferInstanceAs_wrap_data",
    "l_Lean_Meta_backward_inferInstanceAs_wrap_instances",
)
_NEVER_SET = b"proofgym.isOff"
_FALSE = 1  # boxed
_BOOLEANS = (_FALSE, 3)
_OPTION = (0, 2)  # constructor and number of fields of an `Option`: its name, its default


def disconnect(library: ctypes.CDLL) -> None:
    """Make Lean, which is initialised, ask another option in the place of each of `_OPTIONS`: one
    that is off and not registered, so that no file can set it."""
    for name in _OPTIONS:
        _disconnect(library, name)


def _disconnect(library: ctypes.CDLL, option_name: str) -> None:
    """Nothing, if this library does not keep such an option where 4.x does."""
    try:
        place = ctypes.c_size_t.in_dll(library, option_name)
        known = struct.unpack("=HBBQQ", ctypes.string_at(place.value + 4, 20))
        if known[2:0:-1] != _OPTION or known[4] not in _BOOLEANS:
            return
        text = ctypes.create_string_buffer(_NEVER_SET)
        string = _call(library, "lean_mk_string", ctypes.addressof(text))
        name = _call(library, "l_Lean_Name_mkSimple", string)
        option = struct.pack("=iHBBQQ", 1, 0, *reversed(_OPTION), name, _FALSE)
        where = _call(library, "lean_alloc_object", len(option))
    except (AttributeError, ValueError):
        return
    ctypes.memmove(where, option, len(option))
    _call(library, "lean_mark_persistent", where)
    place.value = where


def _call(library: ctypes.CDLL, name: str, argument: int) -> int:
    function = getattr(library, name)
    function.restype = ctypes.c_size_t
    return int(function(ctypes.c_size_t(argument)))


def main(library: str, arguments: list[str]) -> int:
    os.environ.setdefault("UV_USE_IO_URING", "0")  # one kernel thread fewer to start
    # Global, because Lean's interpreter finds compiled code by symbol name in the whole process.
    lean = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    lean.lean_initialize()
    disconnect(lean)
    argv = [b"lean", *map(os.fsencode, arguments)]
    array = (ctypes.c_char_p * (len(argv) + 1))(*argv, None)
    return lean.lean_main(len(argv), array)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: host.py LIBLEANSHARED [LEAN ARGUMENT...]")
    status = main(sys.argv[1], sys.argv[2:])
    # Skip the interpreter's own shutdown, but not C's buffered output.
    ctypes.CDLL(None).fflush(None)
    os._exit(status & 0xFF)
