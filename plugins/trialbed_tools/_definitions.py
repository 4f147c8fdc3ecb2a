"""Tools of definitions as programs give them to models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trialbed_tools._imported import FoundTool, FoundTools
from trialbed_tools._references import References, Schemas
from trialbed_tools._skeletons import Skeletons
from trialbed_tools.located import Key, Located

SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema", "args_schema")
"""Keys of the schema of arguments: OpenAI's, Anthropic's, MCP's and LangChain's."""

LONGEST = 10_000
"""Characters of a description."""


def looks_like_definitions(value: Any) -> bool:
    """Return whether a value is meant as definitions: a list, a list under ``tools``, or one of them."""
    if isinstance(value, dict):
        return any(key in value for key in ("tools", "result", "function", *SCHEMA_KEYS, "args"))
    return isinstance(value, list)


def read_definitions(located: Located) -> FoundTools:
    """Return the tools of definitions in the form of OpenAI's, Anthropic's or MCP's API, or of LangChain.

    Raises:
        DataError: one of them is malformed, or there is none; names the line and the key.
    """
    value: Any = located.value
    key: Key = ()
    for name in ("result", "tools"):
        if isinstance(value, dict) and name in value:
            value, key = value[name], (*key, name)
    references = References(located)
    if isinstance(value, dict):
        return FoundTools("a definition", (_tool(value, key, references),))
    if not isinstance(value, list) or not value:
        raise references.fault(key, "must be a list of definitions, with at least one")
    tools = tuple(_tool(one, (*key, number), references) for number, one in enumerate(value))
    return FoundTools("definitions", tools)


def _tool(given: Any, key: Key, references: References) -> FoundTool:
    outer, key = references.mapping(given, key)
    if "type" in outer and outer["type"] not in ("function", "custom", "object") and "function" not in outer:
        raise references.fault((*key, "type"), f"{outer['type']!r:.40} is a tool of the vendor's own, not a function")
    inner, place = outer, key
    if "function" in outer:
        inner, place = references.mapping(outer["function"], (*key, "function"))
    name = inner.get("name", inner.get("title"))
    if not isinstance(name, str) or not name:
        raise references.fault(place, "the definition has no name")
    description = inner.get("description")
    answer = inner.get("outputSchema")
    example = outer.get("example")
    if example is None and answer is not None:
        # Its references lead into itself.
        own = References(Located(references.place((*place, "outputSchema")), answer))
        example = Skeletons().of_schema(Schemas(own, "writeOnly").schema(answer, ()))
    return FoundTool(
        name=name,
        description=description[:LONGEST] if isinstance(description, str) else "",
        parameters=_parameters(inner, place, references),
        example=example,
        reads=isinstance(inner.get("annotations"), dict) and inner["annotations"].get("readOnlyHint") is True,
    )


def _parameters(inner: Mapping[str, Any], place: Key, references: References) -> dict[str, Any]:
    """Return the schema of the arguments, as it is: its references may lead into it."""
    if inner.get("type") == "object" and "properties" in inner:
        return {
            "type": "object",
            **{name: inner[name] for name in ("properties", "required", "$defs") if name in inner},
        }
    if isinstance(inner.get("args"), dict) and not any(key in inner for key in SCHEMA_KEYS):
        return {"type": "object", "properties": inner["args"], "required": list(inner["args"])}
    for key in SCHEMA_KEYS:
        if inner.get(key) is None:
            continue
        found = inner[key]
        if not isinstance(found, dict):
            raise references.fault((*place, key), f"must be a JSON Schema, and is {found!r:.40}")
        if found.get("type", "object") != "object":
            raise references.fault((*place, key, "type"), f"arguments are an object, and not {found['type']!r:.40}")
        return {"type": "object", "properties": {}, **found}
    return {"type": "object", "properties": {}}
