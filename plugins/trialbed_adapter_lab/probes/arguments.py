"""Check that arguments reach the tool exactly as the model writes them."""

from __future__ import annotations

from typing import Any

from trialbed.texts import number_of
from trialbed_adapter_lab.harness import Harness, tool
from trialbed_adapter_lab.probe import expect, must, should
from trialbed_adapter_lab.probes._conversations import FOREIGN, TEXT, converse
from trialbed_adapter_lab.probes._expectations import expect_equal
from trialbed_scripted import ask, call

ANYTHING: dict[str, Any] = {}
TYPES = {
    "integer": 7,
    "large": 12345678901234567890,
    "number": 1.5,
    "zero": 0,
    "yes": True,
    "no": False,
    "nothing": None,
    "text": "hello",
    "empty": "",
    "list": [1, "1", None, [2.5, {"deep": False}]],
    "none_in_it": [],
    "object": {"a": {"b": [1, 2]}},
    "empty_object": {},
    "whole": 2.0,
    "long": 59.91386912345,
    "nested": {"whole": 1.0, "nothing": None, "list": [1.0, None, {"whole": 2.0}]},
    "single": [7],
    "twice": [1, 1, 2],
    "Upper": "kept",
}
LOOK_ALIKES = (
    *("7", "1.50", "true", "False", "null", "None", "[1, 2]", '{"a": 1}', "2024-01-01", "2026-11-28T17:00:00Z"),
    *("  kept  ", "a%20b", "&lt;b&gt; &amp;", "one\r\ntwo\n"),
)
TYPED = {"integer": "5", "number": "1.50", "boolean": "true", "null": "null", "array": "[1]", "object": "{}"}
"""Type of a parameter -> a text that looks like a value of it."""
HOSTILE_NAMES = (
    *("self", "cls", "agent", "tool", "name", "args", "kwargs", "arguments", "input", "tool_input", "output", "config"),
    *("run_manager", "callbacks", "context", "ctx", "state", "runtime", "store", "messages", "tool_call_id"),
    *("model_config", "schema", "json", "copy", "fields", "function", "loop", "timeout", "call_id"),
    *("class", "from", "None", "lambda", "return", "type", "id", "default", "properties", "required"),
    *("_p", "__class__", "__init__", "_", "a.b", "a-b", "a b", "a[b]", "$ref", "@id", "1st", "é", "参数", "x:y/z"),
)
OPEN: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": True}
STRICT: dict[str, Any] = {
    "type": "object",
    "properties": {"count": {"type": "integer", "minimum": 1}, "kind": {"enum": ["a", "b"]}, "day": {"type": "string"}},
    "required": ["count", "kind", "day"],
    "additionalProperties": False,
}
INVALID = {"count": "seven", "kind": "c", "colour": None}


@must(
    reason="Scores compare the arguments that the tool got with those that were right.",
    hint="Do not build a typed object from the arguments: pass the parsed JSON on.",
    quick=True,
)
async def argument_types_are_kept(harness: Harness) -> None:
    """Numbers of any size, booleans, null, texts, lists and objects arrive with their own types."""
    schema = {"type": "object", "properties": dict.fromkeys(TYPES, ANYTHING)}
    await _expect_arrival(harness, TYPES, schema)


@should(
    reason="A text that says `7` or `true` is not a number; a changed value makes a different call.",
    hint="Switch the framework's coercion of arguments off, or pass the arguments around it.",
    quick=True,
)
async def text_arguments_stay_text(harness: Harness) -> None:
    """Texts that look like numbers, booleans, null, JSON or dates arrive as texts, whatever types the schema has."""
    texts = {f"text_{place}": text for place, text in enumerate(LOOK_ALIKES)}
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in texts}}
    await _expect_arrival(harness, texts, schema)
    await _expect_arrival(harness, TYPED, {"type": "object", "properties": {name: {"type": name} for name in TYPED}})


