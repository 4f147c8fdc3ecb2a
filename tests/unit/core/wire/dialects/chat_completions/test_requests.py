"""Requests for chat completions, read into what every dialect has."""

from __future__ import annotations

from typing import Any

from support.cases import for_each

from trialbed.wire import Call, ModelMessage, OfferedTool, ToolChoice
from trialbed.wire.dialects.chat_completions import read_message, read_request

CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
REQUEST: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Find "}, {"type": "text", "text": "it"}]},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
    ],
    "tools": [{"type": "function", "function": {"name": "find", "parameters": {}}}, {"type": "web_search"}],
    "temperature": 0,
    "vendor_field": 1,
}


def test_a_request_has_its_conversation_tools_and_settings() -> None:
    request = read_request(REQUEST)
    assert [message.role for message in request.messages] == ["user", "assistant", "tool"]
    assert request.messages[0].text == "Find it"
    assert request.messages[1].calls == (Call("find", "{}", "c1"),)
    assert request.messages[2] == ModelMessage(role="tool", content="found", call_id="c1")
    assert request.tools == (OfferedTool("find", "", {}),)
    assert request.settings == {"temperature": 0, "vendor_field": 1}
    assert (request.model, request.stream, request.is_continued, request.problem) == ("m", False, True, "")


def allowed(mode: str, *names: str) -> dict[str, Any]:
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": tools}}


@for_each(
    ("choice", "expected"),
    [
        (None, ToolChoice("auto")),
        ("none", ToolChoice("none")),
        ({"type": "function", "function": {"name": "find"}}, ToolChoice("required", "find")),
        ({"type": "function"}, ToolChoice("required")),
        ("any", ToolChoice("required")),
        (allowed("auto", "find", "open"), ToolChoice("auto", "", ("find", "open"))),
        (allowed("required", "find", "open"), ToolChoice("required", "", ("find", "open"))),
        (allowed("required", "find"), ToolChoice("required", "find", ("find",))),
    ],
)
def test_whether_tools_may_be_called(choice: Any, expected: ToolChoice) -> None:
    assert read_request({"tool_choice": choice}).tool_choice == expected


@for_each(
    ("choice", "called"),
    [
        (ToolChoice(), ["find", "open"]),
        (ToolChoice("none"), []),
        (ToolChoice("required", "open"), ["open"]),
        (ToolChoice("auto", "", ("find",)), ["find"]),
    ],
)
def test_which_tools_a_choice_allows(choice: ToolChoice, called: list[str]) -> None:
    assert [name for name in ("find", "open") if choice.allows(name)] == called


@for_each("document", [{}, {"messages": None}, {"messages": "hi", "tools": 3, "model": []}])
def test_what_is_no_request_has_a_problem_and_no_parts(document: dict[str, Any]) -> None:
    request = read_request(document)
    assert request.problem == "'messages' must be a list"
    assert (request.messages, request.tools, request.model) == ((), (), "")


@for_each("tools", [None, 5, [None, {"function": None}, {"function": {"name": 5}}]])
def test_what_is_no_tool_is_not_offered(tools: Any) -> None:
    assert read_request({"messages": [], "tools": tools}).names == frozenset()


def test_why_a_body_is_not_read_comes_first() -> None:
    assert read_request({}, "it is not JSON").problem == "it is not JSON"


@for_each("message", [None, "text", [], {"role": 3, "tool_calls": "no", "tool_call_id": 1, "refusal": []}])
def test_a_careless_message_is_read(message: Any) -> None:
    read = read_message(message)
    assert (read.role, read.calls, read.call_id, read.refusal) == ("", (), "", "")
    assert read.source is message
