"""Faulty traces of four kinds, at least twenty of each: file, line and key are named, and none is read in part."""

from __future__ import annotations

import json
import time
import tracemalloc
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
    ("not json", ":1: column 1: is not JSON"),
    ('{"messages": []}\n{"messages": {}}', ":2: messages: must be a list, not an object"),
    ({"messages": "hi"}, "messages: must be a list, not text"),
    ({"messages": [3]}, "messages[0]: must be a message with role and content, not a number"),
    (said(role="robot", content=""), "messages[0].role: must be one of system"),
    (said(role=3, content="x"), "messages[0].role: must be one of system"),
    (said(role="user", content=5), "messages[0].content: must be text or a list of parts, not a number"),
    (said(role="user", content=[3]), "messages[0].content[0]: must be text or an object with a type"),
    (said(role="assistant", tool_calls={}), "messages[0].tool_calls: must be a list, not an object"),
    (asked(3), "messages[1].tool_calls[0]: must be a call with name and args"),
    (asked({"function": {"arguments": "{}"}}), "tool_calls[0].function.name: must be the tool's name, not nothing"),
    (asked({"function": {"name": 5, "arguments": "{}"}}), "tool_calls[0].function.name: must be the tool's name"),
    (asked({"function": {"name": "f"}}), "tool_calls[0].function.args: is missing"),
    (asked({"function": {"name": "f", "arguments": [1]}}), "function.arguments: must be an object or its JSON text"),
    ({"messages": [USER], "tools": 3}, ":1: tools: must be a list, not a number"),
    ({"messages": [USER], "tools": [3]}, "tools[0]: must be a tool's definition, not a number"),
    ({"messages": [USER], "tools": [{"type": "function"}]}, "tools[0].function.name: must be the tool's name"),
    ({"messages": [USER], "tools": [{"name": "f", "parameters": [1]}]}, "function.parameters: must be a JSON Schema"),
    ('{"messages": [], "messages": []}', ":1: the key 'messages' occurs twice"),
    ('{"messages": [{"role": "user", "content": NaN}]}', ":1: NaN is not JSON"),
    ({"id": [], "messages": [USER]}, ":1: id: must be text or a number, not a list"),
    ('{"id": "a", "messages": []}\n{"id": "a", "messages": []}', ":2: id: 'a' occurs twice, first at"),
    # LangChain's have a type in place of a role.
    ([[{"type": "human", "content": 5}]], ":1[0]: messages[0].content: must be text or a list"),
    ([[{"type": "bot", "content": "x"}]], ":1[0]: messages[0].type: must be one of"),
    ([[{"type": "ai", "content": "", "tool_calls": [{"name": "f"}]}]], "messages[0].tool_calls[0].args: is missing"),
    ([[{"type": "ai", "content": "", "tool_calls": {"name": "f"}}]], "messages[0].tool_calls: must be a list"),
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
    ({"resourceSpans": [3]}, ":1: resourceSpans[0]: must be an object, not a number"),
    ({"resourceSpans": [{"scopeSpans": 3}]}, "scopeSpans: must be a list, not a number"),
    ({"resourceSpans": [{"scopeSpans": [3]}]}, "scopeSpans[0]: must be an object, not a number"),
    ({"resourceSpans": [{"scopeSpans": [{"spans": 3}]}]}, "spans: must be a list, not a number"),
    (exported(3), "spans[0]: must be a span, not a number"),
    (exported({}), "spans[0]: trace_id: must be the id of the span's trace, not nothing"),
    (exported(span(), {"traceId": 5}), "spans[1]: trace_id: must be the id of the span's trace, not a number"),
    (exported(span(3)), "spans[0]: attributes: must be a list, not a number"),
    (exported(span([3])), "spans[0]: attributes[0]: must be an object with key and value"),
    (exported(span([{"key": 3, "value": {}}])), "attributes[0]: must be an object with key and value"),
    (valued(None), "attributes[0].value: must be an object such as {'stringValue'"),
    (valued({"arrayValue": 3}), "attributes[0].value.arrayValue: must be an object with values"),
    (valued({"arrayValue": {"values": 3}}), "attributes[0].value.arrayValue.values: must be a list"),
    (valued({"kvlistValue": {"values": [3]}}), "attributes[0].value[0]: must be an object with key and value"),
    (exported(span(events=3)), "spans[0]: events: must be a list, not a number"),
    (exported(span(events=[3])), "spans[0]: events[0]: must be an object, not a number"),
    (exported(span(events=[{"attributes": 3}])), "spans[0]: events[0].attributes: must be a list"),
    (chat("["), ":1: gen_ai.input.messages: is not JSON"),
    (chat(3), "gen_ai.input.messages: must be a list, not a number"),
    (chat([3]), "gen_ai.input.messages[0]: must be a message with role and content"),
    (chat([{"role": "user", "parts": 3}]), "gen_ai.input.messages[0].parts: must be text or a list of parts"),
    (parts(3), "gen_ai.input.messages[0].parts[0]: must be text or an object with a type"),
    (parts({"type": "tool_call"}), "messages[0].parts[0].name: must be the tool's name, not nothing"),
    (parts({"type": "tool_call", "name": "f", "arguments": [1]}), "parts[0].arguments: must be an object or its JSON"),
    (ran(), ":1: gen_ai.tool.name: must be the tool's name, not nothing"),
    (ran(name="f", call_arguments=3), ":1: gen_ai.tool.call.arguments: must be an object or its JSON text"),
    (
        span({"gen_ai.operation.name": "chat", "gen_ai.tool.definitions": "{"}),
        ":1: gen_ai.tool.definitions: is not JSON",
    ),
    (
        span({"gen_ai.operation.name": "chat", "gen_ai.tool.definitions": 3}),
        ":1: gen_ai.tool.definitions: must be a list",
    ),
    ('{"traceId": "t", "spanId": "s", "attributes": {}, "attributes": {}}', ":1: the key 'attributes' occurs twice"),
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
    ([3], ":1[0]: must be an object, not a number"),
    ({"context": {"trace_id": 5}, "attributes": {}}, ":1: trace_id: must be the id of the span's trace, not a number"),
    ({"context": 3, "attributes": {}}, ":1: trace_id: must be the id of the span's trace, not nothing"),
    ({"context": {"trace_id": "t"}, "attributes": 3}, ":1: attributes: must be a list, not a number"),
    (inferred(llm__tools=[1]), ":1: llm.tools[0]: must be a tool's definition, not a number"),
    (inferred(**{"llm__input_messages__" + "__".join("a" * 30): 1}), "the name has too many parts"),
    (inferred(llm__input_messages__0=1, llm__input_messages__0__a=1), "a part of it is a value of its own"),
    (inferred(llm__input_messages=3), ":1: llm.input_messages: must be a list, not a number"),
    (inferred(llm__output_messages="x"), ":1: llm.output_messages: must be a list, not text"),
    (read(3), ":1: llm.input_messages[0]: must be a message with role and content"),
    (read({"message.role": "bot"}), ":1: llm.input_messages[0].role: must be one of"),
    (read({"message.role": 3}), ":1: llm.input_messages[0].role: must be one of"),
    (read({"message.role": "user", "message.content": 5}), "llm.input_messages[0].content: must be text"),
    (called(), "llm.input_messages[0].tool_calls[0].name: must be the tool's name, not nothing"),
    (called(name=5, arguments="{}"), "tool_call.function.name: must be the tool's name, not a number"),
    (called(name="f", arguments=[1]), "tool_call.function.arguments: must be an object or its JSON text"),
    (called(name="f"), "tool_call.function.args: is missing"),
    (inferred(llm__tools=[{"tool.json_schema": "{"}]), ":1: llm.tools[0].json_schema: is not JSON"),
    (inferred(llm__tools=[{"tool.json_schema": '{"name": 3}'}]), ":1: llm.tools[0].function.name: must be the"),
    (
        inferred(llm__tools=[{"tool.json_schema": {"name": "f", "parameters": [1]}}]),
        "must be a JSON Schema, not a list",
    ),
    (inferred(llm__output_messages=[{"message": {"role": "x"}}]), ":1: llm.output_messages[0].role: must be one of"),
    (inferred("TOOL"), ":1: tool.name: must be the tool's name, not nothing"),
    (inferred("TOOL", tool__name=4, input__value="{}"), ":1: tool.name: must be the tool's name, not a number"),
    (inferred("TOOL", tool__name="f", input__value=[1]), ":1: input.value: must be an object or its JSON text"),
    ({**inferred(), "events": [3]}, ":1: events[0]: must be an object, not a number"),
    ('{"context": {"trace_id": "t"}, "attributes": {"a": 1, "a": 2}}', ":1: the key 'a' occurs twice"),
]


