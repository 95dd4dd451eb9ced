"""Switches each defence off, in tests only: the product has no such option.

A switch replaces one function by the same without that defence. `TEETH` says for each defence
which attack then gets through, and which other defences had to be off for that (`behind`): the
deeper ones have nothing to do as long as the scan stands before them.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from attacks import escapes

from proofgym.lean import assembly, checker, embedded, file, judge, policy, runner, server_process
from proofgym.lean.messages import Message
from proofgym.lean.server_process import INSIDE
from proofgym.sandboxes import bubblewrap, limits_only, namespaces, sandbox, seccomp
from proofgym.types import Status, Verdict

Switch = Callable[[pytest.MonkeyPatch], None]

RULES = (
    *("oversize", "encoding", "control_character", "unproved", "command", "attribute", "code"),
    *("trusted", "brackets", "column_0", "unclosed_comment", "unclosed_string", "unclosed_name"),
    *("ambiguous_comment", "ambiguous_quote", "ambiguous_string", "ambiguous_name"),
    *("ambiguous_number", "interpolation", "skip_kernel", "definition"),
)
LIMITS = ("wall", "cpu", "memory", "output", "threads", "heartbeats")


class Everything(frozenset[str]):
    """Contains every name."""

    def __contains__(self, item: object) -> bool:
        return True


def rules_off(patch: pytest.MonkeyPatch, slugs: set[str]) -> None:
    """The scan without some rules."""

    def scan(proof: str) -> policy.Refusal | None:
        return next((it for it in policy.refusals(proof) if it.slug not in slugs), None)

    patch.setattr(judge, "scan", scan)
    lenient = judge.tokens
    patch.setattr(judge, "tokens", lambda text: lenient(text, strict=False))


def scan_off(patch: pytest.MonkeyPatch) -> None:
    """The whole scan."""
    rules_off(patch, set(RULES))


def _no_error(patch: pytest.MonkeyPatch) -> None:
    def lax(file: Any, outcome: Any, *rest: Any) -> Verdict:
        lines = [it for it in outcome.stdout.split(b"\n") if b'"severity":"error"' not in it]
        return judge.judge(file, replace(outcome, stdout=b"\n".join(lines), status=0), *rest)

    patch.setattr(checker, "judge", lax)


def _signed(patch: pytest.MonkeyPatch) -> None:
    def silent(*_: Any, **__: Any) -> Verdict:
        return judge.verdict(Status.PASSED, "")

    real = judge._judge_claims

    def lax(file: Any, messages: Any, *rest: Any) -> Verdict:
        spoke = {it.line for it in messages if it.severity == "information"}
        return real(file, messages, *rest) if file.ending.last in spoke else silent()

    patch.setattr(judge, "_judge_claims", lax)


def _one_answer(patch: pytest.MonkeyPatch) -> None:
    def lax(ending: assembly.Ending, messages: list[Message]) -> dict[int, str]:
        found: dict[int, str] = {}
        for it in messages:
            if it.line >= ending.first and it.severity == "information":
                good = assembly._AXIOMS.fullmatch(found.get(it.line, ""))
                found[it.line] = found[it.line] if good else it.text
        return found

    patch.setattr(assembly.Ending, "answers", lax)


def _baseline(change: Callable[..., Any]) -> Switch:
    def switch(patch: pytest.MonkeyPatch) -> None:
        real = judge._judge_claims

        def lax(file: Any, messages: Any, outcome: Any, baseline: Any, notes: Any) -> Verdict:
            return real(file, messages, outcome, change(file, messages, baseline), notes)

        patch.setattr(judge, "_judge_claims", lax)

    return switch


def _any_type(file: Any, messages: Any, baseline: Any) -> Any:
    return replace(baseline, type_text=file.ending.type_text(file.ending.answers(messages)))


def _any_axiom(file: Any, messages: Any, baseline: Any) -> Any:
    return replace(baseline, axioms=Everything())


def _whole(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(assembly, "_WHOLE", "set_option pp.funBinderTypes true in ")


def _shortened(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(assembly, "_SHORTENED", ())


def _full_names(patch: pytest.MonkeyPatch) -> None:
    for module in (assembly, file):
        patch.setattr(module, "ask_axioms", lambda name: f"#print axioms {name}")


def _root_names(patch: pytest.MonkeyPatch) -> None:
    real = assembly.ask_axioms
    patch.setattr(file, "ask_axioms", lambda name: real(name.removeprefix("_root_.")))


def _origin(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(file, "_declared", lambda *_: frozenset(checker.ALLOWED_AXIOMS))


def _filter(patch: pytest.MonkeyPatch) -> None:
    allow = seccomp._step(seccomp._RETURN, seccomp._ALLOW)
    patch.setattr(seccomp, "compute_only_bytes", lambda: (allow * 2, 12))


def _kernel(patch: pytest.MonkeyPatch) -> None:
    """Lean as it comes: its option to leave the kernel out has its effect."""
    folder = _scratch(patch)
    for script in INSIDE.glob("*.py"):
        shutil.copy(script, folder)
    for name, call in (("host.py", "(lean)"), ("forkserver.py", "(library)")):
        _change(folder / name, (f"    disconnect{call}\n", ""))
    patch.setattr(server_process, "INSIDE", folder)
    patch.setattr(embedded, "HOST", folder / "host.py")


def _environment(patch: pytest.MonkeyPatch) -> None:
    import os

    patch.setattr(sandbox.Job, "environment", lambda job, _: {**os.environ, **job.env})


def _stack(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(runner, "STACK_KIB", 1 << 19)


def _filesystem(patch: pytest.MonkeyPatch) -> None:
    """Every sandbox shows one folder of the machine's more."""
    shown, bound = namespaces.visible, bubblewrap._visible
    for module in (namespaces, limits_only):
        patch.setattr(module, "visible", lambda paths: [*shown(paths), "/etc"])
    patch.setattr(
        bubblewrap, "_visible", lambda paths: [*bound(paths), "--ro-bind", "/etc", "/etc"]
    )


