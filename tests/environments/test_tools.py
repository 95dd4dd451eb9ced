"""Tools: schemas, calls, and what a model is told of its mistakes."""

from __future__ import annotations

import asyncio
from typing import Literal

import pytest

from proofgym.environments.tools import read_calls, run, schema


def search(query: str, most: int = 3, mode: Literal["a", "b"] = "a", tags: list[str] | None = None):
    """Look for lemmas.

    Args:
        query: what to look for
        most (int): how many
    """
    if not query:
        raise ValueError("an empty query")
    return [query] * most


async def later(x: float):
    return {"twice": 2 * x}


def test_a_schema_comes_from_signature_and_docstring():
    made = schema(search)["function"]
    assert made["name"] == "search"
    assert made["description"] == "Look for lemmas."
    properties = made["parameters"]["properties"]
    assert properties["query"] == {"type": "string", "description": "what to look for"}
    assert properties["most"] == {"type": "integer", "description": "how many"}
    assert properties["mode"] == {"enum": ["a", "b"]}
    assert properties["tags"]["anyOf"][0] == {"type": "array", "items": {"type": "string"}}
    assert made["parameters"]["required"] == ["query"]


def test_calls_are_read_in_order():
    text = (
        'I look.\n<tool_call>\n{"name": "search", "arguments": {"query": "x"}}\n</tool_call>\n'
        '<tool_call>{"name": "later"}</tool_call> and <tool_call>{"name": '
    )
    first, second, third = read_calls(text)
    assert (first.name, first.arguments, first.problem) == ("search", {"query": "x"}, "")
    assert (second.name, second.arguments) == ("later", {})
    assert "no JSON" in third.problem
    assert read_calls("nothing") == []


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        ('{"name": "search", "arguments": {"query": "x", "most": 2}}', '["x", "x"]'),
        ('{"name": "later", "arguments": {"x": 2}}', '{"twice": 4}'),
        ('{"name": "serch", "arguments": {}}', "did you mean 'search'"),
        ('{"name": "search", "arguments": {"qery": 1}}', "error: search: missing a required"),
        ('{"name": "search", "arguments": {"query": ""}}', "error: ValueError: an empty query"),
        ('{"name": "search", "arguments": [1]}', "must be a JSON object"),
        ("[1]", "the call must be"),
        ("{", "no JSON"),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_what_a_call_gives(call, answer):
    (read,) = read_calls(f"<tool_call>{call}</tool_call>")
    assert answer in asyncio.run(run(read, [search, later]))


def test_a_fault_of_the_tool_is_not_the_models():
    def broken():
        raise NotImplementedError("mine")

    (call,) = read_calls('<tool_call>{"name": "broken"}</tool_call>')
    with pytest.raises(NotImplementedError):
        asyncio.run(run(call, [broken]))
