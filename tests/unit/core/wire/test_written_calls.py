"""Calls in texts, in any form."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from support.backtracking import processor_time
from support.cases import for_each
from support.written_calls import OTHERS, PUBLIC, honest_answers

from trialbed.wire import WrittenCall, written_calls


def schema(*names: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}}


TOOLS = {"get_weather": schema("city"), "get_time": schema()}
NAMES = {"look_up": schema(), "Weather_Now": schema(), "add": schema()}
OSLO = '{"city": "Oslo"}'

UNREAD = {"chatglm"}
"""The form that names the tool in one line and calls another name in the next."""


def first_call(text: str, schemas: dict[str, Any]) -> WrittenCall | None:
    return next((call for call in written_calls(text, schemas) if call.is_made), None)


@for_each("name", PUBLIC)
def test_calls_are_found_in_the_forms_of_public_parsers(name: str) -> None:
    call = first_call(PUBLIC[name], TOOLS)
    assert call is not None
    assert call.name == "get_weather"


def test_calls_are_found_in_forms_that_no_parser_was_looked_up_for() -> None:
    assert {name for name, text in OTHERS.items() if not first_call(text, TOOLS)} == UNREAD


def test_honest_answers_have_no_call() -> None:
    number = 0
    for tool, text in honest_answers():
        function = tool["function"]
        assert first_call(text, {function["name"]: function["parameters"]}) is None, text
        number += 1
    assert number >= 4000


@for_each(
    "text",
    [
        '```json\n{"search": {"query": "umbrella"}}\n```',
        '<search><form><input name="query"></form></search> is the element for it.',
        '<html><body><search query="umbrella"/></body></html>',
        "<search><query>umbrella</query></search>",
    ],
)
def test_a_tool_whose_name_is_an_ordinary_word_is_not_called_by_documents(text: str) -> None:
    assert first_call(text, {"search": schema("query")}) is None


def test_a_marked_call_within_a_sentence_is_an_explanation() -> None:
    marked = f'<tool_call>{{"name": "get_weather", "arguments": {OSLO}}}</tool_call>'
    assert first_call(f"Hermes writes {marked}, which the server reads.", TOOLS) is None
    assert first_call(f"Models write {marked} and wait.", TOOLS) is None
    assert first_call(f"I look {marked}", TOOLS) is not None
    assert first_call(f"{marked}\n\nIt is sunny.", TOOLS) is not None


@for_each(
    "text",
    [
        '[get_weather(city="Oslo"), get_weather(city="Rome")]',
        'get_weather(city="Oslo"); get_weather(city="Rome")',
        '<|python_start|>[get_weather(city="Oslo"), get_weather(city="Rome")]<|python_end|>',
        '<call tool="get_weather"><city>Oslo</city></call>\n<call tool="get_weather"><city>Rome</city></call>',
    ],
)
def test_calls_in_one_line_are_all_made(text: str) -> None:
    calls = [(json.loads(call.arguments)["city"], call.is_made) for call in written_calls(text, TOOLS)]
    assert calls == [("Oslo", True), ("Rome", True)]


UNQUOTED = {"function gemma", "react without a key"}
"""The forms whose arguments are in neither JSON, Python, tags nor lines."""


@for_each("text", [PUBLIC[name] for name in sorted({*PUBLIC} - UNQUOTED)])
def test_arguments_are_read(text: str) -> None:
    call = first_call(text, TOOLS)
    assert call is not None
    assert json.loads(call.arguments) == {"city": "Oslo"}


@for_each("text", ["<tool_call>get_time</tool_call>", "get_time()", "<get_time/>", "to=functions.get_time json{}"])
def test_a_tool_without_arguments_is_called_by_its_mark(text: str) -> None:
    call = first_call(text, TOOLS)
    assert call is not None
    assert (call.name, call.arguments) == ("get_time", "{}")


@for_each("text", ["get_time", "I use get_time() for it.", "<b>get_time</b>", '{"get_time": {}}', "get_time_zone()"])
def test_a_tool_without_arguments_is_mentioned_without_a_call(text: str) -> None:
    assert first_call(text, TOOLS) is None


def test_thoughts_and_calls_of_other_tools_are_no_calls() -> None:
    assert not written_calls('<think><get_weather city="Oslo"/></think>Fine.', TOOLS)
    assert not written_calls('<tool_call>{"name": "other", "arguments": {}}</tool_call>', TOOLS)
    assert not written_calls(PUBLIC["hermes"], {})


@for_each(
    "text",
    [
        '{"name": "look_up", "arguments": {"city": "Oslo"}}',
        '```json\n{"name": "look_up", "arguments": {"city": "Oslo"}}\n```',
        'I will look.\n```\n[{"name": "look_up", "parameters": {"city": "Oslo"}}]\n```\nThen I answer.',
        '<tool_call>\n{"name": "look_up", "arguments": {"city": "Oslo"}}\n</tool_call>',
        '<tool_call>{"name": "look_up", "arguments": {"city": "Oslo"}}',
        '<tool_response>{"name": "look_up", "arguments": {"city": "Oslo"}}</tool_response>',
        '[TOOL_CALLS] [{"name": "look_up", "arguments": {"city": "Oslo"}}]',
        'Sure {not json} here: {"tool": "look_up", "tool_input": {"city": "Oslo"}} thanks',
        '{"type": "function", "function": {"name": "look_up", "arguments": "{\\"city\\": \\"Oslo\\"}"}}',
        '{"tool_calls": [{"function": {"name": "look_up", "arguments": {"city": "Oslo"}}}]}',
        '{"tool_uses": [{"recipient_name": "functions.look_up", "parameters": {"city": "Oslo"}}]}',
        '<function=look_up>{"city": "Oslo"}</function>',
        "<function=look_up>\n<parameter=city>\nOslo\n</parameter>\n</function>",
        'Thought: I need it.\nAction: look_up\nAction Input: {"city": "Oslo"}\n',
        '<|tool_call_begin|>functions.look_up:0<|tool_call_argument_begin|>{"city": "Oslo"}<|tool_call_end|>',
        '[[ ## next_tool_name ## ]]\nlook_up\n\n[[ ## next_tool_args ## ]]\n{"city": "Oslo"}\n\n[[ ## completed ## ]]',
        '{"next_thought": "hm", "next_tool_name": "look_up", "next_tool_args": {"city": "Oslo"}}',
        '[look_up(city="Oslo")]',
        '```python\nprint(look_up(city="Oslo"))\n```',
        '<think>maybe {"name": "add", "arguments": {}}</think>{"name": "look_up", "arguments": {"city": "Oslo"}}',
    ],
)
def test_a_call_is_found_in_any_form(text: str) -> None:
    (call,) = written_calls(text, NAMES)
    assert (call.name, json.loads(call.arguments)) == ("look_up", {"city": "Oslo"})


def test_several_calls_are_found_in_their_order() -> None:
    written = '<function=add>{"a": 1}</function> {"name": "look_up", "arguments": %s} [{"tool": "add", "args": {}}]'
    text = written % OSLO
    assert [call.name for call in written_calls(text, NAMES)] == ["add", "look_up", "add"]
    listed = '[{"name": "add", "arguments": {"a": 1}}, {"name": "look_up", "arguments": {}}]'
    assert [(call.name, call.is_made) for call in written_calls(listed, NAMES)] == [("add", True), ("look_up", True)]


@for_each(
    ("text", "arguments"),
    [
        ('{"name": "add", "arguments": "not json"}', "not json"),
        ('{"name": "add", "arguments": [1]}', "[1]"),
        ('<tool_response>{"name": "add"}</tool_response>', "{}"),
        ("<function=add>broken", "broken"),
        ("```python\nadd(1, x)\n```", "1, x"),
        ("[add()]", "{}"),
        (r'[add(x="\d")]', '{"x": "\\\\d"}'),
    ],
)
def test_arguments_are_kept_as_they_are(text: str, arguments: str) -> None:
    assert [call.arguments for call in written_calls(text, NAMES)] == [arguments]


@for_each(
    "text",
    [
        "",
        "The weather in Oslo is fine.",
        "You can use look_up(city) or Weather_Now for that.",
        '{"city": "Oslo", "temperature": 3}',
        '{"name": "Oslo", "arguments": {"a": 1}}',
        '{"name": "look_up"}',
        '{"answer": "add", "input": 5}',
        '{"name": "look_up", "description": "Looks up a city", "parameters": {"type": "object", "properties": {}}}',
        '{"name": "look_up", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}',
        "<function=other>{}</function>",
        "Action: other\nAction Input: {}",
        '<think>{"name": "look_up", "arguments": {}}</think>done',
        '"{\\"name\\": \\"look_up\\"}"',
    ],
)
def test_what_is_no_call_is_none(text: str) -> None:
    assert written_calls(text, NAMES) == ()


pieces = st.sampled_from(
    ["{", "}", "[", "]", '"', "\\", ":", ",", "name", '"name"', '"arguments"', "look_up", "<function=", ">",
     "</function>", "<tool_call>", "<|tool_call_begin|>", "<think>", "Action:", "\nAction Input:", "```python", "```",
     "[[ ## next_tool_name ## ]]", "[[ ## next_tool_args ## ]]",
     "(", ")", "=", "1", "\ud800", "\0", " "]
)  # fmt: skip


@given(st.lists(pieces, max_size=60).map("".join) | st.text())
@example('{"name": "look_up", "arguments": ' + "[" * 5000)
@example("```python\nlook_up(" + "(" * 9000)
@example("```python\nlook_up(x=" + "-" * 9000 + "1)")
def test_nothing_makes_it_fail(text: str) -> None:
    for call in written_calls(text, NAMES):
        assert call.name in NAMES


@for_each(
    "piece",
    ["look", "look(", "<look>", "<look ", '{"look": {', '"name": "look", ', "<think>", "look\n", "<", "[", '{"a":',
     "look(city=", "look<city>", 'look: {"arguments": ', "=", "<tool_call>look", "Action: look\n", "tool_1 ",
     "look" + "<a" * 30, "look" + "{" * 40, "look" + " " * 100, '\\"look\\": ', "look(city=[1, 2]) ",
     "look(city=" + "[" * 900, "<city></city>look", "not look ", "{", '{"name":', '{"a":[', "<function=look>",
     "```python\n", "look(", "```python look(", '{"name": "look", "arguments": {}} ', '"', "<parameter=a>", "`look`",
     "<|tool_call_begin|>look"],
)  # fmt: skip
def test_the_effort_is_bounded(piece: str) -> None:
    tools = {"look": schema("city"), **{f"tool_{number}": schema("a") for number in range(200)}}
    with processor_time(10):
        written_calls((piece * 1_000_000)[:1_000_000], tools)
