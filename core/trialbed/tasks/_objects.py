"""Use tools of frameworks as tools of tasks. They are recognized by their attributes, without importing a framework."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from trialbed.errors import UsageError
from trialbed.records import Api
from trialbed.tasks._functions import ToolBody, tool_api
from trialbed.wire.json_schemas import JsonSchema, UnusableSchema

DEFINED = ("parameters", "input_schema", "inputSchema")
"""Keys of the schema in definitions of OpenAI, Anthropic and MCP."""

FUNCTIONS = ("function", "entrypoint", "func", "coroutine", "real_fn", "forward", "_func", "_run")
"""Attributes of the function in Pydantic AI, Agno, most others, LlamaIndex, smolagents, AutoGen and LangChain."""


def _of_model(found: Any) -> Any:
    return found.model_json_schema() if hasattr(found, "model_json_schema") else found


def _of_inputs(found: Mapping[str, Any]) -> Any:
    required = [name for name, part in found.items() if not part.get("nullable")]
    return {"type": "object", "properties": dict(found), "required": required}


SCHEMAS: Mapping[str, Callable[[Any], Any]] = {
    "params_json_schema": dict,  # OpenAI Agents SDK
    "function_schema": lambda found: found.json_schema,  # Pydantic AI
    "tool_call_schema": _of_model,  # LangChain
    "input_schema": dict,  # Anthropic
    "args_schema": _of_model,  # CrewAI
    "inputs": _of_inputs,  # smolagents
    "metadata": lambda found: hasattr(found, "get_parameters_dict") and found.get_parameters_dict(),  # LlamaIndex
    "schema": lambda found: isinstance(found, dict) and found["parameters"],  # AutoGen
    "parameters": lambda found: callable(found) and found(),  # Agent Framework
}
"""Attribute of a framework's tool -> its schema of the arguments; without such an attribute, the function says it."""


def is_one_tool(given: Any) -> bool:
    """Return whether this is one tool, or one toolkit, and not a list; some frameworks' tools can be iterated over."""
    return (
        isinstance(given, str | Mapping) or callable(given) or _name_holder(given) is not None or bool(_members(given))
    )


def object_tools(given: Any, where: str) -> Iterator[tuple[Api, ToolBody | None]]:
    """Yield the tools of a framework's tool or toolkit, or of a definition as vendors' APIs take it.

    The simulator answers for a definition. Nothing is yielded for other objects.

    Raises:
        UsageError: a tool cannot be used without its framework, or a definition is malformed.
    """
    if isinstance(given, Mapping):
        inner = given.get("function", given)
        if not (isinstance(inner, Mapping) and isinstance(inner.get("name"), str)):
            raise UsageError(f"{where}: {given!r:.60} is not the definition of a tool: it has no function with a name")
        schema: Any = next((inner[key] for key in DEFINED if inner.get(key)), {})
        yield tool_api(inner["name"], inner.get("description") or "", _usable(schema, inner["name"], where)), None
        return
    for member in _members(given):
        yield from object_tools(member, where)
    if (named := _name_holder(given)) is None:
        return
    attributes = ((read, getattr(given, key, None)) for key, read in SCHEMAS.items())
    schema = next((made for read, found in attributes if found is not None and (made := read(found))), None)
    function = next((found for key in FUNCTIONS if callable(found := getattr(given, key, None))), None)
    if function is None and callable(getattr(given, "on_invoke_tool", None)):
        function = _AgentsTool(given)
    if function is not None:
        body = ToolBody(function, only=None if schema is None else frozenset(schema.get("properties", ())))
        body.reader  # noqa: B018 - refuses functions that need a framework
        found = body.schema() if schema is None else _usable(schema, named.name, where)
        yield tool_api(named.name, named.description or "", found), body


def _name_holder(given: Any) -> Any:
    """Return the object with the name and the description of a tool, or None if it is not a tool."""
    for found in (given, getattr(given, "metadata", None)):  # LlamaIndex's are in its metadata
        if (
            not isinstance(given, type)
            and isinstance(getattr(found, "name", None), str)
            and hasattr(found, "description")
        ):
            return found
    return None


def _members(given: Any) -> list[Any]:
    """Return the tools of a toolkit of Agno or LangChain."""
    functions = getattr(given, "functions", None)
    if isinstance(functions, Mapping):
        return list(functions.values())
    return (
        list(given.get_tools()) if callable(getattr(given, "get_tools", None)) and not isinstance(given, type) else []
    )


def _usable(schema: Any, name: str, where: str) -> dict[str, Any]:
    try:
        JsonSchema(schema)
    except UnusableSchema as error:
        raise UsageError(f"{where}: the schema of {name} cannot be used: {error}") from error
    return {"type": "object", "properties": {}, **schema}


class _AgentsTool(NamedTuple):
    """The function of a tool of OpenAI's Agents SDK, which does not expose its own."""

    tool: Any

    async def __call__(self, **arguments: Any) -> Any:
        text = json.dumps(arguments)
        make_context = sys.modules["agents.tool_context"].ToolContext
        context = make_context(None, tool_name=self.tool.name, tool_call_id="call", tool_arguments=text)
        return await self.tool.on_invoke_tool(context, text)
