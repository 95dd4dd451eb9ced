"""Programs and proofs that an episode has run apart from it: what `sandbox` is inside it."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proofgym.environments.chat import Line
from proofgym.environments.score import from_plain
from proofgym.types import Verdict


@dataclass(frozen=True, slots=True)
class Ran:
    """How a program ended."""

    ended_by: str
    """`exit`, `signal`, `wall`, `cpu`, `memory` or `output`."""
    status: int | None
    """Its exit status; None if it was ended otherwise."""
    stdout: str
    stderr: str

    @property
    def ok(self) -> bool:
        """Whether it ended by itself with status 0."""
        return self.ended_by == "exit" and self.status == 0


class RemoteSandbox:
    """Runs what a model wrote, under the limits of `Episodes`. Nothing starts before its first use.

    Files stay from one `run` of an episode to the next; processes do not.
    """

    def __init__(self, line: Line) -> None:
        self._line = line

    async def run(
        self,
        argv: Sequence[str],
        *,
        files: Mapping[str, str | bytes] | None = None,
        stdin: str | bytes = "",
        timeout: float | None = None,
    ) -> Ran:
        """Run a program among the episode's files.

        Args:
            argv: the program and its arguments.
            files: to be put there before, by relative name.
            timeout: seconds, at most `Episodes.limits.wall_s`, which is also the default.

        Raises:
            ValueError: an argument is wrong.
            RuntimeError: no sandbox could be had; the attempt gets no score, unless it is caught.
        """
        if isinstance(argv, str) or not all(isinstance(word, str) for word in argv):
            raise ValueError(f"argv = {argv!r:.200}: a list of strings")
        packed = {name: _pack(name, content) for name, content in (files or {}).items()}
        arguments = {
            "argv": list(argv),
            "files": packed,
            "stdin": _pack("stdin", stdin),
            "timeout": timeout,
        }
        return Ran(**await self._line.call("run", arguments))

    async def python(
        self,
        code: str,
        *,
        stdin: str | bytes = "",
        files: Mapping[str, str | bytes] | None = None,
        timeout: float | None = None,
    ) -> Ran:
        """Run a Python program, as `main.py` among the episode's files."""
        files = {**(files or {}), "main.py": code}
        return await self.run(["python3", "main.py"], files=files, stdin=stdin, timeout=timeout)

    async def lean(self, statement: str, proof: str) -> Verdict:
        """Judge a Lean proof, the tactic block after `statement := by`, as `Episodes.lean` says.

        Raises ValueError where the statement itself is wrong.
        """
        found = await self._line.call("lean", {"statement": statement, "proof": proof})
        return from_plain(found["verdict"], found["seconds"])


def _pack(name: str, content: Any) -> str:
    if isinstance(content, str):
        content = content.encode()
    if not isinstance(content, bytes):
        raise ValueError(f"{name}: text or bytes, not {type(content).__name__}")
    return base64.b64encode(content).decode()
