"""The API of kimina-lean-server: `POST /api/check`, `POST /verify`, `GET /health`.

The request and response models follow what its clients send and read, so that they need no
change. A snippet's own trouble is an `error` of that snippet, in an answer with status 200.
"""

from __future__ import annotations

import uuid
from functools import partial
from threading import Lock
from typing import Annotated, Any, Self

from fastapi import APIRouter, HTTPException, Request
from pydantic import BaseModel, FailFast, Field, field_validator, model_validator

from proofgym.lean.server.metrics import Metrics
from proofgym.lean.server.service import Service
from proofgym.lean.server.settings import OUTPUT_BYTES
from proofgym.lean.server.snippet import Answer, plain
from proofgym.lean.server.work import Work

ANSWERS = 4  # times what Lean may say of one snippet, in the answer to one batch


class _Request(BaseModel):
    """Other names are passed over, but not those of an answer that we cannot give."""

    @model_validator(mode="before")
    @classmethod
    def _no_infotree(cls, body: Any) -> Any:
        for name, value in body.items() if isinstance(body, dict) else ():
            if name.startswith("infotree") and value is not None:
                shown = plain(f"{value!r:.60}")
                raise ValueError(
                    f"{name} = {shown}: this server has no info trees; allowed: null, or leave it "
                    "out. `messages` and `sorries` come with every answer"
                )
        return body


class Snippet(BaseModel):
    """A whole Lean text."""

    id: str
    """Comes back with the result."""
    code: str

    @field_validator("id", "code", mode="before")
    @classmethod
    def _encodable(cls, value: Any) -> Any:
        return plain(value) if isinstance(value, str) else value


class Room:
    """What the answers to one request may hold together: they are all kept until it is answered.
    Safe for threads."""

    def __init__(self, letters: int) -> None:
        self._left, self._lock = letters, Lock()
        self.why = f"Lean said too much: the answers of a batch may hold {letters >> 20} MiB"

    @property
    def full(self) -> bool:
        return self._left <= 0

    def take(self, letters: int) -> bool:
        """Whether there was room for so much."""
        with self._lock:
            self._left -= letters
            return self._left >= 0


class CheckRequest(_Request):
    """A batch of snippets."""

    snippets: Annotated[list[Snippet], FailFast()] = Field(min_length=1)
    timeout: float = Field(30, ge=0, allow_inf_nan=False)
    """Seconds for each snippet, once it runs."""
    debug: bool = False
    """Say also what each snippet used."""
    reuse: bool = True
    """Accepted and without effect: no snippet ever sees another one's declarations."""
    infotree: None = None
    """Not offered: anything but null is refused."""

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        if len({snippet.id for snippet in self.snippets}) < len(self.snippets):
            raise ValueError("`snippets` must have unique ids")
        return self


class Result(BaseModel):
    """Exactly one of `error` and `response`."""

    id: str
    time: float
    """Seconds."""
    error: str | None = None
    """Why Lean could not finish; with "timed out" in it if that was time."""
    response: dict[str, Any] | None = None
    """`env`, `messages` (severity, pos, endPos, data), `sorries` (pos, endPos, goal: empty)."""
    diagnostics: dict[str, Any] | None = None
    """With `debug`: `repl_uuid`, `cpu_max` (percent of a core), `memory_max` (bytes)."""


class CheckResponse(BaseModel):
    """Results in the order of the snippets."""

    results: list[Result]


class Code(BaseModel):
    """A whole Lean text, in `proof` or in `code`."""

    custom_id: str | int
    proof: str | None = None
    code: str | None = None

    @field_validator("custom_id", "proof", "code", mode="before")
    @classmethod
    def _encodable(cls, value: Any) -> Any:
        return plain(value) if isinstance(value, str) else value


class VerifyRequest(_Request):
    """The older form of a batch."""

    codes: Annotated[list[Code], FailFast()]
    timeout: float = Field(300, ge=0, allow_inf_nan=False)
    infotree_type: None = None
    """Not offered: anything but null is refused."""
    disable_cache: bool = False
    """Accepted and without effect, as `reuse`."""


