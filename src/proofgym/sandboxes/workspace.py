"""General commands in a sandbox, one after another, on files that can be saved and branched.

    with Workspace(choose_sandbox()) as work:
        work.put("main.c", b"int main() { return 3; }")
        work.run(["cc", "main.c"])
        before = work.snapshot()
        print(work.run(["./a.out"]).status)     # 3
        work.restore(before)                    # or Workspace.branch() for a second one

The files are a value in this process's memory; each command gets them in a fresh sandbox and they
come back when everything it started has ended. So a snapshot is free, an environment can branch
as often as it likes, no command can wait in ambush for the next, and nothing is left on a disk.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from proofgym.errors import SandboxError, nearest
from proofgym.sandboxes.asked import check_bytes, check_cancel, check_list, check_variables
from proofgym.sandboxes.cancel import Cancel
from proofgym.sandboxes.inside.tree import Entry, is_plain, write_tree
from proofgym.sandboxes.limits import Limits
from proofgym.sandboxes.pool import Pool
from proofgym.sandboxes.prepared import Command, Hear, Prepared, Tree
from proofgym.sandboxes.sandbox import Outcome, Sandbox, infrastructure


@dataclass(frozen=True)
class Snapshot:
    """A workspace's files at one moment. Never changes; costs nothing to keep twice."""

    tree: Tree

    def digest(self) -> str:
        """Names the files and their contents: equal digests, equal files."""
        return hashlib.sha256(write_tree(self.tree)).hexdigest()


class Workspace:
    """Files, and commands that work on them.

    Args:
        sandbox: where commands run.
        limits: of each command; `scratch_bytes` also bounds the files that come out.
        read_only: paths that the commands may read, besides the system's own.
        pool: prepared sandboxes (`command_pool`), made with the same three; else each command
            starts its own.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        limits: Limits | None = None,
        read_only: Sequence[Path] = (),
        pool: Pool[Prepared] | None = None,
    ) -> None:
        if not hasattr(sandbox, "protections"):
            raise SandboxError(
                f"Workspace.sandbox = {sandbox!r:.80}: must be what `choose_sandbox(…)` returns"
            )
        if not isinstance(limits, Limits | None):
            raise SandboxError(f"Workspace.limits = {limits!r:.80}: must be a `Limits(…)`")
        self._sandbox, self._limits = sandbox, limits or Limits()
        self._read_only, self._pool = tuple(read_only), pool
        self._turn = threading.Lock()
        self._all = Cancel()
        self._tree: dict[str, Entry] = {}

    def put(self, name: str, data: bytes, executable: bool = False) -> None:
        """Create or replace a file."""
        if not isinstance(name, str) or not is_plain(name):
            raise SandboxError(f"{name!r} is no plain relative name of a file")
        check_bytes(f"the content of {name!r}", data)
        self._tree = {**self._tree, name: Entry("file", 0o755 if executable else 0o644, data)}

    def get(self, name: str) -> bytes:
        """A file's content. Raises SandboxError where there is none."""
        entry = self._tree.get(name)
        if entry is None or entry.kind != "file":
            raise SandboxError(f"the workspace has no file {name!r}; {nearest(name, self.names())}")
        return entry.content

    def names(self) -> list[str]:
        """Every file's name, sorted."""
        return sorted(name for name, entry in self._tree.items() if entry.kind == "file")

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        cancel: Cancel | None = None,
        on_output: Hear | None = None,
    ) -> Outcome:
        """Run a program to its end, in the folder that holds the files.

        Args:
            argv: the program (looked up on the sandbox's PATH, or relative to the folder).
            env: variables besides HOME, TMPDIR, PATH and LANG.
            cancel: its `cancel()` ends the command.
            on_output: called with ("stdout" or "stderr", bytes) as they come, in another thread.

        A program that cannot be started ends with status 127. The files stay as they were where
        none could be had from the sandbox: it was ended for its time or memory, say.

        Raises:
            SandboxError: an argument has a wrong type, or the workspace is closed.
        """
        check_list(argv)
        check_variables(env or {})
        check_bytes("stdin", stdin)
        check_cancel(cancel)
        command = Command(tuple(argv), env or {}, stdin)
        with self._turn, ExitStack() as stack:
            if self._all.cancelled:
                raise SandboxError("the workspace is closed")
            once = cancel or Cancel()
            stack.enter_context(self._all.calls(once.cancel))
            try:
                outcome, tree = self._sandboxed(command, once, on_output)
            except SandboxError as error:
                return infrastructure(str(error))
            if tree is not None:
                self._tree = dict(tree)
            return outcome

    def snapshot(self) -> Snapshot:
        """The files as they are now."""
        return Snapshot(MappingProxyType(self._tree))

    def restore(self, snapshot: Snapshot) -> None:
        """Put the files back as they were."""
        if not isinstance(snapshot, Snapshot):
            raise SandboxError(f"snapshot = {snapshot!r:.80}: must be what `snapshot()` returned")
        self._tree = dict(snapshot.tree)

    def branch(self, snapshot: Snapshot | None = None) -> Workspace:
        """Another workspace with these files (by default as they are now); they part from here."""
        other = Workspace(self._sandbox, self._limits, self._read_only, self._pool)
        other.restore(snapshot or self.snapshot())
        return other

    def close(self) -> None:
        """End the command under way, if there is one, and forget the files."""
        self._all.cancel()
        with self._turn:
            self._tree = {}

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _sandboxed(
        self, command: Command, cancel: Cancel, hear: Hear | None
    ) -> tuple[Outcome, Tree | None]:
        if self._pool is not None:
            with self._pool.lease() as lease:
                outcome, tree = lease.worker.run(command, self._tree, cancel, hear)
                if outcome.ended_by == "infrastructure":
                    lease.spoil(outcome.reason)
            return outcome, tree
        prepared = Prepared(self._sandbox, self._limits, self._read_only)
        try:
            return prepared.run(command, self._tree, cancel, hear)
        finally:
            prepared.close()
