"""Starts the server and stops it in order."""

from __future__ import annotations

import asyncio
import resource
import signal
import socket

import uvicorn

from proofgym.errors import ConfigError
from proofgym.lean.server.app import create_app
from proofgym.lean.server.connection import connections
from proofgym.lean.server.service import Service
from proofgym.lean.server.settings import Serving

_BACKLOG = 2048
_ANSWER_S = 5.0  # to say that the server ends


def serve(settings: Serving) -> None:
    """Serve until SIGTERM or SIGINT; then take nothing new and finish what is under way.

    Raises:
        ConfigError: the address cannot be listened on, or Lean refuses the header.
        ToolchainError, SandboxError, VerifierError: there is no Lean here that works.
    """
    with _take_address(settings) as listener:
        service = Service(settings)
        _listen(listener, settings)
        app = create_app(service)
        config = uvicorn.Config(
            app,
            http=connections(settings.patience_s, _room_for(settings)),
            ws="none",
            log_level="error",  # anyone can send what is worth a warning
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=settings.drain_s,  # type: ignore[arg-type]  # waits so long
        )
        # uvicorn raises the signal again when it is done; to have drained is no failure.
        signal.signal(signal.SIGTERM, lambda *_: None)
        host, port = listener.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        print(f"http://{shown}:{port}  {service.lean}, sandbox {service.sandbox}", flush=True)
        _Server(config).run(sockets=[listener])


class _Server(uvicorn.Server):
    """Does not end before those were answered whose work was broken off."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        if self.server_state.tasks:
            await asyncio.wait(self.server_state.tasks, timeout=_ANSWER_S)


def _room_for(settings: Serving) -> int:
    """How many connections there may be: none may take a descriptor that a check needs."""
    own = 256 + 32 * settings.workers
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = own + settings.connections
    if soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return min(settings.connections, max(soft - own, soft // 2))


def _take_address(settings: Serving) -> socket.socket:
    """A socket that listens later: nobody is to wait for a server that then does not start."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    taken = socket.socket(family)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            taken.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        taken.bind((settings.host, settings.port))
    except OSError as error:
        taken.close()
        raise _cannot(settings, error) from None
    return taken


def _listen(taken: socket.socket, settings: Serving) -> None:
    try:
        taken.listen(_BACKLOG)
    except OSError as error:  # another server was faster
        raise _cannot(settings, error) from None


def _cannot(settings: Serving, error: OSError) -> ConfigError:
    where = f"{settings.host} port {settings.port}"
    return ConfigError(f"cannot listen on {where}: {error.strerror}")
