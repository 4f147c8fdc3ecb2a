"""Calls in texts, in any form."""

from __future__ import annotations

import json

from support.backtracking import processor_time
from support.cases import for_each
from support.written_calls import OTHERS, PUBLIC, honest_answers

from trialbed.wire import written_call

TOOLS = {"get_weather": ["city"], "get_time": []}

UNREAD = {"chatglm"}
"""The form that names the tool in one line and calls another name in the next."""


@for_each("name", PUBLIC)
def test_calls_are_found_in_the_forms_of_public_parsers(name: str) -> None:
    call = written_call(PUBLIC[name], TOOLS)
    assert call is not None
    assert call.name == "get_weather"


def test_calls_are_found_in_forms_that_no_parser_was_looked_up_for() -> None:
    assert {name for name, text in OTHERS.items() if not written_call(text, TOOLS)} == UNREAD


def test_honest_answers_have_no_call() -> None:
    number = 0
    for tool, text in honest_answers():
        function = tool["function"]
        assert written_call(text, {function["name"]: function["parameters"].get("properties", {})}) is None, text
        number += 1
    assert number >= 2000


@for_each("text", [PUBLIC[name] for name in ("args", "kimi", "bare json", "openai function", "python", "fence")])
def test_arguments_are_read_where_the_form_has_them_as_json_or_python(text: str) -> None:
    call = written_call(text, TOOLS)
    assert call is not None
    assert call.arguments is not None
    assert json.loads(call.arguments) == {"city": "Oslo"}


@for_each("text", ["<tool_call>get_time</tool_call>", "get_time()", "<get_time/>", "to=functions.get_time json{}"])
def test_a_tool_without_arguments_is_called_by_its_mark(text: str) -> None:
    call = written_call(text, TOOLS)
    assert call is not None
    assert (call.name, call.arguments) == ("get_time", "{}")


@for_each("text", ["get_time", "I use get_time() for it.", "<b>get_time</b>", '{"get_time": {}}', "get_time_zone()"])
def test_a_tool_without_arguments_is_mentioned_without_a_call(text: str) -> None:
    assert written_call(text, TOOLS) is None


def test_the_first_call_is_given_with_its_place() -> None:
    text = 'Two calls.\n\n<get_weather city="Oslo"/>\n{"name": "get_time", "arguments": {}}'
    call = written_call(text, TOOLS)
    assert call is not None
    assert text[call.place :].startswith("get_weather")


def test_thoughts_and_calls_of_other_tools_are_no_calls() -> None:
    assert written_call('<think><get_weather city="Oslo"/></think>Fine.', TOOLS) is None
    assert written_call('<tool_call>{"name": "other", "arguments": {}}</tool_call>', TOOLS) is None
    assert written_call(PUBLIC["hermes"], {}) is None


@for_each(
    "piece",
    ["look", "look(", "<look>", "<look ", '{"look": {', '"name": "look", ', "<think>", "look\n", "<", "[", '{"a":',
     "look(city=", "look<city>", 'look: {"arguments": ', "=", "<tool_call>look", "Action: look\n", "tool_1 ",
     "look" + "<a" * 30, "look" + "{" * 40, "look" + " " * 100, '\\"look\\": ', "look(city=[1, 2]) ",
     "look(city=" + "[" * 900, "<city></city>look", "not look "],
)  # fmt: skip
def test_the_effort_is_bounded(piece: str) -> None:
    tools = {"look": ["city"], **{f"tool_{number}": ["a"] for number in range(200)}}
    with processor_time(10):
        written_call((piece * 1_000_000)[:1_000_000], tools)
