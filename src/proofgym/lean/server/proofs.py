"""The server's own API: a trusted statement and a proof that is not, judged as `LeanChecker` does.

Unlike a whole snippet, a proof judged here cannot pass by redefining what it says.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Request
from pydantic import BaseModel, FailFast, Field, field_validator, model_validator

from proofgym import __version__
from proofgym.errors import TaskError, VerifierError, nearest
from proofgym.lean.server.metrics import Metrics
from proofgym.lean.server.service import Service
from proofgym.lean.server.snippet import plain
from proofgym.lean.server.work import Work
from proofgym.types import Status, Verdict

_SCANNED = re.compile(r"(\d+):(\d+): (.*)", re.DOTALL)
_PLACED = re.compile(r"(?:(\d+):(\d+)|([^:]*)): (\w+): (.*)", re.DOTALL)


class _Strict(BaseModel):
    """A name that is none of ours is refused, at the first: it would be without effect."""

    @model_validator(mode="before")
    @classmethod
    def _known(cls, body: Any) -> Any:
        for name in body if isinstance(body, dict) else ():
            if name not in cls.model_fields:
                shown = plain(name[:100])
                raise ValueError(f"no field {shown!r}; {nearest(shown, cls.model_fields)}")
        return body

    @field_validator("*", mode="before")
    @classmethod
    def _encodable(cls, value: Any) -> Any:
        return plain(value) if isinstance(value, str) else value


class StatementBody(_Strict):
    """A statement alone."""

    statement: str
    """Exactly one `theorem NAME binders : TYPE`, without `:=`."""


class ProofBody(StatementBody):
    """One proof to judge."""

    proof: str
    """The tactic block that follows `STATEMENT := by` and a new line."""
    id: str | None = None
    """Comes back with the verdict."""
    timeout: float | None = Field(None, gt=0, allow_inf_nan=False)
    """Wall-clock and processor seconds; null: the server's `timeout`, and at most its `longest`."""


class BatchBody(_Strict):
    """Many proofs to judge."""

    proofs: Annotated[list[ProofBody], FailFast()]


class PlacedMessage(BaseModel):
    """What Lean said; a place in the proof as it was sent, or none if it is elsewhere."""

    line: int | None
    """From 1."""
    column: int | None
    """From 0, in code points."""
    severity: str
    text: str


class VerdictBody(BaseModel):
    """A verdict. `reward` is null exactly when there is no score."""

    id: str | None = None
    status: Status
    reward: float | None
    message: str = ""
    line: int | None = None
    """Where in the proof the message's error is, or the word that the rules refuse."""
    column: int | None = None
    axioms: list[str] | None = None
    """What the theorem rests on; null where it came to no such question."""
    messages: list[PlacedMessage] = []
    seconds: float
    cpu_s: float = 0.0
    peak_memory: int = 0
    """Bytes."""
    cached: bool = False
    detail: dict[str, Any] = {}
    """Whatever else the checker noted, such as `policy`: the rule that refused the proof."""


class RefusalBody(BaseModel):
    """In a batch: the statement is wrong, so there is no verdict."""

    id: str | None = None
    error: str


class BatchVerdicts(BaseModel):
    """In the order of the proofs."""

    results: list[VerdictBody | RefusalBody]


class Info(BaseModel):
    """What answers here."""

    server: str = "proofgym"
    version: str = __version__
    lean: str
    sandbox: str
    header: str
    timeout: float
    """Seconds of a proof that names none."""
    longest: float
    """Most seconds that a proof or a snippet may ask for."""
    workers: int = Field(ge=1)


