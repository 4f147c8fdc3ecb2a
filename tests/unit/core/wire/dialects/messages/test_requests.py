"""Requests for messages, read into what every dialect has."""

from __future__ import annotations

from typing import Any

import pytest

from trialbed.wire import Call, GenerationConfig, ModelMessage, OfferedTool, ToolChoice
from trialbed.wire.dialects.messages import read_request, write_request

THOUGHT = {"type": "thinking", "thinking": "I look.", "signature": "s"}
USE = {"type": "tool_use", "id": "t1", "name": "find", "input": {"id": 1}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "found"}]}
FAILED = {"type": "tool_result", "tool_use_id": "t2", "content": "no", "is_error": True}
TEXT = {"type": "text", "text": "And now?"}
SCHEMA = {"type": "object", "properties": {"id": {"type": "integer"}}}
REQUEST: dict[str, Any] = {
    "model": "m",
    "max_tokens": 50,
    "system": "Be brief.",
    "messages": [
        {"role": "user", "content": "Find it"},
        {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "Wait. "}, USE]},
        {"role": "user", "content": [RESULT, FAILED, TEXT]},
        {"role": "system", "content": "Mind the gap."},
    ],
    "tools": [{"name": "find", "description": "Finds.", "input_schema": SCHEMA}],
    "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
    "stop_sequences": ["END"],
    "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
}


def test_a_request_has_its_conversation_tools_and_settings() -> None:
    request = read_request(REQUEST)
    assert [message.role for message in request.messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
        "system",
    ]
    assert request.messages[2].calls == (Call("find", '{"id": 1}', "t1"),)
    assert (request.messages[2].reasoning, request.messages[2].text) == ("I look.", "Wait. ")
    assert request.messages[3] == ModelMessage(role="tool", content=RESULT["content"], call_id="t1")
    assert request.messages[4] == ModelMessage(role="tool", content="no", call_id="t2", is_error=True)
    assert request.messages[5].text == "And now?"
    assert request.tools == (OfferedTool("find", "Finds.", SCHEMA),)
    assert request.generation == GenerationConfig(
        max_tokens=50, stop=("END",), parallel_calls=False, reply_schema=SCHEMA, strict_reply=True
    )
    assert (request.model, request.stream, request.is_continued, request.problem) == ("m", False, True, "")


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (None, ToolChoice()),
        ({"type": "none"}, ToolChoice("none")),
        ({"type": "any"}, ToolChoice("required")),
        ({"type": "tool", "name": "find"}, ToolChoice("required", "find")),
        ({"type": ["auto"]}, ToolChoice()),
        ("any", ToolChoice()),
    ],
)
def test_whether_tools_may_be_called(choice: Any, expected: ToolChoice) -> None:
    assert read_request({"tool_choice": choice}).tool_choice == expected


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({}, "messages: Field required"),
        ({"messages": "hi", "max_tokens": 5}, "messages: must be a list"),
        ({"messages": []}, "max_tokens: Field required"),
        ({"messages": [], "max_tokens": 5, "tools": [{"type": "bash_20250124", "name": "bash"}]}, "bash_20250124"),
    ],
)
def test_what_is_no_request_has_a_problem(document: dict[str, Any], problem: str) -> None:
    assert problem in read_request(document).problem


def test_a_thread_is_refused_with_the_code_on_which_the_sdk_sends_it_whole() -> None:
    request = read_request({"messages": [], "max_tokens": 5, "thread": {"type": "create"}})
    assert request.problem_code == "thread_unsupported_request"
    assert read_request({"messages": []}).problem_code == ""


def test_what_was_read_is_written_again() -> None:
    request = read_request(REQUEST)
    settings = {**request.settings, "tool_choice": REQUEST["tool_choice"]}
    assert write_request("m", request.messages, settings, request.tools) == REQUEST


@pytest.mark.parametrize("message", [None, "text", [], {"role": 3, "content": 5}, {"content": [None, {"type": 3}]}])
def test_a_careless_message_is_read(message: Any) -> None:
    request = read_request({"messages": [message]})
    assert [read.calls for read in request.messages] == [()]


@pytest.mark.parametrize(
    ("image", "source"),
    [
        ("data:image/png;base64,AAA", {"type": "base64", "media_type": "image/png", "data": "AAA"}),
        ("https://acme.test/a.png", {"type": "url", "url": "https://acme.test/a.png"}),
    ],
)
def test_images_of_other_dialects_are_written_as_the_own(image: str, source: dict[str, str]) -> None:
    content = [{"type": "image_url", "image_url": {"url": image}}]
    written = write_request("m", [ModelMessage(role="user", content=content)], {})
    assert written["messages"][0]["content"] == [{"type": "image", "source": source}]


def test_a_part_without_a_counterpart_is_refused_by_its_type() -> None:
    sound = [{"type": "input_audio", "input_audio": {}}]
    with pytest.raises(ValueError, match="input_audio"):
        write_request("m", [ModelMessage(role="user", content=sound)], {})
