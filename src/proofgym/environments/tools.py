"""Functions that a model may call: their schemas, its calls, and what comes of them."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union, get_args, get_origin, get_type_hints

from proofgym.errors import nearest

Tool = Callable[..., Any]

_CALL = re.compile(r"<tool_call>(.*?)(?:</tool_call>|$)", re.S)
_KINDS = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a model wrote: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""
    """What is wrong with it, to be told to the model; empty for a call that can be read."""


def schema(tool: Tool) -> dict[str, Any]:
    """What a chat template wants to know of a function, from its signature and docstring."""
    hints = get_type_hints(tool)
    properties, required = {}, []
    told = _told(inspect.getdoc(tool) or "")
    for name, parameter in inspect.signature(tool).parameters.items():
        properties[name] = _type(hints.get(name, str))
        if name in told:
            properties[name]["description"] = told[name]
        if parameter.default is parameter.empty:
            required.append(name)
    parameters = {"type": "object", "properties": properties, "required": required}
    summary = (inspect.getdoc(tool) or "").split("\n\n")[0].replace("\n", " ")
    about = {"name": tool.__name__, "description": summary, "parameters": parameters}
    return {"type": "function", "function": about}


def describe(schemas: Sequence[Mapping[str, Any]]) -> str:
    """For a model whose chat template does not tell it of tools (the Hermes format)."""
    lines = "\n".join(json.dumps(it) for it in schemas)
    return (
        f"You may call these functions:\n<tools>\n{lines}\n</tools>\n"
        "For a call write its name and arguments as JSON:\n"
        '<tool_call>\n{"name": <name>, "arguments": <object>}\n</tool_call>'
    )


def read_calls(text: str) -> list[ToolCall]:
    """Every call in a model's answer; those that cannot be read say why."""
    return [_read(match.strip()) for match in _CALL.findall(text)]


def _read(text: str) -> ToolCall:
    try:
        call = json.loads(text)
    except (ValueError, RecursionError) as error:
        return ToolCall("", problem=f"the call is no JSON: {error}")
    if not isinstance(call, dict) or not isinstance(call.get("name"), str):
        return ToolCall("", problem='the call must be {"name": …, "arguments": {…}}')
    arguments = call.get("arguments", {})
    if not isinstance(arguments, dict):
        return ToolCall(call["name"], problem="its arguments must be a JSON object")
    return ToolCall(call["name"], arguments)


async def run(call: ToolCall, tools: Sequence[Tool]) -> str:
    """What a call gives, as text. Its mistakes and exceptions are text too, for the model."""
    known = {tool.__name__: tool for tool in tools}
    if call.problem:
        return f"error: {call.problem}"
    if call.name not in known:
        return f"error: no function {call.name!r}; {nearest(call.name, known)}"
    tool = known[call.name]
    try:
        bound = inspect.signature(tool).bind(**call.arguments)
    except TypeError as error:
        return f"error: {call.name}: {error}"
    try:
        value = tool(*bound.args, **bound.kwargs)
        value = await value if inspect.isawaitable(value) else value
        return value if isinstance(value, str) else json.dumps(value, default=str)
    except ToolErrors as error:
        return f"error: {type(error).__name__}: {error}"


ToolErrors = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, OSError)
"""What a tool may raise because of its arguments; others are faults of the tool."""


def _type(hint: Any) -> dict[str, Any]:
    if hint in _KINDS:
        return {"type": _KINDS[hint]}
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (list, tuple, set, Sequence) or hint in (list, tuple, set):
        return {"type": "array", "items": _type(inner[0]) if inner else {}}
    if origin is Union or str(origin) == "<class 'types.UnionType'>":
        return {"anyOf": [_type(it) for it in inner]}
    if str(origin) == "typing.Literal":
        return {"enum": list(inner)}
    return {"type": "object"} if origin in (dict, Mapping) or hint is dict else {}


def _told(text: str) -> dict[str, str]:
    """`name: what it is` lines of a docstring's Args."""
    return dict(re.findall(r"^\s+(\w+)(?: ?\([^)]*\))?: (.+)$", text, re.M))
