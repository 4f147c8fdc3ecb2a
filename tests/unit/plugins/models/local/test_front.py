"""The front of llama.cpp: calls whose arguments are not JSON reach it as text, and all else as it was."""

from __future__ import annotations

import json

import pytest

from trialbed_plugins.models.local.__main__ import readable_calls


def conversation(*arguments: object) -> bytes:
    calls = [{"id": str(at), "function": {"name": "find", "arguments": each}} for at, each in enumerate(arguments)]
    return json.dumps({"model": "m", "messages": [{"role": "assistant", "tool_calls": calls}]}).encode()


def arguments_of(body: bytes) -> list[object]:
    return [call["function"]["arguments"] for call in json.loads(body)["messages"][0]["tool_calls"]]


@pytest.mark.parametrize("text", ['{"id": 3', "", "not JSON", "NaN", '{"a": 1} x', '"text"'])
def test_arguments_that_are_not_json_become_a_json_string_of_the_same_text(text: str) -> None:
    first, second = arguments_of(readable_calls(conversation('{"id": 1}', text)))
    assert first == '{"id": 1}'
    assert json.loads(str(second)) == text


def test_items_of_responses_are_read_too() -> None:
    item = {"type": "function_call", "call_id": "1", "name": "find", "arguments": "{"}
    body = json.dumps({"input": [{"role": "user", "content": "?"}, item, {**item, "arguments": "{}"}]}).encode()
    _, first, second = json.loads(readable_calls(body))["input"]
    assert (first, second) == ({**item, "arguments": '"{"'}, {**item, "arguments": "{}"})


@pytest.mark.parametrize(
    "body",
    [
        conversation('{"id":  1}', "[]", "3"),
        conversation({"id": 1}, None),
        b'{"messages": [{"role": "user", "content": "?"}]}',
        b'{"tool_calls": not JSON',
        b'["tool_calls"]',
        b'{"input": "function_call"}',
        b'{"input": ["x", {"type": "function_call"}, {"type": "function_call_output", "output": "{"}]}',
        b'{"messages": [1, {"tool_calls": 1}, {"tool_calls": [1, {"function": 1}]}]}',
    ],
)
def test_all_other_bodies_pass_byte_for_byte(body: bytes) -> None:
    assert readable_calls(body) is body
