"""Faulty traces of four kinds, at least twenty of each: file, line and key are named, and none is read in part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each

from trialbed.errors import DataError
from trialbed_evaluation.conversations import read_samples

USER = {"role": "user", "content": "?"}


def asked(call: Any) -> Any:
    return {"messages": [USER, {"role": "assistant", "tool_calls": [call]}]}


def said(**message: Any) -> Any:
    return {"messages": [message]}


MESSAGES = [
    ('{"messages": [{"role": "user"}', ":1: column 31: is not JSON"),
    ('{"messages": []}\n{"messages": {}}', ":2: messages: must be a list, not an object"),
    ({"messages": "hi"}, "messages: must be a list, not text"),
    (said(role="robot", content=""), "messages[0].role: must be one of system"),
    (said(role="assistant", tool_calls={}), "messages[0].tool_calls: must be a list, not an object"),
    (asked({"function": {"arguments": "{}"}}), "tool_calls[0].function.name: must be the tool's name, not nothing"),
    (asked({"function": {"name": "f", "arguments": [1]}}), "function.arguments: must be an object or its JSON text"),
    ({"messages": [USER], "tools": [{"name": "f", "parameters": [1]}]}, "function.parameters: must be a JSON Schema"),
    ('{"messages": [], "messages": []}', ":1: the key 'messages' occurs twice"),
    ('{"id": "a", "messages": []}\n{"id": "a", "messages": []}', ":2: id: 'a' occurs twice, first at"),
    ([[{"type": "ai", "content": "", "tool_calls": [{"name": "f"}]}]], "messages[0].tool_calls[0].args: is missing"),
    ('{"messages": ' + "[" * 300 + "]" * 300 + "}", ":1: nested deeper than 200 levels"),
]


def span(attributes: Any = None, **fields: Any) -> dict[str, Any]:
    return {"traceId": "t", "spanId": "s", "attributes": {} if attributes is None else attributes, **fields}


def chat(messages: Any) -> dict[str, Any]:
    return span({"gen_ai.operation.name": "chat", "gen_ai.input.messages": messages})


def ran(**attributes: Any) -> dict[str, Any]:
    named = {f"gen_ai.tool.{name.replace('_', '.')}": value for name, value in attributes.items()}
    return span({"gen_ai.operation.name": "execute_tool", **named})


def exported(*spans: Any) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": [*spans]}]}]}


def valued(value: Any) -> dict[str, Any]:
    return exported(span([{"key": "a", "value": value}]))


def parts(*given: Any) -> dict[str, Any]:
    return chat([{"role": "assistant", "parts": [*given]}])


OPENTELEMETRY = [
    ('{"resourceSpans": [', ":1: column 20: is not JSON"),
    ({"resourceSpans": 3}, ":1: resourceSpans: must be a list, not a number"),
    (exported(3), "spans[0]: must be a span, not a number"),
    (exported({}), "spans[0]: trace_id: must be the id of the span's trace, not nothing"),
    (exported(span(3)), "spans[0]: attributes: must be a list, not a number"),
    (valued(None), "attributes[0].value: must be an object such as {'stringValue'"),
    (exported(span(events=3)), "spans[0]: events: must be a list, not a number"),
    (chat("["), ":1: gen_ai.input.messages: is not JSON"),
    (chat([3]), "gen_ai.input.messages[0]: must be a message with role and content"),
    (parts({"type": "tool_call"}), "messages[0].parts[0].name: must be the tool's name, not nothing"),
    (ran(), ":1: gen_ai.tool.name: must be the tool's name, not nothing"),
    (
        span({"gen_ai.operation.name": "chat", "gen_ai.tool.definitions": "{"}),
        ":1: gen_ai.tool.definitions: is not JSON",
    ),
]


def inferred(kind: str = "LLM", **attributes: Any) -> dict[str, Any]:
    named = {name.replace("__", "."): value for name, value in attributes.items()}
    return {"context": {"trace_id": "t"}, "attributes": {"openinference.span.kind": kind, **named}}


def read(message: Any) -> dict[str, Any]:
    return inferred(llm__input_messages=[message])


def called(**call: Any) -> dict[str, Any]:
    named = {f"tool_call.function.{name}": value for name, value in call.items()}
    return read({"message.role": "assistant", "message.tool_calls": [named]})


OPENINFERENCE = [
    ('[{"context": ', ":1: column 13: is not JSON"),
    ({"context": {"trace_id": 5}, "attributes": {}}, ":1: trace_id: must be the id of the span's trace, not a number"),
    (inferred(**{"llm__input_messages__" + "__".join("a" * 30): 1}), "the name has too many parts"),
    (inferred(llm__input_messages__0=1, llm__input_messages__0__a=1), "a part of it is a value of its own"),
    (inferred(llm__input_messages=3), ":1: llm.input_messages: must be a list, not a number"),
    (read({"message.role": "bot"}), ":1: llm.input_messages[0].role: must be one of"),
    (called(), "llm.input_messages[0].tool_calls[0].name: must be the tool's name, not nothing"),
    (inferred(llm__tools=[{"tool.json_schema": "{"}]), ":1: llm.tools[0].json_schema: is not JSON"),
    (inferred("TOOL"), ":1: tool.name: must be the tool's name, not nothing"),
]


KINDS = {"messages": MESSAGES, "opentelemetry": OPENTELEMETRY, "openinference": OPENINFERENCE}


@for_each(("fault", "says"), [fault for faults in KINDS.values() for fault in faults])
def test_a_fault_is_named_with_file_line_and_key(tmp_path: Path, fault: Any, says: str) -> None:
    path = tmp_path / "trace.json"
    path.write_text(fault if isinstance(fault, str) else json.dumps(fault), encoding="utf-8")
    with pytest.raises(DataError) as raised:
        read_samples(path)
    assert str(raised.value).startswith(f"{path}:")
    assert says in str(raised.value)
