"""Puts the server together: the two APIs, the gate before them, the metrics."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi

from proofgym import __version__
from proofgym.lean.server.gate import OPEN, Gate
from proofgym.lean.server.kimina import kimina_routes
from proofgym.lean.server.metrics import Metrics
from proofgym.lean.server.proofs import proof_routes
from proofgym.lean.server.refusal import refuse
from proofgym.lean.server.service import Service
from proofgym.lean.server.work import Work

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def create_app(service: Service) -> FastAPI:
    """The ASGI application. It closes the service when it ends."""
    metrics = Metrics(service.checker.metrics)
    work = Work(service.settings.workers, service.settings.queue, metrics)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        yield
        await work.close()
        await asyncio.to_thread(service.close)

    app = FastAPI(
        title="proofgym lean serve",
        version=__version__,
        description="Checks Lean 4 in sandboxes.",
        lifespan=life,
        redoc_url=None,
    )
    app.add_exception_handler(RequestValidationError, refuse)
    app.include_router(kimina_routes(service, work, metrics))
    app.include_router(proof_routes(service, work, metrics))

    @app.get("/metrics", response_class=Response)
    async def read_metrics() -> Response:
        """Counters in Prometheus's text format."""
        return Response(metrics.text(), media_type=METRICS_TYPE)

    paths = [*get_openapi(title="", version="", routes=app.routes)["paths"], *OPEN]
    app.add_middleware(Gate, settings=service.settings, metrics=metrics, paths=paths)
    if service.settings.key is not None:
        _document_key(app)
    return app


def _document_key(app: FastAPI) -> None:
    """Say in the OpenAPI document that a bearer key is needed; the gate is what asks for it."""
    document = app.openapi()
    schemes = document.setdefault("components", {}).setdefault("securitySchemes", {})
    schemes["key"] = {"type": "http", "scheme": "bearer"}
    document["security"] = [{"key": []}]
    document["paths"]["/health"]["get"]["security"] = []
