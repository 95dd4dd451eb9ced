"""What a request that does not fit its form is told: which field, and what is allowed there.

Nothing of the request is sent back: it may be large, or hold what no encoding can carry.
"""

from __future__ import annotations

from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.responses import JSONResponse

from proofgym.errors import nearest
from proofgym.lean.server.snippet import plain

_SHOWN = 20  # wrong fields of one request
_LONGEST = 100  # letters of a name


async def refuse(request: Request, error: Exception) -> JSONResponse:
    """422 with a list of `loc`, `msg` and `type`, as FastAPI's own."""
    assert isinstance(error, RequestValidationError)
    detail = [_shown(request, item) for item in error.errors()[:_SHOWN]]
    return JSONResponse({"detail": detail}, 422)


def _shown(request: Request, item: dict[str, Any]) -> dict[str, Any]:
    place = [plain(it)[:_LONGEST] if isinstance(it, str) else it for it in item["loc"]]
    message = item["msg"].removeprefix("Value error, ")
    if item["type"] == "extra_forbidden":
        message = f"no such field; {nearest(place[-1], _allowed(request, place))}"
    return {"loc": place, "msg": plain(message), "type": item["type"]}


def _allowed(request: Request, place: list[Any]) -> list[str]:
    """The fields of the model in which an unknown one stands."""
    route = request.scope.get("route")
    body = route.body_field if isinstance(route, APIRoute) else None
    model: Any = body.field_info.annotation if body else None
    for name in place[1:-1]:
        if isinstance(name, str) and model is not None:
            field = model.model_fields[name].annotation
            model = getattr(field, "__args__", (field,))[0]
    return list(model.model_fields) if model is not None else []
