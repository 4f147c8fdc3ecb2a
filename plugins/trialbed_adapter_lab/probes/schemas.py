"""Check that tools and texts pass unchanged, whatever their names, schemas and sizes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from trialbed.records import Json
from trialbed.wire import lenient_json
from trialbed.wire.hard_schemas import hard_schemas
from trialbed_adapter_lab.harness import Harness, ObservedRequest, returns, tool
from trialbed_adapter_lab.probe import Probe, Theme, expect
from trialbed_adapter_lab.trials import (
    FOREIGN,
    TEXT,
    asks_echo,
    converse,
    expect_answer,
    expect_calls,
    expect_equal,
    expect_requests,
    expect_text,
    long_text,
)
from trialbed_scripted import ask, call, say

SCHEMAS = Theme("schemas", "Check that the tools reach the model unchanged.")

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


@SCHEMAS.must(binds="all", reason="A tool that is not offered cannot be called.", hint="Bind every tool.")
async def all_tools_are_offered(harness: Harness) -> None:
    """The first request offers the trial's tools, under whatever names."""
    record = await converse(harness, tools=[tool(name, description=text) for name, text in DISTINCT.items()])
    first, *_ = expect_requests(record, 1, or_more=True)
    for name in DISTINCT:
        offered = [function.get("name") for function in first.functions]
        expect(first.offers.function(name) is not None, f"the tool {name} to be offered", offered)


@SCHEMAS.should(
    reason="With tools of the framework's own the model has choices that other frameworks do not offer.",
    hint="Switch off the tools that the framework adds, such as those for final answers, handing over or memory.",
)
async def no_other_tools_are_offered(harness: Harness) -> None:
    """Every request offers the trial's tools, each once, and no others."""
    record = await converse(harness, ask(call("Echo_b", {"text": "x"})), tools=[tool(name) for name in THREE])
    for request in expect_requests(record, 2):
        offered = [str(function.get("name")) for function in request.functions]
        expect(sorted(offered) == [*THREE], "the trial's tools, each once, and no others", offered)


@SCHEMAS.must(
    reason="Calls are attributed by the tool's name; a changed name cannot be matched.",
    hint="Find the switch that keeps names, or map the framework's names in its model class, both ways.",
)
async def tool_names_are_kept(harness: Harness) -> None:
    """Names of 64 characters, with capitals, digits and dashes, and Python's keywords are offered and found again."""
    await _names_are_kept(harness, NAMES)


@SCHEMAS.must(
    reason="Names that differ only in case or punctuation belong to different tools.",
    hint="Do not fold names; if the framework does, keep a table.",
)
async def similar_tool_names_are_told_apart(harness: Harness) -> None:
    """Tools whose names differ only in case, dashes and underscores are all offered, and each is called as itself."""
    await _names_are_kept(harness, LOOK_ALIKES)


