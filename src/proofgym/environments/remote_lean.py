"""Theorem proving, judged by a Lean server elsewhere."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from proofgym.config import Config
from proofgym.environments.lean import LeanJudge
from proofgym.errors import ConfigError, EnvironmentError

if TYPE_CHECKING:
    from proofgym.lean.post import Poster


class RemoteLean(Config):
    """Judge proofs with a `proofgym lean serve` or a kimina-lean-server on another machine."""

    url: str
    """Where it is, such as `http://verify.example:8000`."""
    server: Literal["auto", "proofgym", "kimina"] = "auto"
    """Which API it has; auto asks it."""
    key_variable: str = "PROOFGYM_API_KEY"
    """Environment variable that holds the bearer key; none is sent where it is not set."""
    header: str = ""
    """Trusted Lean text before every statement. A proofgym server must have the same."""
    timeout: float = Field(60.0, gt=0)
    """Seconds one proof may take on a kimina-lean-server; a proofgym server has its own limit."""
    wait: float = Field(600.0, gt=0)
    """Seconds to wait for an answer, the server's queue included."""
    retries: int = Field(4, ge=0)
    """Times to ask again when the network or the server fails; then the attempt has no score."""

    @field_validator("url")
    @classmethod
    def _plain(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("must begin with http:// or https:// and name a host")
        if parts.username or parts.password:
            raise ValueError("must hold no password, since it is recorded; use key_variable")
        return value.rstrip("/")

    def open(self, workers: int) -> LeanJudge:
        """Connect. Raises EnvironmentError where no such server answers, saying what to do."""
        try:
            from proofgym.lean.post import Poster
        except ImportError:
            raise ConfigError("RemoteLean needs httpx: pip install -e '.[remote]'") from None
        key = os.environ.get(self.key_variable)
        if key is not None and not key.strip():
            raise ConfigError(f"${self.key_variable} is set but empty: set a key, or unset it")
        poster = Poster(self.url, key, max(workers, 1), self.wait, self.retries)
        try:
            return self._judge(poster)
        except BaseException:
            poster.close()
            raise

    def _judge(self, poster: Poster) -> LeanJudge:
        lean = "" if self.server == "kimina" else self._ask_info(poster)
        if lean:
            from proofgym.lean.client import RemoteChecker

            return LeanJudge(RemoteChecker(poster), f"{self.url}: {lean}", self.header)
        from proofgym.lean.checker import LeanChecker
        from proofgym.lean.kimina import KiminaRunner, RemoteToolchain
        from proofgym.sandboxes import Limits

        self._ask_health(poster)
        limits = Limits(wall_s=self.timeout, cpu_s=self.timeout)

        def make(header: str) -> LeanChecker:
            toolchain, runner = RemoteToolchain(self.url), KiminaRunner(poster)
            return LeanChecker(toolchain, None, limits, header, runner=runner)

        description = f"{self.url}: kimina-lean-server"
        return LeanJudge(make(self.header), description, self.header, make)

    def _ask_info(self, poster: Poster) -> str:
        """What Lean a proofgym server has; empty if it is none and need not be one."""
        status, body = self._ask(poster, "/v1/info")
        if status == 200 and isinstance(body, dict) and body.get("server") == "proofgym":
            if body.get("header", "").strip() != self.header.strip():
                raise EnvironmentError(
                    f"RemoteLean.header = {self.header!r}, but {self.url} was started with "
                    f"{body.get('header')!r}; make them the same (--header-file)"
                )
            return f"{body.get('lean')}, sandbox {body.get('sandbox')}"
        if self.server == "proofgym":
            raise EnvironmentError(f"{self.url} is no proofgym server (/v1/info: status {status})")
        return ""

    def _ask_health(self, poster: Poster) -> None:
        status, body = self._ask(poster, "/health")
        if status != 200:
            raise EnvironmentError(f"{self.url}/health answers {status}: {body}"[:500])

    def _ask(self, poster: Poster, path: str) -> tuple[int, object]:
        from proofgym.lean.post import RemoteFault

        try:
            reply = poster.ask("GET", path)
        except RemoteFault as fault:
            raise EnvironmentError(f"no Lean server: {fault}. Is it running?") from None
        if reply.status in (401, 403):
            known = "is set" if os.environ.get(self.key_variable) else "is not set"
            raise EnvironmentError(
                f"{self.url} refuses the key ({reply.status}): ${self.key_variable} {known}"
            )
        return reply.status, reply.body
