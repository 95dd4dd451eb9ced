"""What a request that does not fit its form is told: which field, and what is allowed there.

Nothing of the request is sent back: it may be large, or hold what no encoding can carry.
"""

from __future__ import annotations

from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.responses import JSONResponse

from proofgym.lean.server.snippet import plain

_SHOWN = 20  # wrong fields of one request
_LONGEST = 100  # letters of a name


async def refuse(_: Request, error: Exception) -> JSONResponse:
    """422 with a list of `loc`, `msg` and `type`, as FastAPI's own."""
    assert isinstance(error, RequestValidationError)
    return JSONResponse({"detail": [_shown(item) for item in error.errors()[:_SHOWN]]}, 422)


def _shown(item: dict[str, Any]) -> dict[str, Any]:
    place = [plain(it)[:_LONGEST] if isinstance(it, str) else it for it in item["loc"]]
    message = plain(item["msg"].removeprefix("Value error, "))
    return {"loc": place, "msg": message, "type": item["type"]}
