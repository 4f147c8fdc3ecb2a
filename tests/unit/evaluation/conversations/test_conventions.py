"""Every convention reads one conversation: what order 7 cost, one call with its result, and the answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each
from support.conversations import only, written

from trialbed.errors import DataError
from trialbed_evaluation.conversations import ToolCall, read_samples

ASKED, ANSWER, RESULT = "How much did order 7 cost?", "Order 7 cost 12.50.", '{"price": 12.5}'
FUNCTION = {"name": "find_order", "arguments": '{"id": 7}'}
CALL = {"name": "find_order", "args": {"id": 7}, "id": "c1"}
USER = {"role": "user", "content": ASKED}
CHAT = [
    USER,
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": FUNCTION}]},
    {"role": "tool", "tool_call_id": "c1", "content": RESULT},
    {"role": "assistant", "content": ANSWER},
]
LANGCHAIN = [
    {"type": "human", "content": ASKED},
    {
        "type": "ai",
        "content": [{"type": "tool_use", "id": "c1", "name": "find_order", "input": {}}],
        "tool_calls": [CALL],
    },
    {"type": "tool", "content": RESULT, "tool_call_id": "c1"},
    {"type": "ai", "content": [{"type": "thinking", "thinking": "7"}, {"type": "text", "text": ANSWER}]},
]
CLASSES = ("HumanMessage", "AIMessage", "ToolMessage", "AIMessage")
CONSTRUCTORS = [
    {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", name],
        "kwargs": {key: one[key] for key in one if key != "type"},
    }
    for name, one in zip(CLASSES, LANGCHAIN, strict=True)
]
GEMINI = [
    {"role": "user", "parts": [{"text": ASKED}]},
    {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "find_order", "args": {"id": 7}}}]},
    {"role": "user", "parts": [{"functionResponse": {"id": "c1", "response": {"price": 12.5}}}]},
    {"role": "model", "parts": [{"text": "Let me see.", "thought": True}, {"text": ANSWER}]},
]
USED = {"type": "tool_use", "id": "c1", "name": "find_order", "input": {"id": 7}}
MESSAGES: dict[str, Any] = {
    "chat completions": CHAT,
    "responses": [
        USER,
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "call_id": "c1", "id": "fc_1", "status": "completed", **FUNCTION},
        {"type": "function_call_output", "call_id": "c1", "output": RESULT},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]},
    ],
    "anthropic": [
        USER,
        {"role": "assistant", "content": [USED]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": RESULT}]},
        {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]},
    ],
    "bedrock": [
        {"role": "user", "content": [{"text": ASKED}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "find_order", "input": {"id": 7}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": RESULT}]}}]},
        {"role": "assistant", "content": [{"text": ANSWER}]},
    ],
    "gemini": {"contents": GEMINI},
    "adk": {"id": "s1", "events": [*({"author": "a", "content": one} for one in GEMINI), {"content": None}]},
    "langchain": LANGCHAIN,
    "langchain dumps": {"messages": CONSTRUCTORS},
    "langchain messages_to_dict": [{"type": one["type"], "data": one} for one in LANGCHAIN],
    "pydantic-ai": [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": ASKED}]},
        {
            "kind": "response",
            "parts": [{"part_kind": "tool-call", "tool_name": "find_order", "args": {"id": 7}, "tool_call_id": "c1"}],
        },
        {"kind": "request", "parts": [{"part_kind": "tool-return", "content": {"price": 12.5}, "tool_call_id": "c1"}]},
        {"kind": "response", "parts": [{"part_kind": "text", "content": ANSWER}]},
    ],
    "vercel": [
        {"role": "user", "content": [{"type": "text", "text": ASKED}]},
        {
            "role": "assistant",
            "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "find_order", "input": {"id": 7}}],
        },
        {
            "role": "tool",
            "content": [
                {"type": "tool-result", "toolCallId": "c1", "output": {"type": "json", "value": {"price": 12.5}}}
            ],
        },
        {"role": "assistant", "content": ANSWER},
    ],
    "tau2": {
        "simulations": [
            {
                "id": "s",
                "messages": [
                    USER,
                    {"role": "assistant", "tool_calls": [{"id": "c1", **FUNCTION}]},
                    {"role": "tool", "id": "c1", "content": RESULT, "error": False},
                    CHAT[-1],
                ],
            }
        ]
    },
}


def span(number: int, attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"traceId": "t", "spanId": str(number), "startTimeUnixNano": str(number), "attributes": attributes, **more}


def flat(prefix: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for place, one in enumerate(messages):
        found |= {f"{prefix}.{place}.{key}": value for key, value in one.items() if isinstance(value, str)}
        for key, value in {"id": "c1", **FUNCTION}.items() if "tool_calls" in one else ():
            found[f"{prefix}.{place}.tool_calls.0.{key}"] = value
    return found


def steps(kind: dict[str, Any], asked: str, answered: str) -> list[dict[str, Any]]:
    return [
        span(1, {**kind, asked: json.dumps(CHAT[:1]), answered: json.dumps(CHAT[1:2])}),
        span(3, {**kind, asked: json.dumps(CHAT[:3]), answered: json.dumps(CHAT[3:])}),
    ]


OTEL = {"gen_ai.operation.name": "chat"}
INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
DETAILS = [{"key": INPUT, "value": {"stringValue": json.dumps(CHAT[:3])}}]
DETAILS += [{"key": OUTPUT, "value": {"stringValue": json.dumps(CHAT[3:])}}]
EVENT = "gen_ai.client.inference.operation.details"
LOG = {"traceId": "t", "spanId": "1", "timeUnixNano": "5", "eventName": EVENT, "attributes": DETAILS}
RUN = {"trace_id": "t", "start_time": "2026-01-01T00:00:00"}
OBSERVATION = {"traceId": "t", "type": "GENERATION", "startTime": "2026-01-01T00:00:01Z"}
AGENTS = {"object": "trace.span", "trace_id": "t"}
VERCEL = {"ai.operationId": "ai.generateText.doGenerate", "gen_ai.system": "openai"}
ARGUMENTS = '{"args": [], "kwargs": {"id": 7}}'
OWN = [{"event.name": "gen_ai.user.message", **USER}, {"event.name": "gen_ai.assistant.message", **CHAT[1]}]
OWN += [{"event.name": "gen_ai.tool.message", "id": "c1", "content": RESULT}]
OWN += [{"event.name": "gen_ai.choice", "index": 0, "message": CHAT[3]}]

TRACES: dict[str, Any] = {
    "opentelemetry": steps(OTEL, INPUT, OUTPUT),
    "only the last span": steps(OTEL, INPUT, OUTPUT)[1:],
    "one trace per request": [{**one, "traceId": f"t{place}"} for place, one in enumerate(steps(OTEL, INPUT, OUTPUT))],
    "events of details": [span(1, OTEL, events=[{"name": EVENT, "attributes": DETAILS}])],
    "logs": [{"resourceLogs": [{"scopeLogs": [{"logRecords": [LOG]}]}]}],
    "logfire's events": [span(1, {**OTEL, "events": json.dumps(OWN)})],
    "openinference": [
        span(1, {"openinference.span.kind": "LLM", "llm.input_messages": CHAT[:3], "llm.output_messages": CHAT[3:]})
    ],
    "traceloop": [
        span(
            1, {"llm.request.type": "chat", **flat("gen_ai.prompt", CHAT[:1]), **flat("gen_ai.completion", CHAT[1:2])}
        ),
        span(
            2,
            {
                "traceloop.span.kind": "tool",
                "traceloop.entity.name": "find_order",
                "traceloop.entity.input": ARGUMENTS,
                "traceloop.entity.output": RESULT,
            },
        ),
        span(3, {"llm.request.type": "chat", **flat("gen_ai.prompt", CHAT[:3]), **flat("gen_ai.completion", CHAT[3:])}),
    ],
    "vercel": [
        span(
            1,
            {
                **VERCEL,
                "ai.prompt.messages": json.dumps(MESSAGES["vercel"][:1]),
                "ai.response.toolCalls": json.dumps(MESSAGES["vercel"][1]["content"]),
                "ai.response.finishReason": "tool-calls",
            },
        ),
        span(
            2,
            {
                "ai.operationId": "ai.toolCall",
                "ai.toolCall.name": "find_order",
                "ai.toolCall.id": "c1",
                "ai.toolCall.args": '{"id": 7}',
                "ai.toolCall.result": RESULT,
            },
        ),
        span(3, {**VERCEL, "ai.prompt.messages": json.dumps(MESSAGES["vercel"][:3]), "ai.response.text": ANSWER}),
    ],
    "langsmith": [
        {**RUN, "run_type": "chain", "inputs": {"messages": [["user", ASKED]]}, "outputs": {"messages": LANGCHAIN}},
        {
            **RUN,
            "run_type": "llm",
            "start_time": "2026-01-01T00:00:01",
            "events": [{"name": "start"}],
            "inputs": {"messages": [CONSTRUCTORS[:1]]},
            "outputs": {"generations": [[{"text": "", "message": CONSTRUCTORS[1]}]]},
        },
    ],
    "langfuse": {
        "id": "t",
        "observations": [
            {**OBSERVATION, "input": CHAT[:1], "output": CHAT[1]},
            {
                **OBSERVATION,
                "type": "TOOL",
                "name": "find_order",
                "input": {"id": 7},
                "output": json.dumps(LANGCHAIN[2]),
            },
            {**OBSERVATION, "input": {"messages": CHAT[:3]}, "output": CHAT[3], "startTime": "2026-01-01T00:00:09Z"},
        ],
    },
    "langfuse's spans": steps(
        {"langfuse.observation.type": "generation"}, "langfuse.observation.input", "langfuse.observation.output"
    ),
    "agents sdk": [
        {"object": "trace", "id": "t", "workflow_name": "a"},
        {
            **AGENTS,
            "started_at": "2026-01-01",
            "span_data": {"type": "generation", "input": CHAT[:1], "output": CHAT[1:2]},
        },
        {**AGENTS, "started_at": "2026-01-02", "span_data": {"type": "function", **FUNCTION, "output": RESULT}},
        {
            **AGENTS,
            "started_at": "2026-01-03",
            "span_data": {"type": "generation", "input": CHAT[:3], "output": CHAT[3:]},
        },
    ],
}


@for_each(("name", "value"), [*MESSAGES.items(), *TRACES.items()])
def test_a_conversation_is_read_whatever_recorded_it(tmp_path: Path, name: str, value: Any) -> None:
    sample = only(written(tmp_path, value))
    assert sample.calls == (ToolCall("find_order", {"id": 7}, "c1"),), name
    assert sample.messages is not None
    assert [(one.role, one.content) for one in sample.messages if one.role != "assistant" or one.content] == [
        ("user", ASKED),
        ("tool", RESULT),
        ("assistant", ANSWER),
    ]
    assert [one.call_id for one in sample.messages if one.role == "tool"] == ["c1"]


@for_each(
    ("result", "failed"),
    [
        ({"role": "tool", "tool_call_id": "c1", "content": "ERROR 12:00 disk full"}, False),
        ({"role": "tool", "tool_call_id": "c1", "content": '{"error": "none"}'}, False),
        ({"role": "tool", "tool_call_id": "c1", "content": "x", "status": "error"}, True),
        (
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "", "is_error": True}],
            },
            True,
        ),
        ({"role": "tool", "tool_call_id": "c1", "content": {"content": [], "isError": True}}, True),
        ({"role": "tool", "content": [{"type": "tool-error", "toolCallId": "c1", "error": "x"}]}, True),
        ({"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [], "status": "error"}}]}, True),
    ],
)
def test_a_call_failed_if_its_protocol_says_so(tmp_path: Path, result: Any, failed: bool) -> None:
    sample = only(written(tmp_path, [*CHAT[:2], result]))
    assert sample.messages is not None
    assert (sample.messages[-1].call_id, sample.messages[-1].failed) == ("c1", failed)


@for_each(
    ("value", "says"),
    [
        ({"data": [{"traceID": "t", "spans": [], "processes": {}}]}, "this is a trace of Jaeger, which is not read"),
        ({"eval": {}, "samples": []}, "this is a log of Inspect"),
        ({"sessionId": "s", "uuid": "u", "type": "user", "message": USER}, "this is a session of Claude Code"),
        ({"metadata": {}, "summary": {}, "results": []}, "this is a result document of `bench run`"),
    ],
)
def test_what_is_not_read_is_named(tmp_path: Path, value: Any, says: str) -> None:
    with pytest.raises(DataError, match=says):
        read_samples(written(tmp_path, value))
