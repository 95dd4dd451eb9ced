"""Says what is wrong with a setting in the words of the command line that it was typed on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from proofgym.errors import ConfigError, FieldError, Problem


@contextmanager
def as_options(**different: str) -> Iterator[None]:
    """Within, an error about fields names options: `Serving.port = -1` becomes `--port = -1`.

    Args:
        different: options by field, where they are not called as the field is.

    Raises:
        ConfigError: in place of a FieldError, one line a problem.
    """
    try:
        yield
    except FieldError as error:
        lines = (_line(it, different) if isinstance(it, Problem) else it for it in error.problems)
        raise ConfigError("\n".join(lines)) from None


def _line(problem: Problem, different: Mapping[str, str]) -> str:
    def option(field: str) -> str:
        return different.get(field, "--" + field.replace("_", "-"))

    if not problem.field:
        return re.sub(r"`(\w+)`", lambda it: option(it[1]), problem.message)
    return f"{option(problem.field)}{problem.value and f' = {problem.value}'}: {problem.message}"
