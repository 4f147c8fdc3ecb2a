"""Calls that were written instead of sent."""

from __future__ import annotations

import json

from hypothesis import example, given
from hypothesis import strategies as st
from support.backtracking import processor_time
from support.cases import for_each

from trialbed.wire import text_calls

NAMES = ("look_up", "Weather_Now", "add")
OSLO = '{"city": "Oslo"}'


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
def test_a_call_is_found_in_whatever_form(text: str) -> None:
    (call,) = text_calls(text, NAMES)
    assert (call.name, json.loads(call.arguments)) == ("look_up", {"city": "Oslo"})


def test_several_calls_are_found_in_their_order() -> None:
    written = '<function=add>{"a": 1}</function> {"name": "look_up", "arguments": %s} [{"tool": "add", "args": {}}]'
    text = written % OSLO
    assert [call.name for call in text_calls(text, NAMES)] == ["add", "look_up", "add"]


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
    assert [call.arguments for call in text_calls(text, NAMES)] == [arguments]


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
    assert text_calls(text, NAMES) == ()


def test_without_tools_there_are_no_calls() -> None:
    assert text_calls('{"name": "look_up", "arguments": {}}', ()) == ()


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["name", "arguments", "tool", "x"]) | st.text(), inner)
    ),
    max_leaves=20,
)


@given(values, st.text(), st.text())
def test_an_answer_that_names_no_tool_has_no_call(value: object, before: str, after: str) -> None:
    text = before + json.dumps(value) + after
    assert text_calls(text, ("tool_that_is_never_named",)) == ()


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
    for call in text_calls(text, NAMES):
        assert call.name in NAMES


@for_each(
    "piece",
    ["{", "[", '{"name":', '{"a":[', "<function=look_up>", "<think>", "Action: look_up\n", "```python\n", "look_up(",
     "```python look_up(", '{"name": "look_up", "arguments": {}} ', '"', "<|tool_call_begin|>look_up", "<parameter=a>"],
)  # fmt: skip
def test_the_effort_is_bounded(piece: str) -> None:
    # With quadratic effort this would take minutes.
    with processor_time(20):
        text_calls((piece * 200_000)[:200_000], NAMES)
