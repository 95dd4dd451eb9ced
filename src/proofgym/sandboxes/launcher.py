"""The outer process of the backends that need no other program: `python -I -S launcher.py`.

Runs as a script of its own, apart from the orchestrator's threads and memory, with nothing but
the standard library. It speaks the protocol of `spawn.py`: report, wait for a byte, start the
program, report how it ended. Whatever fails before the program starts is written to standard
error and no exit code is reported, which makes it a fault of the machinery.

    launcher.py SPEC_FD STATUS_FD GO_FD

The specification is a marshalled dictionary; `namespaces.py` and `limits_only.py` write it.
"""

from __future__ import annotations

import contextlib
import ctypes
import marshal
import os
import select
import signal
import struct
import sys
from typing import Any, NoReturn

_libc = ctypes.CDLL(None, use_errno=True)

_NEWNS, _NEWCGROUP, _NEWUTS, _NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
_NEWUSER, _NEWPID, _NEWNET = 0x10000000, 0x20000000, 0x40000000
_APART = _NEWNS | _NEWCGROUP | _NEWUTS | _NEWIPC | _NEWPID | _NEWNET

_RDONLY, _NOSUID, _NODEV, _NOEXEC, _REMOUNT, _BIND = 1, 2, 4, 8, 32, 4096
_REC, _PRIVATE = 16384, 1 << 18
_DETACH = 2
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000

_PDEATHSIG, _DUMPABLE, _SECCOMP, _CAPBSET_DROP = 1, 4, 22, 24
_SUBREAPER, _NO_NEW_PRIVS, _CAP_AMBIENT = 36, 38, 47
_SYS_MOUNT_SETATTR = 442
_SYS_LANDLOCK = (444, 445, 446)
_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_SYS_CAPSET = {"x86_64": 126, "aarch64": 91}


def main() -> NoReturn:
    spec_fd, status, go = (int(text) for text in sys.argv[1:4])
    for fd in (status, go):  # the program must not be able to speak for us
        os.set_inheritable(fd, False)
    with open(spec_fd, "rb") as file:
        spec = marshal.load(file)
    try:
        if spec["mode"] == "namespaces":
            _outer(spec, status, go)
        _alone(spec, status, go)
    except Exception as error:
        if spec["mode"] != "namespaces":
            _clear(spec["scratch"])  # nobody may be left to hear of it, or to do that
        _fail(str(error))


def _fail(why: str) -> NoReturn:
    os.write(2, f"launcher: {why}\n".encode(errors="replace"))
    os._exit(125)


# --- namespaces ---------------------------------------------------------------------------------


def _outer(spec: dict[str, Any], status: int, go: int) -> NoReturn:
    """Enter new namespaces; their first process is a child, whose death ends all in them."""
    _prctl(_PDEATHSIG, signal.SIGKILL)
    spec["user_namespace"] = _leave()
    first = os.fork()
    if first == 0:
        try:
            _first(spec, status, go)
        except Exception as error:
            _fail(str(error))
    os.write(status, b'{"child-pid": %d}\n' % first)
    os.close(status)
    os.waitpid(first, 0)
    os._exit(0)


def _leave() -> bool:
    """Unshare everything; True if that took a user namespace."""
    uid, gid = os.getuid(), os.getgid()
    if uid == 0 and _libc.unshare(_APART) == 0:
        return False
    _check(_libc.unshare(_APART | _NEWUSER), "unshare (are user namespaces allowed?)")
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{uid} {uid} 1")
    _write("/proc/self/gid_map", f"{gid} {gid} 1")
    return True


def _first(spec: dict[str, Any], status: int, go: int) -> NoReturn:
    """Process 1: build what can be seen, wait for the word, start the program, wait for it."""
    _prctl(_PDEATHSIG, signal.SIGKILL)
    _build_root(spec)
    _check(_libc.sethostname(b"sandbox", 7), "sethostname")
    if os.read(go, 1) != b"g":
        os._exit(0)
    if spec["user_namespace"]:
        spec["drop_to"] = None
    child = _start(spec, landlock=False)
    while True:
        pid, state = os.wait()
        if pid == child:
            _report(status, state)
            os._exit(0)