def proof_routes(service: Service, work: Work, metrics: Metrics) -> APIRouter:
    """The endpoints."""
    router = APIRouter(prefix="/v1", tags=["proofs"])
    settings = service.settings

    async def judge(request: Request, proofs: list[ProofBody]) -> list[VerdictBody | RefusalBody]:
        checks = [partial(_judge, service, proof) for proof in proofs]
        results = await work.do_all(request, checks)
        for result in results:
            status = result.status.value if isinstance(result, VerdictBody) else "refused"
            metrics.checks.labels("proofs", status).inc()
        return results

    @router.get("/info")
    async def info() -> Info:
        """What answers here, and under which limits."""
        return Info(
            lean=service.lean,
            sandbox=service.sandbox,
            header=settings.header,
            timeout=settings.timeout,
            longest=settings.longest,
            workers=settings.workers,
        )

    @router.post("/statement", responses={422: {"description": "Lean refuses the statement"}})
    async def statement(body: StatementBody, request: Request) -> dict[str, bool]:
        """Elaborate a statement alone; 422 says what is wrong with it, and where."""
        [refusal] = await work.do_all(request, [partial(_refusal, service, body.statement)])
        if isinstance(refusal, VerifierError):
            raise HTTPException(503, str(refusal))
        if refusal:
            raise HTTPException(422, str(refusal))
        return {"accepted": True}

    @router.post("/verify", responses={422: {"description": "Lean refuses the statement"}})
    async def verify(body: ProofBody, request: Request) -> VerdictBody:
        """Judge one proof."""
        [result] = await judge(request, [body])
        if isinstance(result, RefusalBody):
            raise HTTPException(422, result.error)
        return result

    @router.post("/verify/batch")
    async def verify_batch(body: BatchBody, request: Request) -> BatchVerdicts:
        """Judge many proofs; a wrong statement is that item's error."""
        if len(body.proofs) > settings.batch:
            raise HTTPException(
                422, f"a batch may have {settings.batch} proofs, this has {len(body.proofs)}"
            )
        return BatchVerdicts(results=await judge(request, body.proofs))

    return router


def _judge(service: Service, proof: ProofBody) -> VerdictBody | RefusalBody:
    try:
        return as_body(service.check(proof.statement, proof.proof, proof.timeout), proof.id)
    except TaskError as error:
        return RefusalBody(id=proof.id, error=plain(str(error)))
    except Exception as error:  # whatever it is, it is not the rest of the batch's
        message = plain(f"the server failed: {error!r}")
        fault = Verdict(Status.INFRASTRUCTURE, None, message)
        return as_body(fault, proof.id)


def _refusal(service: Service, statement: str) -> TaskError | VerifierError | None:
    try:
        service.check_statement(statement)
    except (TaskError, VerifierError) as error:
        return error
    return None


def as_body(verdict: Verdict, name: str | None = None) -> VerdictBody:
    """A verdict as it travels."""
    detail = dict(verdict.detail)
    placed = _scanned(verdict.message) if "policy" in detail else _placed(verdict.message)
    return VerdictBody(
        id=name,
        status=verdict.status,
        reward=verdict.reward,
        message=plain(verdict.message),
        line=placed.line,
        column=placed.column,
        axioms=detail.pop("axioms", None),
        messages=[_placed(str(it)) for it in detail.pop("messages", ())],
        seconds=verdict.seconds,
        cpu_s=detail.pop("cpu_s", 0.0),
        peak_memory=detail.pop("peak_memory", 0),
        cached=detail.pop("cached", False),
        detail=detail,
    )


def _scanned(text: str) -> PlacedMessage:
    """What the policy scan says: `3:4: …`, with no severity."""
    match = _SCANNED.fullmatch(plain(text))
    if match is None:
        return _placed(text)
    return PlacedMessage(line=int(match[1]), column=int(match[2]), severity="error", text=match[3])


def _placed(text: str) -> PlacedMessage:
    """A message as the checker shows it: `3:4: error: …` or `the theorem: warning: …`."""
    match = _PLACED.fullmatch(plain(text))
    if match is None:
        return PlacedMessage(line=None, column=None, severity="", text=plain(text))
    line, column, _, severity, rest = match.groups()
    return PlacedMessage(
        line=int(line) if line else None,
        column=int(column) if column else None,
        severity=severity,
        text=rest,
    )