def _network(patch: pytest.MonkeyPatch) -> None:
    _changed_launcher(patch, (" | _NEWNET", ""), ("0b11 if version >= 4 else 0", "0"))
    _changed_bubblewrap(patch, "--unshare-net")
    everything = seccomp.filter_bytes(network=True)
    patch.setattr(seccomp, "filter_bytes", lambda network=True: everything)


def _process_tree(patch: pytest.MonkeyPatch) -> None:
    _changed_launcher(
        patch,
        (" | _NEWPID", ""),
        ("    _show_proc()\n", '    _show("/proc", _NOSUID)\n'),  # a new one takes a namespace
        ("    _prctl(_SUBREAPER, 1)\n", ""),
    )
    _changed_bubblewrap(patch, "--unshare-pid")


def _changed_launcher(patch: pytest.MonkeyPatch, *changes: tuple[str, str]) -> None:
    """A copy of the launcher, beside a copy of what it imports, with parts of it replaced."""
    folder = _scratch(patch)
    for name in ("processes.py", "launcher.py"):
        shutil.copy(namespaces.LAUNCHER.with_name(name), folder)
    _change(folder / "launcher.py", *changes)
    patch.setattr(namespaces, "LAUNCHER", folder / "launcher.py")


def _scratch(patch: pytest.MonkeyPatch) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="changed-"))
    weakref.finalize(patch, shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o755)
    return folder


def _change(file: Path, *changes: tuple[str, str]) -> None:
    text = file.read_text(encoding="utf-8")
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")


def _changed_bubblewrap(patch: pytest.MonkeyPatch, without: str) -> None:
    real = bubblewrap._isolation
    each = ("user-try", "ipc", "pid", "net", "uts", "cgroup-try")
    kept = [f"--unshare-{it}" for it in each if f"--unshare-{it}" != without]

    def lax(plumbing: Any) -> list[str]:
        options = real(plumbing)
        assert options[0] == "--unshare-all"
        return [*kept, *options[1:]]

    patch.setattr(bubblewrap, "_isolation", lax)


DEFENCES: dict[str, Switch] = {
    **{slug: (lambda patch, slug=slug: rules_off(patch, {slug})) for slug in RULES},
    "no_error": _no_error,
    "signed": _signed,
    "one_answer": _one_answer,
    "type": _baseline(_any_type),
    "axioms": _baseline(_any_axiom),
    "whole": _whole,
    "shortened": _shortened,
    "full_names": _full_names,
    "root_names": _root_names,
    "origin": _origin,
    "kernel": _kernel,
    "filter": _filter,
    "environment": _environment,
    "stack": _stack,
    "filesystem": _filesystem,
    "network": _network,
    "process_tree": _process_tree,
}
"""Every defence with a switch; limits are switched off by giving plenty (`LIMITS`)."""

