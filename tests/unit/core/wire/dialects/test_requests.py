"""Requests of each dialect, read into what every dialect has, and written again."""

from __future__ import annotations

from typing import Any

import pytest
from support.cases import for_each

from trialbed.wire import Call, GenerationConfig, ModelMessage, OfferedTool, ToolChoice
from trialbed.wire.dialects import CHAT, PATHS, dialect, dialect_at

SCHEMA = {"type": "object", "properties": {"id": {"type": "integer"}}}
FIND, OPEN = Call("find", '{"id":1}', "c1"), Call("open", "{", "c2")
FUNCTION = {"name": "find", "description": "Finds.", "parameters": SCHEMA}
CHAT_CALLS = [
    {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
    for call in (FIND, OPEN)
]
ITEMS: list[Any] = [
    {"type": "message", "role": "user", "content": "Find it"},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "I look."}]},
    {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "Wait. "}]},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "find", "arguments": '{"id":1}'},
    {"type": "function_call", "call_id": "c2", "name": "open", "arguments": "{"},
    {"type": "function_call_output", "call_id": "c1", "output": "found"},
    {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "no"}]},
    {"type": "message", "role": "developer", "content": "Mind the gap."},
]
BLOCKS: list[Any] = [
    {"type": "thinking", "thinking": "I look.", "signature": "s"},
    {"type": "text", "text": "Wait. "},
    {"type": "tool_use", "id": "c1", "name": "find", "input": {"id": 1}},
]
RESULTS: list[Any] = [
    {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "found"}]},
    {"type": "tool_result", "tool_use_id": "c2", "content": "no", "is_error": True},
    {"type": "text", "text": "And now?"},
]
FORM = {"type": "json_schema", "name": "out", "schema": SCHEMA}
REQUESTS: dict[str, dict[str, Any]] = {
    CHAT: {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Find "}, {"type": "text", "text": "it"}]},
            {"role": "assistant", "content": "Wait. ", "reasoning_content": "I look.", "tool_calls": CHAT_CALLS},
            {"role": "tool", "tool_call_id": "c1", "content": "found"},
        ],
        "tools": [{"type": "function", "function": FUNCTION}],
        "max_tokens": 50,
        "vendor_field": 1,
    },
    "messages": {
        "max_tokens": 50,
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": "Find it"},
            {"role": "assistant", "content": BLOCKS},
            {"role": "user", "content": RESULTS},
            {"role": "system", "content": "Mind the gap."},
        ],
        "tools": [{"name": "find", "description": "Finds.", "input_schema": SCHEMA}],
        "stop_sequences": ["END"],
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
    },
    "responses": {
        "instructions": "Be brief.",
        "input": ITEMS,
        "tools": [{"type": "function", **FUNCTION, "strict": True}],
        "max_output_tokens": 50,
        "parallel_tool_calls": False,
        "text": {"format": FORM},
    },
}
ROLES = {
    CHAT: ["system", "user", "assistant", "tool"],
    "messages": ["system", "user", "assistant", "tool", "tool", "user", "system"],
    "responses": ["system", "user", "assistant", "tool", "tool", "developer"],
}
GENERATION = {
    CHAT: GenerationConfig(max_tokens=50),
    "messages": GenerationConfig(max_tokens=50, stop=("END",), reply_schema=SCHEMA, strict_reply=True),
    "responses": GenerationConfig(max_tokens=50, parallel_calls=False, reply_schema=SCHEMA),
}


def test_each_dialect_is_found_by_its_name_and_its_path() -> None:
    for path, name in PATHS.items():
        assert (dialect_at(path), dialect(name).PATH) == (dialect(name), path)
    assert (dialect().NAME, dialect_at("embeddings")) == (CHAT, None)
    with pytest.raises(LookupError, match="chat_completions"):
        dialect("semaphore")


@for_each("name", REQUESTS)
def test_a_request_has_its_conversation_tools_and_settings_and_is_written_again(name: str) -> None:
    spoken, document = dialect(name), {"model": "m", **REQUESTS[name]}
    request = spoken.read_request(document)
    assert [message.role for message in request.messages] == ROLES[name]
    assert [message.text for message in request.messages[:3]] == ["Be brief.", "Find it", "Wait. "]
    said = request.messages[2]
    assert said.reasoning == "I look."
    calls = (Call("find", '{"id": 1}', "c1"),) if name == "messages" else (FIND, OPEN)
    assert said.calls == calls
    assert (request.messages[3].call_id, request.messages[3].text) == ("c1", "found")
    assert (request.tools, request.generation) == ((OfferedTool("find", "Finds.", SCHEMA),), GENERATION[name])
    assert (request.model, request.stream, request.is_continued, request.problem) == ("m", False, True, "")
    assert spoken.write_request("m", request.messages, request.settings, request.tools) == document
    if name == "messages":
        assert request.messages[4] == ModelMessage(role="tool", content="no", call_id="c2", is_error=True)


def allowed(mode: str, *names: str) -> dict[str, Any]:
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": tools}}


