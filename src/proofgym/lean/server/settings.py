"""What `proofgym lean serve` is told."""

from __future__ import annotations

import ipaddress
from typing import Self

from pydantic import Field, SecretStr, model_validator

from proofgym.config import Config
from proofgym.lean.checker import LEAN_LIMITS
from proofgym.lean.warm import checks_at_once
from proofgym.sandboxes.limits import MIB, Limits

OUTPUT_BYTES = 64 * MIB
"""What Lean may say about one file: a long message is no error."""


class Serving(Config):
    """Settings of the server."""

    host: str = "127.0.0.1"
    """Address to listen on."""
    port: int = Field(8000, ge=0, le=65535)
    """Port to listen on; 0 takes a free one."""
    key: SecretStr | None = None
    """Bearer key that requests must carry; None lets everyone in who can reach the address."""
    open_to_all: bool = False
    """Allow an address other than this machine's own without a key."""
    toolchain: str | None = None
    """A `lean` binary, a Lake project or `embedded`; None finds one."""
    header: str = ""
    """Trusted Lean text before every statement of `/v1/verify`."""
    workers: int = Field(default_factory=checks_at_once, ge=1)
    """Checks under way at once."""
    timeout: float = Field(20.0, gt=0, le=1e8, allow_inf_nan=False)
    """Wall-clock and processor seconds of one proof sent to `/v1/verify`, if it names none."""
    longest: float = Field(300.0, gt=0, le=1e8, allow_inf_nan=False)
    """Most seconds that one proof or snippet may ask for."""
    memory_mb: int = Field(2048, ge=64)
    """Memory of one check."""
    request_mb: float = Field(64.0, gt=0, allow_inf_nan=False)
    """Largest body of a request, in MiB; 413 above it."""
    snippet_kb: float = Field(1024.0, gt=0, allow_inf_nan=False)
    """Largest snippet, in KiB; a larger one is that snippet's error, not its batch's."""
    batch: int = Field(4096, ge=1)
    """Most snippets in one request; 422 above it."""
    queue: int = Field(20_000, ge=1)
    """Most snippets that wait or run; 429 for a request that would go above it."""
    rate: float | None = Field(None, gt=0, allow_inf_nan=False)
    """Requests a second from one address, on average; 429 above it. None: no such limit."""
    burst: int = Field(20, ge=1)
    """Requests from one address that may come at once before `rate` counts."""
    connections: int = Field(1000, ge=1)
    """Connections at once; one more is closed at once."""
    patience_s: float = Field(30.0, gt=0, allow_inf_nan=False)
    """Seconds for a client to send the next mebibyte of its request, or the rest of it, and to
    take some of its answer; else its connection is closed."""
    drain_s: float = Field(60.0, ge=0, allow_inf_nan=False)
    """Seconds that work under way may still take after a termination signal."""

    @model_validator(mode="after")
    def _not_open_by_accident(self) -> Self:
        if self.key is not None and not self.key.get_secret_value().strip():
            raise ValueError("`key` is empty, which would let nobody in; None needs no key")
        if self.key is None and not self.open_to_all and not _is_own(self.host):
            raise ValueError(
                f"`host` = {self.host!r} can be reached from other machines and no key is set; "
                "give `key`, or `open_to_all`"
            )
        return self

    @model_validator(mode="after")
    def _in_proportion(self) -> Self:
        if self.timeout > self.longest:
            raise ValueError(
                f"`timeout` = {self.timeout:g} must not be more than `longest` = {self.longest:g}"
            )
        if self.queue < self.batch:
            raise ValueError(f"`queue` = {self.queue} is less than `batch` = {self.batch}")
        return self

    def limits(self, seconds: float) -> Limits:
        """Of one check that may take so long."""
        return Limits(
            wall_s=seconds,
            cpu_s=max(seconds, 1.0),
            memory_bytes=self.memory_mb * MIB,
            processes=LEAN_LIMITS.processes,
            output_bytes=OUTPUT_BYTES,
        )


def _is_own(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
