"""Check that the tools reach the model unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from trialbed.records import Json
from trialbed.wire.hard_schemas import hard_schemas
from trialbed_adapter_lab.harness import Harness, ObservedRequest, tool
from trialbed_adapter_lab.probe import Probe, expect, must, should
from trialbed_adapter_lab.probes._conversations import converse
from trialbed_adapter_lab.probes._expectations import expect_calls, expect_equal, expect_requests
from trialbed_scripted import ask, call

REASON = "Every framework is to offer the same tools; another schema is another task for the model."
HINT = "Hand tool.parameters on as it is, past the framework's own conversion; look for a raw or non-strict mode."

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
UNIONS = ("any_of_", "one_of_", "all_of_", "not_", "three_types", "nullable_by_", "union_in_")
NOTES = (
    *("annotations", "unicode_descriptions", "text_that_needs_", "long_"),
    *("description_at_", "vendor_", "schema_and_"),
)
ODD_NAMES = ("keyword_", "call_words", "underscore_", "punctuation_", "schema_word_", "property_named_", "model_word_")
NO_PROPERTIES = {"type": "object", "properties": {}}
DESCRIPTIONS = {
    "Echo_a": "",
    "Echo_b": "One line.",
    "Echo_b2": "One line.",
    "Echo_c": '  Two lines,\nwith "quotes", {braces}, %s, `code` and 東京 🦜.',
    "Echo_d": "A very long description. " * 200 + "The end.",
}


@must(binds="all", reason="A tool that is not offered cannot be called.", hint="Bind every tool.")
async def all_tools_are_offered(harness: Harness) -> None:
    """The first request offers the trial's tools, under whatever names."""
    record = await converse(harness, tools=[tool(name, description=text) for name, text in DISTINCT.items()])
    first, *_ = expect_requests(record, 1, or_more=True)
    for name in DISTINCT:
        offered = [function.get("name") for function in first.functions]
        expect(first.offers.function(name) is not None, f"the tool {name} to be offered", offered)


@should(
    reason="With tools of the framework's own the model has choices that other frameworks do not offer.",
    hint="Switch off the tools that the framework adds, such as those for final answers, handing over or memory.",
)
async def no_other_tools_are_offered(harness: Harness) -> None:
    """Every request offers the trial's tools, each once, and no others."""
    record = await converse(harness, ask(call("Echo_b", {"text": "x"})), tools=[tool(name) for name in THREE])
    for request in expect_requests(record, 2):
        offered = [str(function.get("name")) for function in request.functions]
        expect(sorted(offered) == [*THREE], "the trial's tools, each once, and no others", offered)


@must(
    reason="Calls are attributed by the tool's name; a changed name cannot be matched.",
    hint="Find the switch that keeps names, or map the framework's names in its model class, both ways.",
)
async def tool_names_are_kept(harness: Harness) -> None:
    """Names of 64 characters, with capitals, digits and dashes, and Python's keywords are offered and found again."""
    await _names_are_kept(harness, NAMES)


@must(
    reason="Names that differ only in case or punctuation belong to different tools.",
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
    hint="Pass tool.description on unchanged, even if it is empty or long.",
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
    reason="Many tools take no parameters, and their schemas express that in several ways.",
    hint="Bind a tool whose schema has no properties, or no `properties`, or is empty.",
)
async def tools_without_parameters(harness: Harness) -> None:
    """Tools whose schemas have no properties can be bound and called."""
    schemas: tuple[dict[str, Any], ...] = ({}, {"type": "object"}, NO_PROPERTIES, NO_PROPERTIES | {"required": []})
    tools = [tool(f"Echo_{place}", parameters=schema) for place, schema in enumerate(schemas)]
    turn = ask(*(call(item.name, "{}") for item in tools))
    await converse(harness, turn, requests=2, calls=[(item.name, {}) for item in tools], tools=tools)


async def _names_are_kept(harness: Harness, names: tuple[str, ...]) -> None:
    turn = ask(*(call(name, {"text": name}) for name in names))
    record = await converse(harness, turn, tools=[tool(name) for name in names])
    first, _ = expect_requests(record, 2)
    missing = sorted(set(names) - set(_functions_by_name(first)))
    expect(not missing, f"the tools {', '.join(missing)} to be offered", f"only {sorted(_functions_by_name(first))}")
    expect_calls(record, *((name, {"text": name}) for name in names))


def _functions_by_name(request: ObservedRequest) -> dict[str, dict[str, Any]]:
    return {str(function.get("name")): function for function in request.functions}


async def _are_kept(beginnings: Sequence[str], harness: Harness) -> None:
    schemas = {schema.name: schema.parameters for schema in hard_schemas() if schema.name.startswith((*beginnings,))}
    record = await converse(harness, tools=[tool(name, parameters=schema) for name, schema in schemas.items()])
    (request,) = expect_requests(record, 1)
    for name, schema in schemas.items():
        expect_equal(f"parameters of {name} on the wire", request.parameters(name), schema)


KEPT = tuple(
    Probe(
        f"schema_{name}",
        "should",
        f"{what} reach the model unchanged.",
        REASON,
        HINT,
        partial(_are_kept, beginnings),
        quick=name in ("enum", "nested", "notes", "union"),
    )
    for name, what, *beginnings in (
        ("empty", "Schemas without properties", "no_parameters", "no_properties_key"),
        ("nested", "Nested objects and arrays", "nested_", "array_of_", "tuple_items", "optional_object"),
        ("enum", "Enumerations and constants", "enum_", "const_"),
        ("union", "Unions: anyOf, oneOf, allOf, not, lists of types", *UNIONS),
        ("ref", "References into $defs, recursive ones too,", "ref_to_", "ref_recursive", "ref_mutual"),
        ("additional_properties", "Open, closed and typed maps (additionalProperties)", "closed_", "open_", "map_"),
        ("default", "Defaults, falsy ones and null too, and what is required", "default_"),
        ("bounds", "Formats, patterns, lengths and ranges", "string_", "number_limits", "array_limits", "pattern_"),
        ("notes", "Titles, descriptions, examples and keywords of vendors", *NOTES),
        ("names", "Properties of any name", *ODD_NAMES),
    )
)
"""The checks that tools are offered with exactly the schemas that they were given: hard schemas by their names."""