TOOLS = [{"type": "function", "name": "find"}]


@for_each(
    ("name", "choice", "expected"),
    [
        *((name, None, ToolChoice()) for name in REQUESTS),
        (CHAT, "none", ToolChoice("none")),
        (CHAT, "any", ToolChoice("required")),
        (CHAT, {"type": "function", "function": {"name": "find"}}, ToolChoice("required", "find")),
        (CHAT, {"type": "function"}, ToolChoice("required")),
        (CHAT, allowed("auto", "find", "open"), ToolChoice("auto", "", ("find", "open"))),
        (CHAT, allowed("required", "find"), ToolChoice("required", "find", ("find",))),
        ("messages", {"type": "none"}, ToolChoice("none")),
        ("messages", {"type": "any"}, ToolChoice("required")),
        ("messages", {"type": "tool", "name": "find"}, ToolChoice("required", "find")),
        ("messages", {"type": ["auto"]}, ToolChoice()),
        ("responses", "required", ToolChoice("required")),
        ("responses", {"type": "function", "name": "find"}, ToolChoice("required", "find")),
        ("responses", {"type": "allowed_tools", "mode": "auto", "tools": TOOLS}, ToolChoice("auto", "", ("find",))),
    ],
)
def test_whether_tools_may_be_called(name: str, choice: Any, expected: ToolChoice) -> None:
    assert dialect(name).read_request({"tool_choice": choice}).tool_choice == expected


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


ASKED: dict[str, Any] = {"messages": [], "max_tokens": 5}


@for_each(
    ("name", "document", "problem"),
    [
        (CHAT, {}, "'messages' must be a list"),
        (CHAT, {"messages": "hi", "tools": 3, "model": []}, "'messages' must be a list"),
        ("messages", {}, "messages: Field required"),
        ("messages", {**ASKED, "messages": "hi"}, "messages: must be a list"),
        ("messages", {"messages": []}, "max_tokens: Field required"),
        ("messages", {**ASKED, "tools": [{"type": "bash_20250124", "name": "bash"}]}, "bash_20250124"),
        ("responses", {}, "Missing required parameter: 'input'."),
        ("responses", {"input": 5}, "'input' must be a text or a list."),
        ("responses", {"input": "", "background": True}, "background"),
        ("responses", {"input": "", "tools": [{"type": "file_search"}]}, "file_search"),
    ],
)
def test_what_is_no_request_has_a_problem_and_no_parts(name: str, document: dict[str, Any], problem: str) -> None:
    request = dialect(name).read_request(document)
    assert problem in request.problem
    assert [message.calls for message in request.messages] in ([], [()])
    assert (request.tools, request.model, request.problem_code) == ((), "", "")


def test_a_thread_is_refused_with_the_code_on_which_the_sdk_sends_it_whole() -> None:
    request = dialect("messages").read_request({**ASKED, "thread": {"type": "create"}})
    assert request.problem_code == "thread_unsupported_request"


@for_each(
    ("name", "part"),
    [
        *((CHAT, part) for part in (None, "text", [], {"role": 3, "tool_calls": "no", "tool_call_id": 1})),
        *(("messages", part) for part in (None, "text", [], {"role": 3, "content": 5}, {"content": [None]})),
        *(("responses", part) for part in (None, "text", [], {"role": 3}, {"type": 5}, {"type": "web_search_call"})),
    ],
)
def test_a_careless_message_is_read(name: str, part: Any) -> None:
    (message,) = dialect(name).read_request({"messages": [part], "input": [part]}).messages
    assert (message.role, message.calls, message.call_id) == ("", (), "")


def test_the_conversation_before_a_response_comes_first() -> None:
    request: Any = dialect("responses").read_request({"input": "Go on.", "previous_response_id": "r", "store": False})
    request.earlier = ITEMS
    assert (request.follows, request.keeps) == ("r", False)
    assert [message.role for message in request.messages][-2:] == ["developer", "user"]


PNG, FAR = "data:image/png;base64,AAA", "https://acme.test/a.png"


@for_each(
    ("name", "address", "expected"),
    [
        (CHAT, FAR, {"type": "image_url", "image_url": {"url": FAR}}),
        ("messages", PNG, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAA"}}),
        ("messages", FAR, {"type": "image", "source": {"type": "url", "url": FAR}}),
        ("responses", FAR, {"type": "input_image", "image_url": FAR, "detail": "auto"}),
    ],
)
def test_images_of_other_dialects_are_written_as_the_own(name: str, address: str, expected: dict[str, Any]) -> None:
    content: list[Any] = [{"type": "image_url", "image_url": {"url": address}}]
    written = dialect(name).write_request("m", [ModelMessage(role="user", content=content)], {})
    assert (written.get("input") or written["messages"])[0]["content"] == [expected]
    if name != CHAT:
        with pytest.raises(ValueError, match="input_audio"):
            dialect(name).write_request("m", [ModelMessage(role="user", content=[{"type": "input_audio"}])], {})
