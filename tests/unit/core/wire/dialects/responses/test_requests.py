"""Requests for responses, read into what every dialect has."""

from __future__ import annotations

from typing import Any

import pytest

from trialbed.wire import Call, GenerationConfig, ModelMessage, OfferedTool, ToolChoice
from trialbed.wire.dialects.responses import read_request, write_request

THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "I look."}]}
SAID = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "Wait. "}]}
FIND = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "find", "arguments": '{"id":1}'}
OPEN = {"type": "function_call", "call_id": "c2", "name": "open", "arguments": "{"}
SCHEMA = {"type": "object", "properties": {"id": {"type": "integer"}}}
TOOL = {"type": "function", "name": "find", "description": "Finds.", "parameters": SCHEMA, "strict": True}
REQUEST: dict[str, Any] = {
    "model": "m",
    "instructions": "Be brief.",
    "input": [
        {"type": "message", "role": "user", "content": "Find it"},
        THOUGHT,
        SAID,
        FIND,
        OPEN,
        {"type": "function_call_output", "call_id": "c1", "output": "found"},
        {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "no"}]},
        {"type": "message", "role": "developer", "content": "Mind the gap."},
    ],
    "tools": [TOOL],
    "max_output_tokens": 50,
    "parallel_tool_calls": False,
    "text": {"format": {"type": "json_schema", "name": "out", "schema": SCHEMA}},
}


def test_a_request_has_its_conversation_tools_and_settings() -> None:
    request = read_request(REQUEST)
    roles = [message.role for message in request.messages]
    assert roles == ["system", "user", "assistant", "tool", "tool", "developer"]
    said = request.messages[2]
    assert (said.reasoning, said.text) == ("I look.", "Wait. ")
    assert said.calls == (Call("find", '{"id":1}', "c1"), Call("open", "{", "c2"))
    assert request.messages[3] == ModelMessage(role="tool", content="found", call_id="c1")
    assert request.messages[4].text == "no"
    assert request.tools == (OfferedTool("find", "Finds.", SCHEMA),)
    assert request.generation == GenerationConfig(max_tokens=50, parallel_calls=False, reply_schema=SCHEMA)
    assert (request.model, request.stream, request.is_continued, request.problem) == ("m", False, True, "")


def test_what_was_read_is_written_again() -> None:
    request = read_request(REQUEST)
    assert write_request("m", request.messages, request.settings, request.tools) == REQUEST


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (None, ToolChoice()),
        ("required", ToolChoice("required")),
        ({"type": "function", "name": "find"}, ToolChoice("required", "find")),
        ({"type": "allowed_tools", "mode": "auto", "tools": [TOOL]}, ToolChoice("auto", "", ("find",))),
        ({"type": "allowed_tools", "mode": "required", "tools": [TOOL]}, ToolChoice("required", "find", ("find",))),
    ],
)
def test_whether_tools_may_be_called(choice: Any, expected: ToolChoice) -> None:
    assert read_request({"tool_choice": choice}).tool_choice == expected


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({}, "Missing required parameter: 'input'."),
        ({"input": 5}, "'input' must be a text or a list."),
        ({"input": "", "background": True}, "background"),
        ({"input": "", "tools": [{"type": "file_search"}]}, "file_search"),
    ],
)
def test_what_is_no_request_has_a_problem(document: dict[str, Any], problem: str) -> None:
    assert problem in read_request(document).problem


def test_a_text_is_a_message_of_the_user() -> None:
    (message,) = read_request({"input": "Where?"}).messages
    assert (message.role, message.text) == ("user", "Where?")


def test_the_conversation_before_comes_first() -> None:
    request = read_request({"input": "Go on.", "previous_response_id": "resp_1", "store": False})
    request.earlier = REQUEST["input"]
    assert (request.follows, request.keeps) == ("resp_1", False)
    assert [message.role for message in request.messages][-2:] == ["developer", "user"]


@pytest.mark.parametrize(
    "item", [None, "text", [], {"role": 3}, {"type": 5, "content": {}}, {"type": "web_search_call"}]
)
def test_a_careless_item_is_read(item: Any) -> None:
    (message,) = read_request({"input": [item]}).messages
    assert (message.role, message.calls) == ("", ())


def test_messages_of_other_dialects_are_written_as_items() -> None:
    image = [{"type": "text", "text": "See:"}, {"type": "image_url", "image_url": {"url": "https://acme.test/a.png"}}]
    messages = [
        ModelMessage(role="user", content=image),
        ModelMessage(role="assistant", reasoning="I look.", calls=(Call("find", "{}", "c1"),)),
        ModelMessage(role="tool", content="found", call_id="c1"),
    ]
    written = write_request("m", messages, {"max_tokens": 5, "seed": 7})
    assert written["max_output_tokens"] == 5
    assert "seed" not in written
    assert [item.get("type") for item in written["input"]] == ["message", "function_call", "function_call_output"]
    assert written["input"][0]["content"] == [
        {"type": "input_text", "text": "See:"},
        {"type": "input_image", "image_url": "https://acme.test/a.png", "detail": "auto"},
    ]
    sound = [{"type": "input_audio", "input_audio": {}}]
    with pytest.raises(ValueError, match="input_audio"):
        write_request("m", [ModelMessage(role="user", content=sound)], {})
