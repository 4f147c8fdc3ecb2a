"""Schemas: the tools reach the model unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from trialbed.records import Json
from trialbed_adapter_lab.harness import Harness, ObservedRequest, tool
from trialbed_adapter_lab.probe import Probe, expect, must, should
from trialbed_adapter_lab.probes._conversations import converse
from trialbed_adapter_lab.probes._expectations import (
    expect_calls,
    expect_equal,
    expect_requests,
    expect_requests_at_least,
)
from trialbed_adapter_lab.probes.arguments import HOSTILE_NAMES
from trialbed_scripted import ask, call

REASON = "Every framework is to offer the same tools; another schema is another task for the model."
HINT = "Hand tool.parameters on as it is, past the framework's own conversion; look for a raw or non-strict mode."

STRING = {"type": "string"}
NAMES = (
    *("a" * 64, "Z9", "9lives", "getWeather", "GetWeather", "get-weather", "Web_-_Search", "A--B_C"),
    *("class", "None", "lambda", "import", "print", "self", "type", "final_answer", "finish", "transfer_to_agent"),
)
THREE = ("Echo_a", "Echo_b", "Echo_c")
DISTINCT = {
    "Find_place": "Finds a place by its name.",
    "Look_up_weather": "The weather of a place, by its name.",
    "Book_room": "Books a room for a night.",
}
LOOK_ALIKES = ("Get_Weather", "get-weather", "get_Weather", "get_weather", "getweather")
DESCRIPTIONS = {
    "Echo_a": "",
    "Echo_b": "One line.",
    "Echo_b2": "One line.",
    "Echo_c": '  Two lines,\nwith "quotes", {braces}, %s, `code` and 東京 🦜.',
    "Echo_d": "A very long description. " * 200 + "The end.",
}


def _object(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **more}


NESTED = _object(
    {
        "place": _object(
            {"name": STRING, "at": _object({"lat": {"type": "number"}, "lon": {"type": "number"}}, required=["lat"])},
            required=["name", "at"],
        ),
        "days": {"type": "array", "items": _object({"day": STRING}), "minItems": 1, "maxItems": 7, "uniqueItems": True},
        "grid": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
        "pair": {"type": "array", "prefixItems": [STRING, {"type": "integer"}]},
        "a": _object({"b": _object({"c": _object({"d": _object({"e": _object({"f": {"type": "integer"}})})})})}),
    },
    required=["place"],
)
ENUMS = _object(
    {
        "unit": {"type": "string", "enum": ["metric", "imperial", ""]},
        "level": {"type": "integer", "enum": [1, 2, 3]},
        "mixed": {"enum": ["a", 1, None, True]},
        "fixed": {"const": "always"},
    }
)
UNIONS = _object(
    {
        "any": {"anyOf": [STRING, {"type": "integer"}, {"type": "null"}]},
        "one": {"oneOf": [_object({"a": STRING}, required=["a"]), _object({"b": STRING}, required=["b"])]},
        "all": {"allOf": [_object({"a": STRING}), _object({"b": STRING})]},
        "not": {"not": {"type": "null"}},
        "types": {"type": ["string", "null"]},
    }
)
REFERENCES = _object(
    {"root": {"$ref": "#/$defs/node"}, "home": {"$ref": "#/$defs/place"}, "away": {"$ref": "#/$defs/place"}},
) | {
    "$defs": {
        "place": _object({"city": STRING}, required=["city"]),
        "node": _object({"value": STRING, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}),
    }
}
OPEN_AND_CLOSED = _object(
    {
        "open": {"type": "object", "additionalProperties": True},
        "map": {"type": "object", "additionalProperties": {"type": "number"}},
        "unsaid": {"type": "object"},
        "closed": _object({"a": STRING}, additionalProperties=False),
        "patterns": {"type": "object", "patternProperties": {"^x-": STRING}},
    },
    additionalProperties=False,
)
DEFAULTS = _object(
    {
        "size": {"type": "integer", "default": 10},
        "unit": {"type": "string", "default": ""},
        "flag": {"type": "boolean", "default": False},
        "tags": {"type": "array", "items": STRING, "default": []},
        "none": {"type": ["string", "null"], "default": None},
        "needed": {"type": "string", "default": "x"},
    },
    required=["needed"],
)
BOUNDS = _object(
    {
        "when": {"type": "string", "format": "date-time"},
        "mail": {"type": "string", "format": "email", "maxLength": 80},
        "code": {"type": "string", "pattern": "^[A-Z]{3}$", "minLength": 3},
        "page": {"type": "integer", "minimum": 1, "maximum": 100, "multipleOf": 1},
        "share": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    }
)
NOTES = _object(
    {
        "city": {
            "type": "string",
            "description": 'The city,\n  e.g. "Oslo".\n' + "It may be any city of the world. " * 60,
            "title": "City",
            "examples": ["Oslo", "東京"],
        },
        "old": {"type": "string", "deprecated": True, "x-vendor": {"order": 1}},
    },
    title="Weather",
    description="What to look up.",
    required=["city"],
) | {"$schema": "https://json-schema.org/draft/2020-12/schema"}
ODD_NAMES = _object(dict.fromkeys(HOSTILE_NAMES, STRING), required=list(HOSTILE_NAMES[:3]))


@must(
    binds="all",
    reason="A tool that is not offered cannot be called.",
    hint="Bind every tool.",
)
async def all_tools_are_offered(harness: Harness) -> None:
    """The first request offers the trial's tools, under whatever names."""
    record = await converse(harness, tools=[tool(name, description=text) for name, text in DISTINCT.items()])
    first, *_ = expect_requests_at_least(record, 1)
    for name in DISTINCT:
        offered = [function.get("name") for function in first.functions]
        expect(first.offers.function(name) is not None, f"the tool {name} to be offered", offered)