PLENTY: dict[str, dict[str, Any]] = {
    "wall": {"wall_s": 100.0},
    "cpu": {"cpu_s": 100.0},
    "memory": {"memory_bytes": 2 << 30},
    "output": {"output_bytes": 4 << 20},
    "threads": {"processes": 2000},
    "heartbeats": {},  # no part of the sandbox's limits; Lean's own are plenty
}


@dataclass(frozen=True)
class Tooth:
    """With `defence` off, and those `behind` it, this attack gets through."""

    defence: str
    attack: tuple[str, str]
    """Its class and name."""
    behind: tuple[str, ...] = ()
    shows: str = ""
    """What the verdict's message then holds; empty: the attack passes."""
    leaves: str = ""
    """The command line of a process that is then left behind, and ended by the test."""
    listens: int | None = None
    """A port of this machine on which the test listens meanwhile."""
    warm: bool | None = None
    """False: each check has a Lean and a sandbox of its own, without the system-call filter of the
    warm one before it."""


_SCAN = ("command", "attribute")

TEETH = [
    Tooth("oversize", ("empty and 10 MB", "just_too_large")),
    Tooth("encoding", ("invalid UTF-8", "high_surrogate"), shows="surrogates not allowed"),
    Tooth("control_character", ("NUL bytes", "in_a_comment")),
    Tooth("unproved", ("sorry", "unused_alternative")),
    Tooth("command", ("instances and options", "unused_option")),
    Tooth("attribute", ("instances and options", "harmless_looking")),
    Tooth("code", ("metaprogramming", "unused_native")),
    Tooth("trusted", ("sorry", "unused_constant")),
    Tooth("brackets", ("early end", "closing_bare"), ("no_error",)),
    Tooth("column_0", ("early end", "prose"), ("no_error",)),
    Tooth("unclosed_comment", ("early end", "comment_bare"), ("no_error", "signed")),
    Tooth("unclosed_string", ("early end", "string_bare"), ("no_error", "signed")),
    Tooth("unclosed_name", ("early end", "name_bare"), ("no_error", "signed")),
    Tooth("ambiguous_comment", ("comments", "after_symbol")),
    Tooth("ambiguous_quote", ("comments", "quote_unused")),
    Tooth("ambiguous_string", ("hidden words", "string_unused")),
    Tooth("ambiguous_name", ("hidden words", "name_unused")),
    Tooth("ambiguous_number", ("hidden words", "number_unused")),
    Tooth("skip_kernel", ("hidden words", "kernel_option_named")),
    Tooth("definition", ("metaprogramming", "definition_and_measure")),
    Tooth("kernel", ("instances and options", "skip_kernel"), ("skip_kernel", "command")),
    Tooth("interpolation", ("comments", "brace_in_string")),
    Tooth("no_error", ("early end", "prose_bare")),
    Tooth("signed", ("exit status", "exit_0"), _SCAN),
    Tooth("one_answer", ("forged output", "captured_stdout"), _SCAN),
    Tooth("type", ("shadowing", "namespace"), ("command",)),
    Tooth("axioms", ("axioms", "header")),
    Tooth("type", ("other types", "easier")),
    Tooth("whole", ("other types", "opened_instance")),
    Tooth("whole", ("other types", "too_deep"), ("shortened",)),
    Tooth("shortened", ("other types", "too_deep"), ("whole",)),
    Tooth("full_names", ("axioms", "allowed_name_in_namespace")),
    Tooth("full_names", ("axioms", "file_namespace_left_open")),
    Tooth("root_names", ("axioms", "file_other_theorem_answers")),
    Tooth("origin", ("axioms", "allowed_name_of_its_own")),
    Tooth("filter", ("forged output", "stdout_file"), _SCAN, "it was done"),
    Tooth("environment", ("environment and files", "getenv"), _SCAN, "s3cr3t"),
    Tooth("stack", ("deep recursion", "calls"), _SCAN),
    Tooth("filesystem", ("escapes", "read"), _SCAN, "root:", warm=False),
    Tooth("network", ("escapes", "connect"), _SCAN, "connected", listens=escapes.PORT, warm=False),
    Tooth("process_tree", ("escapes", "daemon"), _SCAN, leaves=escapes.DAEMON, warm=False),
    Tooth("heartbeats", ("endless loops", "too_many_allocations")),
    Tooth("wall", ("endless loops", "too_long")),
    Tooth("cpu", ("endless loops", "too_much_work")),
    Tooth("memory", ("huge terms", "too_large")),
    Tooth("output", ("huge messages", "too_much_said")),
    Tooth("threads", ("process and memory bombs", "few_threads"), _SCAN),
]