def _build_root(spec: dict[str, Any]) -> None:
    """A new root with the named paths, read-only, and a scratch folder."""
    _mount(None, "/", None, _REC | _PRIVATE)
    _mount("tmpfs", "/tmp", "tmpfs", _NOSUID | _NODEV, "size=1m,mode=0755")
    os.mkdir("/tmp/old")
    _pivot("/tmp", "/tmp/old")
    os.chdir("/")
    os.mkdir("/new")
    _mount("tmpfs", "/new", "tmpfs", _NOSUID | _NODEV, "size=4m,mode=0755")
    for path, target in spec["symlinks"].items():
        os.symlink(target, f"/new{path}")
    for path in spec["read_only"]:
        _show(path, _RDONLY | _NOSUID | _NODEV)
    for path in spec["devices"]:
        _show(path, _NOSUID)
    _show_proc()
    _fill_scratch(spec)
    _mount(None, "/new", None, _REMOUNT | _BIND | _RDONLY | _NOSUID | _NODEV)
    _check(_libc.umount2(b"/old", _DETACH), "umount2")
    os.chdir("/new")
    _pivot(".", ".")
    _check(_libc.umount2(b".", _DETACH), "umount2")
    os.chdir("/scratch")


def _show(path: str, flags: int) -> None:
    """Bind one path of the old root, and all mounted below it, with mount flags."""
    old, new = f"/old{path}", f"/new{path}"
    if os.path.isdir(old):
        os.makedirs(new, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(new), exist_ok=True)
        if not os.path.exists(new):
            os.close(os.open(new, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    _mount(old, new, None, _BIND | _REC)
    _set_attributes(new, flags)


def _set_attributes(path: str, flags: int) -> None:
    # struct mount_attr {attr_set, attr_clr, propagation, userns_fd}; the bits equal the MS_ ones.
    wanted = struct.pack("=QQQQ", flags, 0, 0, 0)
    result = _libc.syscall(
        _SYS_MOUNT_SETATTR, _AT_FDCWD, os.fsencode(path), _AT_RECURSIVE, wanted, len(wanted)
    )
    _check(result, f"mount_setattr {path} (Linux 5.12 or later is needed)")


def _show_proc() -> None:
    os.mkdir("/new/proc")
    _mount("proc", "/new/proc", "proc", _NOSUID | _NODEV | _NOEXEC)
    for name in ("sys", "sysrq-trigger", "irq", "bus"):  # writable by their owner without it
        path = f"/new/proc/{name}"
        if os.path.exists(path):
            _mount(path, path, None, _BIND | _REC)
            _set_attributes(path, _RDONLY | _NOSUID | _NODEV | _NOEXEC)


def _fill_scratch(spec: dict[str, Any]) -> None:
    kept = spec["user_namespace"] or spec["drop_to"] is None
    owner, group = (os.getuid(), os.getgid()) if kept else (spec["drop_to"],) * 2
    os.mkdir("/new/scratch")
    options = f"size={spec['scratch_bytes']},mode=0700,uid={owner},gid={group}"
    _mount("tmpfs", "/new/scratch", "tmpfs", _NOSUID | _NODEV, options)
    for name, fd in spec["files"].items():
        path = f"/new/scratch/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(fd, "rb") as source, open(path, "wb") as target:
            target.write(source.read())
        os.chown(path, owner, group)


# --- no namespaces ------------------------------------------------------------------------------


def _alone(spec: dict[str, Any], status: int, go: int) -> NoReturn:
    """Run the program with limits and, where the kernel has it, Landlock.

    This process is a subreaper: orphans come to it, so none gets away; and it ends them all when
    the program ends or the orchestrator (the other end of the go pipe) is gone.
    """
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import processes  # type: ignore[import-not-found]  # of this folder, by path

    _prctl(_SUBREAPER, 1)
    os.write(status, b'{"child-pid": %d}\n' % os.getpid())
    if os.read(go, 1) != b"g":
        _clear(spec["scratch"])
        os._exit(0)
    os.chdir(spec["scratch"])
    child = _start(spec, landlock=True)
    state = _await(child, go)
    processes.kill_descendants(os.getpid())
    with contextlib.suppress(ChildProcessError):
        while True:  # leave no zombie to whoever inherits our children
            os.wait()
    if state is not None:
        _report(status, state)
    else:
        _clear(spec["scratch"])
    os._exit(0)


def _clear(scratch: str) -> None:
    """The orchestrator, which removes its scratch folders, is gone."""
    import shutil  # slow to load, and seldom needed

    shutil.rmtree(scratch, ignore_errors=True)


def _await(child: int, go: int) -> int | None:
    """The program's wait status, or None if the orchestrator went first. Reaps orphans too."""
    signal.signal(signal.SIGCHLD, lambda *_: None)
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker)
    poller = select.poll()
    poller.register(go, select.POLLIN)
    poller.register(wake, select.POLLIN)
    while True:
        while True:
            try:
                pid, state = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return None
            if pid == child:
                return state
            if pid == 0:
                break
        for fd, _ in poller.poll(1000):
            if fd == go:
                return None
            os.read(wake, 512)


# --- both ---------------------------------------------------------------------------------------


def _start(spec: dict[str, Any], landlock: bool) -> int:
    """Fork and become the program; returns once it really runs it.

    Raises:
        OSError: it could not be started.
    """
    trouble, report = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(trouble)
            _become(spec, landlock)
        except BaseException as error:
            os.write(report, f"{spec['argv'][0]}: {error}".encode(errors="replace"))
        os._exit(125)
    os.close(report)
    why = os.read(trouble, 4096)
    os.close(trouble)
    if why:
        raise OSError(why.decode(errors="replace"))
    return child


def _become(spec: dict[str, Any], landlock: bool) -> NoReturn:
    drop_to = spec["drop_to"]
    os.setsid()
    _forgo_capabilities()
    if drop_to is not None:
        os.setgroups([])
        os.setresgid(drop_to, drop_to, drop_to)
        os.setresuid(drop_to, drop_to, drop_to)
    header = struct.pack("=Ii", 0x20080522, 0)
    _check(_libc.syscall(_SYS_CAPSET[os.uname().machine], header, bytes(24)), "capset")
    _prctl(_PDEATHSIG, signal.SIGKILL)  # after the change of user, which clears it
    _prctl(_NO_NEW_PRIVS, 1)
    if landlock and spec["landlock"]:
        _confine(spec)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores these
        signal.signal(number, signal.SIG_DFL)
    if spec["seccomp"]:
        _filter(spec["seccomp"])
    os.execve(spec["argv"][0], spec["argv"], spec["env"])


def _forgo_capabilities() -> None:
    """No program that is started later can get any, whatever its file says."""
    _prctl(_CAP_AMBIENT, 4)  # PR_CAP_AMBIENT_CLEAR_ALL
    for capability in range(64):
        if _libc.prctl(_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break  # past the last one, or not permitted to: then there are none to forgo


def _filter(code: bytes) -> None:
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
    holder = ctypes.create_string_buffer(program, len(program))
    _check(_libc.prctl(_SECCOMP, 2, ctypes.byref(holder), 0, 0), "seccomp")


def _confine(spec: dict[str, Any]) -> None:
    """Landlock: read what is named, write to the scratch folder, signal no one outside."""
    create, add, restrict = _SYS_LANDLOCK
    version = spec["landlock"]
    everything = (1 << (13 if version == 1 else 14 if version == 2 else 15)) - 1
    network = 0b11 if version >= 4 else 0
    scope = 0b11 if version >= 6 else 0
    attributes = struct.pack("=QQQ", everything, network, scope)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    rules = _check(_libc.syscall(create, attributes, size, 0), "landlock_create_ruleset")
    read, read_file = 0b1101, 0b101  # execute, read file, read folder
    allowed = [(path, read if os.path.isdir(path) else read_file) for path in spec["read_only"]]
    allowed += [(path, 0b110) for path in spec["devices"]]  # read file, write file
    allowed += [(spec["scratch"], everything)]
    for path, access in allowed:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = struct.pack("=Qi", access, fd)
        _check(_libc.syscall(add, rules, 1, rule, 0), f"landlock_add_rule {path}")
        os.close(fd)
    _check(_libc.syscall(restrict, rules, 0), "landlock_restrict_self")
    os.close(rules)


def _report(status: int, state: int) -> None:
    code = os.waitstatus_to_exitcode(state)
    os.write(status, b'{"exit-code": %d}\n' % (code if code >= 0 else 128 - code))


def _prctl(option: int, value: int) -> None:
    _check(_libc.prctl(option, value, 0, 0, 0), f"prctl {option}")


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str = "") -> None:
    names = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    result = _libc.mount(*names, ctypes.c_ulong(flags), data.encode() or None)
    _check(result, f"mount {target}")


def _pivot(new: str, old: str) -> None:
    number = _SYS_PIVOT_ROOT[os.uname().machine]
    _check(_libc.syscall(number, new.encode(), old.encode()), "pivot_root")


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


if __name__ == "__main__":
    main()
