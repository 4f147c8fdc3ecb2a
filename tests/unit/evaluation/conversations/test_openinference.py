"""OpenInference's spans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.conversations import only, written

from trialbed_evaluation.conversations import Sample

ARGUMENTS = '{"city": "Rome"}'
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
DEFINITION = {"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}

OUT = "llm.output_messages.0.message"
FLAT = {
    "openinference.span.kind": "LLM",
    "llm.input_messages.0.message.role": "user",
    "llm.input_messages.0.message.contents.0.message_content.type": "text",
    "llm.input_messages.0.message.contents.0.message_content.text": "How warm is it in Rome?",
    f"{OUT}.role": "assistant",
    f"{OUT}.tool_calls.0.tool_call.id": "c1",
    f"{OUT}.tool_calls.0.tool_call.function.name": "weather",
    f"{OUT}.tool_calls.0.tool_call.function.arguments": ARGUMENTS,
    "llm.tools.0.tool.json_schema": json.dumps(DEFINITION),
}
RUN = {"openinference.span.kind": "TOOL", "tool.name": "weather", "input.value": ARGUMENTS, "output.value": "21"}
RUN |= {"tool.parameters": json.dumps(SCHEMA), "http": "x", "http.method": "GET"}
NESTED = {
    "openinference": {"span": {"kind": "LLM"}},
    "openinference.span.kind": "LLM",
    "llm.input_messages": [
        {"message.role": "user", "message.content": "How warm is it in Rome?"},
        {"message.role": "assistant", "message.content": None},
        {"message.role": "tool", "message.content": "21"},
    ],
    "llm.output_messages": [{"message.role": "assistant", "message.content": "It is 21 degrees."}],
    "llm.tools": [{"tool.name": "weather", "tool.json_schema": json.dumps(SCHEMA)}],
}


def span(attributes: dict[str, Any], number: int) -> dict[str, Any]:
    return {"name": "s", "context": {"trace_id": "t1"}, "start_time": f"2026-01-0{number}", "attributes": attributes}


def is_as_meant(sample: Sample) -> None:
    assert sample.id == "t1"
    assert sample.messages is not None
    assert (sample.messages[0].role, sample.messages[0].content) == ("user", "How warm is it in Rome?")
    assert [(call.name, call.args) for call in sample.calls] == [("weather", {"city": "Rome"})]
    assert sample.tools == {"weather": SCHEMA}


def test_spans_of_openinference_are_one_sample(tmp_path: Path) -> None:
    is_as_meant(only(written(tmp_path, [span(FLAT, 1), span(RUN, 2)])))


def test_attributes_may_be_nested_in_part(tmp_path: Path) -> None:
    sample = only(written(tmp_path, [span(FLAT, 1), span(RUN, 2), span(NESTED, 3)]))
    is_as_meant(sample)
    assert sample.messages is not None
    assert sample.messages[-1].content == "It is 21 degrees."


def test_odd_attributes_say_nothing(tmp_path: Path) -> None:
    odd = {"openinference.span.kind": "LLM", "llm": "gpt"}
    assert only(written(tmp_path, span(odd, 1))).calls == ()


def test_times_sort_however_they_are_written(tmp_path: Path) -> None:
    times = ("2026-01-01T00:00:04.123456+00:00", "2026-01-01T01:00:05+01:00", "2026-01-01T00:00:06Z")
    runs = [{**span(RUN | {"tool.name": f"n{place}"}, 1), "start_time": time} for place, time in enumerate(times)]
    assert [call.name for call in only(written(tmp_path, runs[::-1])).calls] == ["n0", "n1", "n2"]
