"""Fields of a judge that say which sandbox it needs, refused where no such one exists."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from proofgym.errors import SandboxError


def _known_sandbox(name: str | None) -> str | None:
    from proofgym.sandboxes.choose import check_name

    try:
        return None if name is None else check_name(name)
    except SandboxError as error:
        raise ValueError(str(error)) from None


def _known_protections(names: Any) -> Any:
    from proofgym.sandboxes.choose import check_protections

    try:
        check_protections(names)
    except SandboxError as error:
        raise ValueError(str(error)) from None
    return names


SandboxName = Annotated[str | None, AfterValidator(_known_sandbox)]
Protections = Annotated[tuple[str, ...], BeforeValidator(_known_protections)]
