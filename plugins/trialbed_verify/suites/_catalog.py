"""The tools that suites offer, and requests in natural language with and without need for them."""

from __future__ import annotations

import json
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from trialbed_verify.suites._suite import function

_TYPES = ("string", "integer", "number", "boolean")


@dataclass(frozen=True)
class Request:
    """A request that needs a tool.

    Attributes:
        arguments: those that the request leaves no doubt about.
    """

    text: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class CatalogTool:
    """A tool, requests that need it, and a question near it that needs no tool.

    Attributes:
        declared: as a request declares it.
        result, reply: of the first request: the tool's result, and the assistant's answer to that; may be empty.
    """

    name: str
    declared: Mapping[str, Any]
    requests: Sequence[Request]
    near: str
    result: str = ""
    reply: str = ""

    def arguments(self, request: Request) -> dict[str, Any]:
        """Return arguments that are valid: the certain ones, and made-up ones for the others that are required."""
        schema = self.declared["function"]["parameters"]
        made = {name: _sample(schema["properties"][name]) for name in schema["required"]}
        return {**made, **request.arguments}


@cache
def catalog() -> tuple[CatalogTool, ...]:
    """Return all tools."""
    text = files("trialbed_verify.suites").joinpath("catalog.jsonl").read_text(encoding="utf-8")
    return tuple(_tool(json.loads(entry)) for entry in text.splitlines())


def choose_tools(
    chance: random.Random, count: int, *, with_: CatalogTool | None = None, without: Collection[str] = ()
) -> list[Any]:
    """Choose declared tools in a random order.

    Args:
        count: how many.
        with_: one that is among them.
        without: names of those that are not.
    """
    others = [tool for tool in catalog() if tool is not with_ and tool.name not in without]
    chosen = chance.sample(others, count - (with_ is not None)) + ([with_] if with_ else [])
    chance.shuffle(chosen)
    return [dict(tool.declared) for tool in chosen]


def _tool(entry: Mapping[str, Any]) -> CatalogTool:
    parameters = entry["parameters"]
    schema = {
        "type": "object",
        "properties": {name.rstrip("!"): _property(text) for name, text in parameters.items()},
        "required": [name.rstrip("!") for name in parameters if name.endswith("!")],
        "additionalProperties": False,
    }
    return CatalogTool(
        name=entry["name"],
        declared=function(entry["name"], entry["description"], schema),
        requests=[Request(text, arguments) for text, arguments in entry["calls"]],
        near=entry["near"],
        result=entry.get("result", ""),
        reply=entry.get("reply", ""),
    )


def _property(text: str) -> dict[str, Any]:
    """Return a property's schema from ``type|description``; ``enum:a,b`` lists values, ``array`` has strings."""
    kind, description = text.split("|", 1)
    if kind.startswith("enum:"):
        return {"type": "string", "enum": kind.removeprefix("enum:").split(","), "description": description}
    if kind == "array":
        return {"type": "array", "items": {"type": "string"}, "description": description}
    if kind not in _TYPES:
        raise ValueError(f"the catalog has no type {kind!r}")
    return {"type": kind, "description": description}


def _sample(schema: Mapping[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    samples: dict[str, Any] = {
        "string": "as asked",
        "integer": 1,
        "number": 1.0,
        "boolean": True,
        "array": ["as asked"],
    }
    return samples[schema["type"]]
