"""The `lean` executable: `python -I -S host.py LIBLEANSHARED ARGUMENT...`.

The Lean shared library exports the entry point of the `lean` program; this script loads the
library and calls it. Nothing of proofgym and nothing outside the standard library is imported,
so that it starts fast and works inside a sandbox that shows it only itself and the library.
"""

import ctypes
import os
import sys


def main(library: str, arguments: list[str]) -> int:
    os.environ.setdefault("UV_USE_IO_URING", "0")  # one kernel thread fewer to start
    # Global, because Lean's interpreter finds compiled code by symbol name in the whole process.
    lean = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
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
