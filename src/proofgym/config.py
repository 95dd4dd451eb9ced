"""Typed configuration objects: what is wrong is refused, with the nearest right name or value.

Every object a user writes in a job file derives from `Config`. They are frozen pydantic models,
so they print, compare, convert to JSON (`to_json`) and take overrides (`override`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, RootModel, ValidationError

from proofgym.errors import ConfigError, FieldError, Problem, nearest

Changed = TypeVar("Changed", bound="Config")


class Config(BaseModel):
    """A frozen, strictly checked configuration object."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        arbitrary_types_allowed=True,
        use_attribute_docstrings=True,
        validate_default=True,
        protected_namespaces=(),
    )

    def __init__(self, *args: Any, **fields: Any) -> None:
        names = list(type(self).model_fields)
        if len(args) > len(names):
            raise ConfigError(f"{type(self).__name__} takes at most {len(names)} values")
        for name, value in zip(names, args, strict=False):
            if name in fields:
                raise ConfigError(f"{type(self).__name__}.{name} is given twice")
            fields[name] = value
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise FieldError(*_explain(type(self), error)) from None

    def override(self, path: str, text: str) -> Self:
        """Return a copy with one field, named as `algorithm.sigma`, set from its text."""
        head, rest = self._field(path)
        current = getattr(self, head)
        value = current.override(rest, text) if rest else _parse(text)
        try:
            return self._with(head, value)
        except ConfigError:
            if value != "none":  # a word that some fields have for themselves, as ES.normalise
                raise
            return self._with(head, None)

    def replace(self, path: str, value: Any) -> Self:
        """Return a copy with one field, named as `algorithm.sigma`, set to a value."""
        head, rest = self._field(path)
        return self._with(head, getattr(self, head).replace(rest, value) if rest else value)

    def _field(self, path: str) -> tuple[str, str]:
        """A field's name, and the path within it. Raises ConfigError, naming the nearest."""
        head, _, rest = path.partition(".")
        fields = type(self).model_fields
        kinds = {field: type(getattr(self, field)) for field in fields}
        if head not in fields:
            raise ConfigError(_no_field(type(self), head, kinds))
        if rest and not issubclass(kinds[head], Config):
            places = [f"{place}.{rest}" for place in _places(head, kinds)]
            hint = f"; did you mean {places[0]!r}?" if places else ""
            name = f"{type(self).__name__}.{head}"
            raise ConfigError(f"{name} has no fields of its own to set{hint}")
        return head, rest

    def _with(self, name: str, value: Any) -> Self:
        given = {field: getattr(self, field) for field in self.model_fields_set}
        return type(self)(**{**given, name: value})

    def to_json(self) -> dict[str, Any]:
        """The effective configuration as plain JSON values, defaults included."""
        return {"kind": type(self).__name__} | {
            name: _plain(getattr(self, name)) for name in type(self).model_fields
        }

    def completed(self, stored: Any) -> Any:
        """What an older version wrote of a configuration of this kind, with fields that it did not
        have yet at their defaults."""
        if not isinstance(stored, dict) or stored.get("kind") != type(self).__name__:
            return stored
        made = dict(stored)
        for name, field in type(self).model_fields.items():
            if name in stored:
                made[name] = _completed(getattr(self, name), stored[name])
            elif not field.is_required():
                made[name] = _plain(field.get_default(call_default_factory=True))
        return made


def _completed(value: Any, stored: Any) -> Any:
    """The same of configurations within mappings and sequences."""
    if isinstance(value, Config):
        return value.completed(stored)
    if isinstance(value, Mapping) and isinstance(stored, dict):
        return {key: _completed(value.get(key), it) for key, it in stored.items()}
    alike = isinstance(value, list | tuple) and isinstance(stored, list)
    if alike and len(value) == len(stored):
        return [_completed(one, it) for one, it in zip(value, stored, strict=True)]
    return stored


def applied(config: Changed, changes: Sequence[Callable[[Changed], Changed]]) -> Changed:
    """A configuration with changes made, in any order that it allows: one may be wrong until
    another is made. Raises ConfigError where none of those left can be made."""
    waiting = list(changes)
    while waiting:
        refused: list[tuple[Callable[[Changed], Changed], ConfigError]] = []
        for change in waiting:
            try:
                config = change(config)
            except ConfigError as error:
                refused.append((change, error))
        if len(refused) == len(waiting):
            raise refused[0][1]
        waiting = [change for change, _ in refused]
    return config


def _parse(text: str) -> Any:
    """JSON where it reads as JSON (numbers, lists, true, null), else the text itself."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return {"True": True, "False": False, "None": None}.get(text, text)


def _plain(value: Any) -> Any:
    if isinstance(value, Config):
        return value.to_json()
    if isinstance(value, RootModel):
        return _plain(value.root)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if callable(value):
        return f"{value.__module__}.{value.__qualname__}"
    return str(value)


def _explain(owner: type[Config], error: ValidationError) -> Iterator[Problem | str]:
    """One line a problem: field, value, what is allowed, the nearest match."""
    for item in error.errors():
        name = ".".join(str(part) for part in item["loc"])
        if item["type"] == "extra_forbidden":
            kinds = {field: info.annotation for field, info in owner.model_fields.items()}
            yield _no_field(owner, name, kinds)
        elif item["type"] == "missing":
            yield f"{owner.__name__}.{name} must be given"
        elif item["type"] == "literal_error":
            allowed = [part.strip(" '") for part in _literals(item["ctx"]["expected"])]
            message = nearest(item["input"], allowed)
            yield Problem(owner.__name__, name, message, repr(item["input"]))
        else:
            message = item["msg"].removeprefix("Value error, ")
            yield Problem(owner.__name__, name, message, repr(item["input"]) if name else "")


def _no_field(owner: type[Config], name: str, kinds: Mapping[str, Any]) -> str:
    """Say so, with the object within that has it, or else the nearest name."""
    places = _places(name, kinds)
    allowed = [*places, *owner.model_fields]
    return f"{owner.__name__} has no field {name!r}; {nearest((*places, name)[0], allowed)}"


def _places(name: str, kinds: Mapping[str, Any]) -> list[str]:
    """Where a field of this name is one step further in: `job.sampling`. `kinds` are the types of
    an object's own fields."""
    found = {field: getattr(kind, "model_fields", ()) for field, kind in kinds.items()}
    return [f"{field}.{name}" for field, fields in found.items() if name in fields]


def _literals(expected: str) -> list[str]:
    return expected.replace(" or ", ", ").split(", ")
