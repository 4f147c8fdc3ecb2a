"""Requests that have the right form, and that vendors refuse all the same."""

from __future__ import annotations

import json
from typing import Any

from support.cases import for_each

from trialbed.wire.dialects import dialect

USER: dict[str, Any] = {"role": "user", "content": "hi"}
USE: dict[str, Any] = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]}
RESULT: dict[str, Any] = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]}
USE_TOO: dict[str, Any] = {"role": "assistant", "content": [{**USE["content"][0], "id": "u"}]}
BOTH: dict[str, Any] = {"role": "user", "content": [*RESULT["content"], {**RESULT["content"][0], "tool_use_id": "u"}]}
TEXT: dict[str, Any] = {"type": "text", "text": "there"}
LATE: dict[str, Any] = {"role": "user", "content": [TEXT, *RESULT["content"]]}
EARLY: dict[str, Any] = {"role": "user", "content": [*RESULT["content"], TEXT]}
TWICE: dict[str, Any] = {"role": "user", "content": [*RESULT["content"], *RESULT["content"]]}
CALL: dict[str, Any] = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
REFERENCE: dict[str, Any] = {"type": "item_reference", "id": "fc_1"}
OUTPUT: dict[str, Any] = {"type": "function_call_output", "call_id": "c", "output": "x"}


@for_each(
    ("messages", "words"),
    [
        ([], "at least one message"),
        ([USER], ""),
        ([USER, USE, RESULT], ""),
        ([USER, USE, RESULT, USE, RESULT, USER], ""),
        ([USER, USE], "without `tool_result` blocks immediately after: t"),
        ([USER, RESULT], "unexpected `tool_use_id` found in `tool_result` blocks: t"),
        ([USER, USE, RESULT, USER], ""),
        ([USER, USE, RESULT, USER, RESULT], "multiple `tool_result` blocks with id: t"),
        ([USER, USE, TWICE], "multiple `tool_result` blocks with id: t"),
        ([USER, USE, RESULT, USE, RESULT], ""),
        # Of what is said to the model, results come first.
        ([USER, USE, LATE], "without `tool_result` blocks immediately after: t"),
        ([USER, USE, USER, RESULT], "without `tool_result` blocks immediately after: t"),
        ([USER, USE, EARLY], ""),
        # Messages of one role that follow one another are one.
        ([USER, USE, USE_TOO, BOTH], ""),
        ([USER, USE, USE_TOO, RESULT], "without `tool_result` blocks immediately after: u"),
        ([USER, USE, USER, USE_TOO, BOTH], "unexpected `tool_use_id`"),
    ],
)
def test_messages(messages: list[dict[str, Any]], words: str) -> None:
    found = dialect("messages").read_request({"model": "m", "max_tokens": 5, "messages": messages}).conflict
    assert bool(found) == bool(words)
    assert any(part in found for part in words.split("|"))


@for_each(
    ("items", "words"),
    [
        ([], "empty array"),
        ("hi", ""),
        ([USER, CALL, OUTPUT], ""),
        ([USER, CALL, USER, OUTPUT], ""),
        ([USER, CALL], "No tool output found for function call c."),
        ([USER, OUTPUT], "No tool call found for function call output with call_id c."),
        # What it refers to may be the call, or the result.
        ([USER, REFERENCE, OUTPUT], ""),
        ([USER, CALL, REFERENCE], ""),
    ],
)
def test_responses(items: Any, words: str) -> None:
    found = dialect("responses").read_request({"model": "m", "input": items}).conflict
    assert (words in found, bool(found)) == (True, bool(words))


@for_each(
    ("content", "words"),
    [
        ("x", ""),
        ([], ""),
        ([{"type": "text", "text": "x"}], ""),
        ({"order": 7}, "an object"),
        (7, "an integer"),
        (7.5, "a number"),
        (True, "a boolean"),
        (None, "null"),
        ([{"order": 7}], "an object of the type 'None'"),
        ([{"type": "order"}], "an object of the type 'order'"),
        (["x"], "a string"),
    ],
)
def test_a_result_is_a_text_or_parts(content: Any, words: str) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    tool = {"role": "tool", "tool_call_id": "c", "content": content}
    chat = [USER, {"role": "assistant", "content": None, "tool_calls": [call]}, tool]
    result = {"role": "user", "content": [{**RESULT["content"][0], "content": content}]}
    output = json.loads(json.dumps(content).replace('"type": "text"', '"type": "input_text"'))
    conversations: dict[str, tuple[dict[str, Any], str]] = {
        "chat_completions": ({"messages": chat}, "'messages[2].content"),
        "messages": ({"messages": [USER, USE, result]}, "messages.2.content.0.tool_result.content"),
        "responses": ({"input": [USER, CALL, {**OUTPUT, "output": output}]}, "'input[2].output"),
    }
    for name, (conversation, place) in conversations.items():
        found = dialect(name).read_request({"model": "m", "max_tokens": 5, **conversation}).conflict
        assert bool(found) is bool(words), (name, found)
        assert not words or (words in found and place in found), found


def test_a_tool_that_is_chosen_must_be_offered() -> None:
    asked = {"model": "m", "max_tokens": 5, "messages": [USER], "tools": [{"name": "f", "input_schema": {}}]}
    for name, refused in (("f", False), ("g", True)):
        found = dialect("messages").read_request({**asked, "tool_choice": {"type": "tool", "name": name}})
        assert bool(found.conflict) is refused
        tools = [{"type": "function", "name": "f"}]
        named = {"model": "m", "input": "hi", "tools": tools, "tool_choice": {"type": "function", "name": name}}
        assert bool(dialect("responses").read_request(named).conflict) is refused
        allowed = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": name}]}
        several = dialect("responses").read_request({**named, "tool_choice": allowed})
        assert bool(several.conflict) is refused
