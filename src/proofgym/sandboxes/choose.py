"""Picks the strongest sandbox that really works here, by trying it."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterable

from proofgym.errors import SandboxError, nearest
from proofgym.sandboxes.bubblewrap import Bubblewrap
from proofgym.sandboxes.limits import Limits
from proofgym.sandboxes.limits_only import LimitsOnly
from proofgym.sandboxes.namespaces import Namespaces
from proofgym.sandboxes.sandbox import PROTECTIONS, Sandbox

ISOLATED = frozenset({"process_tree", "orphans", "network", "filesystem", "processes_hidden"})
"""What running untrusted code needs at least."""

_lock = threading.Lock()
_working: list[Sandbox] | None = None
_refusals: dict[str, str] = {}
_warned: set[str] = set()


class SandboxWarning(UserWarning):
    """The chosen sandbox lacks a protection."""


def choose_sandbox(minimum: Iterable[str] = (), name: str | None = None) -> Sandbox:
    """The best working sandbox; a warning names what it lacks.

    Args:
        minimum: protections (keys of `PROTECTIONS`) without which to refuse.
        name: a certain backend ("bubblewrap", "namespaces", "limits_only").

    Raises:
        SandboxError: none that works has these protections; says what was tried and why not.
    """
    needed = check_protections(minimum)
    if name is not None:
        check_name(name)
    for sandbox in _probe_all():
        if name in (None, sandbox.name) and needed <= sandbox.protections:
            _warn(sandbox)
            return sandbox
    raise SandboxError(_explain(needed, name))


def survey() -> dict[str, frozenset[str] | str]:
    """Every backend, best first: the protections that it gives here, or why it cannot be used."""
    working = {sandbox.name: sandbox.protections for sandbox in _probe_all()}
    names = [sandbox.name for sandbox in _candidates()]
    return {name: working.get(name, _refusals.get(name, "not tried")) for name in names}


def check_name(name: str) -> str:
    """This name. Raises SandboxError for one that is no sandbox's."""
    if name not in (known := [it.name for it in _candidates()]):
        raise SandboxError(f"no such sandbox {name!r}; {nearest(name, known)}")
    return name


def check_protections(names: Iterable[str]) -> frozenset[str]:
    """These names as a set. Raises SandboxError for one that is no protection."""
    if isinstance(names, str) and names in [it.name for it in _candidates()]:
        raise SandboxError(f"{names!r} is a sandbox, no protection: write name={names!r}")
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise SandboxError(f"{names!r:.80} is no list of protections: write {_as_list(names)!r}")
    needed = list(names)
    for item in needed:
        if item not in list(PROTECTIONS):
            raise SandboxError(f"no such protection {item!r}; {nearest(item, PROTECTIONS)}")
    return frozenset(needed)


def _probe_all() -> list[Sandbox]:
    """Every backend that passes its probe, best first; tried once a process."""
    global _working
    with _lock:
        if _working is None:
            _working = [sandbox for sandbox in _candidates() if _works(sandbox)]
        return _working


def _candidates() -> list[Sandbox]:
    return [Bubblewrap(), Namespaces(), LimitsOnly()]


def _works(sandbox: Sandbox) -> bool:
    argv = ["/bin/sh", "-c", 'read -r word < note; printf %s "$word"']
    outcome = sandbox.run(argv, files={"note": b"ready\n"}, limits=Limits(wall_s=20))
    if outcome.ended_by == "exit" and outcome.status == 0 and outcome.stdout == b"ready":
        return True
    _refusals[sandbox.name] = outcome.reason or (
        f"its probe ended by {outcome.ended_by}, status {outcome.status}: "
        f"{outcome.stderr[-300:].decode(errors='replace').strip()}"
    )
    return False


def _warn(sandbox: Sandbox) -> None:
    with _lock:
        if not sandbox.missing or sandbox.name in _warned:
            return
        _warned.add(sandbox.name)
    gaps = "; ".join(f"{key}: {PROTECTIONS[key]}" for key in sorted(sandbox.missing))
    warnings.warn(
        f"sandbox {sandbox.name!r} does not give: {gaps}. Other backends: "
        f"{'; '.join(f'{key}: {why}' for key, why in _refusals.items()) or 'none better'}",
        SandboxWarning,
        stacklevel=3,
    )


def _explain(needed: frozenset[str], name: str | None) -> str:
    if name is not None:
        return _explain_one(needed, name)
    lines = [f"no sandbox gives {', '.join(sorted(needed)) or 'even a plain run'} here"]
    lines += [f"  {sandbox.describe()}" for sandbox in _probe_all()]
    lines += [f"  {key}: {why}" for key, why in _refusals.items()]
    lines.append("install bubblewrap, or allow user namespaces, or lower the minimum")
    return "\n".join(lines)


def _explain_one(needed: frozenset[str], name: str) -> str:
    """Why not the backend that was asked for by name, and which could take its place."""
    wanted = f" with {', '.join(sorted(needed))}" if needed else ""
    working = {sandbox.name: sandbox for sandbox in _probe_all()}
    own = working.get(name)
    why = own.describe() if own else f"{name}: {_refusals.get(name, 'it does not work')}"
    fitting = [it for it in working.values() if needed <= it.protections]
    lines = [f"sandbox {name!r}{wanted} cannot be had here", f"  {why}"]
    if not fitting:
        return "\n".join([*lines, f"no other that works here gives{wanted or ' anything'} either"])
    lines += [f"available here{wanted}:", *(f"  {it.describe()}" for it in fitting)]
    return "\n".join([*lines, "name one of these, or none: then the first is taken"])


def _as_list(names: object) -> tuple[str, ...]:
    return tuple(names.replace(",", " ").split()) if isinstance(names, str) else ("network",)
