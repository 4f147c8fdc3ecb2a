"""Conversations in each of the forms that Trialbed reads, and files of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from trialbed.conversations import Sample, read_samples

CALL = {"name": "weather", "args": {"city": "Rome"}}
TOOL = {
    "type": "function",
    "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}
OPENAI = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "weather?"}, {"type": "image_url", "image_url": {}}]},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Rome"}'}},
            {"id": "c2", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Ro'}},
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
    {"role": "assistant", "content": "Sunny."},
]
RAGAS = [
    {"type": "human", "content": "weather?"},
    {"type": "ai", "content": "", "tool_calls": [CALL]},
    {"type": "tool", "content": "sunny"},
]
NODE = {
    "role": "tool",
    "message": {"name": "weather", "arguments": '{"city": "Rome"}', "response": "sunny"},
    "next": [],
}
FINISH = {"return_type": "give_answer", "final_answer": "Sunny."}
LAST = {"role": "tool", "message": {"name": "Finish", "arguments": json.dumps(FINISH), "response": ""}, "next": []}
CONVERTED = {
    "588": {
        "query": "weather?",
        "available_tools": [TOOL["function"], {"name": "Finish", "parameters": {}}],
        "answer": {
            "method": "CoT@1",
            "total_steps": 4,
            "final_answer": json.dumps(FINISH),
            "answer_details": [{"role": "system", "message": "", "next": [{**NODE, "next": [LAST]}]}],
        },
    }
}
RAW = {
    "answer_generation": {
        "valid_data": True,
        "query": "weather?",
        "function": [TOOL],
        "final_answer": json.dumps(FINISH),
        "train_messages": [
            [],
            [
                {"role": "user", "content": "weather?"},
                {"role": "assistant", "function_call": {"name": "weather", "arguments": '{"city": "Rome"}'}},
                {"role": "function", "name": "weather", "content": "sunny"},
                {"role": "assistant", "function_call": {"name": "Finish", "arguments": json.dumps(FINISH)}},
            ],
        ],
    }
}
UNFINISHED = {
    "answer_generation": {"valid_data": False, "query": "weather?", "train_messages": [], "function": []},
    "trys": [
        {
            "chain": [
                {"node_type": "Thought", "description": "Let me see."},
                {"node_type": "Action", "description": "weather"},
                {"node_type": "Action Input", "description": '{"city": "Rome"}', "observation": "sunny"},
            ]
        }
    ],
}


def attributes(**values: Any) -> list[dict[str, Any]]:
    return [
        {"key": f"gen_ai.{name.replace('__', '.')}", "value": {"stringValue": value}} for name, value in values.items()
    ]


CHAT = attributes(
    operation__name="chat",
    input__messages=json.dumps([{"role": "user", "parts": [{"type": "text", "content": "weather?"}]}]),
    output__messages=json.dumps(
        [
            {
                "role": "assistant",
                "parts": [{"type": "tool_call", "id": "c1", "name": "weather", "arguments": {"city": "Rome"}}],
                "finish_reason": "tool_call",
            }
        ]
    ),
)
RUN = attributes(operation__name="execute_tool", tool__name="weather", tool__call__id="c1")
LATER = attributes(operation__name="execute_tool", tool__name="hidden", tool__call__id="c9", tool__call__arguments="{}")
EXPORT = {
    "resourceSpans": [
        {
            "scopeSpans": [
                {
                    "spans": [
                        {"traceId": "t1", "spanId": "3", "startTimeUnixNano": "30", "attributes": LATER},
                        {"traceId": "t1", "spanId": "2", "startTimeUnixNano": "20", "attributes": RUN},
                        {"traceId": "t1", "spanId": "1", "startTimeUnixNano": "9", "attributes": CHAT},
                        {"traceId": "t2", "spanId": "4", "startTimeUnixNano": "9", "attributes": []},
                    ]
                }
            ]
        }
    ]
}


def written(tmp_path: Path, *values: Any, name: str = "file.jsonl", indent: int | None = None) -> Path:
    path = tmp_path / name
    path.write_text(
        "\n".join(json.dumps(value, ensure_ascii=False, indent=indent) for value in values), encoding="utf-8"
    )
    return path


def only(path: Path) -> Sample:
    (sample,) = read_samples(path)
    return sample
