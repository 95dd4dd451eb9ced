"""Lets forks inherit which pages of a library are mapped, so that they need not ask for them.

A fork copies the page table of a private mapping only if the mapping has pages of its own. The code
of a library has none, so each fork would fault in thousands of pages, sixteen at a time. Writing a
byte (as it was) gives the mapping a page of its own; of the rest, those in use are mapped ahead.
"""

from __future__ import annotations

import ctypes
import os
import re
from dataclasses import dataclass

_PAGE = os.sysconf("SC_PAGE_SIZE")
_READ, _WRITE, _EXECUTE = 1, 2, 4
_DONT_NEED, _POPULATE_READ = 4, 22
_NO_HUGE_PAGES = 41  # of prctl


@dataclass(frozen=True)
class Code:
    """Where a library's code is in this process."""

    start: int
    end: int

    def mapped(self) -> bytes:
        """A byte for each page: 1 where it is mapped."""
        with open("/proc/self/pagemap", "rb", buffering=0) as file:
            file.seek(self.start // _PAGE * 8)
            entries = file.read((self.end - self.start) // _PAGE * 8)
        return bytes(entry >> 7 for entry in entries[7::8])

    def inherit(self, wanted: bytes) -> None:
        """Have forks inherit the `wanted` pages, and no others.

        Raises:
            OSError: the kernel does not allow it; nothing is changed then.
        """
        size = self.end - self.start
        _checked("mprotect", self.start, size, _READ | _WRITE)
        first = ctypes.c_ubyte.from_address(self.start)
        first.value = first.value
        _checked("mprotect", self.start, size, _READ | _EXECUTE)
        _checked("madvise", self.start, size, _DONT_NEED)
        for run in re.finditer(b"\x01+", wanted):
            begin, end = (self.start + _PAGE * page for page in run.span())
            _checked("madvise", begin, end - begin, _POPULATE_READ)


def find_code(library: str) -> Code | None:
    """The one executable mapping of a library; None if it cannot be seen, or there are more."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
            found = [line.split(None, 5) for line in file if line.rstrip("\n").endswith(library)]
    except OSError:  # so it is for a process that was told to hide its memory
        return None
    spans = [line[0].split("-") for line in found if line[1] == "r-xp"]
    return Code(int(spans[0][0], 16), int(spans[0][1], 16)) if len(spans) == 1 else None


def no_huge_pages() -> None:
    """A check touches little of each of its heaps: clearing 2 MB for each is a waste."""
    _libc().prctl(_NO_HUGE_PAGES, 1, 0, 0, 0)


def _checked(name: str, address: int, size: int, flag: int) -> None:
    function = getattr(_libc(), name)
    if function(ctypes.c_size_t(address), ctypes.c_size_t(size), ctypes.c_int(flag)) != 0:
        raise OSError(ctypes.get_errno(), f"{name} failed")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
