"""Runs one Lean file in a sandbox and returns how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from proofgym.sandboxes import Limits, Outcome, Sandbox
from proofgym.sandboxes.cancel import Cancel

_FILE = "Check.lean"
STACK_KIB = 8192
"""The stack of Lean's threads, whatever its build or this machine would give them."""
_USED_UP = 0.8  # of its processor time: so much and it was not starved


class ToolchainLike(Protocol):
    """What is needed of a toolchain; see `toolchain.py`."""

    @property
    def kind(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def argv(self) -> Sequence[str]: ...
    @property
    def env(self) -> Mapping[str, str]: ...
    @property
    def read_only_paths(self) -> Sequence[Path]: ...


class Runner(Protocol):
    """One way to run Lean on a file."""

    def run(self, source: bytes, limits: Limits, cancel: Cancel | None = None) -> Outcome: ...

    def close(self) -> None: ...


class ColdRunner:
    """A fresh sandbox and a fresh Lean for each file: nothing can pass from one to the next."""

    def __init__(
        self, toolchain: ToolchainLike, sandbox: Sandbox, options: Sequence[str] = ()
    ) -> None:
        self._toolchain, self._sandbox = toolchain, sandbox
        self._preloaded = preloaded(toolchain, options)

    def run(self, source: bytes, limits: Limits, cancel: Cancel | None = None) -> Outcome:
        return self._sandbox.run(
            [*self._toolchain.argv, *self._preloaded, *lean_options(limits), _FILE],
            files={_FILE: source},
            env=self._toolchain.env,
            read_only=self._toolchain.read_only_paths,
            limits=limits,
            cancel=cancel,
        )

    def close(self) -> None:
        """Nothing is kept."""


def preloaded(toolchain: ToolchainLike, options: Sequence[str] = ()) -> tuple[str, ...]:
    """`options` (`-D…`), with what spares the import of the core library where there is such."""
    make = getattr(toolchain, "preloaded", None)
    return tuple(options) if make is None else make(*options)


def heartbeat_options(heartbeats: int | None) -> tuple[str, ...]:
    """Lean's limit on thousands of small allocations of one declaration: the same proof reaches
    it at the same place on any machine, however busy."""
    return () if heartbeats is None else (f"-DmaxHeartbeats={heartbeats}",)


def is_starved(outcome: Outcome, limits: Limits) -> bool:
    """Ended by the wall clock with processor time unused: the machine was busy, not the proof."""
    return outcome.ended_by == "wall" and outcome.cpu_s < _USED_UP * limits.cpu_s


def lean_options(limits: Limits) -> list[str]:
    """Lean's own options: messages as JSON, the stack, and a memory bound just inside the
    sandbox's, which ends a hungry elaboration with a message instead of a kill."""
    return ["--json", "-j1", f"-s{STACK_KIB}", f"-M{lean_memory(limits) >> 20}"]


def stack_bytes() -> int:
    """Of each of Lean's threads."""
    return STACK_KIB << 10


def lean_memory(limits: Limits) -> int:
    """Lean's own bound in bytes, a whole number of MiB."""
    return max(64, int(limits.memory_bytes * 0.9) >> 20) << 20
