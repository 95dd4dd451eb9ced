"""A system-call filter: refuses kernel interfaces that no checker or test run needs.

Namespaces take away what a program can reach; this takes away much of the kernel code that it
could attack to get out. Refused calls fail with EPERM, so that programs which merely try them
carry on. Only x86-64 and aarch64; elsewhere `supported()` is False and the gap is reported.
"""

from __future__ import annotations

import platform
import struct
import sys
from functools import cache

NAME = ".seccomp"  # the key of the filter among the descriptors that a sandbox is given

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# name: (x86-64, aarch64); -1 where the call does not exist.
_REFUSED: dict[str, tuple[int, int]] = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "unshare": (272, 97),
    "setns": (308, 268),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "syslog": (103, 116),
    "quotactl": (179, 60),
    "iopl": (172, -1),
    "ioperm": (173, -1),
    "modify_ldt": (154, -1),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "personality": (135, 92),
    "vhangup": (153, 58),
    "fanotify_init": (300, 262),
    "move_pages": (279, 239),
    "migrate_pages": (256, 238),
    "mbind": (237, 235),
}
_SOCKET = (41, 198)
_CLONE = (56, 220)
_CLONE_NAMESPACES = 0x7E020000  # every CLONE_NEW* flag that clone takes
_CLONE3 = 435
_X32_BIT = 0x40000000

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _ENOSYS = 1, 38
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data


def supported() -> bool:
    """Whether a filter exists for this machine's architecture."""
    return sys.platform == "linux" and platform.machine() in _ARCHITECTURES


@cache
def filter_bytes(network: bool = True) -> bytes:
    """The filter as an array of `struct sock_filter`; without `network` it refuses sockets too."""
    machine = platform.machine()
    column = list(_ARCHITECTURES).index(machine)
    refused = sorted(pair[column] for pair in _REFUSED.values() if pair[column] >= 0)
    refused += [] if network else [_SOCKET[column]]
    code = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_JUMP_EQUAL, _ARCHITECTURES[machine], 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
    ]
    if machine == "x86_64":  # a second name for every call: refuse them all
        code += [_step(_JUMP_AT_LEAST, _X32_BIT, 0, 1), _step(_RETURN, _ERRNO | _ENOSYS)]
    for number in refused:
        code += [_step(_JUMP_EQUAL, number, 0, 1), _step(_RETURN, _ERRNO | _EPERM)]
    # clone3 hides its flags behind a pointer; told that it does not exist, libc uses clone.
    code += [_step(_JUMP_EQUAL, _CLONE3, 0, 1), _step(_RETURN, _ERRNO | _ENOSYS)]
    code += [
        _step(_JUMP_EQUAL, _CLONE[column], 0, 3),
        _step(_LOAD, _FIRST_ARGUMENT),
        _step(_JUMP_SET, _CLONE_NAMESPACES, 0, 1),
        _step(_RETURN, _ERRNO | _EPERM),
        _step(_RETURN, _ALLOW),
    ]
    return b"".join(code)