@must(
    reason="A tool that is offered in some requests only, or twice, is another task for the model.",
    hint="Offer every tool once, in every request.",
)
async def tools_are_offered_in_every_request(harness: Harness) -> None:
    """Every request offers the trial's tools, each once."""
    for offered in await _offers(harness):
        for name in THREE:
            expect(offered.count(name) == 1, f"the tool {name} to be offered once", offered)


@should(
    reason="With tools of the framework's own the model has choices that other frameworks do not offer.",
    hint="Switch off the tools that the framework adds, such as those for final answers, handing over or memory.",
)
async def no_other_tools_are_offered(harness: Harness) -> None:
    """No request offers a tool that is not the trial's."""
    for offered in await _offers(harness):
        others = sorted(set(offered) - set(THREE))
        expect(not others, "no tools but the trial's", others)


@must(
    reason="Calls are attributed by the tool's name; a changed name cannot be matched.",
    hint="Find the switch that keeps names, or map the framework's names in its model class, both ways.",
)
async def tool_names_are_kept(harness: Harness) -> None:
    """Names of 64 characters, with capitals, digits and dashes, and Python's keywords are offered and found again."""
    await _names_are_kept(harness, NAMES)


@must(
    reason="Names that differ only in case or punctuation belong to different Apis.",
    hint="Do not fold names; if the framework does, keep a table.",
)
async def similar_tool_names_are_told_apart(harness: Harness) -> None:
    """Tools whose names differ only in case, dashes and underscores are all offered, and each is called as itself."""
    await _names_are_kept(harness, LOOK_ALIKES)


@should(
    reason="Models tend to prefer the first tools.",
    hint="Bind the tools in the order in which they are given.",
    quick=True,
)
async def tool_order_is_kept(harness: Harness) -> Json:
    """The tools are offered in the order in which the adapter got them: sorted by name, capitals first."""
    names = ["B_tool", "Z_tool", "a-tool", "d_tool", "e_tool", "c2", "c10"]
    for some in (names, names[:2], names[2:5]):
        record = await converse(harness, tools=[tool(name) for name in some])
        offered = [function.get("name") for function in expect_requests(record, 1)[0].functions]
        expect_equal("names of the offered tools, in order", offered, sorted(some))
    return "kept"