class VerifyResult(BaseModel):
    """Exactly one of `error` and `response`, the other is null."""

    custom_id: str
    error: str | None = None
    response: dict[str, Any] | None = None
    """As in `Result`, with `time`."""


class VerifyResponse(BaseModel):
    """Results in the order of the codes."""

    results: list[VerifyResult]


def kimina_routes(service: Service, work: Work, metrics: Metrics) -> APIRouter:
    """The endpoints."""
    router = APIRouter(tags=["kimina-lean-server"])

    async def run(request: Request, codes: list[str | None], seconds: float) -> list[Answer]:
        if len(codes) > service.settings.batch:
            most = service.settings.batch
            raise HTTPException(422, f"a batch may have {most} snippets, this has {len(codes)}")
        room = Room(OUTPUT_BYTES * ANSWERS)
        checks = [partial(_answer, service, code, seconds, room) for code in codes]
        answers = await work.do_all(request, checks)
        for answer in answers:
            metrics.checks.labels("kimina", answer.status).inc()
        return answers

    @router.get("/health")
    async def health() -> dict[str, str]:
        """Whether the server takes requests."""
        return {"status": "ok"}

    @router.post("/api/check", response_model_exclude_none=True)
    @router.post("/api/check/", response_model_exclude_none=True, include_in_schema=False)
    async def check(body: CheckRequest, request: Request) -> CheckResponse:
        """Run whole Lean texts and say what Lean said."""
        answers = await run(request, [it.code for it in body.snippets], body.timeout)
        pairs = zip(body.snippets, answers, strict=True)
        return CheckResponse(results=[_result(it.id, answer, body.debug) for it, answer in pairs])

    @router.post("/verify")
    @router.post("/one_pass_verify_batch", include_in_schema=False)
    async def verify(body: VerifyRequest, request: Request) -> VerifyResponse:
        """The same in the older form."""
        texts = [it.proof if it.proof is not None else it.code for it in body.codes]
        answers = await run(request, texts, body.timeout)
        pairs = zip(body.codes, answers, strict=True)
        return VerifyResponse(results=[_old(str(it.custom_id), answer) for it, answer in pairs])

    return router


def _answer(service: Service, code: str | None, seconds: float, room: Room) -> Answer:
    if code is None:
        return Answer("malformed", 0.0, "it has neither `proof` nor `code`")
    if room.full:
        return Answer("too_large", 0.0, room.why)
    try:
        answer = service.snippet(code, seconds)
        return answer if room.take(answer.size) else Answer("too_large", answer.seconds, room.why)
    except Exception as error:  # whatever it is, it is not the rest of the batch's
        return Answer("infrastructure", 0.0, f"the server failed: {error!r}")


def _result(name: str, answer: Answer, debug: bool) -> Result:
    return Result(
        id=name,
        time=round(answer.seconds, 6),
        error=answer.error,
        response=_response(answer),
        diagnostics=_diagnostics(answer) if debug else None,
    )


def _response(answer: Answer) -> dict[str, Any] | None:
    if answer.error is not None:
        return None
    response: dict[str, Any] = {"env": 0}
    if answer.messages:
        response["messages"] = answer.messages
    if answer.sorries:
        response["sorries"] = answer.sorries
    return response


def _old(name: str, answer: Answer) -> VerifyResult:
    response = _response(answer)
    if response is not None:
        response["time"] = round(answer.seconds, 6)
    return VerifyResult(custom_id=name, error=answer.error, response=response)


def _diagnostics(answer: Answer) -> dict[str, Any]:
    return {
        "repl_uuid": str(uuid.uuid4()),  # each snippet has a Lean of its own
        "cpu_max": round(100 * answer.cpu_s / max(answer.seconds, 1e-6), 1),
        "memory_max": answer.peak_memory_bytes,
    }