KINDS = {"messages": MESSAGES, "opentelemetry": OPENTELEMETRY, "openinference": OPENINFERENCE}


def test_there_are_twenty_of_each() -> None:
    assert {name for name, faults in KINDS.items() if len({said for _, said in faults}) < 20} == set()


@for_each(("fault", "says"), [fault for faults in KINDS.values() for fault in faults])
def test_a_fault_is_named_with_file_line_and_key(tmp_path: Path, fault: Any, says: str) -> None:
    path = tmp_path / "trace.json"
    path.write_text(fault if isinstance(fault, str) else json.dumps(fault), encoding="utf-8")
    with pytest.raises(DataError) as raised:
        read_samples(path)
    assert str(raised.value).startswith(f"{path}:")
    assert says in str(raised.value)


@pytest.mark.parametrize(
    "text", ['{"traceId": "t", "spanId": "s", "attributes": [' + '{"key": "a", "value": ' * 20_000]
)
def test_a_large_fault_is_found_in_bounds(tmp_path: Path, text: str) -> None:
    path = tmp_path / "trace.json"
    path.write_text(text, encoding="utf-8")
    began = time.process_time()
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=r"trace\.json:1: is nested too deeply"):
            read_samples(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100 * len(text)
    assert time.process_time() - began < 20