@must(
    reason="Parameters of real tools have such names; they break frameworks that pass arguments by keyword.",
    hint="Let the framework call with one mapping, and use tool.ainvoke(mapping), never tool(**mapping) by keyword.",
    quick=True,
)
async def hostile_argument_names(harness: Harness) -> None:
    """Parameters may have any name: self, config, a.b, _p, __class__, $ref, Python's keywords, spaces, é."""
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in HOSTILE_NAMES}}
    await _expect_arrival(harness, {name: f"value of {name}" for name in HOSTILE_NAMES}, schema)


@must(reason="Tasks are written in many languages.", hint="Do not encode arguments by hand.", quick=True)
async def unicode_arguments(harness: Harness) -> None:
    """Letters of many scripts, also composed ones, emoji, quotes, tabs and line breaks arrive unchanged."""
    await _expect_arrival(harness, {"text": TEXT, "other": FOREIGN}, OPEN)


@should(
    reason="Some tools take documents as arguments.",
    hint="Look for a limit that the framework sets on the length of arguments.",
)
async def large_arguments(harness: Harness) -> None:
    """An argument of 200,000 characters and one that is 40 levels deep arrive whole."""
    deep: Any = "bottom"
    for _ in range(40):
        deep = {"next": [deep]}
    await _expect_arrival(harness, {"text": "0123456789" * 20_000, "deep": deep}, OPEN)


@should(
    reason="Models may write no arguments at all for a tool that needs none.",
    hint="Read an empty text as {}; some frameworks do not.",
    quick=True,
)
async def empty_arguments(harness: Harness) -> None:
    """An empty text as arguments is a call without arguments."""
    turn = ask(call("Echo_text", ""))
    await converse(harness, turn, requests=2, calls=[("Echo_text", {})], tools=[tool(parameters=OPEN)])


@must(
    reason="The model must learn that its call was wrong, and the run must go on.",
    hint="Either make the call unchanged, or answer it with a tool message that says what is wrong.",
)
async def invalid_arguments_do_not_end_the_run(harness: Harness) -> None:
    """Arguments that break the schema: the call is made or refused, the model is told, and the run continues."""
    turn = ask(call("Echo_text", INVALID))
    record = await converse(harness, turn, requests=2, results=[""], tools=[tool(parameters=STRICT)])
    expect(len(record.calls) <= 1, "at most one call of the tool", number_of(len(record.calls), "call"))


@should(
    reason="The tool decides whether arguments are right; a framework that repairs them hides the model's mistakes.",
    hint="Bind the raw schema, and switch validation, defaults and coercion of arguments off.",
)
async def arguments_are_not_repaired(harness: Harness) -> None:
    """Arguments that break the schema reach the tool as the model wrote them."""
    await _expect_arrival(harness, INVALID, STRICT)


@should(
    reason="The tool fills in defaults; a value that the model did not write makes a different call.",
    hint="Do not fill in defaults, or None for parameters that are left out.",
)
async def defaults_are_not_filled_in(harness: Harness) -> None:
    """Optional parameters that the model leaves out are left out of the call, defaults or not."""
    optional = {"size": {"type": "integer", "default": 10}, "note": {"type": "string"}, "all": {}}
    schema = {"type": "object", "properties": {"text": {"type": "string"}, **optional}, "required": ["text"]}
    await _expect_arrival(harness, {"text": "only this"}, schema)


async def _expect_arrival(harness: Harness, arguments: dict[str, Any], schema: dict[str, Any] | None = None) -> None:
    """Expect that a call with these arguments is made unchanged."""
    offered = tool() if schema is None else tool(parameters=schema)
    record = await converse(harness, ask(call("Echo_text", arguments)), requests=2, tools=[offered])
    results = record.requests[1].results
    told = f"; the model was told: {results[0][1][:200]}" if results else ""
    expect(len(record.calls) == 1, "one call of the tool", number_of(len(record.calls), "call") + told)
    expect_equal("arguments that the tool got", record.calls[0].arguments, arguments)