@should(
    reason="Models choose tools by their descriptions.",
    hint="Pass tool.description on as it is, even if it is empty or long.",
    quick=True,
)
async def descriptions_are_kept(harness: Harness) -> None:
    """Descriptions reach the model unchanged: empty, with line breaks, quotes and unicode, or 5,000 characters long."""
    tools = [tool(name, description=text) for name, text in DESCRIPTIONS.items()]
    record = await converse(harness, tools=tools)
    offered = _functions_by_name(expect_requests(record, 1)[0])
    seen = {name: offered.get(name, {}).get("description") or "" for name in DESCRIPTIONS}
    expect_equal("descriptions on the wire", seen, DESCRIPTIONS)


@must(
    reason="Many Apis take no parameters, and their schemas express that in several ways.",
    hint="Bind a tool whose schema has no properties, or no `properties`, or is empty.",
)
async def tools_without_parameters(harness: Harness) -> None:
    """Tools whose schemas have no properties can be bound and called."""
    schemas: tuple[dict[str, Any], ...] = ({}, {"type": "object"}, _object({}), _object({}, required=[]))
    tools = [tool(f"Echo_{place}", parameters=schema) for place, schema in enumerate(schemas)]
    await converse(
        harness,
        ask(*(call(item.name, "{}") for item in tools)),
        requests=2,
        calls=[*((item.name, {}) for item in tools)],
        tools=tools,
    )


async def _offers(harness: Harness) -> list[list[str]]:
    """Return the names of the tools that each request of a trial offers."""
    record = await converse(harness, ask(call("Echo_b", {"text": "x"})), tools=[tool(name) for name in THREE])
    return [[str(function.get("name")) for function in request.functions] for request in expect_requests(record, 2)]


async def _names_are_kept(harness: Harness, names: tuple[str, ...]) -> None:
    turn = ask(*(call(name, {"text": name}) for name in names))
    record = await converse(harness, turn, tools=[tool(name) for name in names])
    first, _ = expect_requests(record, 2)
    missing = sorted(set(names) - set(_functions_by_name(first)))
    expect(not missing, f"the tools {', '.join(missing)} to be offered", f"only {sorted(_functions_by_name(first))}")
    expect_calls(record, *((name, {"text": name}) for name in names))


def _functions_by_name(request: ObservedRequest) -> dict[str, dict[str, Any]]:
    return {str(function.get("name")): function for function in request.functions}


async def _is_kept(schemas: Sequence[dict[str, Any]], harness: Harness) -> None:
    record = await converse(harness, tools=[tool(f"Echo_{place}", parameters=it) for place, it in enumerate(schemas)])
    (request,) = expect_requests(record, 1)
    for place, schema in enumerate(schemas):
        expect_equal("parameters of the tool on the wire", request.parameters(f"Echo_{place}"), schema)


KEPT = tuple(
    Probe(
        f"schema_{name}",
        "should",
        f"{what} reach the model unchanged.",
        REASON,
        HINT,
        partial(_is_kept, schemas),
        quick=name in ("enum", "nested", "notes", "union"),
    )
    for name, what, *schemas in (
        (
            "empty",
            "Schemas without properties",
            {"type": "object"},
            _object({}),
            _object({}, additionalProperties=False),
        ),
        ("nested", "Nested objects and arrays", NESTED),
        ("enum", "Enumerations and constants", ENUMS),
        ("union", "Unions: anyOf, oneOf, allOf, not, lists of types", UNIONS),
        ("ref", "References into $defs, recursive ones too,", REFERENCES),
        ("additional_properties", "Open, closed and typed maps (additionalProperties)", OPEN_AND_CLOSED),
        ("default", "Defaults, falsy ones and null too, and what is required", DEFAULTS),
        ("bounds", "Formats, patterns, lengths and ranges", BOUNDS),
        ("notes", "Titles, descriptions, examples and keywords of vendors", NOTES),
        ("names", "Properties of any name", ODD_NAMES),
    )
)
"""The checks that tools are offered with exactly the schemas that they were given."""