@SCHEMAS.should(
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


@SCHEMAS.should(
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


@SCHEMAS.must(
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
        theme=SCHEMAS.name,
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


SIZES = Theme("sizes", "Check that long, nested, empty and multilingual texts pass unchanged, and a thousand tools.")

ODD_JSON = '{"b": 1.0, "a" : [1,2 ],"b2":"\\u00e9",  "big": 12345678901234567890, "e": 1e5}\n'
SHORT_JSON = ("null", "true", "false", "0", "1.0", "[]", "{}", '"a text"', " ")
ANSWERS = (
    *('{"say" : "hello", "n": 1.0}', '"Polly."', "Polly [1], caf\u0301e.\r\n", "```\nPolly\n```", TEXT, FOREIGN),
    '  Final Answer:\n\n```json\n{"say": "hello"}\n```\n\n* one\n* two  \n',
)
MANY = 1000
MANY_TIMEOUT = 120.0
"""Seconds for a trial with a thousand tools; some frameworks take a while to build them."""


@SIZES.should(
    reason="The model works with the results of its calls.",
    hint="Put the text that tool.ainvoke() returns into the tool message, without encoding, quoting or trimming it.",
    quick=True,
)
async def unicode_result(harness: Harness) -> None:
    """A result in many scripts, with emoji, quotes, markup and line breaks, reaches the model unchanged."""
    await _expect_results(harness, FOREIGN, TEXT)


@SIZES.should(
    reason="Rewriting a text that happens to be JSON changes its numbers, order and spaces.",
    hint="Do not parse what tool.ainvoke() returns; send the tool message with an empty content for an empty text.",
    quick=True,
)
async def json_result_is_not_rewritten(harness: Harness) -> None:
    """A text that looks like JSON, or is empty, reaches the model with its own spaces, numbers and escapes."""
    await _expect_results(harness, ODD_JSON, *SHORT_JSON)
    await _expect_results(harness, "")


@SIZES.should(
    reason="Some tools return long or deeply nested results; a framework that shortens them changes the task.",
    hint="Look for a limit that the framework sets on the length of tool results; do not traverse or re-encode them.",
)
async def large_results(harness: Harness) -> None:
    """A result of one megabyte, and one of 200 levels, reach the model whole."""
    await _expect_results(harness, long_text(1_000_000))
    deep: Any = "bottom"
    for level in range(100):
        deep = {"level": level, "next": [deep]}
    record = await converse(harness, asks_echo("x"), tools=[tool(behave=returns(deep))])
    _, second, *_ = expect_requests(record, 2, or_more=True)
    expect_equal("the tool message, read as JSON", [lenient_json(text, text) for _, text in second.results], [deep])


@SIZES.must(
    reason="Tasks are written in many languages.",
    hint="Pass the task on unchanged; do not format it into a template with str.format or %.",
    quick=True,
)
async def unicode_conversation(harness: Harness) -> None:
    """A prompt and a task with letters of many scripts, emoji, braces and markup pass through unchanged."""
    await _expect_texts(harness, f"Query: {TEXT} {FOREIGN} {{query}}", f"Prompt: {TEXT} {FOREIGN} {{query}}", "done")


@SIZES.must(
    reason="Some tasks ask for long answers, such as reports.",
    hint="Look for a limit that the framework sets on the length of texts.",
)
async def long_conversation(harness: Harness) -> None:
    """A task and an answer of 200,000 characters, and a prompt of 50,000, pass through whole."""
    query = "What is next? " * 15_000 + "The end."
    prompt = "Follow the rules. " * 3_000 + "That is all."
    await _expect_texts(harness, query, prompt, "And then he said: " * 11_000 + "The end.")


@SIZES.should(
    reason="Judges read the final answer; a changed text may be judged differently.",
    hint="Return the model's last text unchanged; do not trim it or remove markup.",
    quick=True,
)
async def answer_text_is_unchanged(harness: Harness) -> None:
    """Spaces, line breaks, fences, quotes and labels in the model's answer stay in the final answer."""
    for text in ANSWERS:
        expect_answer(await harness.run(text), text)


@SIZES.may(
    reason="If one framework removes a model's thoughts and another does not, judges read two texts.",
    hint="Return the model's last text unchanged; look for a parser of `<think>`.",
)
async def thoughts_in_the_answer_are_kept(harness: Harness) -> None:
    """A passage `<think>…</think>` in the model's answer stays in the final answer."""
    text = "<think>The parrot knows.</think>\n\nPolly says hello."
    expect_answer(await harness.run(text), text)


@SIZES.should(
    reason="Models cut emoji in half; the trial must not fail for that.",
    hint="Read the response's JSON with the standard library; return the text unchanged; Trialbed cleans it.",
)
async def half_an_emoji_is_survived(harness: Harness) -> None:
    """An answer that ends in half an emoji (a lone surrogate) is an answer."""
    answer = expect_answer(await harness.run(say("hello \ud83e")))
    expect(answer.final_answer.startswith("hello"), "the final answer `hello` and a replacement", answer.final_answer)


@SIZES.must(
    reason="Selectors offer up to several hundred tools, and a run without a selector offers all.",
    hint="Look for a limit that the framework sets on the number of tools, or for avoidable work per tool.",
)
async def thousand_tools(harness: Harness) -> None:
    """All of a thousand tools are offered, and the last one is called."""
    tools = [tool(f"Echo_{number:04d}") for number in range(MANY)]
    last = ("Echo_0999", {"text": "last"})
    record = await converse(harness, ask(call(*last)), requests=2, calls=[last], tools=tools, timeout=MANY_TIMEOUT)
    offered = {str(function.get("name")) for function in record.requests[0].functions}
    expect_equal("number of tools on offer", len(offered), MANY)


async def _expect_texts(harness: Harness, query: str, prompt: str, answer: str) -> None:
    record = await converse(harness, answer=answer, query=query, system_prompt=prompt)
    (request,) = expect_requests(record, 1)
    expect_text("the system prompt's text in a system message", request.said_by("system", "developer"), prompt)
    expect_text("the task's text in a user message", request.said_by("user"), query)


async def _expect_results(harness: Harness, *texts: str) -> None:
    """Expect that the model gets these texts for the calls of a turn that return them."""
    tools = [tool(f"Return_{place}", returns(text)) for place, text in enumerate(texts)]
    turn = ask(*(call(one.name, {"text": "x"}) for one in tools))
    record = await converse(harness, turn, requests=2, tools=tools)
    expect_equal("contents of the tool messages", sorted(text for _, text in record.requests[1].results), sorted(texts))