# What a program needs that computes, reads files, and talks through descriptors it already has;
# (x86-64, aarch64), -1 where the call does not exist.
_COMPUTING: dict[str, tuple[int, int]] = {
    "read": (0, 63),
    "write": (1, 64),
    "readv": (19, 65),
    "writev": (20, 66),
    "pread64": (17, 67),
    "close": (3, 57),
    "lseek": (8, 62),
    "fstat": (5, 80),
    "stat": (4, -1),
    "lstat": (6, -1),
    "newfstatat": (262, 79),
    "statx": (332, 291),
    "access": (21, -1),
    "faccessat": (269, 48),
    "faccessat2": (439, 439),
    "readlink": (89, -1),
    "readlinkat": (267, 78),
    "getcwd": (79, 17),
    "getdents64": (217, 61),
    "fcntl": (72, 25),
    "ioctl": (16, 29),
    "dup": (32, 23),
    "dup2": (33, -1),
    "dup3": (292, 24),
    "pipe2": (293, 59),
    "poll": (7, -1),
    "ppoll": (271, 73),
    "epoll_create1": (291, 20),
    "epoll_ctl": (233, 21),
    "epoll_wait": (232, -1),
    "epoll_pwait": (281, 22),
    "eventfd2": (290, 19),
    "mmap": (9, 222),
    "munmap": (11, 215),
    "mremap": (25, 216),
    "mprotect": (10, 226),
    "madvise": (28, 233),
    "mincore": (27, 232),
    "brk": (12, 214),
    "futex": (202, 98),
    "sched_yield": (24, 124),
    "sched_getaffinity": (204, 123),
    "getcpu": (309, 168),
    "nanosleep": (35, 101),
    "clock_nanosleep": (230, 115),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "gettimeofday": (96, 169),
    "time": (201, -1),
    "getrandom": (318, 278),
    "getrusage": (98, 165),
    "sysinfo": (99, 179),
    "uname": (63, 160),
    "getpid": (39, 172),
    "gettid": (186, 178),
    "getppid": (110, 173),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "getrlimit": (97, 163),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132),
    "set_robust_list": (273, 99),
    "set_tid_address": (218, 96),
    "rseq": (334, 293),
    "membarrier": (324, 283),
    "restart_syscall": (219, 128),
    "exit": (60, 93),
    "exit_group": (231, 94),
}
_OPENAT, _OPEN, _TGKILL = (257, 56), (2, -1), (234, 131)
_CLONE_THREAD = 0x10000
# O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND, and the bit that O_TMPFILE adds.
_WRITING = 0o3 | 0o100 | 0o1000 | 0o2000 | 0o20000000
_SECOND_ARGUMENT, _THIRD_ARGUMENT = 24, 32


def compute_only_bytes() -> tuple[bytes, int]:
    """(a filter, where in it the process's id goes, as 4 bytes).

    The process may compute, start threads, read files and use the descriptors that it has, and
    nothing else. It cannot write or create any file, start a process, open a socket or signal
    another process, so nothing of it can reach a later one.
    """
    machine = platform.machine()
    column = list(_ARCHITECTURES).index(machine)
    code = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_JUMP_EQUAL, _ARCHITECTURES[machine], 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
    ]
    for number in (pair[column] for pair in _COMPUTING.values() if pair[column] >= 0):
        code += [_step(_JUMP_EQUAL, number, 0, 1), _step(_RETURN, _ALLOW)]
    code += [_step(_JUMP_EQUAL, _CLONE3, 0, 1), _step(_RETURN, _ERRNO | _ENOSYS)]
    code += _if_bits(_CLONE[column], _FIRST_ARGUMENT, _CLONE_THREAD, allowed_if_set=True)
    code += _if_bits(_OPENAT[column], _THIRD_ARGUMENT, _WRITING, allowed_if_set=False)
    if _OPEN[column] >= 0:
        code += _if_bits(_OPEN[column], _SECOND_ARGUMENT, _WRITING, allowed_if_set=False)
    code += [
        _step(_JUMP_EQUAL, _TGKILL[column], 0, 3),  # abort() signals its own thread
        _step(_LOAD, _FIRST_ARGUMENT),
        _step(_JUMP_EQUAL, 0, 0, 1),
        _step(_RETURN, _ALLOW),
        _step(_RETURN, _ERRNO | _EPERM),
    ]
    return b"".join(code), (len(code) - 3) * 8 + 4


def _if_bits(number: int, argument: int, bits: int, allowed_if_set: bool) -> list[bytes]:
    """For one call: allow it by whether any of `bits` is set in (the low half of) an argument."""
    results = (_ALLOW, _ERRNO | _EPERM) if allowed_if_set else (_ERRNO | _EPERM, _ALLOW)
    return [
        _step(_JUMP_EQUAL, number, 0, 4),
        _step(_LOAD, argument),
        _step(_JUMP_SET, bits, 0, 1),
        _step(_RETURN, results[0]),
        _step(_RETURN, results[1]),
    ]


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
