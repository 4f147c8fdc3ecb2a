"""Answers that are written have the fields of the official SDKs' types, and no others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, TypeAdapter
from support.cases import for_each

from trialbed.wire import Call, ModelAnswer, usage_counts
from trialbed.wire.dialects import dialect


def sdk_types() -> dict[str, tuple[Any, Any]]:
    """Name of a dialect -> the SDK's types of an answer and of an event."""
    # To import them takes seconds: only who runs this test does.
    from anthropic.types import Message, RawMessageStreamEvent
    from openai.types.chat import ChatCompletion, ChatCompletionChunk
    from openai.types.responses import Response, ResponseStreamEvent

    return {
        "chat_completions": (ChatCompletion, ChatCompletionChunk),
        "messages": (Message, RawMessageStreamEvent),
        "responses": (Response, ResponseStreamEvent),
    }


ASKED: dict[str, dict[str, Any]] = {
    "chat_completions": {"messages": [], "stream_options": {"include_usage": True}},
    "messages": {"messages": [], "max_tokens": 9},
    "responses": {"input": "?"},
}
FURTHER = {"reasoning_content", "store"}
"""Fields that vendors send, which the types of OpenAI's SDK lack."""

CALLS = (Call("find", '{"id": 1}', "call_1"), Call("open", "{}", "call_2"))
ANSWERS = (
    {"content": "Wait.", "calls": CALLS, "reasoning": "Hm.", "finish_reason": "tool_calls"},
    {"content": "Cut", "finish_reason": "length"},
    {"refusal": "No.", "finish_reason": "content_filter"},
)


def further(value: Any) -> Iterator[str]:
    """The fields of a model, at any depth, that its type lacks."""
    if isinstance(value, BaseModel):
        yield from value.model_extra or ()
        yield from (name for field in value.model_fields_set for name in further(getattr(value, field, None)))
    elif isinstance(value, list):
        yield from (name for each in value for name in further(each))


@for_each("name", ASKED)
def test_answers_and_events_have_the_fields_of_the_types(name: str) -> None:
    whole, event = map(TypeAdapter, sdk_types()[name])
    for said in ANSWERS:
        answer = ModelAnswer(**said, usage=usage_counts(3, 2), model="m", id="1")
        for stream in (False, True):
            request = dialect(name).read_request({"model": "m", **ASKED[name], "stream": stream})
            body = b"".join(dialect(name).write_answer(answer, request)).decode()
            data = [line.removeprefix("data: ") for line in body.splitlines() if line.startswith("data: {")]
            for sent in map(json.loads, data if stream else [body]):
                # The SDK passes over pings, which its types lack.
                if sent.get("type") != "ping":
                    read = (event if stream else whole).validate_python(sent)
                    assert set(further(read)) <= FURTHER, sent
